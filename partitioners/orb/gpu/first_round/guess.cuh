#pragma once
// The kernel of gpu/first_round/sample.cuh that reads a node's cut and bracket off its histogram, a thread block a
// node.
#include <cfloat>

#include "partitioners/orb/gpu/first_round/sample_kernels.cuh"

namespace amrbench::partitioners::gpu {

constexpr int kGuessThreads = 512;
static_assert(guess_bins(kFirstLevels - 1) >= kGuessThreads && guess_bins(kUpperLevels - 1) >= kGuessThreads);

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
  float within;              ///< how far into its bin the cut lies
  bool low_open, high_open;  ///< the bracket reaches to the end of the node
};

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

/// What light points, each one copy, and heavy ones stand for, in parts of copies.
__device__ inline std::uint64_t copies_of(const CountAndWeight& sum) {
  return (std::uint64_t{sum.count} << kCopyBits) + sum.weight;
}

/// The longest run of empty bins between others from `first` to `last`, in shared memory: its length above 32 bits, and
/// where it begins. A thread has `mine` of them. Called by a block, after a barrier; a barrier must follow.
__device__ inline void find_gap(const Bins& bins, std::uint32_t mine, std::uint32_t first, std::uint32_t last,
                                unsigned long long* longest) {
  __shared__ std::uint32_t ends[kGuessThreads];  // behind the last bin of each thread with points, or 0
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

/// A node's histogram as a block sees it: a thread has `mine` bins from `begin` on. Counts are of light points, weights
/// parts of copies of heavy ones. All threads call sum_up() first.
struct SampleHistogram {
  Bins bins;
  std::uint32_t begin, mine;
  CountAndWeight before, behind;  ///< before the thread's bins, and up to their end

  /// Sums the bins up; returns the sum of all. sums: shared, one a warp, and one more.
  __device__ CountAndWeight sum_up(CountAndWeight* sums) {
    CountAndWeight sum{0, 0};
    if (mine % 4 == 0) {
#pragma unroll 8
      for (std::uint32_t b = 0; b < mine; b += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(bins.counts + begin + b);
        sum.count += four.x + four.y + four.z + four.w;
      }
    } else {
      for (std::uint32_t b = 0; b < mine; ++b) sum.count += bins.counts[begin + b];
    }
    if (bins.weights != nullptr)
#pragma unroll 8
      for (std::uint32_t b = 0; b < mine; ++b) sum.weight += bins.weights[begin + b];
    before = behind = sum_up_to(sum, sums);
    before -= sum;
    if (threadIdx.x == kGuessThreads - 1) sums[kGuessThreads / 32] = behind;
    __syncthreads();
    return sums[kGuessThreads / 32];
  }
  /// Writes the place of a rank, where it is in the thread's bins. measure: what ranks are of. All threads call.
  template <class Measure>
  __device__ void find(std::uint64_t rank, const Measure& measure, BinPlace& found) const {
    const bool has = rank >= measure(before) && rank < measure(behind);
    const BinPlace place =
        find_bin(bins, has, begin, mine, before, [&](const CountAndWeight& up_to) { return measure(up_to) > rank; });
    if (has) found = place;
  }
};

/// Where a node's cut and the ends of its bracket stand in its histogram.
struct GuessPlaces {
  BinPlace low, cut, high;
};

/// Bins with heavy points that a bracket's end goes on over. Cuts above the node may have gone by one.
constexpr int kHeavySteps = 3;

/// Where a cut by number lies among light points, and whether a heavy point holds it back: to the left of that point's
/// bin (-1), to its right (1), or not (0). Where it does, places.cut is that bin.
struct CutByNumber {
  double rank;
  int beside;
};

/// Where light points weigh nothing, a cut is by number as far as heavy points allow. Writes the place of the one at
/// which the left weight reaches its target, and of those before and behind it. light_left, light_right: as in
/// keep_whole(). All threads call, after a barrier.
__device__ inline CutByNumber cut_between_heavy(const SampleHistogram& all, const CountAndWeight& size, double share,
                                                double light_left, double light_right, GuessPlaces& places) {
  const auto copies = [](const CountAndWeight& sum) { return sum.weight; };
  const double target = share * static_cast<double>(size.weight);
  __syncthreads();  // all have read the places
  all.find(min(static_cast<std::uint64_t>(target), size.weight - 1), copies, places.cut);
  __syncthreads();
  const BinPlace cut = places.cut;
  const std::uint64_t behind = cut.before.weight + cut.here.weight;
  if (cut.before.weight > 0) all.find(cut.before.weight - 1, copies, places.low);
  all.find(behind, copies, places.high);
  __syncthreads();
  const double here = cut.before.count + 0.5 * cut.here.count;
  const bool nearer = target - static_cast<double>(cut.before.weight) <= static_cast<double>(behind) - target;
  const bool left = here > size.count - light_right || (nearer && here >= light_left);
  const double first = cut.before.weight > 0 ? places.low.before.count + places.low.here.count : 0.0;
  const double last = behind < size.weight ? places.high.before.count : size.count;
  const double wanted = share * size.count;
  if (left) return wanted < here ? CutByNumber{fmax(wanted, first), 0} : CutByNumber{here, -1};
  return wanted > here ? CutByNumber{fmin(wanted, last), 0} : CutByNumber{here, 1};
}

/// A heavy point goes to one side as a whole, the nearer one, and the points beside it must lie in the bracket, too.
/// Where it leaves too few points beside it for the leaves, and where light points weigh nothing, the cut is by number.
/// weightless: do they? left, share: leaves of the left child, and their part of all. light_share: points of the sample
/// of all points. numbers: of heavy points by bin; several in one do not go as a whole. All threads call, after a
/// barrier; a barrier must follow.
__device__ inline void keep_whole(const SampleHistogram& all, const CountAndWeight& size, bool weightless,
                                  std::uint32_t leaves, std::uint32_t left, double light_share, float sigmas,
                                  const std::uint32_t* numbers, GuessPlaces& places, GuessBins& at) {
  const auto total = [](const CountAndWeight& sum) { return copies_of(sum); };
  const auto lights = [](const CountAndWeight& sum) { return std::uint64_t{sum.count}; };
  const double share = static_cast<double>(left) / leaves;
  const double light_left = left * light_share, light_right = (leaves - left) * light_share;
  const BinPlace cut = places.cut;
  CutByNumber by_number{-1, 0};
  double number = 0;  // of how many the deviation is
  if (weightless && size.weight > 0 && size.count > 0) {
    by_number = cut_between_heavy(all, size, share, light_left, light_right, places);
    number = size.count * share * (1 - share);
  } else if (cut.before.count + cut.here.count < light_left) {
    by_number.rank = number = light_left;
  } else if (size.count - cut.before.count < light_right) {
    by_number.rank = size.count - light_right;
    number = light_right;
  }
  if (by_number.rank >= 0 && size.count > 0) {
    const double last = size.count - 1.0;
    const double rank = fmin(by_number.rank, last);
    const double reach = sigmas * sqrt(number) + 2;
    __syncthreads();
    if (threadIdx.x == 0) at = {0, 0, 0, 0.5F * (1 + by_number.beside), reach > rank, reach > last - rank};
    all.find(static_cast<std::uint64_t>(fmax(rank - reach, 0.0)), lights, places.low);
    if (by_number.beside == 0) all.find(static_cast<std::uint64_t>(rank), lights, places.cut);
    all.find(static_cast<std::uint64_t>(rank + reach), lights, places.high);
    return;
  }
  for (int step = 0; step < kHeavySteps; ++step) {
    const BinPlace low = places.low, high = places.high;
    const bool down = !at.low_open && low.here.weight > 0, up = !at.high_open && high.here.weight > 0;
    const std::uint64_t behind = copies_of(high.before) + copies_of(high.here);
    __syncthreads();
    if (down) all.find(copies_of(low.before) - 1, total, places.low);  // none before the first
    if (up) all.find(behind, total, places.high);
    if (threadIdx.x == 0) {
      at.low_open = at.low_open || (down && copies_of(low.before) == 0);
      at.high_open = at.high_open || (up && behind >= copies_of(size));
    }
    __syncthreads();
  }
  if (threadIdx.x == 0 && numbers[cut.bin] == 1) at.within = at.within < 0.5F ? 0.0F : 1.0F;
}

/// One block a node of the level: its bracket from the sample's histogram, whole bins, which it clears. light_share:
/// points of the sample of all points. weightless: do light ones weigh nothing? heavy: null where none is.
/// gaps: null where they are not wanted. met: of each level, how many of the sample's light points are in brackets; a
/// node with whose bracket these would be more than `room` is left to a later round.
template <class T, int Dim>
__global__ void __launch_bounds__(kGuessThreads)
    guess_kernel(int level, float sigmas, std::uint32_t room, float light_share, bool weightless, double side_tolerance,
                 const QuantileTable<T, Dim> quantiles, std::uint32_t* bins, HeavyBins heavy, CutGuess<T, Dim>* guesses,
                 SampleSplit* splits, float2* table, BracketGap* gaps, std::uint32_t* met) {
  __shared__ CountAndWeight sums[kGuessThreads / 32 + 1];
  __shared__ GuessPlaces places;
  __shared__ GuessBins at;
  __shared__ unsigned long long gap;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  const CutGuess<T, Dim>& guess = guesses[v];
  if ((splits[v].state & (SampleSplit::kCounted | SampleSplit::kCut)) != SampleSplit::kCounted) return;
  const std::uint32_t n = guess_bins(level);
  bins += std::uint64_t{blockIdx.x} * n;
  const bool has_heavy = heavy.copies != nullptr;
  if (has_heavy) {
    heavy.copies += std::uint64_t{blockIdx.x} * n;
    heavy.numbers += std::uint64_t{blockIdx.x} * n;
  }
  SampleHistogram all{{bins, heavy.copies}, threadIdx.x * (n / kGuessThreads), n / kGuessThreads};
  const CountAndWeight size = all.sum_up(sums);
  const auto clear_bins = [&] {
    for (std::uint32_t b = threadIdx.x; b < n / 4; b += kGuessThreads)
      reinterpret_cast<uint4*>(bins)[b] = make_uint4(0, 0, 0, 0);
    if (has_heavy)
      for (std::uint32_t b = threadIdx.x; b < n; b += kGuessThreads) heavy.copies[b] = heavy.numbers[b] = 0;
  };
  const std::uint64_t all_copies = copies_of(size);
  if (all_copies < std::uint64_t{kLeastSample} << kCopyBits) return clear_bins();
  const std::uint32_t left = left_leaves(guess.leaves);
  const double share = static_cast<double>(left) / guess.leaves;
  const auto reach = (static_cast<std::uint64_t>(sigmas * sqrt(size.count * share * (1 - share))) + 2) << kCopyBits;
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
    keep_whole(all, size, weightless, guess.leaves, left, light_share, sigmas, heavy.numbers, places, at);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    at.low = places.low.bin;
    at.cut = places.cut.bin;
    at.high = places.high.bin;
  }
  if (gaps != nullptr) {
    __syncthreads();
    find_gap(all.bins, all.mine, at.low_open ? 0U : at.low, at.high_open ? n - 1 : at.high, &gap);
  }
  __syncthreads();
  clear_bins();
  if (threadIdx.x != 0) return;
  const std::uint32_t begins = at.low_open ? 0 : places.low.before.count;
  const std::uint32_t ends = at.high_open ? size.count : places.high.before.count + places.high.here.count;
  const std::uint32_t inside = ends - begins;
  if (atomicAdd(&met[level], inside) + inside > room) {
    atomicSub(&met[level], inside);
    return;
  }
  if (gaps != nullptr) {
    const float bin = splits[v].scale > 0.0F ? 1.0F / splits[v].scale : 0.0F;
    gaps[v] = {splits[v].low + static_cast<float>(static_cast<std::uint32_t>(gap)) * bin,
               static_cast<float>(gap >> 32U) * bin};
  }
  write_guess(v, level, at, side_tolerance, quantiles, guesses, splits, table);
}

}  // namespace amrbench::partitioners::gpu
