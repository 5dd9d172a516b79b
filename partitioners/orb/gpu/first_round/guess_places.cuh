#pragma once
// Where a node's cut and the ends of its bracket lie in the histogram of its sample. Internal to
// gpu/first_round/guess.cuh.
//
// Light points, one copy each, are looked up by their number. Heavy ones go to one side as a whole, so that a cut
// beside one is guessed beside it and not somewhere in its bin: else the cells below would be guessed with a heavy
// point too many or too few, and their brackets miss.
#include "partitioners/orb/gpu/first_round/sample_kernels.cuh"

namespace amrbench::partitioners::gpu {

/// Of a block that guesses a node's cut. Deep: from level kDeepGuess on nodes are many and have few bins each.
template <bool Deep>
constexpr int kGuessThreads = Deep ? 64 : 512;
constexpr int kDeepGuess = 8;
static_assert(guess_bins(kFirstLevels - 1) >= 4 * kGuessThreads<true> &&
              guess_bins(kDeepGuess - 1) >= kGuessThreads<false> &&
              guess_bins(kUpperLevels - 1) >= kGuessThreads<false>);

/// Where a bracket lies in its node's histogram: bins of its low end, of the cut and of its high end.
struct GuessBins {
  std::uint32_t low, cut, high;
  float within;              ///< how far into its bin the cut lies
  bool low_open, high_open;  ///< the bracket reaches to the end of the node
};

/// What light points, each one copy, and heavy ones stand for.
__device__ inline std::uint64_t copies_of(const CountAndWeight& sum) {
  return sum.count + sum.weight;
}

/// A node's histogram as a block sees it: a thread has `mine` bins from `begin` on. Counts are of light points, weights
/// copies of heavy ones. All threads call sum_up() first.
template <int Threads>
struct SampleHistogram {
  Bins bins;
  std::uint32_t begin, mine;
  CountAndWeight before, behind;  ///< before the thread's bins, and up to their end

