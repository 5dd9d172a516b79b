#pragma once
// Kernels of gpu_multiway.cu that move points to their slots and bring leaves back to the points' first order.
#include "partitioners/orb/gpu_kernels.cuh"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Stable places of a tile's points among the slots: per_warp[w][s] becomes the place of warp w's first point of slot
/// s, the result is each item's place in the tile sorted by slot. All threads call; barriers inside. first[s]: where
/// slot s begins in the sorted tile; kSlots + 1 words. An item's number in the tile is (warp * items + j) * 32 + lane.
template <int Items>
__device__ inline void rank_tile(const int (&slot)[Items], std::uint32_t (&place)[Items],
                                 std::uint32_t (*per_warp)[kSlots], std::uint32_t* first) {
  const unsigned lane = threadIdx.x & 31U;
  const unsigned warp = threadIdx.x >> 5U;
  for (unsigned k = threadIdx.x; k < kThreads / 32 * kSlots; k += kThreads) per_warp[k / kSlots][k % kSlots] = 0;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    unsigned same = __ballot_sync(kFull, slot[j] >= 0);
#pragma unroll
    for (int b = 0; b < 6; ++b) {
      const bool set = ((slot[j] >> b) & 1) != 0;
      const unsigned with = __ballot_sync(kFull, set);
      same &= set ? with : ~with;
    }
    if (slot[j] >= 0) {
      const unsigned before = same & ((1U << lane) - 1U);
      place[j] = per_warp[warp][slot[j]] + static_cast<unsigned>(__popc(before));
    }
    __syncwarp();
    if (slot[j] >= 0 && (same >> lane) == 1U)  // the last of its kind
      per_warp[warp][slot[j]] += static_cast<unsigned>(__popc(same));
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x < kSlots) {
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned w = 0; w < kThreads / 32; ++w) {
      const std::uint32_t count = per_warp[w][threadIdx.x];
      per_warp[w][threadIdx.x] = sum;
      sum += count;
    }
    first[threadIdx.x + 1] = sum;
  }
  __syncthreads();
  if (warp == 0) {  // two slots a lane
    const std::uint32_t left = first[2 * lane + 1];
    const std::uint32_t both = left + first[2 * lane + 2];
    std::uint32_t sum = both;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(kFull, sum, step);
      if (lane >= step) sum += other;
    }
    first[2 * lane + 1] = sum - both + left;
    first[2 * lane + 2] = sum;
    if (lane == 0) first[0] = 0;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Items; ++j)
    if (slot[j] >= 0) place[j] += first[slot[j]] + per_warp[warp][slot[j]];
}

/// One block a tile: its points of each slot, at table[64 * cell's first tile + slot * cell's tiles + tile in cell].
template <class T, int Dim>
__global__ void __launch_bounds__(kThreads)
    tile_counts_kernel(const std::uint8_t* __restrict__ codes, const Cell* cells, std::uint32_t n_cells,
                       const std::uint8_t* slot_of_code, std::uint32_t* __restrict__ table) {
  __shared__ std::uint32_t counts[kSlots];
  __shared__ std::uint8_t slots[kNodes];
  __shared__ std::uint32_t shared_cell;
  if (threadIdx.x == 0) shared_cell = cell_of_tile(cells, n_cells, blockIdx.x);
  if (threadIdx.x < kSlots) counts[threadIdx.x] = 0;
  __syncthreads();
  const Cell cell = cells[shared_cell];
  if (threadIdx.x < kNodes) slots[threadIdx.x] = slot_of_code[std::uint64_t{shared_cell} * kNodes + threadIdx.x];
  __syncthreads();
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  const std::uint32_t offset = tile * kTile<T, Dim>;
  const std::uint32_t n = min(kTile<T, Dim>, cell.count - offset);
  for (std::uint32_t i = threadIdx.x; i < n; i += kThreads)
    atomicAdd(&counts[slots[codes[std::uint64_t{cell.begin} + offset + i]]], 1U);
  __syncthreads();
  if (threadIdx.x < kSlots)
    table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] =
        counts[threadIdx.x];
}

