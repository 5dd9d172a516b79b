#pragma once
// Kernels of gpu/wide/sample.cu for the lower levels of a large sample.
//
// The idea. The histograms of all nodes of a lower level are too large for shared memory, and an atomic in memory for
// each point is slow. So the sample is sorted once by its node of level 4, in any order within a node: 16 groups. The
// histograms of the nodes below one such node fit into shared memory, and a thread block counts group after group
// there.
#include "partitioners/orb/gpu/wide/sample.cuh"
#include "partitioners/orb/gpu/wide/sample.hpp"

namespace amrbench::partitioners::gpu {

static_assert(kGroupLevel == kUpperLevels);

/// Bins of a group at each level. A word of shared memory has two of them, of 16 bits.
constexpr std::uint32_t kGroupBins = static_cast<std::uint32_t>(kGuessBins) / kGroups;
/// Nodes of a group at the last level, and how many copies of each lie in shared memory. Threads of a warp that are
/// served together read different copies, in different banks: 8 of the 16 bytes of a node, 16 of the 8 bytes of a node
/// above.
constexpr std::uint32_t kGroupNodes = 1U << static_cast<unsigned>(kWideLevels - 1 - kGroupLevel);
constexpr std::uint32_t kOwnCopies = 8, kAboveCopies = 16;
/// Shared memory of a block that counts groups: 152 KB.
constexpr std::size_t kGroupShared =
    std::size_t{kGroupNodes} * (kOwnCopies * sizeof(float4) + kAboveCopies / 2 * sizeof(float2)) +
    std::size_t{kGroupBins} / 2 * sizeof(std::uint32_t);
/// Threads of a block that sorts the sample; each takes four points at a time.
constexpr int kSortThreads = 512;

/// Group of a point of node v > 0.
__device__ inline std::uint32_t group_of(std::uint32_t v) {
  return v < kGroups ? kGroups : (v >> static_cast<unsigned>(level_of(v) - kGroupLevel)) - kGroups;
}

/// Reads four points, unless all are of node 0; those above the groups' level go a level down.
template <int Dim>
__device__ inline void read_for_groups(const float* __restrict__ sample, const std::uint16_t* __restrict__ node,
                                       std::uint32_t four, const WideSplit* __restrict__ splits, FourPoints<Dim>& c,
                                       std::uint32_t (&v)[4]) {
  const uint2 packed = reinterpret_cast<const uint2*>(node)[four];
  unpack_nodes(packed, v);
  if ((packed.x | packed.y) == 0U) return;
  read_four<Dim>(sample, four, c);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (v[j] - kGroups / 2 >= kGroups / 2) continue;
    const WideSplit split = splits[v[j]];
    v[j] = stepped<Dim>(c.x[j], v[j], make_float2(split.plane, __uint_as_float(split.state)));
  }
}

/// How many points go to each group. A pass that follows a sort sorts out what has node 0 since.
template <int Dim>
__global__ void __launch_bounds__(kSortThreads)
    wide_group_counts_kernel(const float* __restrict__ sample, const std::uint16_t* __restrict__ node,
                             std::uint32_t fours, const WideSplit* __restrict__ splits, SampleGroups* to) {
  __shared__ std::uint32_t mine[(kGroups + 1) * 32];  // a word a lane: no two lanes of a warp meet
  const unsigned lane = threadIdx.x & 31U;
  for (std::uint32_t k = threadIdx.x; k < (kGroups + 1) * 32; k += kSortThreads) mine[k] = 0;
  __syncthreads();
  for (std::uint32_t four = blockIdx.x * kSortThreads + threadIdx.x; four < fours; four += gridDim.x * kSortThreads) {
    std::uint32_t v[4];
    FourPoints<Dim> c;
    read_for_groups<Dim>(sample, node, four, splits, c, v);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (v[j] > 0) atomicAdd(&mine[group_of(v[j]) * 32 + lane], 1U);
  }
  __syncthreads();
  for (std::uint32_t g = threadIdx.x / 32; g <= kGroups; g += kSortThreads / 32) {
    const std::uint32_t sum = __reduce_add_sync(kFull, mine[g * 32 + lane]);
    if (lane == 0 && sum > 0) atomicAdd(&to->counts[g], sum);
  }
}

