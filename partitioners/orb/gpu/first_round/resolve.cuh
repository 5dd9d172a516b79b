#pragma once
// Kernels of gpu/first_round/first_round.cuh that resolve the brackets exactly, level by level. Words as in
// gpu/kernels.cuh and gpu/first_round/brackets.cuh.
//
// In:  the lists and histograms of all levels, the number and weight of points by code.
// Out: the exact cut of each node; the codes of the listed points.
// A level takes three kernels or four. prepare, a thread block a node: which bins hold the cut. route, over the level's
// list: entries outside these bins go on, to a leaf or to the list of a level further down; those inside are noted as
// candidates. select, a thread block a node: orders the candidates, cuts the node, sends the candidates on, too. An
// entry carries its coordinates; where these are fractions, the candidates' points are gathered in between, by all
// multiprocessors, because a block that cuts a crowded node goes over thousands of them many times. When an entry goes
// on, its point's code is written: where it ends, or the node whose bracket it met.
#include "partitioners/orb/gpu/candidates.cuh"
#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/first_round/heavy.cuh"

namespace amrbench::partitioners::gpu {

/// Of the route kernel: blocks a multiprocessor, and warps of each.
constexpr int kRouteBlocks = 2;
constexpr std::uint32_t kRouteWarps = kRouteThreads / 32;
/// Entries a lane has under way at a time.
template <class T, int Dim>
constexpr int kRouteEach = sizeof(ListedPoint<T, Dim>) == 16 ? 4 : 2;

/// Threads of a block that cuts a node at the upper levels, whose nodes are fewer than multiprocessors; at others:
/// kCutThreads, but where points crowd those of nodes with many candidates are as many.
constexpr unsigned kUpperCutThreads = 1024;
constexpr int kUpperCutLevels = 8;
constexpr std::uint32_t kManyCandidates = 4096;

/// With weights no node has more candidates than one block narrows down soon, or, of many points, than one in so many
/// of them: one with more is left, and where that is the root, all points are.
constexpr std::uint32_t kMostCandidates = 1U << 17U, kMostCandidatesPart = 1U << 10U;

template <class T, int Dim>
__device__ inline WeightGoal goal_of_node(const Node<T, Dim>& node) {
  return {node.count, node.leaves, left_leaves(node.leaves), node.weight};
}

/// One block a node of the level. Can the node be cut: is it known, was it guessed on the right axis, does the search
/// end inside the bracket? And between which bins does the cut lie? besides: null where light points weigh something.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    prepare_kernel(int level, int levels, double side_tolerance, const HeavyBeside* __restrict__ besides,
                   const CutGuess<T, Dim>* __restrict__ guesses, const CodeSums sums,
                   const BracketEntries<T, Dim> lists, Node<T, Dim>* nodes, BracketCut* cuts) {
  __shared__ CountAndWeight warp_sums[kCutThreads / 32];
  __shared__ CountAndWeight shared_below;
  __shared__ CutBins found;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  Node<T, Dim>& node = nodes[v];
  // Only where the node's box is known exactly, and the axis that follows from it was guessed, can its bracket hold the
  // cut.
  if (node.resolved != 0 || node.known == 0 || node.leaves < 2 || lists.overflow[level] != 0) return;
  if (guesses[v].inner == 0 || cut_axis(node.box, side_tolerance) != guesses[v].axis) return;
  CountAndWeight below{0, 0};  // points known to be in the left child
  const std::uint32_t end_of_nodes = 2U << static_cast<unsigned>(levels);
  for (std::uint32_t begin = 2 * v, count = 1; begin < end_of_nodes; begin *= 2, count *= 2)
    for (std::uint32_t k = threadIdx.x; k < count; k += kCutThreads) {
      below.count += sums.counts[begin + k];
      if (sums.weights != nullptr) below.weight += sums.weights[begin + k];
    }
  below = sum_up_to(below, warp_sums);
  if (threadIdx.x == kCutThreads - 1) shared_below = below;
  __syncthreads();
  const std::uint32_t n = bracket_bins(level);
  const std::uint64_t begin = bracket_bins_begin(level) + std::uint64_t{blockIdx.x} * n;
  const bool weighted = lists.bin_weights != nullptr;
  const WeightGoal goal = goal_of_node(node);
  const Bins bins{lists.bins + begin, weighted ? lists.bin_weights + begin : nullptr};
  const std::uint32_t most = weighted ? max(kMostCandidates, node.count / kMostCandidatesPart) : ~0U;
  find_cut_bins(bins, n, first_search(goal), goal.unit(), shared_below, most, &found);
  SearchPhase phase = SearchPhase::reach;
  const std::uint64_t same_sum = found.before.weight;
  if (besides != nullptr && found.inside == 0) {
    // Where few points weigh anything the bracket may have the cut, but not the point at which the target is reached.
    const bool behind = same_sum < first_search(goal).weight;
    const int side = behind ? 1 : 0;
    const std::uint32_t leaves = behind ? goal.leaves - goal.leaves_left : goal.leaves_left;
    const bool too_few = besides[v].key[side] != ~0U && besides[v].further[side] < leaves;
    if (too_few || chosen_before(goal, same_sum, besides[v].weight[side]))
      phase = behind ? SearchPhase::left : SearchPhase::right;
    __syncthreads();
    if (phase != SearchPhase::reach)
      find_cut_bins(bins, n, number_search(goal, phase, same_sum), goal.unit(), shared_below, most, &found);
  }
  if (threadIdx.x != 0 || found.inside == 0 || found.inside > most) return;
  node.candidates_begin = node.core_next = atomicAdd(&lists.candidates[level], found.inside);
  node.candidates_end = node.others_next = node.candidates_begin + found.inside;
  node.before = found.before.count;
  node.weight_before = found.before.weight;
  node.before_core = found.before_core.count;
  node.weight_before_core = found.before_core.weight;
  node.active = 1;
  node.phase = phase;
  node.same_sum = same_sum;
  const auto bin = [](std::uint32_t b) { return static_cast<std::uint16_t>(b); };
  cuts[v] = {lists.table[v].x,      bracket_scale(lists.table[v], lists.gap(v), level),
             bin(found.first),      bin(found.last + 1),
             bin(found.first_core), bin(found.last_core + 1)};
}

