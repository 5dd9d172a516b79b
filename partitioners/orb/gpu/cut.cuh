#pragma once
// What all rounds share to cut one node: finding the bins beside the cut, where its points part, and what follows for
// its children. Words as in gpu/kernels.cuh.
#include "partitioners/orb/gpu/kernels.cuh"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::gpu {

/// Threads of a block that cuts one node.
constexpr int kCutThreads = 256;

/// The largest of a warp's keys, for all its lanes.
template <class Key>
__device__ inline Key warp_max(Key key) {
  for (int step = 16; step > 0; step /= 2) {
    const Key other = __shfl_xor_sync(kFull, key, step);
    key = other > key ? other : key;
  }
  return key;
}

/// A count of points, and their weight; without weights: 0.
struct CountAndWeight {
  std::uint32_t count;
  std::uint64_t weight;

  __device__ CountAndWeight& operator+=(const CountAndWeight& other) {
    count += other.count;
    weight += other.weight;
    return *this;
  }
  __device__ CountAndWeight& operator-=(const CountAndWeight& other) {
    count -= other.count;
    weight -= other.weight;
    return *this;
  }
};

__device__ inline CountAndWeight of_lane_below(const CountAndWeight& value, unsigned step) {
  return {__shfl_up_sync(kFull, value.count, step), __shfl_up_sync(kFull, value.weight, step)};
}

__device__ inline CountAndWeight of_lane(const CountAndWeight& value, int lane) {
  return {__shfl_sync(kFull, value.count, lane), __shfl_sync(kFull, value.weight, lane)};
}

/// Inclusive prefix sum over the threads of a block. sums: shared, one a warp. One barrier.
template <class Value>
__device__ inline Value sum_up_to(Value value, Value* sums) {
  value = warp_sum_up_to(value);
  if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = value;
  __syncthreads();
  for (unsigned w = 0; w < threadIdx.x / 32; ++w) value += sums[w];
  return value;
}

/// Counts and weights of bins; weights null: none.
struct Bins {
  const std::uint32_t* counts;
  const std::uint64_t* weights;

  __device__ CountAndWeight operator[](std::uint32_t bin) const {
    return {counts[bin], weights != nullptr ? weights[bin] : 0};
  }
};

/// A bin, what stands before it, and what it has.
struct BinPlace {
  std::uint32_t bin;
  CountAndWeight before, here;
};

/// The first bin at whose end reached() is true of what stands up to there, of `length` ones from `first` on, before
/// which `before` stands: of the thread for which `has` says that it is among these. That is one thread of the warp at
/// most, and the result is valid for all of that warp. All call, with the same length.
template <class Reached>
__device__ inline BinPlace find_bin(const Bins& bins, bool has, std::uint32_t first, std::uint32_t length,
                                    const CountAndWeight& before, const Reached& reached) {
  BinPlace place{first, before, {0, 0}};
  const unsigned owner = __ballot_sync(kFull, has);
  if (owner == 0) return place;
  const int from = __ffs(static_cast<int>(owner)) - 1;
  first = __shfl_sync(kFull, first, from);
  CountAndWeight so_far = of_lane(before, from);
  for (std::uint32_t b = threadIdx.x & 31U;; b += 32) {
    const CountAndWeight here = b < length ? bins[first + b] : CountAndWeight{0, 0};
    CountAndWeight behind = warp_sum_up_to(here);
    behind += so_far;
    const unsigned ends = __ballot_sync(kFull, reached(behind));
    const int lane = ends != 0 ? __ffs(static_cast<int>(ends)) - 1 : 31;
    so_far = of_lane(behind, lane);
    if (ends == 0) continue;
    place.here = of_lane(here, lane);
    place.before = so_far;
    place.before -= place.here;
    place.bin = first + (b & ~31U) + static_cast<unsigned>(lane);
    return place;
  }
}

/// The bins that hold a cut. Core: the one in which the search ends, and the nearest with points on either side.
struct CutBins {
  std::uint32_t first, last;
  std::uint32_t first_core, last_core;
  CountAndWeight before;  ///< of the cell, what stands before bin `first`
  CountAndWeight before_core;
  std::uint32_t inside;  ///< points in them; 0: the search ends in none, but before or behind all, where `before` is
};

/// Bins that were taken in beside one: the first with points and the last one, which may be empty, and what the first
/// and all have.
struct TakenBins {
  std::uint32_t first, last;
  CountAndWeight in_first, all;
};

