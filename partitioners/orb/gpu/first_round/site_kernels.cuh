#pragma once
// Kernels of gpu/first_round/sites.cuh, where it says what they are for.
#include <cub/block/block_scan.cuh>

#include "partitioners/orb/gpu/cut.cuh"
#include "partitioners/orb/gpu/first_round/quantiles.cuh"

namespace amrbench::partitioners::gpu {

/// Most sites, whose counts fit into shared memory; most distinct coordinates along an axis.
constexpr std::uint32_t kMostSites = 1U << 15U;
constexpr unsigned kNumberBits = 10;
constexpr std::uint32_t kMostAlong = 1U << kNumberBits;
constexpr std::uint32_t kMostStretches = 1024;
constexpr int kSiteThreads = 1024, kFindThreads = 256;
/// Points that a block counts at a time.
constexpr std::uint64_t kSiteTile = std::uint64_t{kSiteThreads} * 4;

/// The distinct coordinates along each axis, in ascending order.
template <class T, int Dim>
struct SiteAxes {
  const OrderKey<T>* keys;  ///< [axis][kMostAlong]
  std::uint32_t counts[Dim];

  [[nodiscard]] std::uint32_t sites() const {
    std::uint32_t sites = 1;
    for (const std::uint32_t count : counts) sites *= count;
    return sites;
  }
  /// numbers: of the coordinates, kNumberBits an axis.
  [[nodiscard]] __device__ std::uint32_t site(std::uint32_t numbers) const {
    std::uint32_t site = 0;
#pragma unroll
    for (int a = 0; a < Dim; ++a) site = site * counts[a] + number(numbers, a);
    return site;
  }
  [[nodiscard]] __device__ std::uint32_t numbers(std::uint32_t site) const {
    std::uint32_t all = 0;
#pragma unroll
    for (int a = Dim - 1; a >= 0; --a) {
      all |= (site % counts[a]) << (kNumberBits * static_cast<unsigned>(a));
      site /= counts[a];
    }
    return all;
  }
  [[nodiscard]] __device__ static std::uint32_t number(std::uint32_t numbers, int axis) {
    return numbers >> (kNumberBits * static_cast<unsigned>(axis)) & (kMostAlong - 1U);
  }
};

/// Points by stretch of the points and site, and how many points a stretch has.
struct SiteCounts {
  std::uint32_t* counts;  ///< [stretch][site]
  std::uint32_t sites;
  std::uint64_t stretch;
  std::uint32_t stretches;
};

/// Of a site, the points of one node: so many, from the one on that is the first-th by number.
struct SitePiece {
  std::uint32_t numbers;  ///< as in SiteAxes
  std::uint32_t first, count;
};

/// The pieces of a level's nodes, those of the next level, and those whose node is not cut.
struct SitePieces {
  const SitePiece* from;
  SitePiece* to;
  uint2* ranges;  ///< [node]: its pieces, from x up to y
  std::uint64_t* end_keys;
  std::uint16_t* end_nodes;
  std::uint32_t* ended;

