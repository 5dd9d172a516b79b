#pragma once
// Sites of gpu/first_round/sites.cuh: which there are, and how many points each has.
#include "partitioners/orb/gpu/cut.cuh"
#include "partitioners/orb/gpu/first_round/quantiles.cuh"

namespace amrbench::partitioners::gpu {

/// Most sites, whose counts fit into shared memory, and most where a table of them takes room there, too; most distinct
/// coordinates along an axis.
constexpr std::uint32_t kMostSites = 1U << 15U, kMostListedSites = 1U << 13U;
constexpr unsigned kNumberBits = 10;
constexpr std::uint32_t kMostAlong = 1U << kNumberBits;
constexpr std::uint32_t kMostStretches = 1024;
constexpr int kSiteThreads = 1024;
/// Points that a block counts at a time.
constexpr std::uint64_t kSiteTile = std::uint64_t{kSiteThreads} * 4;

/// The distinct coordinates along each axis, in ascending order, and the sites: those of a list, or every combination.
template <class T, int Dim>
struct SiteAxes {
  const OrderKey<T>* keys;  ///< [axis][kMostAlong]
  std::uint32_t counts[Dim];
  std::uint32_t sites;
  const std::uint32_t* listed;  ///< the numbers of each site; null: all combinations

  /// numbers: of the coordinates, kNumberBits an axis. The site of such a combination, and back.
  [[nodiscard]] __device__ std::uint32_t combination(std::uint32_t numbers) const {
    std::uint32_t site = 0;
#pragma unroll
    for (int a = 0; a < Dim; ++a) site = site * counts[a] + number(numbers, a);
    return site;
  }
  [[nodiscard]] __device__ std::uint32_t numbers(std::uint32_t site) const {
    if (listed != nullptr) return listed[site];
    std::uint32_t all = 0;
#pragma unroll
    for (int a = Dim - 1; a >= 0; --a) {
      all |= with_number(site % counts[a], a);
      site /= counts[a];
    }
    return all;
  }
  [[nodiscard]] __device__ static std::uint32_t number(std::uint32_t numbers, int axis) {
    return numbers >> (kNumberBits * static_cast<unsigned>(axis)) & (kMostAlong - 1U);
  }
  [[nodiscard]] __device__ static std::uint32_t with_number(std::uint32_t number, int axis) {
    return number << (kNumberBits * static_cast<unsigned>(axis));
  }
};

/// Listed sites by their numbers, in shared memory.
struct SiteHash {
  static constexpr std::uint32_t kSlots = 2 * kMostListedSites, kNone = ~0U;
  std::uint32_t* numbers;  ///< [kSlots]
  std::uint16_t* sites;

