#pragma once
// Kernels of gpu/first_round/sample.cuh. For each level there are two: one that goes over the sample, sends each point
// a level down and counts it in its node's histogram; and one, a thread block a node, that reads cut and bracket off
// the histogram. Upper levels have few nodes, so their histograms are counted in shared memory.
#include "partitioners/orb/gpu/cut.cuh"
#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/first_round/quantile_table.cuh"

namespace amrbench::partitioners::gpu {

constexpr int kGuessThreads = 512;

/// Levels whose histograms a thread block holds in shared memory, and bins of all nodes of such a level.
constexpr int kUpperLevels = 4;
constexpr std::uint32_t kUpperBins = 32768;
constexpr int kUpperThreads = 1024;
template <bool Upper>
constexpr unsigned kCountSampleThreads = Upper ? kUpperThreads : 256;

/// Bins of a node's box at a level: as many as a thread block reads quickly, 2^20 in all, fewer at upper levels.
__host__ __device__ constexpr std::uint32_t guess_bins(int level) {
  return (level < kUpperLevels ? kUpperBins : 1U << 20U) >> static_cast<unsigned>(level);
}
constexpr std::size_t kGuessBins = std::size_t{1} << 20;
static_assert(guess_bins(kFirstLevels - 1) >= kGuessThreads && guess_bins(kUpperLevels - 1) >= kGuessThreads);

/// Bit of a bin with a heavy point.
constexpr std::uint32_t kHeavyBin = 1U << 31U;

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

/// Cells that were not cut, to be cut once more: they are known exactly, what is below them is guessed anew. start:
/// of each node the cell above it, or itself, that is cut once more; else 0.
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
  std::uint32_t heavy[4];  ///< kHeavyNode or 0