/// Where groups begin. What lies between them and behind the last is no point: node 0.
__global__ void wide_group_begins_kernel(SampleGroups* to, std::uint32_t capacity, std::uint16_t* node) {
  const std::uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t begin = 0;
  for (std::uint32_t g = 0; g <= kGroups; ++g) {
    if (me == 0) to->begins[g] = to->next[g] = begin;
    const std::uint32_t end = begin + to->counts[g];
    begin = g < kGroups ? (end + 3) / 4 * 4 : capacity;
    for (std::uint32_t i = end + me; i < begin; i += gridDim.x * blockDim.x) node[i] = 0;
  }
}

/// Moves the sample's points and nodes to their groups; points of node 0 are dropped. A tile's points are sorted by
/// group in shared memory first, so that they are written in runs. Bytes a point of the sample: 8 Dim + 4.
template <int Dim>
__global__ void __launch_bounds__(kSortThreads, 3)
    wide_group_sort_kernel(const float* __restrict__ sample, const std::uint16_t* __restrict__ node,
                           std::uint32_t fours, const WideSplit* __restrict__ splits, SampleGroups* to,
                           float* __restrict__ sorted, std::uint16_t* __restrict__ sorted_node) {
  __shared__ float tile[4 * kSortThreads * Dim];
  __shared__ std::uint16_t tile_node[4 * kSortThreads];
  __shared__ std::uint32_t counts[kGroups + 1];  // then where each group begins in the tile
  __shared__ std::uint32_t shift[kGroups + 1];   // from the tile to where the points go; may wrap
  __shared__ std::uint32_t shared_total;
  for (std::uint32_t first = blockIdx.x * kSortThreads; first < fours; first += gridDim.x * kSortThreads) {
    if (threadIdx.x <= kGroups) counts[threadIdx.x] = 0;
    __syncthreads();
    std::uint32_t v[4] = {0, 0, 0, 0};
    std::uint32_t place[4];
    FourPoints<Dim> c;
    if (first + threadIdx.x < fours) read_for_groups<Dim>(sample, node, first + threadIdx.x, splits, c, v);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (v[j] > 0) place[j] = atomicAdd(&counts[group_of(v[j])], 1U);
    __syncthreads();
    if (threadIdx.x < 32) {
      const std::uint32_t n = threadIdx.x <= kGroups ? counts[threadIdx.x] : 0;
      std::uint32_t end = n;
#pragma unroll
      for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint32_t other = __shfl_up_sync(kFull, end, step);
        if (threadIdx.x >= step) end += other;
      }
      if (threadIdx.x <= kGroups) {
        counts[threadIdx.x] = end - n;
        shift[threadIdx.x] = (n > 0 ? atomicAdd(&to->next[threadIdx.x], n) : 0) - (end - n);
      }
      if (threadIdx.x == 31) shared_total = end;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (v[j] == 0) continue;
      const std::uint32_t at = counts[group_of(v[j])] + place[j];
#pragma unroll
      for (int a = 0; a < Dim; ++a) tile[at * Dim + a] = c.x[j][a];
      tile_node[at] = static_cast<std::uint16_t>(v[j]);
    }
    __syncthreads();
    const std::uint32_t total = shared_total;
    for (std::uint32_t at = threadIdx.x; at < total; at += kSortThreads)
      sorted_node[shift[group_of(tile_node[at])] + at] = tile_node[at];
    for (std::uint32_t k = threadIdx.x; k < total * Dim; k += kSortThreads) {
      const std::uint32_t at = k / Dim;
      const std::uint32_t point = shift[group_of(tile_node[at])] + at;
      sorted[std::uint64_t{point} * Dim + k % Dim] = tile[k];
    }
  }
}

/// Nodes of a group at a level from the groups' own on.
__device__ inline LevelNodes group_nodes(std::uint32_t g, int level) {
  const auto below = static_cast<unsigned>(level - kGroupLevel);
  const std::uint32_t first = (kGroups + g) << below;
  return {first / 2, below > 0 ? 1U << (below - 1) : 0U, first, 1U << below};
}

/// Splits in shared memory, copied for lanes.
struct SharedSplits {
  float2* above;
  float4* own;