/// Shared memory of route_kernel.
struct RouteMemory {
  BracketCut* cuts;       ///< of the level's nodes
  float2* table;          ///< brackets
  std::uint32_t* counts;  ///< by code

  __device__ RouteMemory(unsigned char* memory, int level, int levels) {
    const std::uint32_t first = 1U << static_cast<unsigned>(levels);
    cuts = reinterpret_cast<BracketCut*>(memory);
    table = reinterpret_cast<float2*>(cuts + (1U << static_cast<unsigned>(level)));
    counts = reinterpret_cast<std::uint32_t*>(table + first);
  }
};
/// Its bytes; at the last level there are no brackets below, so nothing is counted or listed.
constexpr std::size_t route_shared(int level, int levels) {
  const std::size_t first = std::size_t{1} << static_cast<unsigned>(levels);
  const std::size_t below = first * (sizeof(float2) + 2 * sizeof(std::uint32_t));
  return (sizeof(BracketCut) << static_cast<unsigned>(level)) + (level + 1 < levels ? below : 0);
}

/// An entry's point by 16-byte loads; it is not needed again soon.
template <class T, int Dim>
__device__ inline ListedPoint<T, Dim> load_listed(const ListedPoint<T, Dim>* from) {
  constexpr int kWords = static_cast<int>(sizeof(ListedPoint<T, Dim>) / sizeof(uint4));
  union {
    uint4 words[kWords];
    ListedPoint<T, Dim> point;
  } loaded;
#pragma unroll
  for (int w = 0; w < kWords; ++w) loaded.words[w] = __ldcs(reinterpret_cast<const uint4*>(from) + w);
  return loaded.point;
}

/// The entries of a warp's turn: entry 32 j + l of it is the j-th of thread l. Past the list's end: entries of node 0.
template <class T, int Dim, bool Weighted>
struct RouteTurn {
  static constexpr int kMine = kRouteEach<T, Dim>;
  static constexpr std::uint32_t kSize = 32 * kMine;
  std::uint32_t node[kMine];
  ListedPoint<T, Dim> point[kMine];
  std::uint64_t weight[kMine];

  /// n > 0.
  __device__ void load(const BracketEntries<T, Dim>& lists, int level, std::uint64_t begin, std::uint32_t n) {
    const std::uint64_t lane = threadIdx.x & 31U;
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint64_t i = begin + j * 32 + lane;
      node[j] = i < n ? std::uint32_t{__ldcs(lists.nodes[level] + i)} : 0U;
      point[j] = load_listed(lists.points[level] + (i < n ? i : 0));
      weight[j] = Weighted ? lists.weights[level][i < n ? i : 0] : 0;
    }
  }
};