  /// Reads fours of number `four`; points of the level above go down to the level where their node is cut. False: no
  /// point is at either level, and coordinates are not read.
  __device__ bool read(const float* __restrict__ sample, const std::uint16_t* __restrict__ node, std::uint32_t four,
                       std::uint32_t first, const SampleSplit* __restrict__ splits) {
    const uint2 packed = reinterpret_cast<const uint2*>(node)[four];
    v[0] = packed.x & 0xffffU;
    v[1] = packed.x >> 16U;
    v[2] = packed.y & 0xffffU;
    v[3] = packed.y >> 16U;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      heavy[j] = v[j] & kHeavyNode;
      v[j] &= ~kHeavyNode;
    }
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

/// Adds a heavy point's copies to its bin and marks it. A warp's are added up first.
__device__ inline void add_heavy(std::uint32_t* bin, std::uint32_t copies) {
  const unsigned same = __match_any_sync(__activemask(), reinterpret_cast<unsigned long long>(bin));
  const unsigned all = __reduce_add_sync(same, copies);
  if ((same & ((1U << (threadIdx.x & 31U)) - 1U)) != 0U) return;
  atomicAdd(bin, all);
  if (*static_cast<volatile std::uint32_t*>(bin) < kHeavyBin) atomicOr(bin, kHeavyBin);
}

/// Counts the sample's points in the histograms of the level's nodes and writes their nodes, four points a thread at a
/// time. Bytes a point of the sample: 4 Dim + 4. sample and node have room for a multiple of 4; nodes of what is no
/// point are 0. Upper: for one of the upper levels, by blocks that stay, each of which counts in its shared memory
/// first; else each point is counted where the histogram lies.
template <int Dim, bool Upper>
__global__ void __launch_bounds__(kCountSampleThreads<Upper>)
    count_sample_kernel(const float* __restrict__ sample, std::uint32_t fours, int level,
                        const SampleSplit* __restrict__ splits, std::uint16_t* __restrict__ node,
                        std::uint32_t* __restrict__ bins) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr unsigned kBlock = kCountSampleThreads<Upper>;
  const std::uint32_t first = 1U << static_cast<unsigned>(level), n = guess_bins(level);
  const auto last = static_cast<float>(n - 1U);
  std::uint32_t* const mine = Upper ? reinterpret_cast<std::uint32_t*>(memory) : bins;
  if constexpr (Upper) {
    for (std::uint32_t b = threadIdx.x; b < kUpperBins; b += kBlock) mine[b] = 0;
    __syncthreads();
  }
  for (std::uint32_t four = blockIdx.x * kBlock + threadIdx.x; four < fours; four += gridDim.x * kBlock) {
    FourAtLevel<Dim> p;
    if (!p.read(sample, node, four, first, splits)) continue;
    std::uint32_t* to[4] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (p.v[j] - first >= first) continue;
      const SampleSplit split = splits[p.v[j]];
      if ((split.state & SampleSplit::kCounted) == 0U) continue;
      const float position = (on_axis<Dim>(p.x[j], split.state) - split.low) * split.scale;
      const auto bin = static_cast<std::uint32_t>(position < last ? (position > 0.0F ? position : 0.0F) : last);
      to[j] = &mine[(p.v[j] - first) * n + bin];
      if (p.heavy[j] == 0) atomicAdd(to[j], 1U);
    }
    const bool heavy = (p.heavy[0] & p.heavy[1] & p.heavy[2] & p.heavy[3]) != 0;
    const bool together = heavy && to[0] == to[1] && to[0] == to[2] && to[0] == to[3];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (p.heavy[j] != 0 && to[j] != nullptr && (j == 0 || !together)) add_heavy(to[j], together ? 4U : 1U);
#pragma unroll
    for (int j = 0; j < 4; ++j) p.v[j] |= p.heavy[j];
    reinterpret_cast<uint2*>(node)[four] = make_uint2(p.v[0] | p.v[1] << 16U, p.v[2] | p.v[3] << 16U);
  }
  if constexpr (Upper) {
    __syncthreads();
    for (std::uint32_t b = threadIdx.x; b < kUpperBins; b += kBlock) {
      if (mine[b] > 0) atomicAdd(&bins[b], mine[b] & ~kHeavyBin);
      if (mine[b] >= kHeavyBin) atomicOr(&bins[b], kHeavyBin);
    }
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

/// A float below x, by 7 steps at most, whose last two bits are the axis. (Four bit patterns that differ in their last
/// two bits are four neighbouring floats, whatever the sign.)
__device__ inline float low_end(float x, int axis) {
  constexpr std::uint32_t kLowest = 0x00800000U;  // key of -FLT_MAX
  const std::uint32_t key = ordered_bits(x);
  const float below = from_ordered_bits(key < kLowest + 4U ? kLowest : key - 4U);
  return __uint_as_float((__float_as_uint(below) & ~3U) | static_cast<std::uint32_t>(axis));
}

/// Where a bracket lies in its node's histogram: bins of its low end, of the cut and of its high end.
struct GuessBins {
  std::uint32_t low, cut, high;
  float within;                ///< how far into its bin the cut lies
  std::uint32_t begins, ends;  ///< points of the sample before the bracket and up to its end
  std::uint32_t heavy;         ///< those of the cut's bin that stand for a heavy point
};

/// A heavy point goes to one side as a whole, the nearer one. The points beside it must lie in the bracket, too. bins:
/// n of the node.
__device__ inline void keep_whole(const std::uint32_t* bins, std::uint32_t n, bool low_open, bool high_open,
                                  GuessBins& at) {
  constexpr std::uint32_t kBeside = 4;
  at.within = at.within < 0.5F ? 0.0F : 1.0F;
  std::uint32_t beside = 0;
  for (std::uint32_t k = 1; k <= kBeside; ++k) {
    const std::uint32_t low = at.cut >= k ? bins[at.cut - k] & ~kHeavyBin : 0,
                        high = at.cut + k < n ? bins[at.cut + k] & ~kHeavyBin : 0;
    beside += low + high;
    if (!low_open && at.low > 0) at.begins -= bins[--at.low] & ~kHeavyBin;
    if (!high_open && at.high + 1 < n) at.ends += bins[++at.high] & ~kHeavyBin;
  }
  at.heavy -= min(at.heavy, beside / kBeside);  // light ones, twice as many as in a bin beside it
}

/// Writes the bracket of v and prepares its children.
template <class T, int Dim>
__device__ inline void write_guess(std::uint32_t v, int level, const GuessBins& at, bool low_open, bool high_open,
                                   double side_tolerance, const QuantileTable<T, Dim>& quantiles,
                                   CutGuess<T, Dim>* guesses, SampleSplit* splits, float2* table) {
  CutGuess<T, Dim>& guess = guesses[v];
  SampleSplit split = splits[v];
  const int axis = guess.axis;
  const float bin = split.scale > 0.0F ? 1.0F / split.scale : 0.0F;
  const bool to_end = high_open || split.scale == 0.0F || at.high + 1 == guess_bins(level);
  const float from = low_open ? split.low : split.low + static_cast<float>(at.low) * bin;
  const float to = to_end ? guess.range.upper[axis] : split.low + static_cast<float>(at.high + 1) * bin;
  // fmaxf and fminf pass over NaN.
  const float low = low_end(fminf(fmaxf(from, -FLT_MAX), FLT_MAX), axis);
  const float high = fmaxf(fminf(to, FLT_MAX), -FLT_MAX);
  table[v] = make_float2(low, high);
  guess.inner = 1;
  const float cut = split.low + (static_cast<float>(at.cut) + at.within) * bin;
  const float middle = fminf(fmaxf(cut, guess.range.lower[axis]), guess.range.upper[axis]);
  const T plane = min(max(quantiles.coordinate(middle, axis), guess.box.lower[axis]), guess.box.upper[axis]);
  split.plane = middle;
  split.state |= SampleSplit::kCut;
  splits[v] = split;
  const std::uint32_t left = left_leaves(guess.leaves);
  for (std::uint32_t side = 0; side < 2; ++side) {
    CutGuess<T, Dim>& child = guesses[2 * v + side];
    child.leaves = side == 0 ? left : guess.leaves - left;
    cut_box(guess.box, axis, plane, side, child.box);
    cut_box(guess.range, axis, middle, side, child.range);
    child.axis = cut_axis(child.box, side_tolerance);
  }
  if (level + 1 == kFirstLevels) return;
  for (std::uint32_t child = 2 * v; child < 2 * v + 2; ++child)
    splits[child] = counted_split(guesses[child], level + 1);
}

/// The longest run of empty bins between others from `first` to `last`, in shared memory: its length above 32 bits, and
/// where it begins. bins: a thread has `mine` of them. Called by a block, after a barrier; a barrier must follow.
__device__ inline void find_gap(const std::uint32_t* bins, std::uint32_t mine, std::uint32_t first, std::uint32_t last,
                                unsigned long long* longest) {
  __shared__ std::uint32_t ends[kGuessThreads];  // behind the last bin of each thread with points, or 0
  const std::uint32_t from = max(threadIdx.x * mine, first);
  const std::uint32_t to = min((threadIdx.x + 1) * mine, last + 1);
  std::uint32_t end = 0;
  for (std::uint32_t b = from; b < to; ++b) end = bins[b] > 0 ? b + 1 : end;
  ends[threadIdx.x] = end;
  if (threadIdx.x == 0) *longest = 0;
  __syncthreads();
  if (end == 0) return;
  std::uint32_t before = 0;
  for (std::uint32_t t = threadIdx.x; t > 0 && before == 0 && t * mine > first; --t) before = ends[t - 1];
  for (std::uint32_t b = from; b < end; ++b) {
    if (bins[b] == 0) continue;
    if (before > 0 && b > before) atomicMax(longest, static_cast<unsigned long long>(b - before) << 32U | before);
    before = b + 1;
  }
}

/// One block a node of the level: its bracket from the sample's histogram, whole bins, which it clears. met: of each
/// level, how many of the sample's points are in brackets, but for heavy ones (where one has the root's cut the sample
/// tells little of the others, and fractions are better); a node with whose bracket these would be more than `room` is
/// left to a later round. gaps: null where they are not wanted.
template <class T, int Dim>
__global__ void __launch_bounds__(kGuessThreads)
    guess_kernel(int level, float sigmas, std::uint32_t room, double side_tolerance,
                 const QuantileTable<T, Dim> quantiles, std::uint32_t* bins, CutGuess<T, Dim>* guesses,
                 SampleSplit* splits, float2* table, BracketGap* gaps, std::uint32_t* met) {
  __shared__ std::uint32_t sums[kGuessThreads / 32];
  __shared__ std::uint32_t shared_size;
  __shared__ GuessBins at;
  __shared__ unsigned long long gap;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  const CutGuess<T, Dim>& guess = guesses[v];
  if ((splits[v].state & (SampleSplit::kCounted | SampleSplit::kCut)) != SampleSplit::kCounted) return;
  const std::uint32_t n = guess_bins(level);
  const std::uint32_t mine = n / kGuessThreads;
  std::uint32_t* const all = bins + std::uint64_t{blockIdx.x} * n;
  const std::uint32_t* const from = all + std::uint64_t{threadIdx.x} * mine;
  std::uint32_t sum = 0;
  if (mine % 4 == 0) {
#pragma unroll 8
    for (std::uint32_t b = 0; b < mine / 4; ++b) {
      const uint4 four = reinterpret_cast<const uint4*>(from)[b];
      sum += (four.x & ~kHeavyBin) + (four.y & ~kHeavyBin) + (four.z & ~kHeavyBin) + (four.w & ~kHeavyBin);
    }
  } else {
    for (std::uint32_t b = 0; b < mine; ++b) sum += from[b] & ~kHeavyBin;
  }
  const std::uint32_t behind = sum_up_to(sum, sums);
  const std::uint32_t before = behind - sum;
  if (threadIdx.x == kGuessThreads - 1) shared_size = behind;
  __syncthreads();
  const std::uint32_t size = shared_size;
  const auto clear_bins = [&] {
    for (std::uint32_t b = threadIdx.x; b < n / 4; b += kGuessThreads)
      reinterpret_cast<uint4*>(all)[b] = make_uint4(0, 0, 0, 0);
  };
  if (size < kLeastSample) return clear_bins();
  const double share = static_cast<double>(left_leaves(guess.leaves)) / guess.leaves;
  const auto reach = static_cast<std::uint32_t>(sigmas * sqrt(size * share * (1 - share))) + 2;
  const auto cut = min(max(static_cast<std::uint32_t>(size * share), 1U), size - 1);
  const bool low_open = cut < reach;
  const bool high_open = cut + reach >= size;
  if (threadIdx.x == 0) {
    at.begins = 0;
    at.ends = size;
    at.heavy = 0;
  }
  __syncthreads();
  const auto find = [&](std::uint32_t rank, std::uint32_t& bin, float* within, std::uint32_t* begin,
                        std::uint32_t* end) {
    if (rank < before || rank >= behind) return;
    std::uint32_t b = 0;
    std::uint32_t below = before;
    while (below + (from[b] & ~kHeavyBin) <= rank) below += from[b++] & ~kHeavyBin;
    const std::uint32_t here = from[b] & ~kHeavyBin;
    bin = threadIdx.x * mine + b;
    if (within != nullptr) *within = (static_cast<float>(rank - below) + 0.5F) / static_cast<float>(here);
    if (within != nullptr && from[b] >= kHeavyBin) at.heavy = here;
    if (begin != nullptr) *begin = below;
    if (end != nullptr) *end = below + here;
  };
  if (!low_open) find(cut - reach, at.low, nullptr, &at.begins, nullptr);
  find(cut, at.cut, &at.within, nullptr, nullptr);
  if (!high_open) find(cut + reach, at.high, nullptr, nullptr, &at.ends);
  __syncthreads();
  if (threadIdx.x == 0 && at.heavy > 0) keep_whole(all, n, low_open, high_open, at);
  __syncthreads();
  if (gaps != nullptr) {
    find_gap(all, mine, low_open ? 0U : at.low, high_open ? n - 1 : at.high, &gap);
    __syncthreads();
  }
  clear_bins();
  if (threadIdx.x != 0) return;
  const std::uint32_t inside = at.ends - at.begins - (level > 0 || gaps != nullptr ? at.heavy : 0U);
  if (atomicAdd(&met[level], inside) + inside > room) {
    atomicSub(&met[level], inside);
    return;
  }
  if (gaps != nullptr) {
    const float bin = splits[v].scale > 0.0F ? 1.0F / splits[v].scale : 0.0F;
    gaps[v] = {splits[v].low + static_cast<float>(static_cast<std::uint32_t>(gap)) * bin,
               static_cast<float>(gap >> 32U) * bin};
  }
  write_guess(v, level, at, low_open, high_open, side_tolerance, quantiles, guesses, splits, table);
}

}  // namespace amrbench::partitioners::gpu
