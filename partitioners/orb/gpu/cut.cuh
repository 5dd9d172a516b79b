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

  [[nodiscard]] __device__ std::uint64_t all() const { return count + weight; }  ///< of weights that are counts
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
/// most, and the result is valid for it. All call, with the same length.
template <class Reached>
__device__ inline BinPlace find_bin(const Bins& bins, bool has, std::uint32_t first, std::uint32_t length,
                                    const CountAndWeight& before, const Reached& reached) {
  BinPlace place{first, before, {0, 0}};
  const unsigned owner = __ballot_sync(kFull, has);
  if (owner == 0) return place;
  const int from = __ffs(static_cast<int>(owner)) - 1;
  const auto broadcast = [](const CountAndWeight& value, int lane) {
    return CountAndWeight{__shfl_sync(kFull, value.count, lane), __shfl_sync(kFull, value.weight, lane)};
  };
  first = __shfl_sync(kFull, first, from);
  CountAndWeight so_far = broadcast(before, from);
  for (std::uint32_t b = threadIdx.x & 31U;; b += 32) {
    const CountAndWeight here = b < length ? bins[first + b] : CountAndWeight{0, 0};
    CountAndWeight behind = warp_sum_up_to(here);
    behind += so_far;
    const unsigned ends = __ballot_sync(kFull, reached(behind));
    const int lane = ends != 0 ? __ffs(static_cast<int>(ends)) - 1 : 31;
    so_far = broadcast(behind, lane);
    if (ends == 0) continue;
    place.here = broadcast(here, lane);
    place.before = so_far;
    place.before -= place.here;
    place.bin = first + (b & ~31U) + static_cast<unsigned>(lane);
    return place;
  }
}

/// The bins that hold a cut.
struct CutBins {
  std::uint32_t first, last;
  CountAndWeight before;  ///< of the cell, what stands before bin `first`
  std::uint32_t inside;   ///< points in them; 0: the search ends in none
};

/// Finds the bin in which a search ends, of n (a multiple of kCutThreads), and takes in bins beside it, but no more
/// than `most` points: with weights one on either side, for the points beside the cut may be there, and as many as have
/// no weight up to `unit`, the cut by number, for rule 5 goes there. Without weights one on the left may be missing.
/// before: of the cell, what stands before the bins. Called by a block of kCutThreads threads; `found` is in shared
/// memory and valid for all of them afterwards.
__device__ inline void find_cut_bins(const Bins& bins, std::uint32_t n, const WeightSearch& search, std::uint32_t unit,
                                     const CountAndWeight& before, std::uint32_t most, CutBins* found) {
  __shared__ CountAndWeight sums[kCutThreads / 32];
  __shared__ std::uint32_t stretches[kCutThreads];
  const std::uint32_t length = n / kCutThreads;
  CountAndWeight sum{0, 0};
#pragma unroll 8
  for (std::uint32_t b = threadIdx.x * length; b < (threadIdx.x + 1) * length; ++b) sum += bins[b];
  stretches[threadIdx.x] = sum.count;
  if (threadIdx.x == 0) *found = {};
  CountAndWeight behind = sum_up_to(sum, sums);
  behind += before;
  CountAndWeight at = behind;
  at -= sum;
  const auto reached = [&](const CountAndWeight& left) { return search.reached(left.count, left.weight); };
  const bool mine = !reached(at) && reached(behind);
  const BinPlace place = find_bin(bins, mine, threadIdx.x * length, length, at, reached);
  if (mine) {
    at = place.before;
    std::uint32_t first = place.bin;
    CountAndWeight more = place.here;
    std::uint32_t last = first;
    std::uint32_t inside = more.count;
    std::uint32_t end = at.count + inside;
    const bool weighted = bins.weights != nullptr;
    bool wanted = weighted || at.count + 1 == search.most;
    for (std::uint32_t b = first; b > 0 && wanted;) {
      if (b % length == 0 && stretches[b / length - 1] == 0) {  // past a stretch without points
        b -= length;
        continue;
      }
      more = bins[--b];
      if (more.count == 0) continue;
      if (inside + more.count > most) break;
      first = b;
      at -= more;
      inside += more.count;
      wanted = more.weight == 0 && at.count >= unit;
    }
    wanted = weighted;
    for (std::uint32_t b = last + 1; b < n && wanted; ++b) {
      if (b % length == 0 && stretches[b / length] == 0) {
        b += length - 1;
        continue;
      }
      more = bins[b];
      if (more.count == 0) continue;
      if (inside + more.count > most) break;
      last = b;
      inside += more.count;
      end += more.count;
      wanted = more.weight == 0 && end <= unit;
    }
    *found = {first, last, at, inside};
  }
  __syncthreads();
}

/// Where a cell's points part.
template <class T, int Dim>
struct Parting {
  OrbPoint<T, Dim> pivot;
  bool pivot_left;  ///< the pivot is the last left point, else the first right one

  [[nodiscard]] __device__ bool left(const OrbPoint<T, Dim>& p, int axis) const {
    return pivot_left ? !orb_before(pivot, p, axis) : orb_before(p, pivot, axis);
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
