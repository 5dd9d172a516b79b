#pragma once
// Kernels of gpu_wide.cu that resolve the brackets exactly, level by level: which bin holds the cut; the level's
// entries outside it go on down; those inside are ordered, and then go on too. An entry carries its point, so that
// nothing is gathered; its code is written where it ends.
#include "partitioners/orb/gpu_wide.cuh"

namespace amrbench::partitioners::gpu {

/// How entries of a node being cut are told apart.
struct WideCut {
  float low, scale;
  std::uint32_t active;
  std::uint32_t first_bin, last_bin;  ///< entries in these are candidates
};

/// Sum over a block of 256 threads; `sums`: 8 words of shared memory.
__device__ inline std::uint32_t sum_of_block(std::uint32_t value, std::uint32_t* sums) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(kFull, value, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  std::uint32_t sum = 0;
  for (int w = 0; w < 8; ++w) sum += sums[w];
  return sum;
}

/// One block of 256 a node of the level: can it be cut (known, guessed on the right axis, target inside the bracket),
/// and between which bins does the cut lie.
template <class T, int Dim>
__global__ void __launch_bounds__(256)
    wide_prepare_kernel(int level, int levels, double side_tolerance, const WideGuess<T, Dim>* __restrict__ guesses,
                        const std::uint32_t* __restrict__ code_counts, const WideLists<T, Dim> lists,
                        Node<T, Dim>* nodes, WideCut* cuts) {
  __shared__ std::uint32_t warp_sums[8];
  __shared__ std::uint32_t sums[257];
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  Node<T, Dim>& node = nodes[v];
  if (node.known == 0 || guesses[v].inner == 0 || node.leaves < 2) return;
  if (cut_axis(node.box, side_tolerance) != guesses[v].axis) return;
  std::uint32_t below = 0;  // points known to be in the left child
  const std::uint32_t end_of_nodes = 2U << static_cast<unsigned>(levels);
  for (std::uint32_t begin = 2 * v, count = 1; begin < end_of_nodes; begin *= 2, count *= 2)
    for (std::uint32_t k = threadIdx.x; k < count; k += 256) below += code_counts[begin + k];
  const std::int64_t before_bracket = sum_of_block(below, warp_sums);
  const auto target = static_cast<std::int64_t>(unit_target(node.count, left_leaves(node.leaves), node.leaves));
  const std::int64_t rank_here = target - before_bracket;
  if (rank_here < 1 || rank_here >= static_cast<std::int64_t>(code_counts[v])) return;
  const std::uint32_t n = wide_bins(level);
  const std::uint32_t mine = n / 256;
  const std::uint32_t* from = lists.bins + wide_bins_begin(level) + std::uint64_t{blockIdx.x} * n;
  std::uint32_t sum = 0;
  for (std::uint32_t b = 0; b < mine; ++b) sum += from[threadIdx.x * mine + b];
  sums[threadIdx.x + 1] = sum;
  if (threadIdx.x == 0) sums[0] = 0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto rank = static_cast<std::uint32_t>(rank_here);
  for (int t = 0; t < 256; ++t) sums[t + 1] += sums[t];
  std::uint32_t t = 0;
  while (t < 255 && sums[t + 1] <= rank) ++t;
  std::uint32_t before = sums[t];
  std::uint32_t bin = t * mine;
  while (bin + 1 < n && before + from[bin] <= rank) before += from[bin++];
  std::uint32_t first = bin;
  if (before == rank) {  // the point before stands in the last bin below that is not empty
    do {
      --first;
    } while (first > 0 && from[first] == 0);
    before -= from[first];
  }
  const std::uint32_t candidates = from[bin] + (first != bin ? from[first] : 0);
  if (candidates > kCandidates) return;
  node.rank = rank - before;
  node.candidates = 0;
  node.active = 1;
  cuts[v] = {lists.table[v].x, lists.scales[v], 1U, first, bin};
}

/// Walks a point down from `child`.
template <class T, int Dim>
__device__ inline std::uint32_t wide_walk(const float2* table, const T (&x)[Dim], std::uint32_t child, int from,
                                          int levels) {
  float c[Dim];
#pragma unroll
  for (int a = 0; a < Dim; ++a) c[a] = static_cast<float>(x[a]);
  std::uint32_t v = child;
  for (int level = from; level < levels; ++level) step_down<Dim>(table, c, v);
  return v;
}

/// Sends a level's entries on, but for candidates, whose places in the list it notes. Blocks of 256 stay; shared memory
/// for the brackets below (none at the last level). Bytes an entry of 20: 20, 2 of code, 20 where it meets another.
template <class T, int Dim>
__global__ void __launch_bounds__(kEntryThreads)
    wide_route_kernel(int level, int levels, const WideLists<T, Dim> lists, const WideCut* __restrict__ cuts,
                      Node<T, Dim>* nodes, std::uint32_t* candidates, std::uint16_t* codes,
                      std::uint32_t* code_counts) {
  constexpr int kMine = 4;
  constexpr std::uint64_t kChunk = std::uint64_t{kEntryThreads} * kMine;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const table = reinterpret_cast<float2*>(memory);
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  const std::uint32_t n = min(lists.sizes[level], lists.capacity[level]);
  if (blockIdx.x * kChunk >= n) return;
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  const bool last = level + 1 == levels;
  if (!last)
    for (std::uint32_t v = threadIdx.x; v < first; v += kEntryThreads) table[v] = lists.table[v];
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  WidePlaces<T, Dim> places{taken, base};
  const WideEntry<T, Dim>* __restrict__ entries = lists.entries[level];
  for (std::uint64_t chunk = blockIdx.x * kChunk; chunk < n; chunk += gridDim.x * kChunk) {
    WideEntry<T, Dim> entry[kMine];
    std::uint32_t place[kMine];
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint64_t i = chunk + j * kEntryThreads + threadIdx.x;
      if (i < n)
        entry[j] = entries[i];
      else
        entry[j].node = 0;
    }
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint32_t v = entry[j].node;
      entry[j].node = first;  // not in a bracket
      if (v == 0) continue;
      const WideCut cut = cuts[v];
      if (cut.active == 0U) continue;
      float c[Dim];
#pragma unroll
      for (int a = 0; a < Dim; ++a) c[a] = static_cast<float>(entry[j].x[a]);
      const std::uint32_t bin = wide_bin(on_axis<Dim>(c, __float_as_uint(cut.low)), cut.low, cut.scale, level);
      if (bin >= cut.first_bin && bin <= cut.last_bin) {
        const std::uint32_t k = atomicAdd(&nodes[v].candidates, 1U);
        const std::uint64_t begin = std::uint64_t{v - (1U << static_cast<unsigned>(level))} * kCandidates;
        const std::uint64_t i = chunk + j * kEntryThreads + threadIdx.x;
        if (k < kCandidates) candidates[begin + k] = static_cast<std::uint32_t>(i);
        continue;
      }
      const std::uint32_t child = 2 * v + (bin > cut.last_bin ? 1U : 0U);
      const std::uint32_t to = wide_walk<T, Dim>(table, entry[j].x, child, level + 1, levels);
      codes[entry[j].position] = static_cast<std::uint16_t>(to);
      if (!last) atomicAdd(&code_counts[to], 1U);
      entry[j].node = to;
    }
    if (last) continue;
#pragma unroll
    for (int j = 0; j < kMine; ++j) place[j] = entry[j].node < first ? places.take(entry[j].node) : 0;
    places.reserve(lists);
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      if (entry[j].node < first) places.put(lists, table, entry[j], place[j]);
  }
}

