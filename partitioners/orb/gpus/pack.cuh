#pragma once
// Kernels of gpus/local.cu that bring points, in their order, to the cells of their codes, which may lie anywhere in
// memory: a stable partition. As in gpu/first_round/end.cuh: count each tile's points by cell, prefix sum, sort each
// tile in shared memory and write it. A kernel does so for a group of cells, mostly all; the points of others count as
// one cell more.
#include "partitioners/orb/gpus/kernels.cuh"

namespace amrbench::partitioners::gpu {

/// The first tile of a part.
__host__ __device__ inline std::uint32_t part_tile(std::uint32_t tiles, std::uint32_t part, std::uint32_t parts) {
  return static_cast<std::uint32_t>(std::uint64_t{tiles} * part / parts);
}

/// Cells of a group; with the others' a slot each.
constexpr std::uint32_t kPackCells = kSlots - 1;

/// Where the points of a group's cells go.
template <class T, int Dim>
struct PackTargets {
  Columns<T, Dim> cell[kPackCells];
};

/// The slot of a code in a group.
__device__ inline std::uint32_t slot_of(std::uint32_t code, const PackShape& group) {
  return min(code - group.first_cell, group.cells);  // wraps where the cell is before the group
}

/// One warp a tile: its points of each cell of the group, at table[cell * tiles + tile].
template <class T>
__global__ void __launch_bounds__(kLocalThreads)
    pack_counts_kernel(const PointCode* __restrict__ codes, const PackShape group, std::uint32_t* __restrict__ table) {
  constexpr unsigned kCodes = sizeof(uint4) / sizeof(PointCode);  // of a word
  constexpr unsigned kWords = kPackTile<T> / (32 * kCodes);       // a lane
  static_assert(kCodes * kWords < 256, "counts fit a byte");
  __shared__ std::uint32_t counts[kLocalWarps][kSlots];
  const unsigned lane = threadIdx.x & 31U;
  const std::uint32_t tile = blockIdx.x * kLocalWarps + threadIdx.x / 32;
  if (tile >= group.tiles) return;
  std::uint32_t* const sums = counts[threadIdx.x / 32];
  for (unsigned s = lane; s < kSlots; s += 32) sums[s] = 0;
  __syncwarp();
  const std::uint64_t offset = std::uint64_t{tile} * kPackTile<T>;
  const auto n = static_cast<std::uint32_t>(min(std::uint64_t{kPackTile<T>}, group.n - offset));
  const PointCode* const mine = codes + offset;
  std::uint64_t packed = 0;  // counts of 8 slots
  const bool few = group.cells < 8;
  const auto add = [&](std::uint32_t code) {
    const std::uint32_t slot = slot_of(code, group);
    if (few)
      packed += std::uint64_t{1} << (8 * slot);
    else
      atomicAdd(&sums[slot], 1U);
  };
  if (n == kPackTile<T>) {
    uint4 words[kWords];
#pragma unroll
    for (unsigned w = 0; w < kWords; ++w) words[w] = reinterpret_cast<const uint4*>(mine)[w * 32 + lane];
#pragma unroll
    for (unsigned w = 0; w < kWords; ++w) {
      PointCode some[kCodes];
      memcpy(some, &words[w], sizeof(some));
#pragma unroll
      for (unsigned j = 0; j < kCodes; ++j) add(some[j]);
    }
  } else {
    for (std::uint32_t i = lane; i < n; i += 32) add(mine[i]);
  }
  if (few) {
#pragma unroll
    for (unsigned s = 0; s < 8; ++s) {
      const unsigned sum = __reduce_add_sync(kFull, static_cast<unsigned>(packed >> (8 * s)) & 255U);
      if (lane == 0) sums[s] = sum;
    }
  }
  __syncwarp();
  for (unsigned s = lane; s < group.cells; s += 32)
    table[(std::uint64_t{group.first_cell} + s) * group.tiles + tile] = sums[s];
}

/// ready[part * cells + cell]: points of a cell in the tiles of the first part + 1 of `parts` parts. all: the cells
/// reached. table: scanned. part_tile(): where a part begins.
__global__ void parts_kernel(const PackShape all, const std::uint32_t* __restrict__ table, std::uint32_t parts,
                             std::uint32_t* __restrict__ ready) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= parts * all.cells) return;
  const std::uint64_t row = std::uint64_t{k % all.cells} * all.tiles;
  const std::uint32_t tile = part_tile(all.tiles, k / all.cells + 1, parts);
  const bool last = row + tile == std::uint64_t{all.cells} * all.tiles;
  ready[k] = (last ? static_cast<std::uint32_t>(all.n) : table[row + tile]) - table[row];
}

/// One block a tile, from first_tile on: its points of the group's cells, sorted by cell in shared memory, to their
/// targets. table: scanned. Reads 14 bytes a point of 12, writes 12; 4 more with numbers, 8 with weights.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kLocalThreads)
    pack_kernel(DeviceSource<T, Dim> source, const PointCode* __restrict__ codes, const PackShape group,
                std::uint32_t first_tile, const std::uint32_t* __restrict__ table, const PackTargets<T, Dim> targets,
                bool with_ids) {
  constexpr int kMine = kPackItems<T>;
  constexpr unsigned kSize = kPackTile<T>;
  __shared__ __align__(8) T sorted[kSize * Dim];
  __shared__ std::uint32_t sorted_ids[kSize];
  __shared__ std::uint8_t sorted_slot[kSize];
  __shared__ std::uint32_t per_warp[kLocalWarps][kSlots];
  __shared__ std::uint32_t first[kSlots];
  __shared__ T* to[kPackCells];
  __shared__ std::uint32_t* ids_to[kPackCells];
  __shared__ double* weights_to[Weighted ? kPackCells : 1];
  const std::uint32_t tile = first_tile + blockIdx.x;
  const std::uint64_t begin = std::uint64_t{tile} * kSize;
  const auto in_tile = static_cast<std::uint32_t>(min(std::uint64_t{kSize}, group.n - begin));
  const unsigned base = threadIdx.x / 32 * (32U * kMine) + (threadIdx.x & 31U);
  std::uint32_t item[kMine];  // the slot, and above 16 bits the place in the sorted tile
#pragma unroll
  for (int j = 0; j < kMine; ++j)
    item[j] = base + 32U * j < in_tile ? slot_of(codes[begin + base + 32U * j], group) : group.cells;
  rank_tile<kLocalThreads>(item, 0, 32U - static_cast<unsigned>(__clz(static_cast<int>(group.cells))), per_warp, first);
  const std::uint32_t n = first[group.cells];  // the group's points, which stand before all others
  if (threadIdx.x < group.cells) {
    const std::uint64_t row = (std::uint64_t{group.first_cell} + threadIdx.x) * group.tiles;
    const std::int64_t shift =
        static_cast<std::int64_t>(table[row + tile] - table[row]) - static_cast<std::int64_t>(first[threadIdx.x]);
    const Columns<T, Dim>& target = targets.cell[threadIdx.x];
    to[threadIdx.x] = target.points + shift * Dim;
    ids_to[threadIdx.x] = with_ids ? target.ids + shift : nullptr;
    if constexpr (Weighted) weights_to[threadIdx.x] = target.weights + shift;
  }
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t place = item[j] >> 16U;
    if (place >= n) continue;
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
      if (item[j] >> 16U < n) sorted_weights[item[j] >> 16U] = source.weights[begin + base + 32U * j];
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