/// One block a tile of all points: the same for the codes of gpu_wide.cuh, at table[slot * tiles + tile]. The slot is
/// the digit above `shift` of code - first. slot_of_code: null, or what a code's own slot is, which then replaces it.
/// Reads 2 bytes a point, a warp's counts to itself.
template <class T, int Dim>
__global__ void __launch_bounds__(kThreads)
    wide_tile_counts_kernel(std::uint16_t* __restrict__ codes, std::uint64_t points, std::uint32_t first,
                            unsigned shift, const std::uint16_t* __restrict__ slot_of_code, std::uint32_t tiles,
                            std::uint32_t* __restrict__ table) {
  constexpr unsigned kWarps = kThreads / 32;
  __shared__ std::uint32_t counts[kWarps][kSlots];
  for (unsigned k = threadIdx.x; k < kWarps * kSlots; k += kThreads) counts[k / kSlots][k % kSlots] = 0;
  __syncthreads();
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * kTile<T, Dim>;
  const std::uint32_t n = static_cast<std::uint32_t>(min(std::uint64_t{kTile<T, Dim>}, points - begin));
  auto* const pairs = reinterpret_cast<std::uint32_t*>(codes + begin);  // room for a multiple of 8 codes
  for (std::uint32_t k = threadIdx.x; 2 * k < n; k += kThreads) {
    const std::uint32_t pair = pairs[k];
    std::uint32_t code[2] = {pair & 0xffffU, pair >> 16U};
    if (slot_of_code != nullptr) {
      for (std::uint32_t& c : code) c = first + slot_of_code[c];
      pairs[k] = code[0] | code[1] << 16U;
    }
    atomicAdd(&counts[threadIdx.x / 32][(code[0] - first) >> shift], 1U);
    if (2 * k + 1 < n) atomicAdd(&counts[threadIdx.x / 32][(code[1] - first) >> shift], 1U);
  }
  __syncthreads();
  if (threadIdx.x >= kSlots) return;
  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned w = 0; w < kWarps; ++w) sum += counts[w][threadIdx.x];
  table[std::uint64_t{threadIdx.x} * tiles + blockIdx.x] = sum;
}

/// What move_kernel works on.
template <class T>
struct MoveArguments {
  const T* points;
  T* moved;
  const std::uint32_t* ids_in;  ///< may be null: a point's id is its position
  std::uint32_t* ids_out;       ///< may be null
  const Cell* cells;
  std::uint32_t n_cells;
  const std::uint8_t* slot_of_code;  ///< of codes of a byte
  const std::uint32_t* table;        ///< scanned
  std::uint32_t first, shift;        ///< of codes of two bytes, as wide_tile_counts_kernel has them
  std::uint8_t* digits_out;          ///< may be null: what remains of codes of two bytes below the shift
};

/// Shared memory of move_kernel besides its fixed part: the tile's points, ids and digits, sorted.
template <class T, int Dim>
constexpr std::size_t move_shared(bool ids, bool digits) {
  return std::size_t{kTile<T, Dim>} * (sizeof(T) * Dim + (ids ? sizeof(std::uint32_t) : 0) + (digits ? 1 : 0));
}

/// Writes a sorted tile's n points of `per` values to where their slots want them, `to` in points. Each warp takes an
/// equal stretch of the tile and goes through the slots in it; its stores begin at multiples of 32 values.
template <class V>
__device__ inline void write_runs(const V* sorted, V* __restrict__ out, unsigned per, const std::uint32_t* first,
                                  const std::uint32_t* to, std::uint32_t n) {
  constexpr unsigned kWarps = kThreads / 32;
  const auto lane = static_cast<int>(threadIdx.x & 31U);
  const std::uint32_t share = (n + kWarps - 1) / kWarps;
  std::uint32_t p = threadIdx.x / 32 * share;
  const std::uint32_t last = min(n, p + share);
  std::uint32_t s = 0;
  for (std::uint32_t end = kSlots; end - s > 1;) {
    const std::uint32_t middle = (s + end) / 2;
    if (first[middle] <= p)
      s = middle;
    else
      end = middle;
  }
  for (; p < last; ++s) {
    const std::uint32_t end = min(first[s + 1], last);
    if (end <= p) continue;
    const std::uint64_t target = std::uint64_t{to[s] + (p - first[s])} * per;
    const V* const from = sorted + p * per;
    V* const run = out + target;
    const int values = static_cast<int>((end - p) * per);
#pragma unroll 4
    for (int k = lane - static_cast<int>(target % 32); k < values; k += 32)
      if (k >= 0) run[k] = from[k];
    p = end;
  }
}

