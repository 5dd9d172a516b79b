#pragma once
// Kernels of gpu_multiway.cu that move points to their slots and bring leaves back to the points' first order.
#include "partitioners/orb/gpu_kernels.cuh"

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
    for (unsigned w = 0; w < kThreads / 32; ++w) {
      const std::uint32_t count = per_warp[w][threadIdx.x];
      per_warp[w][threadIdx.x] = sum;
      sum += count;
    }
    first[threadIdx.x + 1] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    first[0] = 0;
    for (int s = 0; s < kSlots; ++s) first[s + 1] += first[s];
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

/// Shared memory of move_kernel after its fixed part: the tile's points, ids and slots in sorted order.
template <class T, int Dim>
constexpr std::size_t kMoveShared = std::size_t{kTile<T, Dim>} * (sizeof(T) * Dim + sizeof(std::uint32_t) + 1);

/// One block a tile: its points, sorted by slot in shared memory, to their places. table: scanned. ids_in may be null
/// (a point's id is its position), ids_out may be null.
template <class T, int Dim>
__global__ void __launch_bounds__(kThreads)
    move_kernel(const T* __restrict__ points, T* __restrict__ moved, const std::uint32_t* __restrict__ ids_in,
                std::uint32_t* __restrict__ ids_out, const std::uint8_t* __restrict__ codes, const Cell* cells,
                std::uint32_t n_cells, const std::uint8_t* slot_of_code, const std::uint32_t* __restrict__ table) {
  constexpr int kMine = kItems<T, Dim>;
  constexpr unsigned kSize = kTile<T, Dim>;
  extern __shared__ __align__(16) unsigned char memory[];
  T* const sorted = reinterpret_cast<T*>(memory);
  auto* const sorted_ids = reinterpret_cast<std::uint32_t*>(memory + std::size_t{kSize} * sizeof(T) * Dim);
  auto* const sorted_slots = reinterpret_cast<std::uint8_t*>(sorted_ids + kSize);
  __shared__ std::uint32_t per_warp[kThreads / 32][kSlots];
  __shared__ std::uint32_t first[kSlots + 1];
  __shared__ std::uint32_t to[kSlots];
  __shared__ std::uint8_t slots[kNodes];
  __shared__ std::uint32_t shared_cell;
  if (threadIdx.x == 0) shared_cell = cell_of_tile(cells, n_cells, blockIdx.x);
  __syncthreads();
  const Cell cell = cells[shared_cell];
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  if (threadIdx.x < kNodes) slots[threadIdx.x] = slot_of_code[std::uint64_t{shared_cell} * kNodes + threadIdx.x];
  if (threadIdx.x < kSlots)
    to[threadIdx.x] = table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] -
                      cell.before + cell.begin;
  __syncthreads();
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
  rank_tile<kMine>(slot, place, per_warp, first);
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    if (slot[j] < 0) continue;
    const std::uint64_t i = begin + base + 32U * j;
    for (int a = 0; a < Dim; ++a) sorted[place[j] * Dim + a] = points[i * Dim + a];
    if (ids_out != nullptr) sorted_ids[place[j]] = ids_in != nullptr ? ids_in[i] : static_cast<std::uint32_t>(i);
    sorted_slots[place[j]] = static_cast<std::uint8_t>(slot[j]);
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < n * Dim; k += kThreads) {
    const unsigned p = k / Dim;
    const unsigned s = sorted_slots[p];
    moved[(std::uint64_t{to[s]} + (p - first[s])) * Dim + k % Dim] = sorted[k];
  }
  if (ids_out != nullptr)
    for (unsigned p = threadIdx.x; p < n; p += kThreads) {
      const unsigned s = sorted_slots[p];
      ids_out[std::uint64_t{to[s]} + (p - first[s])] = sorted_ids[p];
    }
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
