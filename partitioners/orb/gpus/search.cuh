#pragma once
// Kernels of gpus/search_impl.cuh: they list the points near a cut, add them up in 256 bins by their keys,
// keep those inside a window, and send all of them on once the cut is known.
#include "partitioners/orb/gpus/kernels.cuh"

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

/// What a thread block of list_kernel knows of the codes it looks at: which of them are wanted.
struct ListQueue {
  static constexpr unsigned kWords = 2;  ///< of 16 codes, a thread
  static constexpr unsigned kTile = kLocalThreads * 16 * kWords;
  std::uint16_t position[kTile];  ///< in the tile
  std::uint8_t node[kTile];
  std::uint32_t length;
};

/// Lists the points begin .. end - 1 whose codes say that they stopped at one of the nodes that are wanted. A thread
/// looks at 16 codes at a time, from multiples of 16 on. What it finds goes into a queue of the block first, so that
/// the work of loading the points is shared evenly by its threads and all loads of a tile are under way at once.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    list_kernel(DeviceSource<T, Dim> source, const std::uint8_t* __restrict__ codes, std::uint64_t begin,
                std::uint64_t end, const BracketLists<T, Dim> wanted) {
  __shared__ std::uint32_t found[kWalkNodes], base[kWalkNodes];
  __shared__ BracketLists<T, Dim> lists;
  __shared__ ListQueue queue;
  if (threadIdx.x < kWalkNodes) {
    lists.points[threadIdx.x] = wanted.points[threadIdx.x];
    lists.positions[threadIdx.x] = wanted.positions[threadIdx.x];
    lists.weights[threadIdx.x] = wanted.weights[threadIdx.x];
    lists.counts[threadIdx.x] = wanted.counts[threadIdx.x];
    lists.capacity[threadIdx.x] = wanted.capacity[threadIdx.x];
  }
  const unsigned lane = threadIdx.x & 31U;
  for (std::uint64_t tile = begin / 16 * 16 + std::uint64_t{blockIdx.x} * ListQueue::kTile; tile < end;
       tile += std::uint64_t{gridDim.x} * ListQueue::kTile) {
    std::uint8_t mine[ListQueue::kWords][16];
#pragma unroll
    for (unsigned w = 0; w < ListQueue::kWords; ++w)
      load_codes(codes, tile + 16 * (w * kLocalThreads + threadIdx.x), begin, end, mine[w]);
    __syncthreads();  // the last tile's queue is worked off, the lists are there
    if (threadIdx.x == 0) queue.length = 0;
    if (threadIdx.x < kWalkNodes) found[threadIdx.x] = 0;
    __syncthreads();
    std::uint32_t hits = 0;  // a bit a code
    static_assert(ListQueue::kWords == 2);
#pragma unroll
    for (unsigned k = 0; k < 32; ++k)
      if (mine[k / 16][k % 16] >= kStopped && lists.points[mine[k / 16][k % 16] - kStopped] != nullptr) hits |= 1U << k;
    std::uint32_t behind = static_cast<std::uint32_t>(__popc(hits));  // places up to this lane's, then their begin
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(kFull, behind, step);
      if (lane >= step) behind += other;
    }
    std::uint32_t at = 0;
    if (lane == 31 && behind > 0) at = atomicAdd(&queue.length, behind);
    at = __shfl_sync(kFull, at, 31) + behind - static_cast<std::uint32_t>(__popc(hits));
#pragma unroll
    for (unsigned k = 0; k < 32; ++k) {
      if ((hits >> k & 1U) == 0) continue;
      const unsigned v = mine[k / 16][k % 16] - kStopped;
      queue.position[at] = static_cast<std::uint16_t>(16 * (k / 16 * kLocalThreads + threadIdx.x) + k % 16);
      queue.node[at] = static_cast<std::uint8_t>(v);
      atomicAdd(&found[v], 1U);
      ++at;
    }
    __syncthreads();
    if (threadIdx.x < kWalkNodes) {
      if (found[threadIdx.x] > 0) base[threadIdx.x] = atomicAdd(lists.counts[threadIdx.x], found[threadIdx.x]);
      found[threadIdx.x] = 0;
    }
    __syncthreads();
    for (std::uint32_t k = threadIdx.x; k < queue.length; k += kLocalThreads) {
      const unsigned v = queue.node[k];
      const std::uint64_t position = tile + queue.position[k];
      const OrbPoint<T, Dim> p = load(source, position);
      const std::uint32_t place = base[v] + atomicAdd(&found[v], 1U);
      if (place >= lists.capacity[v]) continue;  // cannot be: they were counted
      lists.points[v][place] = p;
      lists.positions[v][place] = static_cast<std::uint32_t>(position);
      if (lists.weights[v] != nullptr) lists.weights[v][place] = load_weight(source, position);
    }
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
    const unsigned with = __ballot_sync(kFull, inside);
    if (with == 0U) continue;
    std::uint32_t base = 0;
    if (lane == 0) base = atomicAdd(count, static_cast<std::uint32_t>(__popc(with)));
    base = __shfl_sync(kFull, base, 0);
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
