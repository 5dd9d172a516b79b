#pragma once
// Sites of gpu/first_round/sites.cuh: the nodes are cut, and points get their codes.
#include <cub/block/block_scan.cuh>

#include "partitioners/orb/gpu/cut.cuh"
#include "partitioners/orb/gpu/first_round/site_counts.cuh"

namespace amrbench::partitioners::gpu {

constexpr int kFindThreads = 256;

/// Of a site, the points of one node: so many, from the one on that is the first-th by number.
struct SitePiece {
  std::uint32_t site, numbers;  ///< as in SiteAxes
  std::uint32_t first, count;
};

/// Points in the order of sites and numbers; without weights null.
struct SiteOrder {
  const std::uint32_t* begins;  ///< [site]
  const std::uint32_t* ids;
  const std::uint64_t* sums;  ///< of weights, up to each point

  /// What so many points of a site weigh, from its first-th on; without weights 1 each.
  [[nodiscard]] __device__ std::uint64_t weight(std::uint32_t site, std::uint32_t first, std::uint32_t count) const {
    if (sums == nullptr || count == 0) return count;
    const std::uint32_t from = begins[site] + first;
    return sums[from + count - 1U] - (from > 0 ? sums[from - 1U] : 0U);
  }
};

/// The pieces of a level's nodes, those of the next level, and those whose node is not cut.
struct SitePieces {
  const SitePiece* from;
  SitePiece* to;
  uint2* ranges;  ///< [node]: its pieces, from x up to y
  std::uint64_t* end_keys;
  std::uint16_t* end_nodes;
  std::uint32_t* ended;

  __device__ void end(const SitePiece& piece, std::uint32_t node) const {
    const std::uint32_t k = atomicAdd(ended, 1U);
    end_keys[k] = std::uint64_t{piece.site} << 32U | piece.first;
    end_nodes[k] = static_cast<std::uint16_t>(node);
  }
};

/// What tells a point's code. Pieces in the order of sites and then of points; behind them keys of all ones.
struct SiteTable {
  static constexpr std::uint32_t kDivided = 1U << 31U;
  std::uint32_t* of_site;  ///< its node, or kDivided, its first piece, and above 16 bits how many
  std::uint32_t* starts;   ///< number of a piece's first point; 0 of a site's first piece
  const std::uint64_t* keys;
  const std::uint16_t* nodes;
};

/// A piece a site, all of the root.
template <class T, int Dim>
__global__ void first_pieces_kernel(const SiteAxes<T, Dim> axes, const std::uint32_t* __restrict__ totals,
                                    SitePiece* pieces, uint2* ranges) {
  const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s < axes.sites && totals[s] > 0) pieces[atomicAdd(&ranges[1].y, 1U)] = {s, axes.numbers(s), 0, totals[s]};
}

/// In which of n sums, in two words each, the rest-th unit of weight lies; rest: from the bin's begin on. A warp calls.
__device__ inline std::uint32_t bin_of_rank(const std::uint32_t* low, const std::uint32_t* high, std::uint32_t n,
                                            std::uint64_t& rest) {
  const std::uint32_t lane = threadIdx.x & 31U;
  std::uint32_t begin = 0;
  std::uint64_t before = 0;
  for (;; begin += 32) {
    const std::uint32_t k = begin + lane;
    const std::uint64_t mine = k < n ? std::uint64_t{high[k]} << 32U | low[k] : 0U;
    const std::uint64_t up_to = before + warp_sum_up_to(mine);
    const unsigned beyond = __ballot_sync(kFull, up_to > rest);
    if (beyond == 0U && begin + 32 < n) {
      before = __shfl_sync(kFull, up_to, 31);
      continue;
    }
    const int first = beyond == 0U ? 31 : __ffs(static_cast<int>(beyond)) - 1;
    rest -= __shfl_sync(kFull, up_to - mine, first);
    return begin + static_cast<std::uint32_t>(first);
  }
}

/// Where a node is cut: which of its points go left, and how many of them are of the site of the cut.
struct SiteCut {
  SitePiece piece;  ///< of that site
  std::uint64_t rest;
  CountAndWeight left;
  bool found;
};