/// The child to which an entry of node v goes. 0: the node is not cut, or the entry is a hole, or a candidate, which is
/// noted.
template <class T, int Dim>
__device__ inline std::uint32_t route_child(const BracketEntries<T, Dim>& lists, const RouteMemory& s, int level,
                                            const float (&c)[Dim], std::uint32_t v, std::uint32_t at,
                                            Node<T, Dim>* nodes, std::uint32_t* candidates) {
  const std::uint32_t k = v & ((1U << static_cast<unsigned>(level)) - 1U);  // of the level's nodes
  const BracketCut cut = s.cuts[k];
  if (v == 0 || cut.end_bin == 0U) return 0;
  const std::uint32_t bin =
      bracket_bin(lists.gap(v).close(on_axis<Dim>(c, __float_as_uint(cut.low))), cut.low, cut.scale, level);
  if (bin < cut.first_bin) return 2 * v;
  if (bin >= cut.end_bin) return 2 * v + 1;
  const bool core = bin >= cut.first_core && bin < cut.end_core;
  candidates[core ? atomicAdd(&nodes[v].core_next, 1U) : atomicSub(&nodes[v].others_next, 1U) - 1] = at;
  return 0;
}

/// Walks a thread's entries down from a level on, all of them level by level together; those at 0 stay.
template <int Dim, int Mine>
__device__ inline void walk_together(const float2* table, const float (&c)[Mine][Dim], std::uint32_t (&to)[Mine],
                                     int from, int levels) {
  std::uint32_t v[Mine];
#pragma unroll
  for (int j = 0; j < Mine; ++j) v[j] = max(to[j], 1U);
  for (int level = from; level < levels; ++level)
#pragma unroll
    for (int j = 0; j < Mine; ++j) step_down<Dim>(table, c[j], v[j]);
#pragma unroll
  for (int j = 0; j < Mine; ++j) to[j] = to[j] != 0 ? v[j] : 0U;
}

/// Lists the entry at place `from` of a level again, further down.
template <bool Weighted, class T, int Dim>
__device__ inline void list_again(const BracketEntries<T, Dim>& lists, const float2* table, int level,
                                  std::uint32_t from, std::uint32_t v, std::uint64_t at) {
  const ListedPoint<T, Dim> point = load_listed(lists.points[level] + from);
  list_point<Weighted>(lists, table, point.x, point.position, Weighted ? lists.weights[level][from] : 0, v, at);
}

/// Fills the block's tables. The caller has a barrier follow.
template <bool Last>
__device__ inline void load_tables(const RouteMemory& s, int level, int levels, const float2* __restrict__ table,
                                   const BracketCut* __restrict__ cuts) {
  const std::uint32_t level_first = 1U << static_cast<unsigned>(level);
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  for (std::uint32_t k = threadIdx.x; k < level_first; k += kRouteThreads) s.cuts[k] = cuts[level_first + k];
  if constexpr (!Last) {
    for (std::uint32_t k = threadIdx.x; k < first / 2; k += kRouteThreads)
      reinterpret_cast<float4*>(s.table)[k] = reinterpret_cast<const float4*>(table)[k];
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kRouteThreads) s.counts[v] = 0;
  }
}