/// One block of 256 a node: orders its candidates, cuts it, makes its children known, sends the candidates on.
template <class T, int Dim>
__global__ void __launch_bounds__(256)
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
  if (node.active == 0) return;
  const std::uint32_t n = node.candidates;
  const std::uint32_t rank_of_pivot = node.rank;
  const int axis = guesses[v].axis;
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  for (std::uint32_t i = threadIdx.x; i < n; i += 256) {
    const WideEntry<T, Dim>& entry = lists.entries[level][candidates[std::uint64_t{blockIdx.x} * kCandidates + i]];
    OrbPoint<T, Dim> p;
    for (int a = 0; a < Dim; ++a) p.x[a] = entry.x[a];
    p.id = entry.position;
    found[i] = p;
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < n; i += 256) {
    const OrbPoint<T, Dim> p = found[i];
    std::uint32_t rank = 0;
    for (std::uint32_t j = 0; j < n; ++j) rank += orb_before(found[j], p, axis) ? 1U : 0U;
    if (rank == rank_of_pivot) pivot = p;
    if (rank + 1 == rank_of_pivot) last_left = p.x[axis];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    node.pivot = pivot;
    node.axis = axis;
    node.cut = cut_between(last_left, pivot.x[axis]);
    node.resolved = 1;
    const std::uint32_t left = left_leaves(node.leaves);
    const auto count_left = static_cast<std::uint32_t>(unit_target(node.count, left, node.leaves));
    for (std::uint32_t side = 0; side < 2; ++side) {
      Node<T, Dim>& child = nodes[2 * v + side];
      child.box = node.box;
      if (side == 0)
        child.box.upper[axis] = node.cut;
      else
        child.box.lower[axis] = node.cut;
      child.leaves = side == 0 ? left : node.leaves - left;
      child.count = side == 0 ? count_left : node.count - count_left;
      child.known = 1;
    }
  }
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  WidePlaces<T, Dim> places{taken, base};
  for (std::uint32_t begin = 0; begin < n; begin += 256) {
    const std::uint32_t i = begin + threadIdx.x;
    WideEntry<T, Dim> entry;
    entry.node = first;
    std::uint32_t place = 0;
    if (i < n) {
      for (int a = 0; a < Dim; ++a) entry.x[a] = found[i].x[a];
      entry.position = found[i].id;
      const std::uint32_t child = 2 * v + (orb_before(found[i], pivot, axis) ? 0U : 1U);
      entry.node = wide_walk<T, Dim>(lists.table, entry.x, child, level + 1, levels);
      codes[entry.position] = static_cast<std::uint16_t>(entry.node);
      atomicAdd(&code_counts[entry.node], 1U);
      if (entry.node < first) place = places.take(entry.node);
    }
    places.reserve(lists);
    if (entry.node < first) places.put(lists, lists.table, entry, place);
  }
}

}  // namespace amrbench::partitioners::gpu