/// Asks for memory to come into the L2 cache, 128 bytes a thread at a time.
__device__ inline void prefetch(const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const char*>(from);
  for (std::size_t k = std::size_t{threadIdx.x} * 128; k < bytes; k += std::size_t{kThreads} * 128)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(first + k)));
}

/// One block a tile: its points, sorted by slot in shared memory, to their places. Bytes a point of 12 without ids: 24,
/// the code, and a digit.
template <class T, int Dim, class Code>
__global__ void __launch_bounds__(kThreads, 3) move_kernel(const MoveArguments<T> a, const Code* __restrict__ codes) {
  constexpr bool kWide = sizeof(Code) == 2;
  constexpr int kMine = kItems<T, Dim>;
  constexpr unsigned kSize = kTile<T, Dim>;
  extern __shared__ __align__(16) unsigned char memory[];
  T* const sorted = reinterpret_cast<T*>(memory);
  auto* const sorted_ids = reinterpret_cast<std::uint32_t*>(memory + std::size_t{kSize} * sizeof(T) * Dim);
  auto* const sorted_digits = reinterpret_cast<std::uint8_t*>(a.ids_out != nullptr ? sorted_ids + kSize : sorted_ids);
  __shared__ std::uint32_t per_warp[kThreads / 32][kSlots];
  __shared__ std::uint32_t first[kSlots + 1];
  __shared__ std::uint32_t to[kSlots];
  __shared__ std::uint8_t slots[kNodes];
  __shared__ std::uint32_t shared_cell;
  if (threadIdx.x == 0) shared_cell = cell_of_tile(a.cells, a.n_cells, blockIdx.x);
  __syncthreads();
  const Cell cell = a.cells[shared_cell];
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  const std::uint32_t offset = tile * kSize;
  const std::uint32_t n = min(kSize, cell.count - offset);
  const std::uint64_t begin = std::uint64_t{cell.begin} + offset;
  prefetch(a.points + begin * Dim, std::size_t{n} * Dim * sizeof(T));
  if (!kWide && threadIdx.x < kNodes)
    slots[threadIdx.x] = a.slot_of_code[std::uint64_t{shared_cell} * kNodes + threadIdx.x];
  if (threadIdx.x < kSlots)
    to[threadIdx.x] =
        a.table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] -
        cell.before + cell.begin;
  __syncthreads();
  const unsigned base = (threadIdx.x >> 5U) * (32U * kMine) + (threadIdx.x & 31U);
  int slot[kMine];
  std::uint32_t place[kMine];
  std::uint8_t digit[kMine];
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = base + 32U * j;
    slot[j] = -1;
    if (i >= n) continue;
    if constexpr (kWide) {
      const std::uint32_t code = codes[begin + i] - a.first;
      slot[j] = static_cast<int>(code >> a.shift);
      digit[j] = static_cast<std::uint8_t>(code % kSlots);
    } else {
      slot[j] = slots[codes[begin + i]];
    }
  }
  rank_tile<kMine>(slot, place, per_warp, first);
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    if (slot[j] < 0) continue;
    const std::uint64_t i = begin + base + 32U * j;
#pragma unroll
    for (int d = 0; d < Dim; ++d) sorted[place[j] * Dim + d] = a.points[i * Dim + d];
    if (a.ids_out != nullptr) sorted_ids[place[j]] = a.ids_in != nullptr ? a.ids_in[i] : static_cast<std::uint32_t>(i);
    if (kWide && a.digits_out != nullptr) sorted_digits[place[j]] = digit[j];
  }
  __syncthreads();
  write_runs<T>(sorted, a.moved, Dim, first, to, n);
  if (a.ids_out != nullptr) write_runs<std::uint32_t>(sorted_ids, a.ids_out, 1, first, to, n);
  if (kWide && a.digits_out != nullptr) write_runs<std::uint8_t>(sorted_digits, a.digits_out, 1, first, to, n);
}