/// Sends a level's entries on, but for candidates, whose places in the list it notes. As many blocks as the GPU runs at
/// once loop over the list. Bytes an entry of 18: 18, a sector of codes read and written, 36 where it meets another
/// bracket (none at the last level); with weights 8 more each time.
template <class T, int Dim, bool Last, bool Weighted>
__global__ void __launch_bounds__(kRouteThreads, kRouteBlocks)
    route_kernel(int level, int levels, const BracketEntries<T, Dim> lists, const BracketCut* __restrict__ cuts,
                 Node<T, Dim>* nodes, std::uint32_t* candidates, std::uint16_t* codes, const CodeSums sums) {
  using Turn = RouteTurn<T, Dim, Weighted && !Last>;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ std::uint32_t taken[kFirstLevels];
  __shared__ std::uint32_t base[kFirstLevels];
  const std::uint32_t n = lists.size(level);
  constexpr std::uint32_t kBlockTurn = kRouteWarps * Turn::kSize;
  if (std::uint64_t{blockIdx.x} * kBlockTurn >= n) return;
  const RouteMemory s(memory, level, levels);
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockTurn;
  const std::uint32_t of_warp = threadIdx.x / 32 * Turn::kSize;
  Turn turn;
  turn.load(lists, level, std::uint64_t{blockIdx.x} * kBlockTurn + of_warp, n);
  load_tables<Last>(s, level, levels, lists.table, cuts);
  if (threadIdx.x < kFirstLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  ListPlaces places{taken, base};
  for (std::uint64_t begin = std::uint64_t{blockIdx.x} * kBlockTurn; begin < n; begin += stride) {
    const auto mine = static_cast<std::uint32_t>(begin + of_warp + (threadIdx.x & 31U));
    float c[Turn::kMine][Dim];
    std::uint32_t node[Turn::kMine];
    std::uint32_t position[Turn::kMine];
    std::uint64_t weight[Turn::kMine];
#pragma unroll
    for (int j = 0; j < Turn::kMine; ++j) {
      as_floats(turn.point[j].x, c[j]);
      node[j] = turn.node[j];
      position[j] = turn.point[j].position;
      weight[j] = turn.weight[j];
    }
    turn.load(lists, level, begin + stride + of_warp, n);  // of the next turn
    std::uint32_t to[Turn::kMine];
#pragma unroll
    for (int j = 0; j < Turn::kMine; ++j)
      to[j] = route_child<T, Dim>(lists, s, level, c[j], node[j], mine + j * 32, nodes, candidates);
    if constexpr (!Last) walk_together<Dim>(s.table, c, to, level + 1, levels);
    std::uint32_t place[Turn::kMine];
#pragma unroll
    for (int j = 0; j < Turn::kMine; ++j) {
      if (to[j] == 0) continue;
      codes[position[j]] = static_cast<std::uint16_t>(to[j]);
      if constexpr (!Last) {
        atomicAdd(&s.counts[to[j]], 1U);
        if constexpr (Weighted) add_weight(&sums.weights[to[j]], weight[j]);
        if (to[j] < first) place[j] = places.take(to[j]);
      }
    }
    if constexpr (!Last) {
      places.reserve(lists.sizes);
#pragma unroll
      for (int j = 0; j < Turn::kMine; ++j)
        if (to[j] != 0 && to[j] < first)
          list_again<Weighted>(lists, s.table, level, mine + j * 32, to[j], places.at(to[j], place[j]));
    }
  }
  if constexpr (!Last)
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kRouteThreads)
      if (s.counts[v] > 0) atomicAdd(&sums.counts[v], s.counts[v]);
}

/// A level's candidates, node by node, where the list has fractions of their points; else null.
template <class T, int Dim>
struct GatheredCandidates {
  ListedPoint<T, Dim>* points;
  std::uint64_t* weights;
};

/// Gathers them. exact: points by position.
template <class T, int Dim, bool Weighted>
__global__ void gather_candidates_kernel(int level, const BracketEntries<T, Dim> lists,
                                         const std::uint32_t* __restrict__ places, const T* __restrict__ exact,
                                         const GatheredCandidates<T, Dim> gathered) {
  const std::uint32_t n = lists.candidates[level];
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const std::uint32_t at = places[i];
    ListedPoint<T, Dim> point;
    point.position = lists.points[level][at].position;
#pragma unroll
    for (int a = 0; a < Dim; ++a) point.x[a] = exact[std::uint64_t{point.position} * Dim + a];
    gathered.points[i] = point;
    if constexpr (Weighted) gathered.weights[i] = lists.weights[level][at];
  }
}

/// A node's candidates.
template <class T, int Dim, bool Weighted>
struct NodeCandidates {
  const ListedPoint<T, Dim>* points;
  const std::uint64_t* weights;
  const std::uint32_t* places;  ///< of the candidates among them; null: as they are

  __device__ std::uint32_t place(std::uint32_t i) const { return places != nullptr ? places[i] : i; }
  __device__ OrbPoint<T, Dim> point(std::uint32_t i) const {
    const ListedPoint<T, Dim> listed = points[place(i)];
    return point_at<T, Dim>(listed.x, listed.position);
  }
  __device__ std::uint64_t weight(std::uint32_t i) const { return Weighted ? weights[place(i)] : 0; }
};