/// The cut by weight, from what lies before the site of the cut, and from which of its units of weight on the left is
/// heavy enough; no point weighs nothing. One thread calls. Not found where leaves need points that it would not leave.
__device__ inline void cut_by_weight(const WeightGoal& goal, const SiteOrder& order, SiteCut& cut) {
  const auto weight_of = [&](std::uint32_t k) { return order.weight(cut.piece.site, cut.piece.first, k); };
  const std::uint64_t before = first_search(goal).weight - 1U - cut.rest;
  std::uint32_t k = 1;  // of its points
  for (std::uint32_t high = cut.piece.count; k < high;) {
    const std::uint32_t middle = k + (high - k) / 2;
    if (weight_of(middle) > cut.rest)
      high = middle;
    else
      k = middle + 1;
  }
  cut.found = cut.left.count + k >= goal.least() && cut.left.count + k <= goal.most();
  if (cut.left.count + k > goal.least() && goal.prefers(before + weight_of(k - 1), before + weight_of(k))) --k;
  cut.rest = k;
  cut.left = {cut.left.count + k, before + weight_of(k)};
}

/// A block a node: cuts it and shares out its pieces. A node whose leaves need points that no cut leaves stays uncut.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kSiteThreads)
    cut_sites_kernel(int level, int levels, double side_tolerance, const SiteAxes<T, Dim> axes, const SitePieces pieces,
                     const SiteOrder order, Node<T, Dim>* nodes) {
  __shared__ std::uint32_t low[kMostAlong], high[kMostAlong], found, last_left, first_right, given[2];
  __shared__ SiteCut cut;
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  const uint2 range = pieces.ranges[v];
  if (range.x == range.y) return;  // no such node, or its pieces have ended
  Node<T, Dim>& node = nodes[v];
  const std::uint32_t left_leaf_count = left_leaves(node.leaves);
  const auto end_all = [&] {
    for (std::uint32_t i = range.x + threadIdx.x; i < range.y; i += blockDim.x) pieces.end(pieces.from[i], v);
  };
  if (node.count < node.leaves) return end_all();
  const WeightGoal goal{node.count, node.leaves, left_leaf_count, Weighted ? node.weight : 0U};
  const int axis = cut_axis(node.box, side_tolerance);
  if (threadIdx.x == 0) {
    cut = {{}, Weighted ? first_search(goal).weight - 1U : goal.unit(), {Weighted ? 0U : goal.unit(), 0}, true};
    last_left = given[0] = given[1] = 0;
    first_right = kMostAlong - 1U;
  }
  // The site in which the cut lies: bits of its numbers that are known, and these.
  std::uint32_t known = 0, chosen = 0;
  for (int stage = 0; stage < Dim; ++stage) {
    const int along = axis_of_stage<T, Dim>(axis, stage);
    for (std::uint32_t k = threadIdx.x; k < axes.counts[along]; k += blockDim.x) low[k] = high[k] = 0;
    __syncthreads();
    for (std::uint32_t i = range.x + threadIdx.x; i < range.y; i += blockDim.x) {
      const SitePiece piece = pieces.from[i];
      if ((piece.numbers & known) != chosen) continue;
      const std::uint32_t k = axes.number(piece.numbers, along);
      add_in_two_words(&low[k], &high[k], order.weight(piece.site, piece.first, piece.count));
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      std::uint64_t rest = cut.rest;
      const std::uint32_t bin = bin_of_rank(low, high, axes.counts[along], rest);
      __syncwarp();
      if (threadIdx.x == 0) {
        found = bin;
        cut.rest = rest;
      }
    }
    __syncthreads();
    known |= (kMostAlong - 1U) << (kNumberBits * static_cast<unsigned>(along));
    chosen |= found << (kNumberBits * static_cast<unsigned>(along));
  }
  const auto in_order = [&](std::uint32_t numbers) {  // as rule 1 compares along the axis
    std::uint32_t order = 0;
    for (int stage = 0; stage < Dim; ++stage)
      order = order << kNumberBits | axes.number(numbers, axis_of_stage<T, Dim>(axis, stage));
    return order;
  };
  const std::uint32_t cut_at = in_order(chosen);
  if constexpr (Weighted) {
    std::uint32_t before = 0;
    for (std::uint32_t i = range.x + threadIdx.x; i < range.y; i += blockDim.x) {
      const SitePiece piece = pieces.from[i];
      const std::uint32_t at = in_order(piece.numbers);
      before += at < cut_at ? piece.count : 0U;
      if (at == cut_at) cut.piece = piece;
    }
    if (before > 0) atomicAdd(&cut.left.count, before);
    __syncthreads();
    if (threadIdx.x == 0) cut_by_weight(goal, order, cut);
    __syncthreads();
    if (!cut.found) return end_all();
  }
  const uint2 room = {range.x + blockIdx.x, range.y + blockIdx.x + 1U};  // a node divides one piece at most
  const bool outer[2] = {left_leaf_count == 1 || level + 1 == levels,
                         node.leaves - left_leaf_count == 1 || level + 1 == levels};
  const auto below = static_cast<unsigned>(levels - level - 1);  // what ends above the last level goes left to it
  const auto give = [&](const SitePiece& piece, std::uint32_t side) {
    const std::uint32_t number = axes.number(piece.numbers, axis);
    side == 0 ? atomicMax(&last_left, number) : atomicMin(&first_right, number);
    if (outer[side]) return pieces.end(piece, (2 * v + side) << below);
    const std::uint32_t k = atomicAdd(&given[side], 1U);
    pieces.to[side == 0 ? room.x + k : room.y - 1U - k] = piece;
  };
  for (std::uint32_t i = range.x + threadIdx.x; i < range.y; i += blockDim.x) {
    const SitePiece piece = pieces.from[i];
    const std::uint32_t at = in_order(piece.numbers);
    const std::uint32_t left = at < cut_at ? piece.count : at == cut_at ? static_cast<std::uint32_t>(cut.rest) : 0U;
    if (left > 0) give({piece.site, piece.numbers, piece.first, left}, 0);
    if (left < piece.count) give({piece.site, piece.numbers, piece.first + left, piece.count - left}, 1);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto coordinate = [&](std::uint32_t number) {
    return from_ordered_bits(axes.keys[axis * kMostAlong + number]);
  };
  cut_node(node, nodes + 2 * v, axis, cut_between(coordinate(last_left), coordinate(first_right)), cut.left);
  pieces.ranges[2 * v] = {room.x, room.x + given[0]};
  pieces.ranges[2 * v + 1] = {room.y - given[1], room.y};
}

/// How many of 8 codes are of a site.
__device__ inline std::uint32_t count_of_site(const uint4& codes, std::uint32_t site) {
  const std::uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
  std::uint32_t count = 0;
#pragma unroll
  for (const std::uint32_t word : words)
    count += ((word & 0xffffU) == site ? 1U : 0U) + (word >> 16U == site ? 1U : 0U);
  return count;
}

/// A block a piece: the number of its first point; what each site's entry of the table is.
static __global__ void __launch_bounds__(kFindThreads)
    find_starts_kernel(const SiteTable table, const SiteCounts counts, const SiteOrder order, std::uint64_t n,
                       const std::uint16_t* __restrict__ codes) {
  using Scan = cub::BlockScan<std::uint32_t, kFindThreads>;
  __shared__ typename Scan::TempStorage room;
  __shared__ std::uint32_t part, rank, sums[kFindThreads / 32];
  const std::uint32_t piece = blockIdx.x;
  const std::uint64_t key = table.keys[piece];
  if (key == ~std::uint64_t{0}) return;
  const auto site = static_cast<std::uint32_t>(key >> 32U);
  const auto first = static_cast<std::uint32_t>(key);
  if (first == 0 || order.ids != nullptr) {
    if (threadIdx.x != 0) return;
    table.starts[piece] = first == 0 ? 0U : order.ids[order.begins[site] + first];
    if (first > 0) return;
    std::uint32_t end = piece + 1;  // of the site's pieces
    for (std::uint32_t high = gridDim.x; end < high;) {
      const std::uint32_t middle = (end + high) / 2;
      if (table.keys[middle] >> 32U == site)
        end = middle + 1;
      else
        high = middle;
    }
    table.of_site[site] = end == piece + 1 ? table.nodes[piece] : SiteTable::kDivided | (end - piece) << 16U | piece;
    return;
  }
  // Is the rank among those of a thread? Then it becomes one among them.
  const auto is_mine = [&](std::uint32_t mine, std::uint32_t& target) {
    std::uint32_t before = 0;
    Scan(room).ExclusiveSum(mine, before);
    target -= before;
    return target < mine;  // wraps where it lies before
  };
  constexpr std::uint32_t kMine = kMostStretches / kFindThreads;
  std::uint32_t count[kMine], mine = 0;
#pragma unroll
  for (std::uint32_t k = 0; k < kMine; ++k) {
    const std::uint32_t stretch = threadIdx.x * kMine + k;
    count[k] = stretch < counts.stretches ? counts.counts[std::uint64_t{stretch} * counts.sites + site] : 0U;
    mine += count[k];
  }
  std::uint32_t target = first;
  if (is_mine(mine, target)) {
    std::uint32_t k = 0;
    for (; k + 1 < kMine && target >= count[k]; ++k) target -= count[k];
    part = threadIdx.x * kMine + k;
    rank = target;
  }
  __syncthreads();
  std::uint64_t begin = part * counts.stretch, size = counts.stretch;
  target = rank;
  constexpr std::uint32_t kWarps = kFindThreads / 32, kAtOnce = kFindThreads * 8;
  while (size > kAtOnce) {  // parts of a warp each
    size = ((size - 1) / (kWarps * 256) + 1) * 256;
    const std::uint64_t from = begin + threadIdx.x / 32 * size;
    std::uint32_t sum = 0;
    for (std::uint64_t i = from + (threadIdx.x & 31U) * 8; i < min(n, from + size); i += 256)
      sum += count_of_site(*reinterpret_cast<const uint4*>(codes + i), site);
    sum = static_cast<std::uint32_t>(warp_sum(sum));
    __syncthreads();  // the part of the turn before has been read
    if ((threadIdx.x & 31U) == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    std::uint32_t warp = 0;
    for (; warp + 1 < kWarps && target >= sums[warp]; ++warp) target -= sums[warp];
    begin += warp * size;
  }
  const std::uint64_t i = begin + threadIdx.x * std::uint64_t{8};
  const bool here = threadIdx.x * std::uint64_t{8} < size && i < n;
  const uint4 mine_of = here ? *reinterpret_cast<const uint4*>(codes + i) : make_uint4(0, 0, 0, 0);
  __syncthreads();
  if (!is_mine(here ? count_of_site(mine_of, site) : 0U, target)) return;
  for (const std::uint16_t* at = codes + i;; ++at) {
    if (*at != site) continue;
    if (target-- > 0) continue;
    table.starts[piece] = static_cast<std::uint32_t>(at - codes);
    return;
  }
}

/// Sites become codes. 8 points a thread; codes are padded to that.
static __global__ void __launch_bounds__(kSiteThreads)
    code_sites_kernel(const SiteTable table, std::uint32_t sites, std::uint64_t n, std::uint16_t* codes) {
  extern __shared__ std::uint32_t of_site[];
  for (std::uint32_t s = threadIdx.x; s < sites; s += kSiteThreads) of_site[s] = table.of_site[s];
  __syncthreads();
  const auto code_of = [&](std::uint32_t site, std::uint32_t id) -> std::uint32_t {
    if (id >= n) return 0;
    const std::uint32_t entry = of_site[site];
    if ((entry & SiteTable::kDivided) == 0U) return entry;
    std::uint32_t low = entry & 0xffffU, count = (entry & ~SiteTable::kDivided) >> 16U;
    while (count > 1) {  // the last piece that begins at or before the point
      const std::uint32_t half = count / 2;
      if (table.starts[low + half] <= id)
        low += half, count -= half;
      else
        count = half;
    }
    return table.nodes[low];
  };
  const std::uint64_t step = std::uint64_t{gridDim.x} * kSiteThreads * 8;
  for (std::uint64_t i = (std::uint64_t{blockIdx.x} * kSiteThreads + threadIdx.x) * 8; i < n; i += step) {
    auto& words = *reinterpret_cast<uint4*>(codes + i);
    std::uint32_t word[4] = {words.x, words.y, words.z, words.w};
    const auto id = static_cast<std::uint32_t>(i);
#pragma unroll
    for (std::uint32_t j = 0; j < 4; ++j)
      word[j] = code_of(word[j] & 0xffffU, id + 2 * j) | code_of(word[j] >> 16U, id + 2 * j + 1) << 16U;
    words = make_uint4(word[0], word[1], word[2], word[3]);
  }
}

}  // namespace amrbench::partitioners::gpu
