#pragma once
// Kernel of gpu/levels.cuh that finishes small cells: one thread block cuts a cell down to its leaves in shared memory.
//
// In:  cells of at most so many points and leaves, each a stretch of consecutive points, ascending by number.
// Out: the cuts below each of them; numbers, labels and points in order of leaves.
// The idea. For each axis a list of the cell's points is sorted once, by rule 1's order, so that ties are no case of
// their own. (Where many points have the same coordinate, lists are sorted once more, by ranks of all coordinates.) A
// node's cut is then read off the list of its axis, at the wanted rank. Points left of it are marked, and the other
// lists are parted by that mark, stably: they stay sorted in each child. One more list has the points by number; it is
// the permutation in the end.
#include <cub/block/block_radix_sort.cuh>

#include "partitioners/orb/gpu/level_kernels.cuh"

namespace amrbench::partitioners::gpu {

/// Of cells of more points, or of fewer levels, a pass a level over all cells together is faster.
constexpr std::uint32_t kSmallPoints = 4096;
constexpr int kSmallLevels = 3;
/// Equal keys up to which a run of them is put in order by comparisons.
constexpr std::uint32_t kShortRun = 8;

/// Points of a cell for each thread of a block; the more, the less shared memory sorting takes.
template <class T, bool Weighted>
constexpr int kSmallItems = sizeof(T) == sizeof(float) && !Weighted ? 16 : 8;
template <class T, bool Weighted>
constexpr unsigned kSmallThreads = kSmallPoints / kSmallItems<T, Weighted>;
/// Of a cell at most, as shared memory has room for.
template <class T, bool Weighted>
constexpr std::uint32_t kSmallLeaves = kSmallThreads<T, Weighted> / 2;

template <class T, int Dim>
struct SmallCell {
  std::uint32_t begin, count;  ///< where its points lie
  std::uint32_t leaves, first_leaf;
  std::uint64_t out;         ///< where its first point stands in the permutation
  std::uint32_t cuts_begin;  ///< where its leaves - 1 cuts go, in the order of its heap
  std::uint32_t buffer;      ///< of two, which has its points
  OrbBox<T, Dim> box;
};

template <class T>
struct SmallCut {
  T cut;
  std::int32_t axis;
  std::uint32_t left;
  std::uint64_t weight_left;
};

/// A node of the level that is being cut.
struct SmallNode {
  std::uint16_t begin, count, leaves, first_leaf, left, axis;
};

/// Shared memory of a block.
template <class T, int Dim, bool Weighted>
struct SmallShared {
  static constexpr unsigned kThreads = kSmallThreads<T, Weighted>;
  static constexpr int kItems = kSmallItems<T, Weighted>;
  static constexpr std::uint32_t kPoints = kSmallPoints;
  static constexpr std::uint32_t kLeaves = kSmallLeaves<T, Weighted>;
  static constexpr std::uint32_t kWords = kPoints / 32;
  static constexpr std::uint16_t kLeaf = 0x8000;  ///< of `node`: a leaf's number and no node
  using Key = OrderKey<T>;
  using Sort = cub::BlockRadixSort<Key, kThreads, kItems, std::uint16_t>;
  struct Cutting {
    std::uint16_t by_number[kPoints];
    std::uint16_t node[kPoints];  ///< of each place
    std::uint8_t left[kPoints];   ///< of each point: does it go left?
    std::uint64_t sums[Weighted ? kPoints : 1];
  };
  union {
    Cutting cutting;
    typename Sort::TempStorage sort;
    Key keys[kPoints + kPoints / 16];
  } u;
  std::uint16_t sorted[Dim][kPoints];
  std::uint32_t words[Dim + 1][kWords];  ///< a bit a place: does its point go left?
  std::uint16_t before[Dim + 1][kWords];
  OrbBox<T, Dim> boxes[2][kLeaves / 2];
  SmallNode nodes[2][kLeaves / 2];
  std::uint64_t warp_sums[kThreads / 32];
  Key low[Dim], high[Dim];
  Key differing[Dim];   ///< the bits in which keys differ
  std::uint32_t ranks;  ///< of an axis: the greatest

