#pragma once
// Kernels of gpu/weighted/wide.cu that resolve the brackets exactly, level by level, as those of gpu/wide/resolve.cuh
// do, by weight: find the bin in which the sum of weights reaches its target; entries outside that bin and its
// neighbours go on down; those inside are ordered, the cut is read off them, and then they go on, too. A node whose cut
// cannot be told from its bracket is left to Levels.
#include "partitioners/orb/gpu/weighted/wide.cuh"

namespace amrbench::partitioners::gpu {

/// Candidates of a node at most.
constexpr std::uint32_t kWeightedFew = 1024;
/// At least so many candidates are taken on either side of the bin that has the cut, where the bracket has so many.
constexpr std::uint32_t kAside = 24;

struct CountAndWeight {
  std::uint64_t count, weight;
};

/// Sums over a block of kCutThreads threads; `shared`: one a warp. One barrier.
__device__ inline CountAndWeight sum_of_block(CountAndWeight value, CountAndWeight* shared) {
  for (int step = 16; step > 0; step /= 2) {
    value.count += __shfl_down_sync(kFull, value.count, step);
    value.weight += __shfl_down_sync(kFull, value.weight, step);
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  CountAndWeight sum{0, 0};
  for (unsigned w = 0; w < kCutThreads / 32; ++w) {
    sum.count += shared[w].count;
    sum.weight += shared[w].weight;
  }
  return sum;
}

template <class T, int Dim>
__device__ inline WeightGoal goal_of_node(const WeightedNode<T, Dim>& node) {
  return {node.count, node.leaves, left_leaves(node.leaves), node.weight};
}

/// A bracket's bins, and their sums in kCutThreads equal stretches.
struct BracketBins {
  const std::uint32_t* counts;
  const std::uint64_t* weights;
  const std::uint32_t* stretch_counts;  ///< shared
  const std::uint64_t* stretch_weights;
  std::uint32_t stretch;  ///< bins in one

  /// The next bin that is not empty, downwards (step -1) or upwards (+1), or `bin`.
  __device__ std::uint32_t neighbour(std::uint32_t bin, int step) const {
    auto b = static_cast<int>(bin) + step;
    const int end = step > 0 ? static_cast<int>(kCutThreads * stretch) : -1;
    const auto length = static_cast<int>(stretch);
    while (b != end) {
      if (stretch_counts[b / length] == 0) {  // past it
        b = step > 0 ? (b / length + 1) * length : b / length * length - 1;
        continue;
      }
      if (counts[b] != 0) return static_cast<std::uint32_t>(b);
      b += step;
    }
    return bin;
  }
  /// Takes in bins beside `end` until there are some points in them, because the points beside the cut, and points of
  /// weight zero, may be there. Returns how many points were taken in.
  __device__ CountAndWeight widen(std::uint32_t& end, int step) const {
    CountAndWeight taken{0, 0};
    while (taken.count < kAside) {
      const std::uint32_t next = neighbour(end, step);
      if (next == end) break;
      end = next;
      taken.count += counts[next];
      taken.weight += weights[next];
    }
    return taken;
  }
  /// Finds the bin in which the search ends; `at` becomes what lies before that bin. False: it ends in none.
  __device__ bool find(const WeightSearch& search, CountAndWeight& at, std::uint32_t& bin) const {
    std::uint32_t t = 0;
    while (t < kCutThreads && !search.reached(at.count + stretch_counts[t], at.weight + stretch_weights[t])) {
      at.count += stretch_counts[t];
      at.weight += stretch_weights[t++];
    }
    if (t == kCutThreads) return false;
    bin = t * stretch;
    while (!search.reached(at.count + counts[bin], at.weight + weights[bin])) {
      at.count += counts[bin];
      at.weight += weights[bin++];
    }
    return true;
  }
};

/// One block a node of the level. Can the node be cut: is it known, was it guessed on the right axis, does the search
/// end inside the bracket? And between which bins does the cut lie?
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    weighted_prepare_kernel(int level, int levels, double side_tolerance, const WideGuess<T, Dim>* __restrict__ guesses,
                            CodeSums sums, const WeightedLists<T, Dim> lists, WeightedNode<T, Dim>* nodes,
                            WideCut* cuts) {
  __shared__ CountAndWeight warp_sums[kCutThreads / 32];
  __shared__ std::uint32_t stretch_counts[kCutThreads];
  __shared__ std::uint64_t stretch_weights[kCutThreads];
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  WeightedNode<T, Dim>& node = nodes[v];
  if (!guessed_right(node, guesses[v], side_tolerance)) return;
  CountAndWeight below{0, 0};  // points known to be in the left child
  const std::uint32_t end_of_nodes = 2U << static_cast<unsigned>(levels);
  for (std::uint32_t begin = 2 * v, count = 1; begin < end_of_nodes; begin *= 2, count *= 2)
    for (std::uint32_t k = threadIdx.x; k < count; k += kCutThreads) {
      below.count += sums.counts[begin + k];
      below.weight += sums.weights[begin + k];
    }
  below = sum_of_block(below, warp_sums);
  const WeightSearch search = first_search(goal_of_node(node));
  if (search.reached(below.count, below.weight)) return;
  const std::uint32_t n = wide_bins(level);
  const std::uint64_t first_of_node = wide_bins_begin(level) + std::uint64_t{blockIdx.x} * n;
  const BracketBins bins{lists.bins + first_of_node, lists.bin_weights + first_of_node, stretch_counts, stretch_weights,
                         n / kCutThreads};
  CountAndWeight mine{0, 0};
  for (std::uint32_t b = threadIdx.x * bins.stretch; b < (threadIdx.x + 1) * bins.stretch; ++b) {
    mine.count += bins.counts[b];
    mine.weight += bins.weights[b];
  }
  stretch_counts[threadIdx.x] = static_cast<std::uint32_t>(mine.count);
  stretch_weights[threadIdx.x] = mine.weight;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t bin = 0;
  if (!bins.find(search, below, bin)) return;
  std::uint64_t candidates = bins.counts[bin];
  std::uint32_t first = bin;
  std::uint32_t last = bin;
  const CountAndWeight lower = bins.widen(first, -1);
  candidates += lower.count + bins.widen(last, 1).count;
  below.count -= lower.count;
  below.weight -= lower.weight;
  if (candidates > kWeightedFew) return;
  node.before = static_cast<std::uint32_t>(below.count);
  node.weight_before = below.weight;
  node.candidates = 0;
  node.active = 1;
  const float2 bracket = lists.table[v];
  cuts[v] = {bracket.x, wide_scale(bracket, level), static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last),
             1U};
}

constexpr std::uint32_t kCandidate = 0;
constexpr std::uint32_t kNotCut = 0xffffffffU;

/// The node to which an entry goes on; or kNotCut; or kCandidate, and then it is listed as one.
template <class T, int Dim>
__device__ inline std::uint32_t route_entry(const WeightedEntry<T, Dim>& entry, std::uint32_t number, int level,
                                            int levels, const float2* table, const WideCut* __restrict__ cuts,
                                            WeightedNode<T, Dim>* nodes, std::uint32_t* candidates) {
  const std::uint32_t v = entry.node;
  const WideCut cut = cuts[v];
  if (cut.active == 0U) return kNotCut;
  float c[Dim];
  as_floats(entry.x, c);
  const std::uint32_t bin = wide_bin(on_axis<Dim>(c, __float_as_uint(cut.low)), cut.low, cut.scale, level);
  if (bin >= cut.first_bin && bin <= cut.last_bin) {
    const std::uint32_t k = atomicAdd(&nodes[v].candidates, 1U);
    const std::uint64_t begin = std::uint64_t{v - (1U << static_cast<unsigned>(level))} * kWeightedFew;
    if (k < kWeightedFew) candidates[begin + k] = number;
    return kCandidate;
  }
  return wide_walk<T, Dim>(table, entry.x, 2 * v + (bin > cut.last_bin ? 1U : 0U), level + 1, levels);
}

/// Sends a level's entries on, but for candidates, whose places in the list it notes. As many blocks of kCutThreads
/// threads as the GPU runs at once loop over the list. Shared memory: the brackets below (none at the last level).
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    weighted_route_kernel(int level, int levels, const WeightedLists<T, Dim> lists, const WideCut* __restrict__ cuts,
                          WeightedNode<T, Dim>* nodes, std::uint32_t* candidates, std::uint16_t* codes, CodeSums sums) {
  constexpr int kMine = 4;
  constexpr std::uint64_t kChunk = std::uint64_t{kCutThreads} * kMine;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const table = reinterpret_cast<float2*>(memory);
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  const std::uint32_t n = min(lists.sizes[level], lists.capacity[level]);
  if (blockIdx.x * kChunk >= n) return;
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  const bool last = level + 1 == levels;
  if (!last)
    for (std::uint32_t v = threadIdx.x; v < first; v += kCutThreads) table[v] = lists.table[v];
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  WidePlaces places{taken, base};
  const WeightedEntry<T, Dim>* __restrict__ entries = lists.entries[level];
  for (std::uint64_t chunk = blockIdx.x * kChunk; chunk < n; chunk += gridDim.x * kChunk) {
    WeightedEntry<T, Dim> entry[kMine];
    std::uint32_t place[kMine];
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint64_t i = chunk + j * kCutThreads + threadIdx.x;
      std::uint32_t to = kNotCut;
      if (i < n) {
        entry[j] = entries[i];
        to = route_entry(entry[j], static_cast<std::uint32_t>(i), level, levels, table, cuts, nodes, candidates);
      }
      entry[j].node = first;  // not in a bracket
      if (to == kNotCut || to == kCandidate) continue;
      entry[j].node = to;
      codes[entry[j].position] = static_cast<std::uint16_t>(to);
      if (last) continue;
      atomicAdd(&sums.counts[to], 1U);
      add_weight(&sums.weights[to], entry[j].weight);
    }
    if (last) continue;
#pragma unroll
    for (int j = 0; j < kMine; ++j) place[j] = entry[j].node < first ? places.take(entry[j].node) : 0;
    places.reserve(lists.sizes, 1);
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      if (entry[j].node < first) list_entry(lists, table, entry[j], places.at(entry[j].node, place[j]));
  }
}

