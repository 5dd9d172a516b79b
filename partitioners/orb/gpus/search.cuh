#pragma once
// Kernels of gpus/search_impl.cuh: they list the points near a cut, add them up in 256 bins by their keys,
// keep those inside a window, and send all of them on once the cut is known.
#include "partitioners/orb/gpus/kernels.cuh"

namespace amrbench::partitioners::gpu {

/// What list_kernel fills, by node; null: nobody wants its points.
struct BracketLists {
  std::uint32_t* positions[kWalkNodes];
  std::uint32_t* counts[kWalkNodes];
  std::uint32_t capacity[kWalkNodes];
};

/// Of 16 codes from position `first` on, those at begin .. end - 1; others are 0.
__device__ inline void load_codes(const std::uint8_t* codes, std::uint64_t first, std::uint64_t begin,
                                  std::uint64_t end, std::uint8_t (&mine)[16]) {
  if (first >= begin && first + 16 <= end) {
    const uint4 word = *reinterpret_cast<const uint4*>(codes + first);
    memcpy(mine, &word, sizeof(word));
  } else {
#pragma unroll
    for (int j = 0; j < 16; ++j) mine[j] = first + j >= begin && first + j < end ? codes[first + j] : 0;
  }
}

/// Codes that a thread block of list_kernel looks at together.
constexpr unsigned kListTile = 2 * 16 * kLocalThreads;

/// Lists the positions among begin .. end - 1 whose codes say that their points stopped at one of the nodes that are
/// wanted. A thread looks at 2 times 16 codes at a time, from multiples of 16 on; a block asks for the places of all
/// its positions at once.
__global__ void __launch_bounds__(kLocalThreads)
    list_kernel(const std::uint8_t* __restrict__ codes, std::uint64_t begin, std::uint64_t end,
                const BracketLists wanted) {
  __shared__ std::uint32_t found[kWalkNodes], base[kWalkNodes];
  __shared__ BracketLists lists;
  if (threadIdx.x < kWalkNodes) {
    lists.positions[threadIdx.x] = wanted.positions[threadIdx.x];
    lists.counts[threadIdx.x] = wanted.counts[threadIdx.x];
    lists.capacity[threadIdx.x] = wanted.capacity[threadIdx.x];
    found[threadIdx.x] = 0;
  }
  __syncthreads();
  for (std::uint64_t tile = begin / 16 * 16 + std::uint64_t{blockIdx.x} * kListTile; tile < end;
       tile += std::uint64_t{gridDim.x} * kListTile) {
    std::uint8_t mine[2][16];
#pragma unroll
    for (unsigned w = 0; w < 2; ++w)
      load_codes(codes, tile + 16 * (w * kLocalThreads + threadIdx.x), begin, end, mine[w]);
    std::uint32_t hits = 0;  // a bit a code
#pragma unroll
    for (unsigned k = 0; k < 32; ++k) {
      const unsigned code = mine[k / 16][k % 16];
      if (code < kStopped || lists.positions[code - kStopped] == nullptr) continue;
      hits |= 1U << k;
      atomicAdd(&found[code - kStopped], 1U);
    }
    __syncthreads();
    if (threadIdx.x < kWalkNodes) {
      if (found[threadIdx.x] > 0) base[threadIdx.x] = atomicAdd(lists.counts[threadIdx.x], found[threadIdx.x]);
      found[threadIdx.x] = 0;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < 32; ++k) {
      if ((hits >> k & 1U) == 0) continue;
      const unsigned v = mine[k / 16][k % 16] - kStopped;
      const std::uint32_t place = base[v] + atomicAdd(&found[v], 1U);
      if (place < lists.capacity[v])  // always: they were counted
        lists.positions[v][place] =
            static_cast<std::uint32_t>(tile + 16 * (k / 16 * kLocalThreads + threadIdx.x) + k % 16);
    }
    __syncthreads();
    if (threadIdx.x < kWalkNodes) found[threadIdx.x] = 0;
    __syncthreads();
  }
}

template <class T, int Dim>
__device__ inline std::uint64_t size_of(const Entries<T, Dim>& entries) {
  return entries.positions != nullptr ? min(std::uint64_t{*entries.count}, entries.most) : entries.most;
}
template <class T, int Dim>
__device__ inline std::uint64_t position_of(const Entries<T, Dim>& entries, std::uint64_t i) {
  return entries.positions != nullptr ? entries.positions[i] : entries.begin + i;
}

/// Adds to bins[256] the entries in each 2^shift keys of a window that holds them all, and to weights[256], unless it
/// is null, what they weigh.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads) bins_kernel(const Entries<T, Dim> entries, const detail::Window window,
                                                             int axis, std::uint32_t* bins, std::uint64_t* weights) {
  __shared__ std::uint32_t shared[256], low[256], high[256];
  shared[threadIdx.x] = 0;
  clear_weights(low, high);
  const int shift = detail::shift_of(window);
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; i < n; i += stride) {
    const std::uint64_t at = position_of(entries, i);
    const std::uint64_t bin = (detail::key(load(entries.source, at), window.phase, axis) - window.low) >> shift;
    const std::uint64_t b = bin < 256 ? bin : 255;
    atomicAdd(&shared[b], 1U);
    if (weights != nullptr) add_in_two_words(&low[b], &high[b], load_weight(entries.source, at));
  }
  give_counts(shared, bins);
  if (weights != nullptr) give_weights(low, high, weights);
}

