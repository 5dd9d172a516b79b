#pragma once
// Kernels of gpu/first_round/sample.cuh that go over the sample. For each level one sends each point a level down and
// counts it in its node's histogram. Upper levels have few nodes, so their histograms are counted in shared memory.
// gpu/first_round/guess.cuh reads cuts and brackets off the histograms.
#include "partitioners/orb/gpu/cut.cuh"
#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/first_round/heavy.cuh"
#include "partitioners/orb/gpu/first_round/quantiles.cuh"

namespace amrbench::partitioners::gpu {

/// Levels whose histograms a thread block holds in shared memory, and bins of all nodes of such a level.
constexpr int kUpperLevels = 4;
constexpr std::uint32_t kUpperBins = 32768;
constexpr int kUpperThreads = 1024;
template <bool Upper>
constexpr unsigned kCountSampleThreads = Upper ? kUpperThreads : 256;

/// Bins of a node's box at a level: as many as a thread block reads quickly, 2^20 in all, fewer at upper levels.
__host__ __device__ constexpr std::uint32_t guess_bins(int level) {
  const std::uint32_t each = 1U << (20U - static_cast<unsigned>(level));
  return level < kUpperLevels ? kUpperBins >> static_cast<unsigned>(level) : each < kUpperBins ? each : kUpperBins;
}
constexpr std::size_t kGuessBins = std::size_t{1} << 20;

/// Of the sample's points, fours from `first` on are heavy: how many copies each stands for, their histograms, and a
/// chain of those in each bin: number + 1 of the first one, and of the next one, 0 at the end. bins null: no point is
/// heavy.
struct HeavySample {
  std::uint32_t first, count;  ///< count: of points, with those missing of the last four, which are at node 0
  const std::uint16_t* nodes;
  const std::uint64_t* copies;
  std::uint64_t* bins;
  std::uint32_t* chains;
  std::uint32_t* next;
  std::uint32_t* to;  ///< in which bin each was counted last
};

/// The part of a split that counting needs, once a node's box and axis are known.
template <class T, int Dim>
__device__ inline SampleSplit counted_split(const CutGuess<T, Dim>& guess, int level) {
  SampleSplit split{};
  if (guess.leaves < 2) return split;
  split.low = guess.range.lower[guess.axis];
  const float width = guess.range.upper[guess.axis] - split.low;
  const float scale = static_cast<float>(guess_bins(level)) / width;
  split.scale = width > 0.0F && scale < 1e30F ? scale : 0.0F;
  split.state = static_cast<std::uint32_t>(guess.axis) | SampleSplit::kCounted;
  return split;
}

/// Sets a guess to what is known of its node. by_quantiles: the guess keeps its range, of fractions.
template <class T, int Dim>
__device__ inline void set_guess(const OrbBox<T, Dim>& box, std::uint32_t leaves, double side_tolerance,
                                 bool by_quantiles, CutGuess<T, Dim>& guess) {
  guess.box = box;
  guess.leaves = leaves;
  guess.axis = cut_axis(box, side_tolerance);
  for (int a = 0; a < Dim && !by_quantiles; ++a) {
    guess.range.lower[a] = static_cast<float>(box.lower[a]);
    guess.range.upper[a] = static_cast<float>(box.upper[a]);
  }
}

/// The root; all nodes outer, all ranges empty.
template <class T, int Dim>
__global__ void start_sample_kernel(const OrbBox<T, Dim> box, std::uint32_t leaves, double side_tolerance,
                                    bool by_quantiles, CutGuess<T, Dim>* guesses, SampleSplit* splits, float2* table,
                                    uint2* ranges) {
  const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < kFirstInner) table[v] = make_float2(INFINITY, INFINITY);
  if (v < kFirstInner / 2) ranges[v] = make_uint2(~0U, 0U);
  if (v != 1) return;
  set_guess(box, leaves, side_tolerance, by_quantiles, guesses[1]);
  for (int a = 0; a < Dim && by_quantiles; ++a) guesses[1].range.upper[a] = 1;
  splits[1] = counted_split(guesses[1], 0);
}