/// A bin beside the cut's that has weight, and so is the last one to be taken in, may have so many points: of more than
/// that, in one place, hardly any is beside the cut.
constexpr std::uint32_t kMostBeside = 4096;

/// Takes in bins beside bin `from` of n, on its right (step 1) or on its left (-1): those with points up to the first
/// of which stop(what it has, what all taken ones have) is true, but no more than `most` points. stretches: sums of
/// Threads equal stretches of the bins; of several bins together stop() tells whether it is true of one. All threads of
/// the warp call; valid for all.
template <unsigned Threads, class Stop>
__device__ inline TakenBins take_bins(const Bins& bins, std::uint32_t n, const CountAndWeight* stretches,
                                      std::uint32_t from, int step, std::uint32_t most, const Stop& stop) {
  const std::uint32_t length = n / Threads, lane = threadIdx.x & 31U;
  const auto forward = static_cast<unsigned>(step);
  const auto at_edge = [&](std::uint32_t group) {  // of a stretch
    return length <= 32 || (step > 0 ? 32 * group : 32 * (group + 1)) % length == 0;
  };
  TakenBins taken{from, from, {0, 0}, {0, 0}};
  CountAndWeight so_far{0, 0};
  for (std::uint32_t group = from / 32; group < n / 32; group += forward) {  // wraps below 0
    // Whole stretches at a time, once one bin was taken.
    while (taken.first != from && group < n / 32 && at_edge(group)) {
      const std::uint32_t edge = step > 0 ? 32 * group / length : (32 * (group + 1) - 1) / length;
      const std::uint32_t s = edge + forward * lane;
      const CountAndWeight here = s < Threads ? stretches[s] : CountAndWeight{0, 0};
      CountAndWeight all = warp_sum_up_to(here);
      all += so_far;
      const unsigned ends = __ballot_sync(kFull, here.count > 0 && (all.count > most || stop(here, all)));
      // Groups of 32 bins before the first such stretch.
      const std::uint32_t whole = (ends != 0 ? static_cast<unsigned>(__ffs(static_cast<int>(ends))) - 1U : 32U);
      const std::uint32_t groups = whole * length / 32;
      if (groups == 0) break;
      const int last = static_cast<int>(groups * 32 / length) - 1;
      so_far = of_lane(all, last);
      taken.all = so_far;
      group += forward * groups;
      taken.last = step > 0 ? min(32 * group, n) - 1 : (group < n / 32 ? 32 * (group + 1) : 0);
    }
    if (group >= n / 32) break;
    const std::uint32_t b = 32 * group + (step > 0 ? lane : 31U - lane);
    if (__any_sync(kFull, stretches[b / length].count != 0 ? 1 : 0) == 0) continue;
    const bool beyond = step > 0 ? b > from : b < from;
    const CountAndWeight here = beyond ? bins[b] : CountAndWeight{0, 0};
    CountAndWeight all = warp_sum_up_to(here);
    all += so_far;
    const bool too_many = all.count > most ? here.count > 0 : here.weight != 0 && here.count > kMostBeside;
    const unsigned ends = __ballot_sync(kFull, too_many || (here.count > 0 && stop(here, all)));
    const unsigned taken_in = __ballot_sync(kFull, here.count > 0 && !too_many) & (2 * (ends & -ends) - 1U);
    if (taken_in != 0) {
      const int last = 31 - __clz(static_cast<int>(taken_in));
      if (taken.first == from) {
        const int first = __ffs(static_cast<int>(taken_in)) - 1;
        taken.first = __shfl_sync(kFull, b, first);
        taken.in_first = of_lane(here, first);
      }
      taken.last = __shfl_sync(kFull, b, last);
      taken.all = of_lane(all, last);
    }
    if (ends != 0) break;
    so_far = of_lane(all, 31);
  }
  return taken;
}