  [[nodiscard]] __device__ std::uint16_t* list(int l) { return l < Dim ? sorted[l] : u.cutting.by_number; }
  /// Places before p whose points go left.
  [[nodiscard]] __device__ std::uint32_t lefts_before(int l, std::uint32_t p) const {
    return std::uint32_t{before[l][p / 32]} + __popc(words[l][p / 32] & ((1U << (p % 32)) - 1U));
  }
};

/// What small_kernel reads and writes.
template <class T>
struct SmallArguments {
  LevelColumns<T> from[2];
  LevelResults<T> to;
  double side_tolerance;
};

/// A place in SmallShared::keys. Threads of a warp that read a run each then read different banks.
__device__ inline std::uint32_t padded(std::uint32_t p) {
  return p + p / 16;
}

/// What a block does with one cell.
template <class T, int Dim, bool Weighted>
struct SmallWork {
  using Shared = SmallShared<T, Dim, Weighted>;
  using Key = OrderKey<T>;
  static constexpr unsigned kThreads = Shared::kThreads;
  static constexpr int kItems = Shared::kItems;
  Shared& s;
  const SmallArguments<T>& a;
  const SmallCell<T, Dim>& cell;
  const T* points;  ///< the cell's; so are weights, numbers and cuts
  const std::uint64_t* weights;
  const std::uint32_t* ids;  ///< as in LevelColumns
  std::uint32_t n;
  SmallCut<T>* cuts;

  [[nodiscard]] __device__ T coordinate(std::uint32_t i, int axis) const { return points[i * Dim + axis]; }
  /// Of the thread's items in lists that are sorted.
  [[nodiscard]] __device__ static std::uint32_t place(int j) { return threadIdx.x * kItems + static_cast<unsigned>(j); }
  [[nodiscard]] __device__ OrbPoint<T, Dim> point(std::uint32_t i) const {
    return point_at<T, Dim>(points + i * Dim, i);
  }

  /// The least and the greatest key on each axis, and the bits in which keys differ.
  __device__ void find_ranges() {
    if (threadIdx.x < Dim) {
      s.low[threadIdx.x] = ~Key{0};
      s.high[threadIdx.x] = s.differing[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int d = 0; d < Dim; ++d) {
      const Key first = ordered_bits(coordinate(0, d));
      Key differing = 0;
      Key below_low = 0;  // complement, so that both are maxima
      Key high = 0;
      for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) {
        const Key key = ordered_bits(coordinate(i, d));
        below_low = Key(~key) > below_low ? Key(~key) : below_low;
        high = key > high ? key : high;
        differing |= key ^ first;
      }
      below_low = warp_max(below_low);
      high = warp_max(high);
      for (int step = 16; step > 0; step /= 2) differing |= __shfl_xor_sync(kFull, differing, step);
      if (threadIdx.x % 32 == 0) {
        atomic_min(&s.low[d], Key(~below_low));
        atomic_max(&s.high[d], high);
        atomicOr(reinterpret_cast<AtomicWord<Key>*>(&s.differing[d]), AtomicWord<Key>{differing});
      }
    }
    __syncthreads();
  }
  [[nodiscard]] __device__ int key_bits(int axis) const {
    return bit_width(static_cast<std::uint64_t>(s.high[axis] - s.low[axis]));
  }