/// start: of each node the cell above it, or itself, that is known and not cut, and shall be cut once more, for it has
/// so many points; else 0.
template <class T, int Dim>
__global__ void start_kernel(const Node<T, Dim>* __restrict__ nodes, std::uint32_t first, std::uint32_t least_points,
                             std::uint16_t* start) {
  const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= kFirstNodes) return;
  std::uint32_t cell = v;
  while (cell > 0 && (nodes[cell].known == 0 || nodes[cell].resolved != 0)) cell /= 2;
  const bool again = cell > 0 && cell < first && nodes[cell].leaves > 1 && nodes[cell].count >= least_points;
  start[v] = again ? static_cast<std::uint16_t>(cell) : std::uint16_t{0};
}

/// Cells that were not cut, to be cut once more: they are known exactly, what is below them is guessed anew. start: as
/// start_kernel has it.
template <class T, int Dim>
__global__ void restart_sample_kernel(const std::uint16_t* __restrict__ start, double side_tolerance, bool by_quantiles,
                                      CutGuess<T, Dim>* guesses, Node<T, Dim>* nodes, SampleSplit* splits,
                                      float2* table, const CodeSums sums) {
  const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= kFirstNodes) return;
  Node<T, Dim>& node = nodes[v];
  node.active = 0;
  const std::uint32_t cell = start[v];
  if (cell == 0) return;
  sums.counts[v] = 0;
  if (sums.weights != nullptr) sums.weights[v] = 0;
  node.resolved = 0;
  guesses[v].inner = 0;
  if (v < kFirstInner) table[v] = make_float2(INFINITY, INFINITY);
  if (v == cell) {
    set_guess(node.box, node.leaves, side_tolerance, by_quantiles, guesses[v]);
    splits[v] = counted_split(guesses[v], level_of(v));
  } else {
    node.known = 0;
    splits[v] = SampleSplit{};
  }
}

/// Four points of the sample at a level, whose first node is `first`, and their nodes.
template <int Dim>
struct FourAtLevel {
  union {
    float4 words[Dim];
    float x[4][Dim];
  };
  std::uint32_t v[4];

  /// Reads fours of number `four`; points of the level above go down to the level where their node is cut. False: no
  /// point is at either level, and coordinates are not read.
  __device__ bool read(const float* __restrict__ sample, const std::uint16_t* __restrict__ node, std::uint32_t four,
                       std::uint32_t first, const SampleSplit* __restrict__ splits) {
    const uint2 packed = reinterpret_cast<const uint2*>(node)[four];
    v[0] = packed.x & 0xffffU;
    v[1] = packed.x >> 16U;
    v[2] = packed.y & 0xffffU;
    v[3] = packed.y >> 16U;
    const std::uint32_t above = first / 2;
    bool any = false;
#pragma unroll
    for (int j = 0; j < 4; ++j) any = any || v[j] - above < 2 * first - above;
    if (!any) return false;
#pragma unroll
    for (int w = 0; w < Dim; ++w) words[w] = reinterpret_cast<const float4*>(sample)[std::uint64_t{four} * Dim + w];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (v[j] - above >= first - above) continue;
      const SampleSplit split = splits[v[j]];
      if ((split.state & SampleSplit::kCut) != 0U) v[j] = 2 * v[j] + (on_axis<Dim>(x[j], split.state) >= split.plane);
    }
    return true;
  }
};

