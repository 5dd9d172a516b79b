#pragma once
// Kernels of gpus/local.cu that bring a cell's points, in their order, to the slots of their codes: a stable
// partition to few slots, as many as cells that ranks part, which may lie anywhere in memory. As in gpu/move.cuh: count
// each tile's points by slot, prefix sum, sort each tile in shared memory and write it.
#include "partitioners/orb/gpu/move.cuh"
#include "partitioners/orb/gpus/kernels.cuh"

namespace amrbench::partitioners::gpu {

/// The first tile of a part.
__host__ __device__ inline std::uint32_t part_tile(std::uint32_t tiles, std::uint32_t part, std::uint32_t parts) {
  return static_cast<std::uint32_t>(std::uint64_t{tiles} * part / parts);
}

/// Where the slots' points go.
template <class T, int Dim>
struct PackTargets {
  Columns<T, Dim> slot[kSlots];
};

/// One warp a tile: its points of each slot, at table[slot * tiles + tile].
template <class T>
__global__ void __launch_bounds__(kLocalThreads)
    pack_counts_kernel(const std::uint8_t* __restrict__ codes, const PackCell cell, std::uint32_t* __restrict__ table) {
  constexpr unsigned kWords = kPackTile<T> / (32 * 16);  // of 16 codes, a lane
  static_assert(16 * kWords < 256, "counts fit a byte");
  __shared__ std::uint8_t slot_of[256];
  __shared__ std::uint32_t counts[kLocalWarps][kSlots];
  slot_of[threadIdx.x] = cell.slot_of[threadIdx.x];
  __syncthreads();
  const unsigned lane = threadIdx.x & 31U;
  const std::uint32_t tile = blockIdx.x * kLocalWarps + threadIdx.x / 32;
  if (tile >= cell.tiles) return;
  std::uint32_t* const sums = counts[threadIdx.x / 32];
  for (unsigned s = lane; s < kSlots; s += 32) sums[s] = 0;
  __syncwarp();
  const std::uint64_t offset = std::uint64_t{tile} * kPackTile<T>;
  const auto n = static_cast<std::uint32_t>(min(std::uint64_t{kPackTile<T>}, cell.count - offset));
  const std::uint8_t* const mine = codes + cell.begin + offset;
  const bool whole = n == kPackTile<T> && reinterpret_cast<std::uintptr_t>(mine) % 16 == 0;
  std::uint64_t packed = 0;  // counts of 8 slots
  const auto add = [&](std::uint8_t code) {
    if (cell.slots <= 8)
      packed += std::uint64_t{1} << (8 * slot_of[code]);
    else
      atomicAdd(&sums[slot_of[code]], 1U);
  };
  if (whole) {
    uint4 words[kWords];
#pragma unroll
    for (unsigned w = 0; w < kWords; ++w) words[w] = reinterpret_cast<const uint4*>(mine)[w * 32 + lane];
#pragma unroll
    for (unsigned w = 0; w < kWords; ++w) {
      std::uint8_t bytes[16];
      memcpy(bytes, &words[w], sizeof(bytes));
#pragma unroll
      for (int j = 0; j < 16; ++j) add(bytes[j]);
    }
  } else {
    for (std::uint32_t i = lane; i < n; i += 32) add(mine[i]);
  }
  if (cell.slots <= 8) {
#pragma unroll
    for (unsigned s = 0; s < 8; ++s) {
      const unsigned sum = __reduce_add_sync(kFull, static_cast<unsigned>(packed >> (8 * s)) & 255U);
      if (lane == 0) sums[s] = sum;
    }
  }
  __syncwarp();
  for (unsigned s = lane; s < cell.slots; s += 32) table[std::uint64_t{s} * cell.tiles + tile] = sums[s];
}

/// ready[part * slots + slot]: points of a slot in the tiles of the first part + 1 of `parts` parts. table: scanned.
/// part_tile(): where a part begins.
__global__ void parts_kernel(const PackCell cell, const std::uint32_t* __restrict__ table, std::uint32_t parts,
                             std::uint32_t* __restrict__ ready) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= parts * cell.slots) return;
  const std::uint64_t slot = k % cell.slots, row = slot * cell.tiles;
  const std::uint32_t tile = part_tile(cell.tiles, k / cell.slots + 1, parts);
  const bool last = row + tile == std::uint64_t{cell.slots} * cell.tiles;
  ready[k] = (last ? static_cast<std::uint32_t>(cell.count) : table[row + tile]) - table[row];
}