  /// Sums the bins up; returns the sum of all. sums: shared, one a warp, and one more.
  __device__ CountAndWeight sum_up(CountAndWeight* sums) {
    CountAndWeight sum{0, 0};
    if (mine % 4 == 0) {
#pragma unroll 8
      for (std::uint32_t b = begin; b < begin + mine; b += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(bins.counts + b);
        sum.count += four.x + four.y + four.z + four.w;
      }
      if (bins.weights != nullptr)
#pragma unroll 8
        for (std::uint32_t b = begin; b < begin + mine; b += 2) {
          const ulonglong2 two = *reinterpret_cast<const ulonglong2*>(bins.weights + b);
          sum.weight += two.x + two.y;
        }
    } else {
      for (std::uint32_t b = begin; b < begin + mine; ++b) sum += bins[b];
    }
    before = behind = sum_up_to(sum, sums);
    before -= sum;
    if (threadIdx.x == Threads - 1) sums[Threads / 32] = behind;
    __syncthreads();
    return sums[Threads / 32];
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
/// A cut beside a heavy point lies so far from it, in parts of a bin, or half-way to its neighbour in the bin: few
/// other points are between them, and rounding does not pass it.
constexpr float kApart = 1.0F / 64;
/// So many heavy points are put in order. Of a bin that has more a part is looked at, one of kHeavyParts, unless it has
/// very many. Nodes from kMostNodes on have chains, for each block would go over all heavy points; these may end early,
/// and then the bin's are taken for one.
constexpr std::uint32_t kMostOrdered = 64, kMostListed = 4096, kMostNodes = 128;
constexpr int kHeavyParts = kGuessThreads<false>;  // a thread has one
static_assert(kMostNodes <= 1U << kDeepGuess);

/// The last heavy point of a bin that a sum of copies meets up to a target; places in parts of the bin.
struct HeavyAt {
  std::uint64_t before, copies;  ///< of the node, up to the point; its own, 0: there is none up to the target
  float place, previous, next;   ///< of it and of those beside it in the bin; out of 0 .. 1 where there is none
  float apart;                   ///< from the cut beside it, at most

  [[nodiscard]] __device__ float apart_from(float other) const { return fminf(apart, 0.5F * fabsf(place - other)); }
  [[nodiscard]] __device__ float left() const { return __saturatef(place - apart_from(previous)); }
  [[nodiscard]] __device__ float right() const { return __saturatef(place + apart_from(next)); }
};

/// The heavy points of a node's sample.
template <int Dim, bool Deep>
struct HeavyOfNode {
  const float* sample;
  HeavySample heavy;  ///< the node's bins
  SampleSplit split;
  std::uint32_t node, n;  ///< n: bins

  /// Heavy points that are put in order: of a bin, or of a part of it.
  struct Listed {
    std::uint32_t size, number[kMostOrdered];
    std::uint64_t before, copies;  ///< of the node before the bin or part, but for the bin's light points; in it
    float begin, end;              ///< of the part, out of 0 .. 1
    bool whole;                    ///< all of the bin's are in order
  };

  /// Where the heavy point of a number lies, in parts of a bin.
  [[nodiscard]] __device__ float place_in(std::uint32_t bin, std::uint32_t number) const {
    const std::uint64_t i = std::uint64_t{4} * heavy.first + number;
    return split.place(sample[i * Dim + (split.state & SampleSplit::kAxis)], n) - static_cast<float>(bin);
  }

  /// Numbers of a bin's heavy points, in any order, and how many there are, 0 before; it ends early beyond kMostListed.
  /// Both shared. All threads call.
  __device__ void list_bin(std::uint32_t bin, std::uint32_t* size, std::uint32_t* number) const {
    const std::uint32_t wanted = (node - (1U << static_cast<unsigned>(level_of(node)))) * n + bin;
    const auto visit = [&](std::uint32_t i, std::uint32_t to) {
      if (to != wanted || heavy.nodes[i] != node) return;  // bins of other levels' points are of those levels
      const std::uint32_t at = atomicAdd(size, 1U);
      if (at < kMostListed) number[at] = i;
    };
    constexpr std::uint32_t kAtOnce = 8;  // loads: a block waits for memory
    for (std::uint32_t first = threadIdx.x; first < heavy.count / 4; first += kAtOnce * kHeavyParts) {
      if (*static_cast<volatile std::uint32_t*>(size) > kMostListed) break;
      uint4 to[kAtOnce];
#pragma unroll
      for (std::uint32_t j = 0; j < kAtOnce; ++j) {
        const std::uint32_t four = first + j * kHeavyParts;
        to[j] =
            four < heavy.count / 4 ? reinterpret_cast<const uint4*>(heavy.to)[four] : make_uint4(~0U, ~0U, ~0U, ~0U);
      }
#pragma unroll
      for (std::uint32_t j = 0; j < kAtOnce; ++j) {
        const std::uint32_t i = 4 * (first + j * kHeavyParts);
        visit(i, to[j].x);
        visit(i + 1, to[j].y);
        visit(i + 2, to[j].z);
        visit(i + 3, to[j].w);
      }
    }
  }

  /// Lists the heavy points of a bin, or where they are many those of its last part that a sum of copies meets up to
  /// the target; size stays 0 where these are too many, copies becomes 0 where there is none. All threads call, after a
  /// barrier; a barrier follows.
  __device__ void list_part(std::uint32_t bin, std::uint64_t light, std::uint64_t target, Listed* listed) const {
    __shared__ unsigned long long copies[kHeavyParts];
    __shared__ unsigned long long sums[kHeavyParts / 32];
    __shared__ std::uint32_t end, size, number[kMostListed];
    const std::uint32_t k = threadIdx.x;
    copies[k] = 0;
    if (k == 0) end = size = 0;
    __syncthreads();
    list_bin(bin, &size, number);
    __syncthreads();
    if (size > kMostListed) return;
    if (size <= kMostOrdered) {
      if (k < size) listed->number[k] = number[k];
      if (k == 0) listed->size = size, listed->whole = true;
      __syncthreads();
      return;
    }
    const auto part_of = [&](std::uint32_t i) {
      return static_cast<std::uint32_t>(place_in(bin, number[i]) * kHeavyParts);
    };
    for (std::uint32_t i = k; i < size; i += kHeavyParts)
      atomicAdd(&copies[part_of(i)], heavy.copies[number[i]] & ~kAlsoLight);
    __syncthreads();
    const std::uint64_t up_to = listed->before + sum_up_to(copies[k], sums) - copies[k];
    if (copies[k] > 0 && up_to + light * k / kHeavyParts <= target) atomicMax(&end, k + 1);
    __syncthreads();
    if (k + 1 == end) {
      listed->before = up_to;
      listed->copies = copies[k];
      listed->begin = static_cast<float>(k) / kHeavyParts;
      listed->end = static_cast<float>(k + 1) / kHeavyParts;
    } else if (k == 0 && end == 0) {
      listed->copies = 0;
    }
    for (std::uint32_t i = k; end > 0 && i < size; i += kHeavyParts) {
      if (part_of(i) + 1 != end) continue;
      const std::uint32_t at = atomicAdd(&listed->size, 1U);
      if (at < kMostOrdered) listed->number[at] = number[i];
    }
    __syncthreads();
    if (k == 0 && listed->size > kMostOrdered) listed->size = 0;
    __syncthreads();
  }

  /// Of the bin `cut`. light: its light points, which are taken to be spread evenly. All threads call, after a
  /// barrier; `found` is shared, and a barrier must follow.
  __device__ void find(const BinPlace& cut, std::uint64_t before, std::uint64_t light, std::uint64_t target,
                       HeavyAt* found) const {
    __shared__ Listed listed;
    __shared__ float place[kMostOrdered];
    __shared__ std::uint64_t copies[kMostOrdered], begin[kMostOrdered];
    const std::uint32_t k = threadIdx.x;
    if (k == 0) {
      listed.size = 0;
      listed.whole = false;
      listed.before = before;
      listed.copies = cut.here.weight;
      listed.begin = 0;
      listed.end = 1;
      if (node >= kMostNodes) {
        std::uint32_t i = heavy.chains[cut.bin];
        for (; i > 0 && listed.size < kMostOrdered; i = heavy.next[i - 1]) listed.number[listed.size++] = i - 1;
        listed.whole = i == 0;
        if (i > 0) listed.size = 0;
      }
    }
    __syncthreads();
    if constexpr (!Deep)
      if (node < kMostNodes) list_part(cut.bin, light, target, &listed);
    const std::uint32_t size = listed.size;
    const HeavyAt none{listed.before, 0, 0.0F, -1.0F, 2.0F, kApart};
    if (size == 0) {  // for one
      const float middle = 0.5F * (listed.begin + listed.end);
      const std::uint64_t from = listed.before + static_cast<std::uint64_t>(middle * static_cast<float>(light));
      if (k == 0)
        *found = listed.copies > 0 ? HeavyAt{from, listed.copies, middle, -1.0F, 2.0F, middle - listed.begin} : none;
      return;
    }
    if (k < size) {
      place[k] = place_in(cut.bin, listed.number[k]);
      copies[k] = heavy.copies[listed.number[k]] & ~kAlsoLight;
    }
    __syncthreads();
    const auto behind = [&](std::uint32_t j) { return place[j] > place[k] || (place[j] == place[k] && j > k); };
    if (k < size) {
      begin[k] = listed.before + static_cast<std::uint64_t>(place[k] * static_cast<float>(light));
      for (std::uint32_t j = 0; j < size; ++j)
        if (j != k && !behind(j)) begin[k] += copies[j];
    }
    if (k == 0) *found = none;
    __syncthreads();
    if (k >= size || begin[k] > target) return;
    HeavyAt mine{begin[k], copies[k], place[k], listed.whole ? -1.0F : listed.begin, listed.whole ? 2.0F : listed.end,
                 kApart};
    for (std::uint32_t j = 0; j < size; ++j) {
      if (j != k && !behind(j)) mine.previous = fmaxf(mine.previous, place[j]);
      if (!behind(j)) continue;
      if (begin[j] <= target) return;
      mine.next = fminf(mine.next, place[j]);
    }
    *found = mine;
  }
};

/// Where a cut by number lies among light points. within: as in GuessBins where it lies beside a heavy point, in that
/// point's bin, which places.cut is; else below 0.
struct CutByNumber {
  double rank;
  float within;
};

/// Where light points weigh nothing, a cut is by number as far as heavy points allow. Writes the place of the one at
/// which the left weight reaches its target, and of those before and behind it. light_left, light_right: as in
/// keep_whole(). All threads call, after a barrier.
template <int Dim, bool Deep>
__device__ inline CutByNumber cut_between_heavy(const SampleHistogram<kGuessThreads<Deep>>& all,
                                                const CountAndWeight& size, double share, double light_left,
                                                double light_right, const HeavyOfNode<Dim, Deep>& heavy, HeavyAt* found,
                                                GuessPlaces& places) {
  const auto copies = [](const CountAndWeight& sum) { return sum.weight; };
  const double target = share * static_cast<double>(size.weight);
  const auto rank = min(static_cast<std::uint64_t>(target), size.weight - 1);
  __syncthreads();  // all have read the places
  all.find(rank, copies, places.cut);
  __syncthreads();
  const BinPlace cut = places.cut;
  heavy.find(cut, cut.before.weight, 0, rank, found);
  __syncthreads();
  const HeavyAt at = *found;
  const std::uint64_t end = cut.before.weight + cut.here.weight;
  if (cut.before.weight > 0) all.find(cut.before.weight - 1, copies, places.low);
  all.find(end, copies, places.high);
  __syncthreads();
  const double here = cut.before.count + at.place * cut.here.count;
  const bool nearer = target - static_cast<double>(at.before) <= static_cast<double>(at.before + at.copies) - target;
  // A cut beside a heavy point leaves it at the end of a child. Which of its bin's points lie further out is unknown,
  // and that none does is likely.
  const bool left =
      size.count - cut.before.count - cut.here.count < light_right || (nearer && cut.before.count >= light_left);
  double first = cut.before.weight > 0 ? places.low.before.count + places.low.here.count : 0.0;
  double last = end < size.weight ? places.high.before.count - 0.5 : size.count;  // before the next one's bin
  if (at.previous >= 0) first = cut.before.count + (at.previous + at.apart_from(at.previous)) * cut.here.count;
  if (at.next <= 1) last = cut.before.count + (at.next - at.apart_from(at.next)) * cut.here.count;
  const double wanted = share * size.count;
  if (left) return wanted < here ? CutByNumber{fmax(wanted, first), -1} : CutByNumber{here, at.left()};
  return wanted > here ? CutByNumber{fmin(wanted, last), -1} : CutByNumber{here, at.right()};
}

/// A heavy point goes to one side as a whole, the nearer one, and the points beside it must lie in the bracket, too.
/// Where it leaves too few points beside it for the leaves, and where light points weigh nothing, the cut is by number.
/// cut_copies: copies that go left. weightless: do light points weigh nothing? left: leaves of the left child.
/// light_share: points of the sample of all points. All threads call, after a barrier; a barrier must follow.
template <int Dim, bool Deep>
__device__ inline void keep_whole(const SampleHistogram<kGuessThreads<Deep>>& all, const CountAndWeight& size,
                                  std::uint64_t cut_copies, bool weightless, std::uint32_t leaves, std::uint32_t left,
                                  double light_share, float sigmas, const HeavyOfNode<Dim, Deep>& heavy,
                                  GuessPlaces& places, GuessBins& at) {
  __shared__ HeavyAt found;
  const auto total = [](const CountAndWeight& sum) { return copies_of(sum); };
  const auto lights = [](const CountAndWeight& sum) { return std::uint64_t{sum.count}; };
  const double share = static_cast<double>(left) / leaves;
  const double light_left = left * light_share, light_right = (leaves - left) * light_share;
  const BinPlace cut = places.cut;
  CutByNumber by_number{-1, -1};
  double number = 0;  // of how many the deviation is
  if (weightless && size.weight > 0 && size.count > 0) {
    by_number = cut_between_heavy(all, size, share, light_left, light_right, heavy, &found, places);
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
    const bool beside = by_number.within >= 0;
    __syncthreads();
    if (threadIdx.x == 0) at = {0, 0, 0, by_number.within, reach > rank, reach > last - rank};
    all.find(static_cast<std::uint64_t>(fmax(rank - reach, 0.0)), lights, places.low);
    if (!beside) all.find(static_cast<std::uint64_t>(rank), lights, places.cut);
    all.find(static_cast<std::uint64_t>(rank + reach), lights, places.high);
    __syncthreads();
    const double into = rank - places.cut.before.count;
    if (threadIdx.x == 0 && !beside) at.within = __saturatef(static_cast<float>(into) / places.cut.here.count);
    return;
  }
  const std::uint64_t light = cut.here.count;
  if (cut.here.weight > 0) heavy.find(cut, copies_of(cut.before), light, cut_copies, &found);
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
  if (threadIdx.x != 0 || cut.here.weight == 0) return;
  const auto beyond = static_cast<float>(static_cast<double>(cut_copies) - static_cast<double>(found.before));
  const auto copies = static_cast<float>(found.copies);
  if (beyond < copies)
    at.within = beyond < 0.5F * copies ? found.left() : found.right();
  else
    at.within =
        fminf(found.place + (beyond - copies) / fmaxf(static_cast<float>(light), 1.0F), fminf(found.next, 1.0F));
}

}  // namespace amrbench::partitioners::gpu