  /// site: of a piece of that node, whose first point is the site's first-th.
  __device__ void end(std::uint32_t site, std::uint32_t first, std::uint32_t node) const {
    const std::uint32_t k = atomicAdd(ended, 1U);
    end_keys[k] = std::uint64_t{site} << 32U | first;
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

/// A block an axis: numbers the sample's distinct coordinates.
template <class T, int Dim>
__global__ void __launch_bounds__(kSiteThreads)
    distinct_kernel(const OrbPoint<T, Dim>* __restrict__ sorted, OrderKey<T>* keys, std::uint32_t* counts) {
  using Scan = cub::BlockScan<std::uint32_t, kSiteThreads>;
  __shared__ typename Scan::TempStorage room;
  constexpr std::uint32_t kMine = kQuantileSample / kSiteThreads;
  const int axis = static_cast<int>(blockIdx.x);
  sorted += blockIdx.x * kQuantileSample;
  const std::uint32_t first = threadIdx.x * kMine;
  const auto key_of = [&](std::uint32_t i) { return ordered_bits(sorted[i].x[axis]); };
  const auto is_new = [&](std::uint32_t i) { return i == 0 || key_of(i) != key_of(i - 1); };
  std::uint32_t mine = 0, before = 0, all = 0;
  for (std::uint32_t i = first; i < first + kMine; ++i) mine += is_new(i) ? 1U : 0U;
  Scan(room).ExclusiveSum(mine, before, all);
  if (threadIdx.x == 0) counts[blockIdx.x] = all;
  for (std::uint32_t i = first; i < first + kMine; ++i) {
    if (!is_new(i)) continue;
    if (before < kMostAlong) keys[blockIdx.x * kMostAlong + before] = key_of(i);
    ++before;
  }
}

template <class T, int Dim>
constexpr std::size_t kCountSitesShared = Dim* kMostAlong * sizeof(OrderKey<T>) + kMostSites * sizeof(std::uint32_t);

/// The number of a coordinate among n; kMostAlong: it has none. Where they are equally far apart, no search is needed.
template <class T>
__device__ inline std::uint32_t number_of(T x, const OrderKey<T>* keys, std::uint32_t n, T low, T scale) {
  const OrderKey<T> key = ordered_bits(x);
  const std::uint32_t guess = min(__float2uint_rn(static_cast<float>((x - low) * scale)), n - 1U);
  if (keys[guess] == key) return guess;
  std::uint32_t begin = 0;
  for (std::uint32_t end = n; begin < end;) {
    const std::uint32_t middle = (begin + end) / 2;
    if (keys[middle] < key)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < n && keys[begin] == key ? begin : kMostAlong;
}

/// A block a stretch. codes: sites. unknown: set where a coordinate has no number. Bytes a point: 14 of 12.
template <class T, int Dim>
__global__ void __launch_bounds__(kSiteThreads, 1)
    count_sites_kernel(const T* __restrict__ points, std::uint64_t n, const SiteAxes<T, Dim> axes,
                       const SiteCounts counts, std::uint16_t* codes, std::uint32_t* unknown) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const keys = reinterpret_cast<OrderKey<T>*>(memory);
  auto* const sums = reinterpret_cast<std::uint32_t*>(keys + Dim * kMostAlong);
  if (*static_cast<volatile std::uint32_t*>(unknown) != 0) return;
  for (int a = 0; a < Dim; ++a)
    for (std::uint32_t k = threadIdx.x; k < axes.counts[a]; k += kSiteThreads)
      keys[a * kMostAlong + k] = axes.keys[a * kMostAlong + k];
  for (std::uint32_t s = threadIdx.x; s < counts.sites; s += kSiteThreads) sums[s] = 0;
  __syncthreads();
  T low[Dim], scale[Dim];
#pragma unroll
  for (int a = 0; a < Dim; ++a) {
    low[a] = from_ordered_bits(keys[a * kMostAlong]);
    const T width = from_ordered_bits(keys[a * kMostAlong + axes.counts[a] - 1U]) - low[a];
    scale[a] = width > T(0) ? static_cast<T>(axes.counts[a] - 1U) / width : T(0);
  }
  const std::uint64_t begin = blockIdx.x * counts.stretch, end = min(n, begin + counts.stretch);
  bool good = true;
  for (std::uint64_t i = begin + threadIdx.x * std::uint64_t{4}; i < end; i += kSiteTile) {
    T x[4][Dim];
    load_four<T, Dim>(points, i, n, x);
    std::uint32_t site[4] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (i + j >= n) continue;
      bool known = true;
#pragma unroll
      for (int a = 0; a < Dim; ++a) {
        const std::uint32_t number = number_of(x[j][a], keys + a * kMostAlong, axes.counts[a], low[a], scale[a]);
        known = known && number < kMostAlong;
        site[j] = site[j] * axes.counts[a] + number;
      }
      good = good && known;
      if (known) atomicAdd(&sums[site[j]], 1U);
    }
    // Codes are padded.
    reinterpret_cast<uint2*>(codes)[i / 4] = make_uint2(site[0] | site[1] << 16U, site[2] | site[3] << 16U);
  }
  if (!good) *unknown = 1;
  __syncthreads();
  for (std::uint32_t s = threadIdx.x; s < counts.sites; s += kSiteThreads)
    counts.counts[std::uint64_t{blockIdx.x} * counts.sites + s] = sums[s];
}

/// A thread a site, in blockIdx.y one of several parts of the stretches.
static __global__ void total_sites_kernel(const SiteCounts counts, std::uint32_t* totals) {
  const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= counts.sites) return;
  std::uint32_t sum = 0;
  for (std::uint32_t k = blockIdx.y; k < counts.stretches; k += gridDim.y)
    sum += counts.counts[std::uint64_t{k} * counts.sites + s];
  if (sum > 0) atomicAdd(&totals[s], sum);
}

/// A piece a site, all of the root.
template <class T, int Dim>
__global__ void first_pieces_kernel(const SiteAxes<T, Dim> axes, const std::uint32_t* __restrict__ totals,
                                    SitePiece* pieces, uint2* ranges) {
  const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t sites = 1;
  for (int a = 0; a < Dim; ++a) sites *= axes.counts[a];
  if (s < sites && totals[s] > 0) pieces[atomicAdd(&ranges[1].y, 1U)] = {axes.numbers(s), 0, totals[s]};
}

/// In which of n sums, that are all in shared memory, the rest-th point lies; rest: from the bin's begin on. A warp
/// calls.
__device__ inline std::uint32_t bin_of_rank(const std::uint32_t* sums, std::uint32_t n, std::uint32_t& rest) {
  const std::uint32_t lane = threadIdx.x & 31U;
  std::uint32_t begin = 0, before = 0;
  for (;; begin += 32) {
    const std::uint32_t mine = begin + lane < n ? sums[begin + lane] : 0;
    const std::uint32_t up_to = before + warp_sum_up_to(mine);
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

/// A block a node: cuts it and shares out its pieces. A node with fewer points than leaves stays uncut.
template <class T, int Dim>
__global__ void __launch_bounds__(kSiteThreads)
    cut_sites_kernel(int level, int levels, double side_tolerance, const SiteAxes<T, Dim> axes, const SitePieces pieces,
                     Node<T, Dim>* nodes) {
  __shared__ std::uint32_t sums[kMostAlong], found, rest, last_left, first_right, given[2];
  const std::uint32_t v = (1U << static_cast<unsigned>(level)) + blockIdx.x;
  const uint2 range = pieces.ranges[v];
  if (range.x == range.y) return;  // no such node, or its pieces have ended
  Node<T, Dim>& node = nodes[v];
  const std::uint32_t left_leaf_count = left_leaves(node.leaves);
  if (node.count < node.leaves) {
    for (std::uint32_t i = range.x + threadIdx.x; i < range.y; i += blockDim.x)
      pieces.end(axes.site(pieces.from[i].numbers), pieces.from[i].first, v);
    return;
  }
  const int axis = cut_axis(node.box, side_tolerance);
  if (threadIdx.x == 0) {
    rest = static_cast<std::uint32_t>(unit_target(node.count, left_leaf_count, node.leaves));
    last_left = given[0] = given[1] = 0;
    first_right = kMostAlong - 1U;
  }
  // The site in which the cut lies: bits of its numbers that are known, and these.
  std::uint32_t known = 0, chosen = 0;
  for (int stage = 0; stage < Dim; ++stage) {
    const int along = axis_of_stage<T, Dim>(axis, stage);
    for (std::uint32_t k = threadIdx.x; k < axes.counts[along]; k += blockDim.x) sums[k] = 0;
    __syncthreads();
    for (std::uint32_t i = range.x + threadIdx.x; i < range.y; i += blockDim.x) {
      const SitePiece piece = pieces.from[i];
      if ((piece.numbers & known) == chosen) atomicAdd(&sums[axes.number(piece.numbers, along)], piece.count);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      std::uint32_t left = rest;
      const std::uint32_t bin = bin_of_rank(sums, axes.counts[along], left);
      __syncwarp();
      if (threadIdx.x == 0) {
        found = bin;
        rest = left;
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
  const uint2 room = {range.x + blockIdx.x, range.y + blockIdx.x + 1U};  // a node divides one piece at most
  const bool outer[2] = {left_leaf_count == 1 || level + 1 == levels,
                         node.leaves - left_leaf_count == 1 || level + 1 == levels};
  const auto below = static_cast<unsigned>(levels - level - 1);  // what ends above the last level goes left to it
  const auto give = [&](const SitePiece& piece, std::uint32_t side) {
    const std::uint32_t number = axes.number(piece.numbers, axis);
    side == 0 ? atomicMax(&last_left, number) : atomicMin(&first_right, number);
    if (outer[side]) return pieces.end(axes.site(piece.numbers), piece.first, (2 * v + side) << below);
    const std::uint32_t k = atomicAdd(&given[side], 1U);
    pieces.to[side == 0 ? room.x + k : room.y - 1U - k] = piece;
  };
  for (std::uint32_t i = range.x + threadIdx.x; i < range.y; i += blockDim.x) {
    const SitePiece piece = pieces.from[i];
    const std::uint32_t at = in_order(piece.numbers);
    const std::uint32_t left = at < cut_at ? piece.count : at == cut_at ? rest : 0U;
    if (left > 0) give({piece.numbers, piece.first, left}, 0);
    if (left < piece.count) give({piece.numbers, piece.first + left, piece.count - left}, 1);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto coordinate = [&](std::uint32_t number) {
    return from_ordered_bits(axes.keys[axis * kMostAlong + number]);
  };
  const auto left = static_cast<std::uint32_t>(unit_target(node.count, left_leaf_count, node.leaves));
  cut_node(node, nodes + 2 * v, axis, cut_between(coordinate(last_left), coordinate(first_right)),
           CountAndWeight{left, 0});
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
    find_starts_kernel(const SiteTable table, const SiteCounts counts, std::uint64_t n,
                       const std::uint16_t* __restrict__ codes) {
  using Scan = cub::BlockScan<std::uint32_t, kFindThreads>;
  __shared__ typename Scan::TempStorage room;
  __shared__ std::uint32_t part, rank, sums[kFindThreads / 32];
  const std::uint32_t piece = blockIdx.x;
  const std::uint64_t key = table.keys[piece];
  if (key == ~std::uint64_t{0}) return;
  const auto site = static_cast<std::uint32_t>(key >> 32U);
  const auto first = static_cast<std::uint32_t>(key);
  if (first == 0) {
    if (threadIdx.x != 0) return;
    table.starts[piece] = 0;
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
