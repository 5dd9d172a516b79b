#pragma once
// What all rounds share to cut one node, once its entries are counted in bins: finding the bins beside the cut,
// ordering the points in them, and what follows for the node's children. Every function is called by one thread block
// for one node.
//
// In:  the histogram of a node's bracket, the rank of the first point that goes right, the candidates.
// Out: the pivot, the last point that goes left, box, count, leaves and axis of the two children.
// Words as in gpu/kernels.cuh.
#include "partitioners/orb/gpu/kernels.cuh"

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

/// Inclusive prefix sum over the threads of a block. sums: shared, a word a warp. One barrier.
__device__ inline std::uint32_t sum_up_to(std::uint32_t value, std::uint32_t* sums) {
  const unsigned lane = threadIdx.x & 31U;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(kFull, value, step);
    if (lane >= step) value += other;
  }
  if (lane == 31) sums[threadIdx.x / 32] = value;
  __syncthreads();
  for (unsigned w = 0; w < threadIdx.x / 32; ++w) value += sums[w];
  return value;
}

/// Bins that hold the first right point and the one before it.
struct CutBins {
  std::uint32_t first, last;
  std::uint32_t before;  ///< entries in bins below `first`
  std::uint32_t inside;  ///< entries in both
};

/// Finds, of n bins (a multiple of kCutThreads), those that hold the entries of ranks `rank` - 1 and `rank`, the last
/// left and the first right point. 1 <= rank < the sum of the bins; where that does not hold entries were lost, and
/// found.inside is more than any node has. Called by a block of kCutThreads threads; `found` is in shared memory and
/// valid for all of them afterwards.
__device__ inline void find_cut_bins(const std::uint32_t* bins, std::uint32_t n, std::uint32_t rank, CutBins* found) {
  __shared__ std::uint32_t sums[kCutThreads / 32];
  const std::uint32_t mine = n / kCutThreads;
  const std::uint32_t* const from = bins + threadIdx.x * mine;
  if (threadIdx.x == 0) *found = {0, 0, 0, ~0U};
  std::uint32_t sum = 0;
#pragma unroll 8
  for (std::uint32_t b = 0; b < mine; ++b) sum += from[b];
  const std::uint32_t behind = sum_up_to(sum, sums);
  std::uint32_t before = behind - sum;
  if (before <= rank && rank < behind) {
    std::uint32_t bin = threadIdx.x * mine;
    while (before + bins[bin] <= rank) before += bins[bin++];
    std::uint32_t first = bin;
    if (before == rank) {  // the point before stands in the last bin below that is not empty
      do {
        --first;
      } while (first > 0 && bins[first] == 0);
      before -= bins[first];
    }
    *found = {first, bin, before, bins[bin] + (first != bin ? bins[first] : 0)};
  }
  __syncthreads();
}

/// The rank of p among n points: how many of them stand before it.
template <class T, int Dim>
__device__ inline std::uint32_t points_before(const OrbPoint<T, Dim>* points, std::uint32_t n,
                                              const OrbPoint<T, Dim>& p, int axis) {
  std::uint32_t before = 0;
  for (std::uint32_t k = 0; k < n; ++k) before += orb_before(points[k], p, axis) ? 1U : 0U;
  return before;
}

/// Candidates up to which each is compared with all others.
constexpr std::uint32_t kFewCandidates = 256;

/// The rank of p among the points get(0 .. n - 1) is `rank`: finds p by a radix select of 8 bits at a time, of the
/// coordinate on the axis, then, where several points share it, of the other coordinates, then of the id. Called by a
/// block of kCutThreads threads; the result is in shared memory, valid after a barrier.
template <class T, int Dim, class Get>
__device__ inline void select_point(const Get& get, std::uint32_t n, std::uint32_t rank, int axis,
                                    OrbPoint<T, Dim>* pivot) {
  using Key = decltype(order_key(T{}));
  constexpr int kBits = 8 * static_cast<int>(sizeof(Key));
  static_assert(kCutThreads == 256, "a thread a value of 8 bits");
  __shared__ std::uint32_t counts[kCutThreads];
  __shared__ std::uint32_t sums[kCutThreads / 32];
  __shared__ Key shared_upper;                         // the bits found so far of this key
  __shared__ std::uint32_t shared_rank, shared_equal;  // among the points with these bits; and how many they are
  Key found[Dim] = {};                                 // keys that are known
  const auto key_of = [&](const OrbPoint<T, Dim>& p, int k) {
    if (k == Dim) return static_cast<Key>(p.id);
    return static_cast<Key>(order_key(p.x[k == 0 ? axis : k - 1 < axis ? k - 1 : k]));
  };
  const auto in_question = [&](const OrbPoint<T, Dim>& p, int keys) {
    bool same = true;
    for (int k = 0; k < keys; ++k) same = same && key_of(p, k) == found[k];
    return same;
  };
  for (int k = 0; k <= Dim; ++k) {
    if (threadIdx.x == 0) {
      shared_upper = 0;
      shared_rank = rank;
    }
    for (int shift = k == Dim ? 24 : kBits - 8; shift >= 0; shift -= 8) {
      counts[threadIdx.x] = 0;
      __syncthreads();
      const Key upper = shared_upper;
      const std::uint32_t wanted = shared_rank;
      for (std::uint32_t i = threadIdx.x; i < n; i += kCutThreads) {
        const OrbPoint<T, Dim> p = get(i);
        if (!in_question(p, k)) continue;
        const Key key = key_of(p, k);
        const bool same = shift == kBits - 8 || (key ^ upper) >> static_cast<unsigned>(shift + 8) == 0;
        if (same) atomicAdd(&counts[(key >> static_cast<unsigned>(shift)) & 255U], 1U);
      }
      __syncthreads();
      const std::uint32_t mine = counts[threadIdx.x];
      const std::uint32_t behind = sum_up_to(mine, sums);  // its barrier: all have read what the next lines write
      if (behind - mine <= wanted && wanted < behind) {
        shared_upper = upper | Key{threadIdx.x} << static_cast<unsigned>(shift);
        shared_rank = wanted - (behind - mine);
        shared_equal = mine;
      }
      __syncthreads();
    }
    const Key key = shared_upper;
    rank = shared_rank;
    const bool alone = shared_equal == 1;
    __syncthreads();  // before the next key's first lines
    if (alone || k == Dim) {
      for (std::uint32_t i = threadIdx.x; i < n; i += kCutThreads) {
        const OrbPoint<T, Dim> p = get(i);
        if (in_question(p, k) && key_of(p, k) == key) *pivot = p;
      }
      return;
    }
    found[k < Dim ? k : 0] = key;
  }
}