/// Sends a node's candidates on, each of them to the child that `parting` says. places: of them in the level's list.
/// A thread has a few under way, because a block that is alone waits for memory.
template <bool Weighted, unsigned Threads, class T, int Dim>
__device__ inline void send_candidates(const NodeCandidates<T, Dim, Weighted>& all, const std::uint32_t* places,
                                       std::uint32_t n, const Parting<T, Dim>& parting, int axis, std::uint32_t v,
                                       int levels, const BracketEntries<T, Dim>& lists, std::uint16_t* codes,
                                       const CodeSums& sums) {
  constexpr int kEach = sizeof(ListedPoint<T, Dim>) == 16 ? 4 : 2;
  __shared__ std::uint32_t taken[kFirstLevels];
  __shared__ std::uint32_t base[kFirstLevels];
  if (threadIdx.x < kFirstLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  const int level = level_of(v);
  const std::uint32_t outer = 1U << static_cast<unsigned>(levels);
  ListPlaces room{taken, base};
  for (std::uint32_t begin = 0; begin < n; begin += kEach * Threads) {
    ListedPoint<T, Dim> point[kEach];
    std::uint64_t weight[kEach];
    float c[kEach][Dim];
    std::uint32_t to[kEach], at[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::uint32_t i = begin + j * Threads + threadIdx.x;
      const std::uint32_t place = places[min(i, n - 1)];
      point[j] = load_listed(lists.points[level] + place);
      weight[j] = Weighted ? lists.weights[level][place] : 0;
      to[j] = i < n ? 2 * v + (parting.left(all.point(i), axis) ? 0U : 1U) : 0U;
      as_floats(point[j].x, c[j]);
    }
    if (begin + threadIdx.x < n) walk_together<Dim>(lists.table, c, to, level + 1, levels);  // else it has none
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      if (to[j] == 0) continue;
      codes[point[j].position] = static_cast<std::uint16_t>(to[j]);
      count_in_bin(sums.counts, to[j]);
      if constexpr (Weighted) add_weight(&sums.weights[to[j]], weight[j]);
      if (to[j] < outer) at[j] = room.take(to[j]);
    }
    if (level + 1 == levels) continue;
    room.reserve(lists.sizes);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (to[j] != 0 && to[j] < outer)
        list_point<Weighted>(lists, lists.table, point[j].x, point[j].position, weight[j], to[j],
                             room.at(to[j], at[j]));
  }
}

/// One block a node: orders its candidates, cuts it, makes its children known, sends the candidates on. Where the cut
/// is not among them the node is left. gathered: from the list, where it has fractions. Nodes of more than `least`
/// candidates, and at most `most`; the others are left as they are.
template <class T, int Dim, bool Weighted, unsigned Threads>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    select_kernel(int level, int levels, const GatheredCandidates<T, Dim> gathered, const BracketEntries<T, Dim> lists,
                  const CutGuess<T, Dim>* __restrict__ guesses, const std::uint32_t* __restrict__ candidates,
                  Node<T, Dim>* nodes, std::uint16_t* codes, const CodeSums sums, std::uint32_t least,
                  std::uint32_t most) {
  __shared__ FewCandidates<T, Dim> few;
  __shared__ FoundCut<T, Dim> cut;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  Node<T, Dim>& node = nodes[v];
  const int axis = guesses[v].axis;
  const std::uint32_t n = node.candidates_end - node.candidates_begin;
  std::uint32_t around = node.core_next - node.candidates_begin;
  if (node.active == 0 || node.resolved != 0 || n <= least || n > most) return;
  const std::uint32_t* const places = candidates + node.candidates_begin;
  NodeCandidates<T, Dim, Weighted> all{lists.points[level], lists.weights[level], places};
  if (gathered.points != nullptr)
    all = {gathered.points + node.candidates_begin, gathered.weights + node.candidates_begin, nullptr};
  const WeightGoal goal = goal_of_node(node);
  const WeightSearch first =
      node.phase == SearchPhase::reach ? first_search(goal) : number_search(goal, node.phase, node.same_sum);
  find_parting<Threads>(all, around, axis, goal, first, {node.before_core, node.weight_before_core}, few, &cut);
  if constexpr (Weighted) {
    // Points of weight zero may go on before or behind the few that the cut was to be read off; the other candidates
    // tell. A cell near the root that was left for that took three fourths of a run.
    const bool again = cut.again;
    const WeightSearch search = cut.search;
    __syncthreads();
    if (again) {
      around = n;
      find_parting<Threads>(all, n, axis, goal, search, {node.before, node.weight_before}, few, &cut);
    }
  }
  find_plane<Threads>(all, around, axis, &cut);
  if (!cut.found) return;
  if (threadIdx.x == 0) cut_node(node, nodes + 2 * v, axis, cut.plane, cut.left);
  send_candidates<Weighted, Threads>(all, places, n, cut.parting, axis, v, levels, lists, codes, sums);
}

/// A node's cut, for the host.
template <class T>
struct CutRecord {
  T plane;
  std::int32_t axis;  ///< -1: it was not cut
  std::uint32_t left;
  std::uint64_t weight_left;
};
template <class T, int Dim>
__global__ void record_cuts_kernel(const Node<T, Dim>* __restrict__ nodes, std::uint32_t first, CutRecord<T>* records) {
  const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= first) return;
  const Node<T, Dim>& node = nodes[v];
  records[v] = {node.cut, node.resolved != 0 ? node.axis : -1, nodes[2 * v].count, nodes[2 * v].weight};
}

}  // namespace amrbench::partitioners::gpu