/// What weighted_select_kernel has in shared memory.
template <class T, int Dim>
struct WeightedCandidates {
  OrbPoint<T, Dim> points[kWeightedFew];  ///< id: position
  std::uint64_t weights[kWeightedFew];
  std::uint64_t sorted_weights[kWeightedFew];
  std::uint16_t order[kWeightedFew];
};

/// Cuts a node between the points of ranks left - 1 and left of its candidates, and makes its children known.
template <class T, int Dim>
__device__ inline void cut_weighted_node(WeightedNode<T, Dim>& node, WeightedNode<T, Dim>* children, int axis,
                                         const WeightedCandidates<T, Dim>& found, const CutVerdict& verdict) {
  const T last_left = found.points[found.order[verdict.left - 1]].x[axis];
  const T first_right = found.points[found.order[verdict.left]].x[axis];
  cut_node(node, children, axis, cut_between(last_left, first_right), node.before + verdict.left);
  children[0].weight = verdict.weight_left;
  children[1].weight = node.weight - verdict.weight_left;
}

/// One block a node: orders its candidates, cuts it, sends the candidates on. exact: as in wide_select_kernel.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    weighted_select_kernel(int level, int levels, const T* __restrict__ exact, const WeightedLists<T, Dim> lists,
                           const WideGuess<T, Dim>* __restrict__ guesses, const std::uint32_t* __restrict__ candidates,
                           WeightedNode<T, Dim>* nodes, std::uint16_t* codes, CodeSums sums) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& found = *reinterpret_cast<WeightedCandidates<T, Dim>*>(memory);
  __shared__ std::uint32_t left_of_cut;  // 0: no cut
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  WeightedNode<T, Dim>& node = nodes[v];
  if (node.active == 0) return;
  const std::uint32_t n = min(node.candidates, kWeightedFew);
  const int axis = guesses[v].axis;
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  const std::uint32_t* const numbers = candidates + std::uint64_t{blockIdx.x} * kWeightedFew;
  for (std::uint32_t i = threadIdx.x; i < n; i += kCutThreads) {
    const WeightedEntry<T, Dim>& entry = lists.entries[level][numbers[i]];
    const T* const from = exact != nullptr ? exact + std::uint64_t{entry.position} * Dim : entry.x;
    for (int a = 0; a < Dim; ++a) found.points[i].x[a] = from[a];
    found.points[i].id = entry.position;
    found.weights[i] = entry.weight;
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < n; i += kCutThreads) {
    const OrbPoint<T, Dim> p = found.points[i];
    const std::uint32_t rank = points_before(found.points, n, p, axis);
    found.sorted_weights[rank] = found.weights[i];
    found.order[rank] = static_cast<std::uint16_t>(i);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const WeightGoal goal = goal_of_node(node);
    const CutVerdict verdict =
        decide_cut(goal, first_search(goal), node.before, node.weight_before, n, found.sorted_weights);
    // Both points beside the cut must be here.
    const bool cut = verdict.kind == CutVerdict::Kind::cut && verdict.left > 0 && verdict.left < n;
    left_of_cut = cut ? verdict.left : 0;
    if (cut) cut_weighted_node(node, nodes + 2 * v, axis, found, verdict);
  }
  __syncthreads();
  const std::uint32_t left = left_of_cut;
  if (left == 0) return;
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  WidePlaces places{taken, base};
  for (std::uint32_t begin = 0; begin < n; begin += kCutThreads) {
    const std::uint32_t rank = begin + threadIdx.x;
    WeightedEntry<T, Dim> entry;
    entry.node = first;
    std::uint32_t place = 0;
    if (rank < n) {
      entry = lists.entries[level][numbers[found.order[rank]]];
      entry.node = wide_walk<T, Dim>(lists.table, entry.x, 2 * v + (rank < left ? 0U : 1U), level + 1, levels);
      codes[entry.position] = static_cast<std::uint16_t>(entry.node);
      atomicAdd(&sums.counts[entry.node], 1U);
      add_weight(&sums.weights[entry.node], entry.weight);
      if (entry.node < first) place = places.take(entry.node);
    }
    places.reserve(lists.sizes, 1);
    if (entry.node < first) list_entry(lists, lists.table, entry, places.at(entry.node, place));
  }
}

}  // namespace amrbench::partitioners::gpu
