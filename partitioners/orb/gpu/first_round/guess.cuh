#pragma once
// The kernel of gpu/first_round/sample.cuh that reads a node's cut and bracket off its histogram, a thread block a
// node.
#include <cfloat>

#include "partitioners/orb/gpu/first_round/guess_places.cuh"

namespace amrbench::partitioners::gpu {

/// A float below x, by 7 steps at most, whose last two bits are the axis. (Four bit patterns that differ in their last
/// two bits are four neighbouring floats, whatever the sign.)
__device__ inline float low_end(float x, int axis) {
  constexpr std::uint32_t kLowest = 0x00800000U;  // key of -FLT_MAX
  const std::uint32_t key = ordered_bits(x);
  const float below = from_ordered_bits(key < kLowest + 4U ? kLowest : key - 4U);
  return __uint_as_float((__float_as_uint(below) & ~3U) | static_cast<std::uint32_t>(axis));
}

/// Writes the bracket of v and prepares its children.
template <class T, int Dim>
__device__ inline void write_guess(std::uint32_t v, int level, const GuessBins& at, double side_tolerance,
                                   const QuantileTable<T, Dim>& quantiles, CutGuess<T, Dim>* guesses,
                                   SampleSplit* splits, float2* table) {
  CutGuess<T, Dim>& guess = guesses[v];
  SampleSplit split = splits[v];
  const int axis = guess.axis;
  const float bin = split.scale > 0.0F ? 1.0F / split.scale : 0.0F;
  const bool to_end = at.high_open || split.scale == 0.0F || at.high + 1 == guess_bins(level);
  const float from = at.low_open ? split.low : split.low + static_cast<float>(at.low) * bin;
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
/// where it begins. A thread has `mine` of them. Called by a block, after a barrier; a barrier must follow.
template <int Threads>
__device__ inline void find_gap(const Bins& bins, std::uint32_t mine, std::uint32_t first, std::uint32_t last,
                                unsigned long long* longest) {
  __shared__ std::uint32_t ends[Threads];  // behind the last bin of each thread with points, or 0
  const std::uint32_t from = max(threadIdx.x * mine, first);
  const std::uint32_t to = min((threadIdx.x + 1) * mine, last + 1);
  std::uint32_t end = 0;
  for (std::uint32_t b = from; b < to; ++b) end = copies_of(bins[b]) > 0 ? b + 1 : end;
  ends[threadIdx.x] = end;
  if (threadIdx.x == 0) *longest = 0;
  __syncthreads();
  if (end == 0) return;
  std::uint32_t before = 0;
  for (std::uint32_t t = threadIdx.x; t > 0 && before == 0 && t * mine > first; --t) before = ends[t - 1];
  for (std::uint32_t b = from; b < end; ++b) {
    if (copies_of(bins[b]) == 0) continue;
    if (before > 0 && b > before) atomicMax(longest, static_cast<unsigned long long>(b - before) << 32U | before);
    before = b + 1;
  }
}

/// A bin with so many times more points than both beside it may have them in one place.
constexpr std::uint32_t kSpike = 4;

/// Such a bin, at a node's cut.
struct Spike {
  std::uint32_t node, bin;
};
/// Of a level so many are looked at, each in so many parts.
constexpr std::uint32_t kMostSpikes = 16, kSpikeParts = 64;

/// What guesses of a level say of the sample's light points.
struct LevelMet {
  std::uint32_t points;  ///< in brackets
  std::uint32_t spikes;
};

/// Points in the bins beside one.
__device__ inline std::uint32_t around(const std::uint32_t* bins, std::uint32_t n, std::uint32_t bin) {
  return (bin > 0 ? bins[bin - 1] : 0) + (bin + 1 < n ? bins[bin + 1] : 0);
}

/// One block a node of the level: its bracket from the sample's histogram, whole bins, which it clears. light_share:
/// points of the sample of all points. weightless: do light ones weigh nothing? gaps: null where they are not wanted.
/// met: of each level; spikes: kMostSpikes of each level, bins with more than `crowd` points. A node with whose bracket
/// points in brackets would be more than `room` is left to a later round.
template <class T, int Dim, bool Deep>
__global__ void __launch_bounds__(kGuessThreads<Deep>)
    guess_kernel(int level, float sigmas, std::uint32_t room, std::uint32_t crowd, float light_share, bool weightless,
                 double side_tolerance, const QuantileTable<T, Dim> quantiles, const float* __restrict__ sample,
                 std::uint32_t* bins, HeavySample heavy, CutGuess<T, Dim>* guesses, SampleSplit* splits, float2* table,
                 BracketGap* gaps, LevelMet* met, Spike* spikes) {
  constexpr int kThreads = kGuessThreads<Deep>;
  __shared__ CountAndWeight sums[kThreads / 32 + 1];
  __shared__ GuessPlaces places;
  __shared__ GuessBins at;
  __shared__ unsigned long long gap;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  const CutGuess<T, Dim>& guess = guesses[v];
  if ((splits[v].state & (SampleSplit::kCounted | SampleSplit::kCut)) != SampleSplit::kCounted) return;
  const std::uint32_t n = guess_bins(level);
  bins += std::uint64_t{blockIdx.x} * n;
  const bool has_heavy = heavy.bins != nullptr;
  if (has_heavy) {
    heavy.bins += std::uint64_t{blockIdx.x} * n;
    heavy.chains += std::uint64_t{blockIdx.x} * n;
  }
  SampleHistogram<kThreads> all{{bins, heavy.bins}, threadIdx.x * (n / kThreads), n / kThreads};
  const CountAndWeight size = all.sum_up(sums);
  const auto clear_bytes = [](void* begin, std::uint32_t bytes) {
    for (std::uint32_t b = threadIdx.x; b < bytes / sizeof(uint4); b += kThreads)
      static_cast<uint4*>(begin)[b] = make_uint4(0, 0, 0, 0);
  };
  const auto clear_bins = [&] {
    clear_bytes(bins, n * sizeof(*bins));
    if (!has_heavy) return;
    clear_bytes(heavy.bins, n * sizeof(*heavy.bins));
    clear_bytes(heavy.chains, n * sizeof(*heavy.chains));
  };
  const std::uint64_t all_copies = copies_of(size);
  if (all_copies < kLeastSample) return clear_bins();
  const std::uint32_t left = left_leaves(guess.leaves);
  const double share = static_cast<double>(left) / guess.leaves;
  const auto reach = static_cast<std::uint64_t>(sigmas * sqrt(size.count * share * (1 - share))) + 2;
  const auto cut =
      min(max(static_cast<std::uint64_t>(static_cast<double>(all_copies) * share), std::uint64_t{1}), all_copies - 1);
  if (threadIdx.x == 0) {
    at.low_open = cut < reach;
    at.high_open = cut + reach >= all_copies;
  }
  const auto total = [](const CountAndWeight& sum) { return copies_of(sum); };
  if (cut >= reach) all.find(cut - reach, total, places.low);
  all.find(cut, total, places.cut);
  all.find(cut + reach, total, places.high);
  __syncthreads();
  if (threadIdx.x == 0)
    at.within = (static_cast<float>(cut - copies_of(places.cut.before)) + 0.5F) /
                static_cast<float>(copies_of(places.cut.here));
  if (has_heavy) {
    const HeavyOfNode<Dim, Deep> of_node{sample, heavy, splits[v], v, n};
    keep_whole(all, size, cut, weightless, guess.leaves, left, light_share, sigmas, of_node, places, at);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    at.low = places.low.bin;
    at.cut = places.cut.bin;
    at.high = places.high.bin;
  }
  if (gaps != nullptr) {
    __syncthreads();
    find_gap<kThreads>(all.bins, all.mine, at.low_open ? 0U : at.low, at.high_open ? n - 1 : at.high, &gap);
  }
  const std::uint32_t here = places.cut.here.count;
  const bool is_spike = threadIdx.x == 0 && here > crowd && around(bins, n, at.cut) < here / kSpike;
  __syncthreads();
  clear_bins();
  if (threadIdx.x != 0) return;
  if (is_spike) {
    const std::uint32_t k = atomicAdd(&met[level].spikes, 1U);
    if (k < kMostSpikes) spikes[static_cast<unsigned>(level) * kMostSpikes + k] = {v, at.cut};
  }
  const std::uint32_t begins = at.low_open ? 0 : places.low.before.count;
  const std::uint32_t ends = at.high_open ? size.count : places.high.before.count + places.high.here.count;
  const std::uint32_t inside = ends - begins;
  if (atomicAdd(&met[level].points, inside) + inside > room) {
    atomicSub(&met[level].points, inside);
    return;
  }
  if (gaps != nullptr) {
    const float bin = splits[v].scale > 0.0F ? 1.0F / splits[v].scale : 0.0F;
    gaps[v] = {splits[v].low + static_cast<float>(static_cast<std::uint32_t>(gap)) * bin,
               static_cast<float>(gap >> 32U) * bin};
  }
  write_guess(v, level, at, side_tolerance, quantiles, guesses, splits, table);
}

/// Counts the sample's m light points in the parts of a level's spikes: in one place, or all over the bin?
template <int Dim>
__global__ void spike_kernel(const float* __restrict__ sample, const std::uint16_t* __restrict__ node, std::uint32_t m,
                             int level, const SampleSplit* __restrict__ splits, const Spike* __restrict__ spikes,
                             std::uint32_t count, std::uint32_t* parts) {
  __shared__ std::uint32_t mine[kMostSpikes * kSpikeParts];
  for (std::uint32_t k = threadIdx.x; k < count * kSpikeParts; k += blockDim.x) mine[k] = 0;
  __syncthreads();
  const std::uint32_t n = guess_bins(level);
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x) {
    const int below = level_of(node[i]) - level;  // guesses have sent points on since
    if (below < 0) continue;
    const std::uint32_t v = std::uint32_t{node[i]} >> static_cast<unsigned>(below);
    for (std::uint32_t k = 0; k < count; ++k) {
      if (spikes[k].node != v) continue;
      float c[Dim];
#pragma unroll
      for (int a = 0; a < Dim; ++a) c[a] = sample[std::uint64_t{i} * Dim + a];
      const SampleSplit split = splits[v];
      const float place = split.place(on_axis<Dim>(c, split.state), n) - static_cast<float>(spikes[k].bin);
      if (place >= 0.0F && place < 1.0F)
        count_in_bin(mine, k * kSpikeParts + static_cast<std::uint32_t>(place * kSpikeParts));
    }
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < count * kSpikeParts; k += blockDim.x)
    if (mine[k] > 0) atomicAdd(&parts[k], mine[k]);
}

}  // namespace amrbench::partitioners::gpu