/// One block a tile, from cell.first_tile on: its points, sorted by slot in shared memory, to their targets. table:
/// scanned. Reads 13 bytes a point of 12, writes 12; 4 more with numbers, 8 with weights.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kLocalThreads)
    pack_kernel(DeviceSource<T, Dim> source, const std::uint8_t* __restrict__ codes, const PackCell cell,
                const std::uint32_t* __restrict__ table, const PackTargets<T, Dim> targets, bool with_ids) {
  constexpr int kMine = kPackItems<T>;
  constexpr unsigned kSize = kPackTile<T>;
  __shared__ __align__(8) T sorted[kSize * Dim];
  __shared__ std::uint32_t sorted_ids[kSize];
  __shared__ std::uint8_t sorted_slot[kSize];
  __shared__ std::uint32_t per_warp[kLocalWarps][kSlots];
  __shared__ std::uint32_t first[kSlots];
  __shared__ T* to[kSlots];
  __shared__ std::uint32_t* ids_to[kSlots];
  __shared__ double* weights_to[Weighted ? kSlots : 1];
  __shared__ std::uint8_t slot_of[256];
  slot_of[threadIdx.x] = cell.slot_of[threadIdx.x];
  __syncthreads();
  const std::uint32_t tile = cell.first_tile + blockIdx.x;
  const std::uint64_t offset = std::uint64_t{tile} * kSize;
  const auto n = static_cast<std::uint32_t>(min(std::uint64_t{kSize}, cell.count - offset));
  const std::uint64_t begin = cell.begin + offset;
  const unsigned base = threadIdx.x / 32 * (32U * kMine) + (threadIdx.x & 31U);
  std::uint32_t item[kMine];  // the slot, and above 16 bits the place in the sorted tile
#pragma unroll
  for (int j = 0; j < kMine; ++j)
    item[j] = base + 32U * j < n ? slot_of[codes[begin + base + 32U * j]] : cell.slots - 1U;
  rank_tile<kLocalThreads>(item, 0, 32U - static_cast<unsigned>(__clz(static_cast<int>(cell.slots - 1U))), per_warp,
                           first);
  if (threadIdx.x < cell.slots) {
    const std::uint64_t row = std::uint64_t{threadIdx.x} * cell.tiles;
    const std::int64_t shift =
        static_cast<std::int64_t>(table[row + tile] - table[row]) - static_cast<std::int64_t>(first[threadIdx.x]);
    to[threadIdx.x] = targets.slot[threadIdx.x].points + shift * Dim;
    ids_to[threadIdx.x] = with_ids ? targets.slot[threadIdx.x].ids + shift : nullptr;
    if constexpr (Weighted) weights_to[threadIdx.x] = targets.slot[threadIdx.x].weights + shift;
  }
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    if (base + 32U * j >= n) continue;
    const std::uint32_t place = item[j] >> 16U;
    const OrbPoint<T, Dim> p = load(source, begin + base + 32U * j);
#pragma unroll
    for (int a = 0; a < Dim; ++a) sorted[place * Dim + a] = p.x[a];
    if (with_ids) sorted_ids[place] = p.id;
    sorted_slot[place] = static_cast<std::uint8_t>(item[j]);
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < n * Dim; k += kLocalThreads) to[sorted_slot[k / Dim]][k] = sorted[k];
  if (with_ids)
    for (std::uint32_t k = threadIdx.x; k < n; k += kLocalThreads) ids_to[sorted_slot[k]][k] = sorted_ids[k];
  if constexpr (Weighted) {
    static_assert(sizeof(sorted) >= kSize * sizeof(double));  // which the weights take once the points are out
    auto* const sorted_weights = reinterpret_cast<double*>(sorted);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      if (base + 32U * j < n) sorted_weights[item[j] >> 16U] = source.weights[begin + base + 32U * j];
    __syncthreads();
    for (std::uint32_t k = threadIdx.x; k < n; k += kLocalThreads) weights_to[sorted_slot[k]][k] = sorted_weights[k];
  }
}

/// labels[ids[i] - first] = first_leaf + leaves[i].
__global__ void scatter_labels_kernel(const std::uint32_t* __restrict__ ids, const std::uint32_t* __restrict__ leaves,
                                      std::uint64_t n, std::uint32_t first, std::uint32_t first_leaf,
                                      std::uint32_t* __restrict__ labels) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) labels[ids[i] - first] = first_leaf + leaves[i];
}

/// out[i] = ids[order[i]].
__global__ void order_kernel(const std::uint32_t* __restrict__ ids, const std::uint32_t* __restrict__ order,
                             std::uint64_t n, std::uint32_t* __restrict__ out) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) out[i] = ids[order[i]];
}

}  // namespace amrbench::partitioners::gpu
