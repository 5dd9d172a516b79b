#pragma once
// Kernels of gpu_distributed_search_impl.cuh: lists of points near a cut, and where they go once it is known.
#include "partitioners/orb/gpu_distributed_kernels.cuh"

namespace amrbench::partitioners::gpu {

/// What list_kernel fills, by node; null: nobody wants its points.
template <class T, int Dim>
struct BracketLists {
  OrbPoint<T, Dim>* points[kWalkNodes];
  std::uint32_t* positions[kWalkNodes];
  std::uint64_t* weights[kWalkNodes];  ///< null: there are none
  std::uint32_t* counts[kWalkNodes];
  std::uint32_t capacity[kWalkNodes];
};

/// Lists the points of codes begin .. end - 1 that stopped at the nodes that are wanted. A thread looks at 16 codes,
/// from multiples of 16 on.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    list_kernel(DeviceSource<T, Dim> source, const std::uint8_t* __restrict__ codes, std::uint64_t begin,
                std::uint64_t end, const BracketLists<T, Dim> wanted) {
  __shared__ std::uint32_t found[kWalkNodes], base[kWalkNodes];
  __shared__ BracketLists<T, Dim> lists;
  if (threadIdx.x < kWalkNodes) {
    lists.points[threadIdx.x] = wanted.points[threadIdx.x];
    lists.positions[threadIdx.x] = wanted.positions[threadIdx.x];
    lists.weights[threadIdx.x] = wanted.weights[threadIdx.x];
    lists.counts[threadIdx.x] = wanted.counts[threadIdx.x];
    lists.capacity[threadIdx.x] = wanted.capacity[threadIdx.x];
  }
  __syncthreads();
  const std::uint64_t last = (end + 15) / 16;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = begin / 16 + std::uint64_t{blockIdx.x} * kLocalThreads; block < last; block += stride) {
    const std::uint64_t first = 16 * (block + threadIdx.x);
    std::uint8_t mine[16] = {};
    if (first >= begin && first + 16 <= end) {
      const uint4 word = *reinterpret_cast<const uint4*>(codes + first);
      memcpy(mine, &word, sizeof(word));
    } else {
#pragma unroll
      for (int j = 0; j < 16; ++j)
        if (first + j >= begin && first + j < end) mine[j] = codes[first + j];
    }
    std::uint32_t hits = 0;
#pragma unroll
    for (int j = 0; j < 16; ++j)
      if (mine[j] >= kStopped && lists.points[mine[j] - kStopped] != nullptr) hits |= 1U << j;
    if (threadIdx.x < kWalkNodes) found[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j)
      if ((hits >> j & 1U) != 0) atomicAdd(&found[mine[j] - kStopped], 1U);
    __syncthreads();
    if (threadIdx.x < kWalkNodes) {
      if (found[threadIdx.x] > 0) base[threadIdx.x] = atomicAdd(lists.counts[threadIdx.x], found[threadIdx.x]);
      found[threadIdx.x] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      if ((hits >> j & 1U) == 0) continue;
      const unsigned v = mine[j] - kStopped;
      const std::uint32_t place = base[v] + atomicAdd(&found[v], 1U);
      if (place >= lists.capacity[v]) continue;  // cannot be: they were counted
      lists.points[v][place] = load(source, first + j);
      lists.positions[v][place] = static_cast<std::uint32_t>(first + j);
      if (lists.weights[v] != nullptr) lists.weights[v][place] = load_weight(source, first + j);
    }
    __syncthreads();  // found is cleared next
  }
}

/// Points that a search goes by: a list, or a stretch of the rank's points.
template <class T, int Dim>
struct ListEntries {
  const OrbPoint<T, Dim>* points;
  const std::uint64_t* weights;  ///< null: there are none
  const std::uint32_t* count;
  std::uint32_t capacity;
  [[nodiscard]] __device__ std::uint64_t size() const { return min(*count, capacity); }
  [[nodiscard]] __device__ OrbPoint<T, Dim> get(std::uint64_t i) const { return points[i]; }
  [[nodiscard]] __device__ std::uint64_t weight(std::uint64_t i) const { return weights[i]; }
};
template <class T, int Dim>
struct StretchEntries {
  DeviceSource<T, Dim> source;
  std::uint64_t begin, end;
  [[nodiscard]] __device__ std::uint64_t size() const { return end - begin; }
  [[nodiscard]] __device__ OrbPoint<T, Dim> get(std::uint64_t i) const { return load(source, begin + i); }
  [[nodiscard]] __device__ std::uint64_t weight(std::uint64_t i) const { return load_weight(source, begin + i); }
};