  /// The points' list by keys on an axis, those of equal keys by number. Afterwards the union has the keys in their new
  /// order.
  __device__ void sort_by(int axis) {
    const int bits = key_bits(axis);
    const Key low = s.low[axis];
    const Key last = bits == 0 ? Key{0} : Key(~Key{0}) >> (8 * static_cast<int>(sizeof(Key)) - bits);
    __syncthreads();
    for (std::uint32_t p = threadIdx.x; p < Shared::kPoints; p += kThreads)
      s.u.keys[padded(p)] = p < n ? Key(ordered_bits(coordinate(p, axis)) - low) : last;
    __syncthreads();
    Key keys[kItems];
    std::uint16_t numbers[kItems];
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      keys[j] = s.u.keys[padded(place(j))];
      numbers[j] = static_cast<std::uint16_t>(place(j));
    }
    __syncthreads();
    // Keys on a lattice have the same lower bits, and so have their distances.
    const auto differing = static_cast<std::uint64_t>(s.differing[axis]);
    if (bits > 0)
      typename Shared::Sort(s.u.sort).Sort(keys, numbers, __ffsll(static_cast<long long>(differing)) - 1, bits);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      s.u.keys[padded(place(j))] = keys[j];
      s.sorted[axis][place(j)] = numbers[j];
    }
    __syncthreads();
  }

  /// Orders a short run of equal keys that begins at place p. False: it is longer.
  __device__ bool order_run(std::uint16_t* list, std::uint32_t p, int axis) {
    const Key key = s.u.keys[padded(p)];
    std::uint32_t end = p + 1;
    while (end < n && end - p <= kShortRun && s.u.keys[padded(end)] == key) ++end;
    if (end - p > kShortRun) return false;
    for (std::uint32_t k = p + 1; k < end; ++k) {
      const std::uint16_t number = list[k];
      const OrbPoint<T, Dim> q = point(number);
      std::uint32_t at = k;
      for (; at > p && orb_before(q, point(list[at - 1]), axis); --at) list[at] = list[at - 1];
      list[at] = number;
    }
    return true;
  }

  /// The cell's points in rule 1's order along an axis. False: too many have the same coordinate, and are by number.
  __device__ bool sort_axis(int axis) {
    std::uint16_t* const list = s.sorted[axis];
    sort_by(axis);
    bool others = false;
    for (int d = 0; d < Dim; ++d) others = others || (d != axis && key_bits(d) > 0);
    if (!others) return true;
    bool ordered = true;
    for (std::uint32_t p = threadIdx.x; p + 1 < n; p += kThreads) {
      const Key key = s.u.keys[padded(p)];
      if (key == s.u.keys[padded(p + 1)] && (p == 0 || s.u.keys[padded(p - 1)] != key))
        ordered = order_run(list, p, axis) && ordered;
    }
    return __syncthreads_and(ordered ? 1 : 0) != 0;
  }

  /// Puts in place of an axis' list the ranks of the points' coordinates there, by point; the list to `mine`. Returns
  /// the bits of ranks.
  __device__ int rank_points(int axis, std::uint16_t (&mine)[kItems]) {
    std::uint16_t* const list = s.sorted[axis];
    bool further[kItems];  // than the point before
    std::uint64_t sum = 0;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      mine[j] = list[place(j)];
      further[j] = place(j) > 0 && place(j) < n && coordinate(mine[j], axis) != coordinate(list[place(j) - 1], axis);
      sum += further[j] ? 1U : 0U;
    }
    const std::uint64_t up_to = sum_up_to(sum, s.warp_sums);
    auto rank = static_cast<std::uint32_t>(up_to - sum);
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      rank += further[j] ? 1U : 0U;
      list[mine[j]] = static_cast<std::uint16_t>(rank);
    }
    if (threadIdx.x == kThreads - 1) s.ranks = static_cast<std::uint32_t>(up_to);
    __syncthreads();
    return bit_width(std::uint64_t{s.ranks});
  }

  /// Brings lists into rule 1's order whose points are by number where their coordinates are the same; of axes whose
  /// bits are set. Few coordinates have short ranks, so those of all axes are one key, or two of them.
  __device__ void order_by_ranks(unsigned axes) {
    std::uint16_t lists[Dim][kItems];
    int bits[Dim];
    for (int d = 0; d < Dim; ++d) bits[d] = rank_points(d, lists[d]);
    for (int axis = 0; axis < Dim; ++axis) {
      if ((axes >> static_cast<unsigned>(axis) & 1U) == 0U) continue;
      std::uint16_t numbers[kItems];
#pragma unroll
      for (int j = 0; j < kItems; ++j) numbers[j] = static_cast<std::uint16_t>(place(j));
      for (int next = Dim - 1; next >= 0;) {  // the stage that decides last comes first
        int all = 0, stage = next;
        Key keys[kItems] = {};
        for (; stage >= 0; --stage) {
          const int d = axis_of_stage<T, Dim>(axis, stage);
          if (bits[d] == 0) continue;
          if (all + bits[d] > 8 * static_cast<int>(sizeof(Key))) break;
#pragma unroll
          for (int j = 0; j < kItems; ++j) keys[j] |= Key{s.sorted[d][numbers[j]]} << all;
          all += bits[d];
        }
        next = stage;
#pragma unroll
        for (int j = 0; j < kItems; ++j)
          if (numbers[j] >= n) keys[j] = ~Key{0};  // stay behind all others
        __syncthreads();
        if (all > 0) typename Shared::Sort(s.u.sort).Sort(keys, numbers, 0, all);
      }
#pragma unroll
      for (int j = 0; j < kItems; ++j) lists[axis][j] = numbers[j];
    }
    __syncthreads();
    for (int d = 0; d < Dim; ++d)
#pragma unroll
      for (int j = 0; j < kItems; ++j) s.sorted[d][place(j)] = lists[d][j];
    __syncthreads();
  }

  __device__ void start() {
    for (std::uint32_t p = threadIdx.x; p < n; p += kThreads) {
      s.u.cutting.by_number[p] = static_cast<std::uint16_t>(p);
      s.u.cutting.node[p] = 0;
      s.u.cutting.left[p] = 0;
    }
    if (threadIdx.x == 0) {
      s.boxes[0][0] = cell.box;
      const auto axis = static_cast<std::uint16_t>(cut_axis(cell.box, a.side_tolerance));
      s.nodes[0][0] = {0, static_cast<std::uint16_t>(n), static_cast<std::uint16_t>(cell.leaves), 0, 0, axis};
    }
    __syncthreads();
  }

  /// sums[p]: weight of the places up to p, each in the list of its node's axis.
  __device__ void add_up(const SmallNode* nodes) {
    std::uint64_t mine[kItems];
    std::uint64_t sum = 0;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const std::uint32_t p = threadIdx.x * kItems + j;
      std::uint16_t k = p < n ? s.u.cutting.node[p] : Shared::kLeaf;
      if ((k & Shared::kLeaf) == 0) sum += weights[s.sorted[nodes[k].axis][p]];
      mine[j] = sum;
    }
    const std::uint64_t before = sum_up_to(sum, s.warp_sums) - sum;
