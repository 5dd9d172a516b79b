#pragma once
// Kernels of gpu_wide.cu that resolve the brackets exactly, level by level: which bin holds the cut; the level's
// entries outside it go on down; those inside are ordered, and then go on too. An entry carries its point, so that
// nothing is gathered; its code is written where it ends.
#include "partitioners/orb/gpu_cut.cuh"
#include "partitioners/orb/gpu_wide.cuh"

namespace amrbench::partitioners::gpu {

/// Blocks of a multiprocessor that send entries on.
constexpr int kRouteBlocks = 3;

/// One block a node of the level: can it be cut (known, guessed on the right axis, target inside the bracket), and
/// between which bins does the cut lie.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    wide_prepare_kernel(int level, int levels, double side_tolerance, const WideGuess<T, Dim>* __restrict__ guesses,
                        const std::uint32_t* __restrict__ code_counts, const WideLists<T, Dim> lists,
                        Node<T, Dim>* nodes, WideCut* cuts) {
  __shared__ std::uint32_t sums[kCutThreads / 32];
  __shared__ std::uint32_t shared_below;
  __shared__ CutBins found;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  Node<T, Dim>& node = nodes[v];
  if (node.resolved != 0 || !guessed_right(node, guesses[v], side_tolerance)) return;
  std::uint32_t below = 0;  // points known to be in the left child
  const std::uint32_t end_of_nodes = 2U << static_cast<unsigned>(levels);
  for (std::uint32_t begin = 2 * v, count = 1; begin < end_of_nodes; begin *= 2, count *= 2)
    for (std::uint32_t k = threadIdx.x; k < count; k += kCutThreads) below += code_counts[begin + k];
  below = sum_up_to(below, sums);
  if (threadIdx.x == kCutThreads - 1) shared_below = below;
  __syncthreads();
  const auto target = static_cast<std::int64_t>(unit_target(node.count, left_leaves(node.leaves), node.leaves));
  const std::int64_t rank = target - static_cast<std::int64_t>(shared_below);
  if (rank < 1 || rank >= static_cast<std::int64_t>(code_counts[v])) return;
  const std::uint32_t n = wide_bins(level);
  find_cut_bins(lists.bins + wide_bins_begin(level) + std::uint64_t{blockIdx.x} * n, n,
                static_cast<std::uint32_t>(rank), &found);
  if (threadIdx.x != 0 || found.inside > kCandidates) return;
  node.rank = static_cast<std::uint32_t>(rank) - found.before;
  node.candidates = 0;
  node.active = 1;
  cuts[v] = {lists.table[v].x, wide_scale(lists.table[v], level), static_cast<std::uint16_t>(found.first),
             static_cast<std::uint16_t>(found.last), 1U};
}