  /// Copies the nodes' splits. Does any of them want a count?
  __device__ bool load(const WideSplit* __restrict__ splits, const LevelNodes& nodes) const {
    bool wanted = false;
    for (std::uint32_t k = threadIdx.x; k < nodes.count * kOwnCopies; k += kUpperThreads) {
      const WideSplit split = splits[nodes.first + k / kOwnCopies];
      own[k] = make_float4(split.plane, split.low, split.scale, __uint_as_float(split.state));
      wanted = wanted || (split.state & (WideSplit::kCounted | WideSplit::kCut)) == WideSplit::kCounted;
    }
    for (std::uint32_t k = threadIdx.x; k < nodes.above * kAboveCopies; k += kUpperThreads) {
      const WideSplit split = splits[nodes.above_first + k / kAboveCopies];
      above[k] = make_float2(split.plane, __uint_as_float(split.state));
    }
    return wanted;
  }
  [[nodiscard]] __device__ float2 cut(std::uint32_t k) const {
    return above[k * kAboveCopies + threadIdx.x % kAboveCopies];
  }
  [[nodiscard]] __device__ WideSplit split(std::uint32_t k) const {
    const float4 split = own[k * kOwnCopies + threadIdx.x % kOwnCopies];
    return {split.x, split.y, split.z, __float_as_uint(split.w)};
  }
};

/// Bins of a group in shared memory: words have bin k, in their lower half, and bin k + kGroupBins / 2.
struct HalfBins {
  static constexpr std::uint32_t kWords = kGroupBins / 2, kFullHalf = 0x8000;
  std::uint32_t* words;
  std::uint32_t* bins;  ///< the group's, of all blocks

  /// Adds one. The thread whose addition brings a bin of 16 bits to half of its range moves that half on to the bins in
  /// memory. If 32767 more came before it is done the bin would overflow; that is not excluded, but very unlikely, and
  /// a wrong count costs time only: a bracket misses its cut.
  __device__ void operator()(std::uint32_t bin) const {
    const unsigned half = bin < kWords ? 0U : 16U;
    const std::uint32_t word = bin < kWords ? bin : bin - kWords;
    const std::uint32_t before = atomicAdd(&words[word], 1U << half);
    if (((before >> half) & 0xffffU) != kFullHalf - 1) return;
    atomicSub(&words[word], kFullHalf << half);
    atomicAdd(&bins[bin], kFullHalf);
  }
  /// Adds all to the bins of all blocks, and clears them.
  __device__ void add_up() const {
    for (std::uint32_t k = threadIdx.x; k < kWords; k += kUpperThreads) {
      const std::uint32_t two = words[k];
      words[k] = 0;
      if ((two & 0xffffU) != 0U) atomicAdd(&bins[k], two & 0xffffU);
      if ((two >> 16U) != 0U) atomicAdd(&bins[k + kWords], two >> 16U);
    }
  }
};

/// Counts a sorted sample at a level from the groups' own on. Each block takes an equal stretch of it, and of that one
/// group after another. Bytes a point of the sample: 4 Dim + 4.
template <int Dim>
__global__ void __launch_bounds__(kUpperThreads, 1)
    wide_count_groups_kernel(const float* __restrict__ sample, const SampleGroups* __restrict__ groups, int level,
                             const WideSplit* __restrict__ splits, std::uint16_t* __restrict__ node,
                             std::uint32_t* __restrict__ bins) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const own = reinterpret_cast<float4*>(memory);
  auto* const above = reinterpret_cast<float2*>(own + kGroupNodes * kOwnCopies);
  auto* const words = reinterpret_cast<std::uint32_t*>(above + kGroupNodes / 2 * kAboveCopies);
  const SharedSplits mine{above, own};
  for (std::uint32_t k = threadIdx.x; k < HalfBins::kWords; k += kUpperThreads) words[k] = 0;
  const std::uint64_t fours = groups->begins[kGroups] / 4;
  const auto from = static_cast<std::uint32_t>(fours * blockIdx.x / gridDim.x);
  const auto to = static_cast<std::uint32_t>(fours * (blockIdx.x + 1) / gridDim.x);
  for (std::uint32_t g = 0; g < kGroups; ++g) {
    const std::uint32_t begin = max(from, groups->begins[g] / 4);
    const std::uint32_t end = min(to, groups->begins[g + 1] / 4);
    if (begin >= end) continue;
    const LevelNodes nodes = group_nodes(g, level);
    if (__syncthreads_or(mine.load(splits, nodes) ? 1 : 0) == 0) continue;
    const HalfBins counts{words, bins + std::uint64_t{g} * kGroupBins};
    count_fours<Dim>(sample, begin + threadIdx.x, end, kUpperThreads, nodes, guess_bins(level), mine, node, counts);
    __syncthreads();  // before the next group's splits too
    counts.add_up();
  }
}

}  // namespace amrbench::partitioners::gpu