  __device__ static std::uint32_t slot_of(std::uint32_t numbers) { return numbers * 2654435761U >> 18U; }
  /// Called by a block; barriers inside.
  __device__ void fill(const std::uint32_t* listed, std::uint32_t count) const {
    for (std::uint32_t k = threadIdx.x; k < kSlots; k += blockDim.x) numbers[k] = kNone;
    __syncthreads();
    for (std::uint32_t s = threadIdx.x; s < count; s += blockDim.x) {
      std::uint32_t slot = slot_of(listed[s]);
      while (atomicCAS(&numbers[slot], kNone, listed[s]) != kNone) slot = (slot + 1) % kSlots;
      sites[slot] = static_cast<std::uint16_t>(s);
    }
    __syncthreads();
  }
  /// kNone: not listed.
  [[nodiscard]] __device__ std::uint32_t find(std::uint32_t wanted) const {
    for (std::uint32_t slot = slot_of(wanted);; slot = (slot + 1) % kSlots) {
      if (numbers[slot] == wanted) return sites[slot];
      if (numbers[slot] == kNone) return kNone;
    }
  }
};
static_assert(SiteHash::kSlots == 1U << 14U);  // the hash has so many bits

/// Points by stretch of the points and site, and how many points a stretch has.
struct SiteCounts {
  std::uint32_t* counts;  ///< [stretch][site]
  std::uint32_t sites;
  std::uint64_t stretch;
  std::uint32_t stretches;
};

/// Those of the sample's points, in their order, that are new: calls take(i, number) of each, numbers from 0 on, and
/// returns how many there are. A warp looks at 32 neighbours at a time. All threads of a block of kSiteThreads call.
template <class IsNew, class Take>
__device__ inline std::uint32_t number_new(const IsNew& is_new, const Take& take) {
  constexpr std::uint32_t kWarps = kSiteThreads / 32;
  static_assert(kQuantileSample == kWarps * 32 * 32);
  __shared__ std::uint32_t sums[kWarps];
  const std::uint32_t lane = threadIdx.x & 31U, warp = threadIdx.x / 32;
  const auto number = [&](std::uint32_t group) { return (warp * 32 + group) * 32 + lane; };
  unsigned mine = 0;  // which are new of the group that has the lane's number
#pragma unroll 8
  for (std::uint32_t group = 0; group < 32; ++group) {
    const unsigned which = __ballot_sync(kFull, is_new(number(group)));
    if (group == lane) mine = which;
  }
  const auto count = static_cast<std::uint32_t>(__popc(mine));
  const std::uint32_t up_to = sum_up_to(count, sums);
  for (std::uint32_t group = 0; group < 32; ++group) {
    const unsigned which = __shfl_sync(kFull, mine, static_cast<int>(group));
    const std::uint32_t before = __shfl_sync(kFull, up_to - count, static_cast<int>(group));
    if ((which >> lane & 1U) != 0U)
      take(number(group), before + static_cast<unsigned>(__popc(which & ((1U << lane) - 1U))));
  }
  std::uint32_t all = 0;
  for (const std::uint32_t sum : sums) all += sum;
  return all;
}

/// A block an axis: numbers the sample's distinct coordinates.
template <class T, int Dim>
__global__ void __launch_bounds__(kSiteThreads)
    distinct_kernel(const OrbPoint<T, Dim>* __restrict__ sorted, OrderKey<T>* keys, std::uint32_t* counts) {
  const int axis = static_cast<int>(blockIdx.x);
  sorted += blockIdx.x * kQuantileSample;
  const auto key_of = [&](std::uint32_t i) { return ordered_bits(sorted[i].x[axis]); };
  const std::uint32_t all = number_new([&](std::uint32_t i) { return i == 0 || key_of(i) != key_of(i - 1); },
                                       [&](std::uint32_t i, std::uint32_t number) {
                                         if (number < kMostAlong) keys[blockIdx.x * kMostAlong + number] = key_of(i);
                                       });
  if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

static_assert(kMostListedSites * 4 + SiteHash::kSlots * (4 + 2) == kMostSites * 4);
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

/// One block: lists the places of the sample, sorted along the first axis. listed: kMostListedSites; count: of all.
template <class T, int Dim>
__global__ void __launch_bounds__(kSiteThreads)
    list_sites_kernel(const OrbPoint<T, Dim>* __restrict__ sorted, const SiteAxes<T, Dim> axes, std::uint32_t* listed,
                      std::uint32_t* count) {
  const auto is_new = [&](std::uint32_t i) {
    bool same = i > 0;
    for (int a = 0; a < Dim && same; ++a) same = ordered_bits(sorted[i].x[a]) == ordered_bits(sorted[i - 1].x[a]);
    return !same;
  };
  const std::uint32_t all = number_new(is_new, [&](std::uint32_t i, std::uint32_t number) {
    if (number >= kMostListedSites) return;
    std::uint32_t numbers = 0;
    for (int a = 0; a < Dim; ++a)
      numbers |=
          axes.with_number(number_of<T>(sorted[i].x[a], axes.keys + a * kMostAlong, axes.counts[a], T(0), T(0)), a);
    listed[number] = numbers;
  });
  if (threadIdx.x == 0) *count = all;
}

/// A block a stretch. codes: sites. unknown: set where a point is on no site, or weighs nothing. units: its weights, or
/// null. Bytes a point: 14 of 12, with weights 8 more.
template <class T, int Dim>
__global__ void __launch_bounds__(kSiteThreads, 1)
    count_sites_kernel(const T* __restrict__ points, const std::uint64_t* units, std::uint64_t n,
                       const SiteAxes<T, Dim> axes, const SiteCounts counts, std::uint16_t* codes,
                       std::uint32_t* unknown) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const keys = reinterpret_cast<OrderKey<T>*>(memory);
  auto* const sums = reinterpret_cast<std::uint32_t*>(keys + Dim * kMostAlong);
  const SiteHash hash{sums + kMostListedSites,
                      reinterpret_cast<std::uint16_t*>(sums + kMostListedSites + SiteHash::kSlots)};
  // One thread looks, so that a block stops as a whole: with some of its threads the tables would be filled in part.
  if (__syncthreads_or(threadIdx.x == 0 && *static_cast<volatile std::uint32_t*>(unknown) != 0 ? 1 : 0) != 0) return;
  for (int a = 0; a < Dim; ++a)
    for (std::uint32_t k = threadIdx.x; k < axes.counts[a]; k += kSiteThreads)
      keys[a * kMostAlong + k] = axes.keys[a * kMostAlong + k];
  for (std::uint32_t s = threadIdx.x; s < counts.sites; s += kSiteThreads) sums[s] = 0;
  if (axes.listed != nullptr) hash.fill(axes.listed, axes.sites);
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
    std::uint64_t weight[4][1] = {{1}, {1}, {1}, {1}};
    if (units != nullptr) load_four<std::uint64_t, 1>(units, i, n, weight);
    std::uint32_t site[4] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (i + j >= n) continue;
      std::uint32_t numbers = 0, largest = 0;
#pragma unroll
      for (int a = 0; a < Dim; ++a) {
        const std::uint32_t number = number_of(x[j][a], keys + a * kMostAlong, axes.counts[a], low[a], scale[a]);
        numbers |= axes.with_number(number, a);
        largest = max(largest, number);
      }
      const bool numbered = largest < kMostAlong;
      site[j] = !numbered ? SiteHash::kNone : axes.listed == nullptr ? axes.combination(numbers) : hash.find(numbers);
      good = good && site[j] != SiteHash::kNone && weight[j][0] != 0;
      if (site[j] != SiteHash::kNone) atomicAdd(&sums[site[j]], 1U);
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

}  // namespace amrbench::partitioners::gpu