/// Where inside_kernel puts what it finds; each but the count may be null.
template <class T, int Dim>
struct Inside {
  std::uint32_t* positions;
  OrbPoint<T, Dim>* points;
  std::uint64_t* weights;
  std::uint32_t* count;
  std::uint32_t capacity;
};

/// Appends the entries inside a window.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    inside_kernel(const Entries<T, Dim> entries, const detail::Window window, int axis, const Inside<T, Dim> out) {
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  const unsigned lane = threadIdx.x & 31U;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; block < n; block += stride) {
    const std::uint64_t i = block + threadIdx.x;
    std::uint64_t at = 0;
    OrbPoint<T, Dim> p{};
    bool inside = i < n;
    if (inside) {
      at = position_of(entries, i);
      p = load(entries.source, at);
      inside = detail::in_window(p, window, axis);
    }
    const unsigned with = __ballot_sync(kFull, inside);
    if (with == 0U) continue;
    std::uint32_t base = 0;
    if (lane == 0) base = atomicAdd(out.count, static_cast<std::uint32_t>(__popc(with)));
    base = __shfl_sync(kFull, base, 0);
    const std::uint32_t place = base + static_cast<std::uint32_t>(__popc(with & ((1U << lane) - 1U)));
    if (!inside || place >= out.capacity) continue;
    if (out.positions != nullptr) out.positions[place] = static_cast<std::uint32_t>(at);
    if (out.points != nullptr) out.points[place] = p;
    if (out.weights != nullptr) out.weights[place] = load_weight(entries.source, at);
  }
}

/// Sends the points of a node, whose cut is known by its first right point, on; counts their new codes, and weighs them
/// unless `weights` is null.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    send_on_kernel(const Entries<T, Dim> entries, std::uint32_t node, int axis_of_cut, const OrbPoint<T, Dim> pivot,
                   const WalkTables<T> tables, std::uint8_t* __restrict__ codes, std::uint32_t* counts,
                   std::uint64_t* weights) {
  __shared__ T low[kWalkNodes], high[kWalkNodes];
  __shared__ std::uint8_t axis[kWalkNodes];
  __shared__ std::uint32_t shared[256], weight_low[256], weight_high[256];
  share_tables(tables, low, high, axis, shared);
  clear_weights(weight_low, weight_high);
  CodeCounts counted{shared, tables.levels <= 2};
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; block < n; block += stride) {
    const std::uint64_t i = block + threadIdx.x;
    std::uint32_t code = 0;
    if (i < n) {
      const std::uint64_t at = position_of(entries, i);
      const OrbPoint<T, Dim> p = load(entries.source, at);
      const std::uint32_t child = 2 * node + (orb_before(p, pivot, axis_of_cut) ? 0U : 1U);
      code = walk_from<T, Dim>(child, p.x, low, high, axis, tables.levels);
      codes[at] = static_cast<std::uint8_t>(code);
      if (weights != nullptr) add_in_two_words(&weight_low[code], &weight_high[code], load_weight(entries.source, at));
    }
    counted.add(code, i < n);
  }
  counted.flush();
  give_counts(shared, counts);
  if (weights != nullptr) give_weights(weight_low, weight_high, weights);
}

}  // namespace amrbench::partitioners::gpu