/// Finds the bin in which a search ends, of n (a multiple of Threads), and takes in bins beside it, but no more
/// than `most` points: with weights one on either side, for the points beside the cut may be there, and as many as have
/// no weight up to `unit`, the cut by number, for rule 5 goes there. Without weights one on the left may be missing.
/// before: of the cell, what stands before the bins. Called by a block of Threads threads; `found` is in shared
/// memory and valid for all of them afterwards.
template <unsigned Threads = kCutThreads>
__device__ inline void find_cut_bins(const Bins& bins, std::uint32_t n, const WeightSearch& search, std::uint32_t unit,
                                     const CountAndWeight& before, std::uint32_t most, CutBins* found) {
  __shared__ CountAndWeight sums[Threads / 32];
  __shared__ CountAndWeight stretches[Threads];
  const std::uint32_t length = n / Threads;
  CountAndWeight sum{0, 0};
#pragma unroll 8
  for (std::uint32_t b = threadIdx.x * length; b < (threadIdx.x + 1) * length; ++b) sum += bins[b];
  stretches[threadIdx.x] = sum;
  if (threadIdx.x == 0) *found = {};
  CountAndWeight behind = sum_up_to(sum, sums);
  behind += before;
  CountAndWeight at = behind;
  at -= sum;
  const auto reached = [&](const CountAndWeight& left) { return search.reached(left.count, left.weight); };
  const bool mine = !reached(at) && reached(behind);
  if (threadIdx.x == 0 && reached(at)) found->before = at;
  if (threadIdx.x == Threads - 1 && !reached(behind)) found->before = behind;
  const BinPlace place = find_bin(bins, mine, threadIdx.x * length, length, at, reached);
  if (__any_sync(kFull, mine ? 1 : 0) != 0) {  // the warp of the bin
    CutBins cut{place.bin, place.bin, place.bin, place.bin, place.before, place.before, place.here.count};
    const std::uint32_t behind_it = place.before.count + place.here.count;
    const auto room = [&] { return most > cut.inside ? most - cut.inside : 0U; };
    const bool weighted = bins.weights != nullptr;
    if (weighted || place.before.count + 1 == search.most) {
      const auto stop = [&](const CountAndWeight& here, const CountAndWeight& all) {
        return here.weight != 0 || place.before.count - all.count < unit;
      };
      const TakenBins left = take_bins<Threads>(bins, n, stretches, place.bin, -1, room(), stop);
      cut.first = left.last;
      cut.before -= left.all;
      cut.first_core = left.first;
      cut.before_core -= left.in_first;
      cut.inside += left.all.count;
    }
    if (weighted) {
      const auto stop = [&](const CountAndWeight& here, const CountAndWeight& all) {
        return here.weight != 0 || behind_it + all.count > unit;
      };
      const TakenBins right = take_bins<Threads>(bins, n, stretches, place.bin, 1, room(), stop);
      cut.last = right.last;
      cut.last_core = right.first;
      cut.inside += right.all.count;
    }
    if (mine) *found = cut;
  }
  __syncthreads();
}

/// Where a cell's points part.
template <class T, int Dim>
struct Parting {
  OrbPoint<T, Dim> pivot;
  bool pivot_left;  ///< the pivot is the last left point, else the first right one

  /// As orb_before() has it, with no index that is unknown at compile time (coordinate_on()).
  [[nodiscard]] __device__ bool left(const OrbPoint<T, Dim>& p, int axis) const {
    const T mine = coordinate_on(p, axis), its = coordinate_on(pivot, axis);
    if (mine != its) return mine < its;
#pragma unroll
    for (int a = 0; a < Dim; ++a)
      if (p.x[a] != pivot.x[a]) return p.x[a] < pivot.x[a];
    return pivot_left ? p.id <= pivot.id : p.id < pivot.id;
  }
};

/// part: what a cut leaves of the box on its left (side 0) or right (side 1). It is passed by reference, because a box
/// in a variable of the thread would lie in local memory: the axis that indexes it is not known at compile time.
template <class T, int Dim>
__device__ inline void cut_box(const OrbBox<T, Dim>& box, int axis, T cut, std::uint32_t side, OrbBox<T, Dim>& part) {
  part = box;
  if (side == 0)
    part.upper[axis] = cut;
  else
    part.lower[axis] = cut;
}

/// Cuts the node: its two children are known from now on. left: what goes there.
template <class T, int Dim>
__device__ inline void cut_node(Node<T, Dim>& node, Node<T, Dim>* children, int axis, T cut,
                                const CountAndWeight& left) {
  node.axis = axis;
  node.cut = cut;
  node.resolved = 1;
  const std::uint32_t leaves_left = left_leaves(node.leaves);
  for (std::uint32_t side = 0; side < 2; ++side) {
    cut_box(node.box, axis, cut, side, children[side].box);
    children[side].leaves = side == 0 ? leaves_left : node.leaves - leaves_left;
    children[side].count = side == 0 ? left.count : node.count - left.count;
    children[side].weight = side == 0 ? left.weight : node.weight - left.weight;
    children[side].known = 1;
  }
}

}  // namespace amrbench::partitioners::gpu