/// Lets it have the shared memory that it wants.
template <class T, int Dim>
void allow_move_shared() {
  const auto allow = [](const void* kernel) {
    support::cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(move_shared<T, Dim>(true, true))),
                        "cudaFuncSetAttribute");
  };
  allow(reinterpret_cast<const void*>(move_kernel<T, Dim, std::uint8_t>));
  allow(reinterpret_cast<const void*>(move_kernel<T, Dim, std::uint16_t>));
}

template <class T, int Dim, class Code>
void launch_move(std::uint32_t tiles, cudaStream_t stream, const MoveArguments<T>& arguments, const Code* codes) {
  const std::size_t shared = move_shared<T, Dim>(arguments.ids_out != nullptr, arguments.digits_out != nullptr);
  move_kernel<T, Dim, Code><<<tiles, kThreads, shared, stream>>>(arguments, codes);
  support::cuda_check_launch("move_kernel");
}

/// One block a tile: leaves of its points, in its own order: of slots that are leaves the slot's, of others what stands
/// at the point's place after the move. slot_leaf: leaf of each slot of each cell, or ~0.
template <class T, int Dim>
__global__ void __launch_bounds__(kThreads)
    labels_kernel(std::uint32_t* __restrict__ labels, const std::uint32_t* __restrict__ moved_labels,
                  const std::uint8_t* __restrict__ codes, const Cell* cells, std::uint32_t n_cells,
                  const std::uint8_t* slot_of_code, const std::uint32_t* slot_leaf,
                  const std::uint32_t* __restrict__ table) {
  constexpr int kMine = kItems<T, Dim>;
  constexpr unsigned kSize = kTile<T, Dim>;
  __shared__ std::uint32_t per_warp[kThreads / 32][kSlots];
  __shared__ std::uint32_t first[kSlots + 1];
  __shared__ std::uint32_t to[kSlots];
  __shared__ std::uint32_t leaf[kSlots];
  __shared__ std::uint8_t slots[kNodes];
  __shared__ std::uint32_t shared_cell;
  if (threadIdx.x == 0) shared_cell = cell_of_tile(cells, n_cells, blockIdx.x);
  __syncthreads();
  const Cell cell = cells[shared_cell];
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  if (threadIdx.x < kNodes) slots[threadIdx.x] = slot_of_code[std::uint64_t{shared_cell} * kNodes + threadIdx.x];
  bool any_inner = false;
  if (threadIdx.x < kSlots) {
    to[threadIdx.x] = table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] -
                      cell.before + cell.begin;
    leaf[threadIdx.x] = slot_leaf[std::uint64_t{shared_cell} * kSlots + threadIdx.x];
    any_inner = leaf[threadIdx.x] == ~0U;
  }
  any_inner = __syncthreads_or(any_inner ? 1 : 0) != 0;
  const std::uint32_t offset = tile * kSize;
  const std::uint32_t n = min(kSize, cell.count - offset);
  const std::uint64_t begin = std::uint64_t{cell.begin} + offset;
  const unsigned base = (threadIdx.x >> 5U) * (32U * kMine) + (threadIdx.x & 31U);
  int slot[kMine];
  std::uint32_t place[kMine];
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = base + 32U * j;
    slot[j] = i < n ? slots[codes[begin + i]] : -1;
  }
  if (any_inner) rank_tile<kMine>(slot, place, per_warp, first);
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    if (slot[j] < 0) continue;
    const int s = slot[j];
    std::uint32_t label = leaf[s];
    if (label == ~0U) label = moved_labels[std::uint64_t{to[s]} + (place[j] - first[s])];
    labels[begin + base + 32U * j] = label;
  }
}

}  // namespace amrbench::partitioners::gpu