/// Finds the cut among a node's n candidates get(0 .. n - 1), of which `rank` >= 1 go left: the pivot and the
/// coordinate of the last left point, both in shared memory and valid after a barrier. Called by a block of kCutThreads
/// threads.
template <class T, int Dim, class Get>
__device__ inline void order_candidates(const Get& get, std::uint32_t n, std::uint32_t rank, int axis,
                                        OrbPoint<T, Dim>* pivot, T* last_left) {
  using Key = decltype(order_key(T{}));
  __shared__ Key last[kCutThreads / 32];
  if (n <= kFewCandidates) {
    for (std::uint32_t i = threadIdx.x; i < n; i += kCutThreads) {
      const OrbPoint<T, Dim> p = get(i);
      std::uint32_t before = 0;
      for (std::uint32_t k = 0; k < n; ++k) before += orb_before(get(k), p, axis) ? 1U : 0U;
      if (before == rank) *pivot = p;
      if (before + 1 == rank) *last_left = p.x[axis];
    }
    return;
  }
  select_point(get, n, rank, axis, pivot);
  __syncthreads();
  const OrbPoint<T, Dim> first_right = *pivot;
  Key mine = 0;
  for (std::uint32_t i = threadIdx.x; i < n; i += kCutThreads) {
    const OrbPoint<T, Dim> p = get(i);
    if (orb_before(p, first_right, axis)) mine = max(mine, order_key(p.x[axis]));
  }
  mine = warp_max(mine);
  if (threadIdx.x % 32 == 0) last[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned w = 1; w < kCutThreads / 32; ++w) mine = max(mine, last[w]);
  *last_left = key_coordinate(mine);
}

/// Is the node's box known exactly, and is the axis that follows from it the one that was guessed? Only then can its
/// bracket hold the cut.
template <class AnyNode, class AnyGuess>
__device__ inline bool guessed_right(const AnyNode& node, const AnyGuess& guess, double side_tolerance) {
  return node.known != 0 && guess.inner != 0 && node.leaves >= 2 && cut_axis(node.box, side_tolerance) == guess.axis;
}

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

/// Boxes, leaves and axes of the two children of a node that is guessed to be cut at `plane`.
template <class T, class AnyGuess>
__device__ inline void guess_children(const AnyGuess& guess, AnyGuess* children, T plane, double side_tolerance) {
  const std::uint32_t left = left_leaves(guess.leaves);
  for (std::uint32_t side = 0; side < 2; ++side) {
    children[side].leaves = side == 0 ? left : guess.leaves - left;
    cut_box(guess.box, guess.axis, plane, side, children[side].box);
    children[side].axis = cut_axis(children[side].box, side_tolerance);
  }
}

/// Cuts the node: its two children are known from now on.
template <class T, class AnyNode>
__device__ inline void cut_node(AnyNode& node, AnyNode* children, int axis, T cut, std::uint32_t count_left) {
  node.axis = axis;
  node.cut = cut;
  node.resolved = 1;
  const std::uint32_t left = left_leaves(node.leaves);
  for (std::uint32_t side = 0; side < 2; ++side) {
    cut_box(node.box, axis, cut, side, children[side].box);
    children[side].leaves = side == 0 ? left : node.leaves - left;
    children[side].count = side == 0 ? count_left : node.count - count_left;
    children[side].known = 1;
  }
}

/// The same without weights: the cut lies between the last left point and the pivot.
template <class T, int Dim>
__device__ inline void cut_at(Node<T, Dim>& node, Node<T, Dim>* children, int axis, const OrbPoint<T, Dim>& pivot,
                              T last_left) {
  node.pivot = pivot;
  cut_node(node, children, axis, cut_between(last_left, pivot.x[axis]),
           static_cast<std::uint32_t>(unit_target(node.count, left_leaves(node.leaves), node.leaves)));
}

}  // namespace amrbench::partitioners::gpu