/// Counts the sample's points in the histograms of the level's nodes and writes their nodes, four points a thread at a
/// time. Bytes a point of the sample: 4 Dim + 4. sample and node have room for a multiple of 4; nodes of what is no
/// point are 0. Upper: for one of the upper levels, by blocks that stay, each of which counts in its shared memory
/// first; else each point is counted where the histogram lies.
template <int Dim, bool Upper>
__global__ void __launch_bounds__(kCountSampleThreads<Upper>)
    count_sample_kernel(const float* __restrict__ sample, std::uint32_t fours, const HeavySample heavy, int level,
                        const SampleSplit* __restrict__ splits, std::uint16_t* __restrict__ node,
                        std::uint32_t* __restrict__ bins) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr unsigned kBlock = kCountSampleThreads<Upper>;
  const std::uint32_t first = 1U << static_cast<unsigned>(level), n = guess_bins(level);
  std::uint32_t* const mine = Upper ? reinterpret_cast<std::uint32_t*>(memory) : bins;
  if constexpr (Upper) {
    for (std::uint32_t b = threadIdx.x; b < kUpperBins; b += kBlock) mine[b] = 0;
    __syncthreads();
  }
  for (std::uint32_t four = blockIdx.x * kBlock + threadIdx.x; four < fours; four += gridDim.x * kBlock) {
    FourAtLevel<Dim> p;
    if (!p.read(sample, node, four, first, splits)) continue;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (p.v[j] - first >= first) continue;
      const SampleSplit split = splits[p.v[j]];
      if ((split.state & SampleSplit::kCounted) == 0U) continue;
      const std::uint32_t to =
          (p.v[j] - first) * n + static_cast<std::uint32_t>(split.place(on_axis<Dim>(p.x[j], split.state), n));
      const std::uint64_t copies = four < heavy.first ? kAlsoLight : heavy.copies[4 * (four - heavy.first) + j];
      if ((copies & kAlsoLight) != 0) count_in_bin(mine, to);
      if (four < heavy.first) continue;
      add_weight(&heavy.bins[to], copies & ~kAlsoLight);
      const std::uint32_t i = 4 * (four - heavy.first) + j;
      heavy.to[i] = to;
      heavy.next[i] = atomicExch(&heavy.chains[to], i + 1);
    }
    reinterpret_cast<uint2*>(node)[four] = make_uint2(p.v[0] | p.v[1] << 16U, p.v[2] | p.v[3] << 16U);
  }
  if constexpr (Upper) {
    __syncthreads();
    for (std::uint32_t b = threadIdx.x; b < kUpperBins; b += kBlock)
      if (mine[b] > 0) atomicAdd(&bins[b], mine[b]);
  }
}

/// Where the sample's points of the level's nodes lie on their nodes' axes: keys of the least and of the greatest
/// coordinate. Fractions of different axes go together where points lie on lines or in few places, so a cell's points
/// fill a small part of its range, and bins over the whole range would tell few of them apart. Blocks stay.
template <int Dim>
__global__ void __launch_bounds__(kUpperThreads, 1)
    sample_range_kernel(const float* __restrict__ sample, std::uint32_t fours, int level,
                        const SampleSplit* __restrict__ splits, const std::uint16_t* __restrict__ node, uint2* ranges) {
  __shared__ uint2 mine[kFirstInner / 2];
  const std::uint32_t first = 1U << static_cast<unsigned>(level);
  for (std::uint32_t k = threadIdx.x; k < first; k += kUpperThreads) mine[k] = make_uint2(~0U, 0U);
  __syncthreads();
  for (std::uint32_t four = blockIdx.x * kUpperThreads + threadIdx.x; four < fours; four += gridDim.x * kUpperThreads) {
    FourAtLevel<Dim> p;
    if (!p.read(sample, node, four, first, splits)) continue;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t k = p.v[j] - first;
      if (k >= first) continue;
      const std::uint32_t key = ordered_bits(on_axis<Dim>(p.x[j], splits[p.v[j]].state));
      if (key < mine[k].x) atomicMin(&mine[k].x, key);
      if (key > mine[k].y) atomicMax(&mine[k].y, key);
    }
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < first; k += kUpperThreads) {
    if (mine[k].x > mine[k].y) continue;
    atomicMin(&ranges[k].x, mine[k].x);
    atomicMax(&ranges[k].y, mine[k].y);
  }
}

/// Narrows the ranges of the level's nodes to what the sample has there, and sets `ranges` back. A thread a node.
template <class T, int Dim>
__global__ void narrow_range_kernel(int level, uint2* ranges, CutGuess<T, Dim>* guesses, SampleSplit* splits) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + k;
  if (k >= 1U << static_cast<unsigned>(level)) return;
  const uint2 range = ranges[k];
  ranges[k] = make_uint2(~0U, 0U);
  if (range.x > range.y || (splits[v].state & (SampleSplit::kCounted | SampleSplit::kCut)) != SampleSplit::kCounted)
    return;
  CutGuess<T, Dim>& guess = guesses[v];
  guess.range.lower[guess.axis] = from_ordered_bits(range.x);
  guess.range.upper[guess.axis] = from_ordered_bits(range.y);
  splits[v] = counted_split(guess, level);
}

}  // namespace amrbench::partitioners::gpu