/// Sends a level's entries on, but for candidates, whose places in the list it notes. Blocks stay; shared memory for
/// the brackets below (none at the last level). Bytes an entry of 18: 18, 2 of code, 18 where it meets another.
template <class T, int Dim, bool Last>
__global__ void __launch_bounds__(kRouteThreads, kRouteBlocks)
    wide_route_kernel(int level, int levels, const WideLists<T, Dim> lists, const WideCut* __restrict__ cuts,
                      Node<T, Dim>* nodes, std::uint32_t* candidates, std::uint16_t* codes,
                      std::uint32_t* code_counts) {
  constexpr int kMine = 2;
  constexpr std::uint64_t kChunk = std::uint64_t{kRouteThreads} * kMine;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const table = reinterpret_cast<float2*>(memory);
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  const std::uint32_t n = min(lists.sizes[level], lists.capacity[level]);
  if (blockIdx.x * kChunk >= n) return;
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  const std::uint32_t level_first = 1U << static_cast<unsigned>(level);
  if (!Last)
    for (std::uint32_t v = threadIdx.x; v < first; v += kRouteThreads) table[v] = lists.table[v];
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  WidePlaces places{taken, base};
  const WidePoint<T, Dim>* __restrict__ points = lists.points[level];
  const std::uint16_t* __restrict__ from = lists.nodes[level];
  for (std::uint64_t chunk = blockIdx.x * kChunk; chunk < n; chunk += gridDim.x * kChunk) {
    const std::uint64_t ahead = chunk + gridDim.x * kChunk;  // the block's next chunk, into L2
    for (std::uint64_t i = threadIdx.x * 128ULL / sizeof(*points); i < kChunk;
         i += kRouteThreads * 128ULL / sizeof(*points))
      if (ahead + i < n) prefetch_line(points + ahead + i);
    if (threadIdx.x < kChunk / 64 && ahead + threadIdx.x * 64ULL < n) prefetch_line(from + ahead + threadIdx.x * 64ULL);
    WidePoint<T, Dim> point[kMine];
    std::uint32_t node[kMine];
    WideCut cut[kMine];
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint64_t i = chunk + j * kRouteThreads + threadIdx.x;
      node[j] = i < n ? from[i] : 0U;
      point[j] = points[i < n ? i : chunk];
    }
#pragma unroll
    for (int j = 0; j < kMine; ++j) cut[j] = cuts[node[j]];  // of node 0: not active
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint32_t v = node[j];
      node[j] = first;  // not in a bracket
      if (cut[j].active == 0U) continue;
      float c[Dim];
      as_floats(point[j].x, c);
      const std::uint32_t bin = wide_bin(on_axis<Dim>(c, __float_as_uint(cut[j].low)), cut[j].low, cut[j].scale, level);
      if (bin >= cut[j].first_bin && bin <= cut[j].last_bin) {
        const std::uint32_t k = atomicAdd(&nodes[v].candidates, 1U);
        const std::uint64_t begin = std::uint64_t{v - level_first} * kCandidates;
        if (k < kCandidates)
          candidates[begin + k] = static_cast<std::uint32_t>(chunk + j * kRouteThreads + threadIdx.x);
        continue;
      }
      std::uint32_t to = 2 * v + (bin > cut[j].last_bin ? 1U : 0U);
      if (!Last) to = wide_walk<T, Dim>(table, point[j].x, to, level + 1, levels);
      codes[point[j].position] = static_cast<std::uint16_t>(to);
      if (!Last) atomicAdd(&code_counts[to], 1U);
      node[j] = to;
    }
    if constexpr (!Last) {
      std::uint32_t place[kMine];
#pragma unroll
      for (int j = 0; j < kMine; ++j) place[j] = node[j] < first ? places.take(node[j]) : 0;
      places.reserve(lists.sizes);
#pragma unroll
      for (int j = 0; j < kMine; ++j)
        if (node[j] < first)
          list_point(lists, table, point[j].x, point[j].position, node[j], places.at(node[j], place[j]));
    }
  }
}

/// One block a node: orders its candidates, cuts it, makes its children known, sends the candidates on.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    wide_select_kernel(int level, int levels, const WideLists<T, Dim> lists,
                       const WideGuess<T, Dim>* __restrict__ guesses, const std::uint32_t* __restrict__ candidates,
                       Node<T, Dim>* nodes, std::uint16_t* codes, std::uint32_t* code_counts) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const found = reinterpret_cast<OrbPoint<T, Dim>*>(memory);
  __shared__ T last_left;
  __shared__ OrbPoint<T, Dim> pivot;
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  Node<T, Dim>& node = nodes[v];
  if (node.active == 0 || node.resolved != 0) return;
  const std::uint32_t n = min(node.candidates, kCandidates);
  const std::uint32_t rank = node.rank;
  const int axis = guesses[v].axis;
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  for (std::uint32_t i = threadIdx.x; i < n; i += kCutThreads) {
    const WidePoint<T, Dim> point = lists.points[level][candidates[std::uint64_t{blockIdx.x} * kCandidates + i]];
    OrbPoint<T, Dim> p;
    for (int a = 0; a < Dim; ++a) p.x[a] = point.x[a];
    p.id = point.position;
    found[i] = p;
  }
  __syncthreads();
  order_candidates(found, n, rank, axis, &pivot, &last_left);
  __syncthreads();
  if (threadIdx.x == 0) cut_at(node, nodes + 2 * v, axis, pivot, last_left);
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  WidePlaces places{taken, base};
  for (std::uint32_t begin = 0; begin < n; begin += kCutThreads) {
    const std::uint32_t i = begin + threadIdx.x;
    const OrbPoint<T, Dim> p = found[i < n ? i : 0];
    std::uint32_t to = first;
    std::uint32_t place = 0;
    if (i < n) {
      const std::uint32_t child = 2 * v + (orb_before(p, pivot, axis) ? 0U : 1U);
      to = wide_walk<T, Dim>(lists.table, p.x, child, level + 1, levels);
      codes[p.id] = static_cast<std::uint16_t>(to);
      atomicAdd(&code_counts[to], 1U);
      if (to < first) place = places.take(to);
    }
    places.reserve(lists.sizes);
    if (to < first) list_point(lists, lists.table, p.x, p.id, to, places.at(to, place));
  }
}

}  // namespace amrbench::partitioners::gpu