#pragma unroll
    for (int j = 0; j < kItems; ++j) s.u.cutting.sums[threadIdx.x * kItems + j] = before + mine[j];
    __syncthreads();
  }

  /// Cuts node k of a level of `width`.
  __device__ void cut_one(int now, std::uint32_t k, std::uint32_t width) {
    SmallNode& node = s.nodes[now][k];
    const std::uint32_t count = node.count;
    const std::uint32_t leaves_left = left_leaves(node.leaves);
    std::uint32_t left = static_cast<std::uint32_t>(unit_target(count, leaves_left, node.leaves));
    std::uint64_t weight_left = 0;
    if constexpr (Weighted) {
      const std::uint64_t* const sums = s.u.cutting.sums;
      const std::uint64_t before = node.begin > 0 ? sums[node.begin - 1] : 0;
      const auto weight_of = [&](std::uint32_t points_left) {
        return points_left > 0 ? sums[node.begin + points_left - 1] - before : 0;
      };
      left = cut_by_sums({count, node.leaves, leaves_left, weight_of(count)}, weight_of);
      weight_left = weight_of(left);
    }
    const int axis = node.axis;
    const std::uint16_t* const list = s.sorted[axis];
    const T cut = cut_between(coordinate(list[node.begin + left - 1], axis), coordinate(list[node.begin + left], axis));
    cuts[width + k - 1] = {cut, axis, left, weight_left};
    node.left = static_cast<std::uint16_t>(left);
    for (std::uint32_t side = 0; side < 2; ++side) {
      const std::uint32_t leaves = side == 0 ? leaves_left : node.leaves - leaves_left;
      if (leaves == 1) continue;
      const std::uint32_t child = 2 * k + side;
      OrbBox<T, Dim>& box = s.boxes[1 - now][child];
      cut_box(s.boxes[now][k], axis, cut, side, box);
      const std::uint32_t points_there = side == 0 ? left : count - left;
      s.nodes[1 - now][child] = {static_cast<std::uint16_t>(node.begin + (side == 0 ? 0 : left)),
                                 static_cast<std::uint16_t>(points_there),
                                 static_cast<std::uint16_t>(leaves),
                                 static_cast<std::uint16_t>(node.first_leaf + (side == 0 ? 0 : leaves_left)),
                                 0,
                                 static_cast<std::uint16_t>(cut_axis(box, a.side_tolerance))};
    }
  }

  /// Marks each point that goes left; then, list by list, the places of those.
  __device__ void mark(const SmallNode* nodes) {
    auto& cutting = s.u.cutting;
    for (std::uint32_t p = threadIdx.x; p < n; p += kThreads) {
      const std::uint16_t k = cutting.node[p];
      if ((k & Shared::kLeaf) != 0) continue;
      const SmallNode& node = nodes[k];
      cutting.left[s.sorted[node.axis][p]] = p < std::uint32_t{node.begin} + node.left ? 1 : 0;
    }
    __syncthreads();
    for (int l = 0; l <= Dim; ++l)
      for (std::uint32_t p = threadIdx.x; p < Shared::kPoints; p += kThreads) {
        const unsigned with = __ballot_sync(kFull, p < n && cutting.left[s.list(l)[p]] != 0);
        if (threadIdx.x % 32 == 0) s.words[l][p / 32] = with;
      }
    __syncthreads();
    const unsigned lane = threadIdx.x % 32;
    const unsigned l = threadIdx.x / 32;
    if (l <= Dim) {  // a warp a list
      constexpr std::uint32_t kMine = Shared::kWords / 32;
      std::uint32_t sum = 0;
      for (std::uint32_t w = lane * kMine; w < (lane + 1) * kMine; ++w) sum += __popc(s.words[l][w]);
      std::uint32_t before = warp_sum_up_to(sum) - sum;
      for (std::uint32_t w = lane * kMine; w < (lane + 1) * kMine; ++w) {
        s.before[l][w] = static_cast<std::uint16_t>(before);
        before += __popc(s.words[l][w]);
      }
    }
    __syncthreads();
  }

  /// Parts list l: in each node first the points that go left. The list of a node's own axis is parted already.
  __device__ void part(int l, const SmallNode* nodes) {
    std::uint16_t* const list = s.list(l);
    std::uint32_t moved[kItems];  // place, and above 16 bits the point
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const std::uint32_t p = j * kThreads + threadIdx.x;
      moved[j] = ~0U;
      if (p >= n) continue;
      const std::uint16_t k = s.u.cutting.node[p];
      if ((k & Shared::kLeaf) != 0 || nodes[k].axis == l) continue;
      const SmallNode& node = nodes[k];
      const std::uint32_t lefts = s.lefts_before(l, p) - s.lefts_before(l, node.begin);
      const bool left = (s.words[l][p / 32] >> (p % 32) & 1U) != 0U;
      const std::uint32_t to = left ? node.begin + lefts : p + node.left - lefts;
      moved[j] = to | std::uint32_t{list[p]} << 16U;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kItems; ++j)
      if (moved[j] != ~0U) list[moved[j] & 0xffffU] = static_cast<std::uint16_t>(moved[j] >> 16U);
  }

  /// The node of each place on the next level, or its leaf.
  __device__ void descend(const SmallNode* nodes) {
    for (std::uint32_t p = threadIdx.x; p < n; p += kThreads) {
      const std::uint16_t k = s.u.cutting.node[p];
      if ((k & Shared::kLeaf) != 0) continue;
      const SmallNode& node = nodes[k];
      const bool right = p >= std::uint32_t{node.begin} + node.left;
      const std::uint32_t leaves_left = left_leaves(node.leaves);
      const std::uint32_t leaves = right ? node.leaves - leaves_left : leaves_left;
      const std::uint32_t leaf = node.first_leaf + (right ? leaves_left : 0U);
      s.u.cutting.node[p] = static_cast<std::uint16_t>(leaves == 1 ? Shared::kLeaf | leaf : 2U * k + (right ? 1U : 0U));
    }
    __syncthreads();
  }

  __device__ void write() {
    for (std::uint32_t p = threadIdx.x; p < n; p += kThreads) {
      const std::uint32_t i = s.u.cutting.by_number[p];
      const std::uint32_t leaf = cell.first_leaf + (s.u.cutting.node[p] & ~std::uint32_t{Shared::kLeaf});
      a.to.write(cell.out + p, ids != nullptr ? ids[i] : cell.begin + i, leaf, points + std::uint64_t{i} * Dim, Dim);
    }
    __syncthreads();
  }

  __device__ void run() {
    find_ranges();
    unsigned unordered = 0;  // axes
    for (int d = 0; d < Dim; ++d) unordered |= sort_axis(d) ? 0U : 1U << static_cast<unsigned>(d);
    if (unordered != 0) order_by_ranks(unordered);
    __syncthreads();
    start();
    int now = 0;
    for (std::uint32_t width = 1; width < cell.leaves; width *= 2) {
      const SmallNode* const nodes = s.nodes[now];
      if constexpr (Weighted) add_up(nodes);
      // At the last level with nodes those on the right may be leaves: nodes 1 .. leaves - 1 of a heap are cut.
      for (std::uint32_t k = threadIdx.x; k < width && width + k < cell.leaves; k += kThreads) cut_one(now, k, width);
      __syncthreads();
      mark(nodes);
      for (int l = 0; l <= Dim; ++l) part(l, nodes);
      __syncthreads();
      descend(nodes);
      now = 1 - now;
    }
    write();
  }
};

/// One block a cell at a time.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kSmallThreads<T, Weighted>, 1024 / kSmallThreads<T, Weighted>)
    small_kernel(const __grid_constant__ SmallArguments<T> a, const SmallCell<T, Dim>* cells, std::uint32_t n_cells,
                 SmallCut<T>* cuts) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<SmallShared<T, Dim, Weighted>*>(memory);
  for (std::uint32_t c = blockIdx.x; c < n_cells; c += gridDim.x) {
    const SmallCell<T, Dim>& cell = cells[c];
    const LevelColumns<T>& from = a.from[cell.buffer];
    SmallWork<T, Dim, Weighted>{shared,
                                a,
                                cell,
                                from.points + std::uint64_t{cell.begin} * Dim,
                                Weighted ? from.weights + cell.begin : nullptr,
                                from.ids != nullptr ? from.ids + cell.begin : nullptr,
                                cell.count,
                                cuts + cell.cuts_begin}
        .run();
  }
}

}  // namespace amrbench::partitioners::gpu