/// Adds to bins[256] the entries in each 2^shift keys of a window that holds them all, and to weights[256], unless it
/// is null, what they weigh.
template <class Entries>
__global__ void __launch_bounds__(kLocalThreads) bins_kernel(const Entries entries, const detail::Window window,
                                                             int axis, std::uint32_t* bins, std::uint64_t* weights) {
  __shared__ std::uint32_t shared[256], low[256], high[256];
  shared[threadIdx.x] = 0;
  clear_weights(low, high);
  const int shift = detail::shift_of(window);
  const std::uint64_t n = entries.size();
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; i < n; i += stride) {
    const std::uint64_t bin = (detail::key(entries.get(i), window.phase, axis) - window.low) >> shift;
    const std::uint64_t b = bin < 256 ? bin : 255;
    atomicAdd(&shared[b], 1U);
    if (weights != nullptr) add_in_two_words(&low[b], &high[b], entries.weight(i));
  }
  __syncthreads();
  if (shared[threadIdx.x] > 0) atomicAdd(&bins[threadIdx.x], shared[threadIdx.x]);
  if (weights != nullptr) give_weights(low, high, weights);
}

/// Appends the entries inside a window, and to `weights` theirs, unless it is null.
template <class Entries, class Point>
__global__ void __launch_bounds__(kLocalThreads)
    inside_kernel(const Entries entries, const detail::Window window, int axis, Point* out, std::uint64_t* weights,
                  std::uint32_t* count, std::uint32_t capacity) {
  const std::uint64_t n = entries.size();
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  const unsigned lane = threadIdx.x & 31U;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; block < n; block += stride) {
    const std::uint64_t i = block + threadIdx.x;
    Point p{};
    bool inside = i < n;
    if (inside) {
      p = entries.get(i);
      inside = detail::in_window(p, window, axis);
    }
    const unsigned with = __ballot_sync(kEveryLane, inside);
    if (with == 0U) continue;
    std::uint32_t base = 0;
    if (lane == 0) base = atomicAdd(count, static_cast<std::uint32_t>(__popc(with)));
    base = __shfl_sync(kEveryLane, base, 0);
    const std::uint32_t place = base + static_cast<std::uint32_t>(__popc(with & ((1U << lane) - 1U)));
    if (inside && place < capacity) {
      out[place] = p;
      if (weights != nullptr) weights[place] = entries.weight(i);
    }
  }
}

/// Sends the points of a node's bracket on, whose cut is known by its first right point; counts their new codes, and
/// weighs them unless `weights` is null.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    send_on_kernel(const ListEntries<T, Dim> entries, const std::uint32_t* __restrict__ positions, std::uint32_t node,
                   int axis_of_cut, const OrbPoint<T, Dim> pivot, const WalkTables<T> tables,
                   std::uint8_t* __restrict__ codes, std::uint32_t* counts, std::uint64_t* weights) {
  __shared__ T low[kWalkNodes], high[kWalkNodes];
  __shared__ std::uint8_t axis[kWalkNodes];
  __shared__ std::uint32_t shared[256], weight_low[256], weight_high[256];
  share_tables(tables, low, high, axis, shared);
  clear_weights(weight_low, weight_high);
  CodeCounts counted{shared, false};
  const std::uint64_t n = entries.size();
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; block < n; block += stride) {
    const std::uint64_t i = block + threadIdx.x;
    std::uint32_t code = 0;
    if (i < n) {
      const OrbPoint<T, Dim> p = entries.get(i);
      const std::uint32_t child = 2 * node + (orb_before(p, pivot, axis_of_cut) ? 0U : 1U);
      code = walk_from<T, Dim>(child, p.x, low, high, axis, tables.levels);
      codes[positions[i]] = static_cast<std::uint8_t>(code);
      if (weights != nullptr) add_in_two_words(&weight_low[code], &weight_high[code], entries.weight(i));
    }
    counted.add(code, i < n);
  }
  give_counts(shared, counts);
  if (weights != nullptr) give_weights(weight_low, weight_high, weights);
}

/// Sends all points of a cell to either side of its cut; counts them.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    halves_kernel(DeviceSource<T, Dim> source, std::uint64_t begin, std::uint64_t end, int axis,
                  const OrbPoint<T, Dim> pivot, std::uint8_t* __restrict__ codes, std::uint32_t* counts) {
  __shared__ std::uint32_t shared[256];
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x) shared[k] = 0;
  __syncthreads();
  CodeCounts counted{shared, true};
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = begin + std::uint64_t{blockIdx.x} * kLocalThreads; block < end; block += stride) {
    const std::uint64_t i = block + threadIdx.x;
    const std::uint32_t code = i < end && orb_before(load(source, i), pivot, axis) ? 0U : 1U;
    if (i < end) codes[i] = static_cast<std::uint8_t>(code);
    counted.add(code, i < end);
  }
  counted.flush();
  give_counts(shared, counts);
}

}  // namespace amrbench::partitioners::gpu
