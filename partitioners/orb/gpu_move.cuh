#pragma once
// Kernels that move points to their slots, and what they share with the one that brings leaves back.
#include "partitioners/orb/gpu_kernels.cuh"
#include "partitioners/orb/gpu_steps.hpp"

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

/// Threads of a block that counts a tile's codes. It loads all of them at first, 16 bytes a time, and each warp counts
/// for itself.
constexpr unsigned kCountThreads = 128;
static_assert(kCountThreads >= kSlots && kCountThreads >= kNodes);

struct TileCounts {
  std::uint32_t counts[kCountThreads / 32][kSlots];

  /// All threads call; a barrier follows before add().
  __device__ void clear() {
    for (unsigned k = threadIdx.x; k < kCountThreads / 32 * kSlots; k += kCountThreads)
      counts[k / kSlots][k % kSlots] = 0;
  }
  __device__ void add(std::uint32_t slot) { atomicAdd(&counts[threadIdx.x / 32][slot], 1U); }
  [[nodiscard]] __device__ std::uint32_t sum(unsigned slot) const {
    std::uint32_t all = 0;
#pragma unroll
    for (unsigned w = 0; w < kCountThreads / 32; ++w) all += counts[w][slot];
    return all;
  }
};

/// One block a tile: its points of each slot, at table[64 * cell's first tile + slot * cell's tiles + tile in cell].
/// codes: aligned to 16 bytes, with room for a multiple of 16.
template <class T, int Dim>
__global__ void __launch_bounds__(kCountThreads)
    tile_counts_kernel(const std::uint8_t* __restrict__ codes, const Cell* cells, std::uint32_t n_cells,
                       const std::uint8_t* slot_of_code, std::uint32_t* __restrict__ table) {
  constexpr unsigned kWords = (kTile<T, Dim> / 16 + kCountThreads) / kCountThreads;  // the tile may begin within one
  __shared__ TileCounts counts;
  __shared__ std::uint8_t slots[kNodes];
  __shared__ std::uint32_t shared_cell;
  if (threadIdx.x == 0) shared_cell = cell_of_tile(cells, n_cells, blockIdx.x);
  counts.clear();
  __syncthreads();
  const Cell cell = cells[shared_cell];
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  const std::uint32_t offset = tile * kTile<T, Dim>;
  const std::uint32_t n = min(kTile<T, Dim>, cell.count - offset);
  const std::uint64_t begin = std::uint64_t{cell.begin} + offset;
  const auto skip = static_cast<std::uint32_t>(begin % 16);
  const auto* const words = reinterpret_cast<const uint4*>(codes + (begin - skip));
  uint4 word[kWords];
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) {
    const std::uint32_t k = w * kCountThreads + threadIdx.x;
    word[w] = 16 * k < skip + n ? __ldg(words + k) : make_uint4(0, 0, 0, 0);
  }
  if (threadIdx.x < kNodes) slots[threadIdx.x] = slot_of_code[std::uint64_t{shared_cell} * kNodes + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) {
    const std::uint32_t first = 16 * (w * kCountThreads + threadIdx.x);
    const std::uint32_t parts[4] = {word[w].x, word[w].y, word[w].z, word[w].w};
#pragma unroll
    for (unsigned b = 0; b < 16; ++b) {
      const std::uint32_t at = first + b;
      if (at >= skip && at < skip + n) counts.add(slots[(parts[b / 4] >> (8 * (b % 4))) & 0xffU]);
    }
  }
  __syncthreads();
  if (threadIdx.x < kSlots)
    table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] =
        counts.sum(threadIdx.x);
}

/// One block a tile of all points: the same for the codes of gpu_wide.cuh, at table[slot * tiles + tile]. The slot is
/// the digit above `shift` of code - first. slot_of_code: null, or what a code's own slot is, which then replaces it.
/// codes: aligned to 16 bytes, with room for a multiple of 8. Reads 2 bytes a point.
template <class T, int Dim>
__global__ void __launch_bounds__(kCountThreads)
    wide_tile_counts_kernel(std::uint16_t* __restrict__ codes, std::uint64_t points, std::uint32_t first,
                            unsigned shift, const std::uint16_t* __restrict__ slot_of_code, std::uint32_t tiles,
                            std::uint32_t* __restrict__ table) {
  constexpr unsigned kWords = (kTile<T, Dim> / 8 + kCountThreads - 1) / kCountThreads;
  __shared__ TileCounts counts;
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * kTile<T, Dim>;
  const std::uint32_t n = static_cast<std::uint32_t>(min(std::uint64_t{kTile<T, Dim>}, points - begin));
  auto* const words = reinterpret_cast<uint4*>(codes + begin);
  uint4 word[kWords];
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) {
    const std::uint32_t k = w * kCountThreads + threadIdx.x;
    word[w] = 8 * k < n ? words[k] : make_uint4(0, 0, 0, 0);
  }
  counts.clear();
  __syncthreads();
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) {
    const std::uint32_t k = w * kCountThreads + threadIdx.x;
    std::uint32_t parts[4] = {word[w].x, word[w].y, word[w].z, word[w].w};
#pragma unroll
    for (unsigned p = 0; p < 8; ++p) {
      if (8 * k + p >= n) continue;
      std::uint32_t code = (parts[p / 2] >> (16 * (p % 2))) & 0xffffU;
      if (slot_of_code != nullptr) {
        code = first + slot_of_code[code];
        parts[p / 2] = (parts[p / 2] & (0xffff0000U >> (16 * (p % 2)))) | code << (16 * (p % 2));
      }
      counts.add((code - first) >> shift);
    }
    if (slot_of_code != nullptr && 8 * k < n) words[k] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
  }
  __syncthreads();
  if (threadIdx.x < kSlots) table[std::uint64_t{threadIdx.x} * tiles + blockIdx.x] = counts.sum(threadIdx.x);
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
    prefetch_line(first + k);
}

/// Brings a tile's n points to their places in shared memory. Items as in rank_tile. A warp loads its points' values
/// in the order in which they lie, several items before the first is stored; a point's place comes from the lane that
/// ranked it.
template <class T, int Dim, int Items>
__device__ inline void sort_points(const T* __restrict__ points, std::uint32_t n, const std::uint32_t (&place)[Items],
                                   T* sorted) {
  constexpr int kBatch = Items % 2 == 0 ? 2 : 1;  // more would not fit into the registers of three blocks
  const unsigned lane = threadIdx.x & 31U;
  const std::uint32_t begin = (threadIdx.x >> 5U) * (32U * Items);
#pragma unroll
  for (int batch = 0; batch < Items; batch += kBatch) {
    T value[kBatch][Dim];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const std::uint32_t item = begin + 32U * (batch + j);
#pragma unroll
      for (unsigned d = 0; d < Dim; ++d)
        if (item + (32U * d + lane) / Dim < n) value[j][d] = __ldg(points + item * Dim + 32U * d + lane);
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const std::uint32_t item = begin + 32U * (batch + j);
#pragma unroll
      for (unsigned d = 0; d < Dim; ++d) {
        const unsigned owner = (32U * d + lane) / Dim;
        const std::uint32_t to = __shfl_sync(kFull, place[batch + j], static_cast<int>(owner));
        if (item + owner < n) sorted[to * Dim + (32U * d + lane) % Dim] = value[j][d];
      }
    }
  }
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
  std::uint32_t digits[(kMine + 3) / 4] = {};
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = base + 32U * j;
    slot[j] = -1;
    place[j] = 0;
    if (i >= n) continue;
    if constexpr (kWide) {
      const std::uint32_t code = codes[begin + i] - a.first;
      slot[j] = static_cast<int>(code >> a.shift);
      digits[j / 4] |= (code % kSlots) << (8U * (j % 4));
    } else {
      slot[j] = slots[codes[begin + i]];
    }
  }
  rank_tile<kMine>(slot, place, per_warp, first);
  sort_points<T, Dim>(a.points + begin * Dim, n, place, sorted);
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    if (base + 32U * j >= n) continue;
    const std::uint64_t i = begin + base + 32U * j;
    if (a.ids_out != nullptr)
      sorted_ids[place[j]] = a.ids_in != nullptr ? __ldg(a.ids_in + i) : static_cast<std::uint32_t>(i);
    if (kWide && a.digits_out != nullptr)
      sorted_digits[place[j]] = static_cast<std::uint8_t>(digits[j / 4] >> (8U * (j % 4)));
  }
  __syncthreads();
  write_runs<T>(sorted, a.moved, Dim, first, to, n);
  if (a.ids_out != nullptr) write_runs<std::uint32_t>(sorted_ids, a.ids_out, 1, first, to, n);
  if (kWide && a.digits_out != nullptr) write_runs<std::uint8_t>(sorted_digits, a.digits_out, 1, first, to, n);
}

/// Lets it have the shared memory that it wants.
template <class T, int Dim>
void allow_move_shared() {
  allow_shared(move_kernel<T, Dim, std::uint8_t>, move_shared<T, Dim>(true, true));
  allow_shared(move_kernel<T, Dim, std::uint16_t>, move_shared<T, Dim>(true, true));
}

template <class T, int Dim, class Code>
void launch_move(std::uint32_t tiles, cudaStream_t stream, const MoveArguments<T>& arguments, const Code* codes) {
  const std::size_t shared = move_shared<T, Dim>(arguments.ids_out != nullptr, arguments.digits_out != nullptr);
  move_kernel<T, Dim, Code><<<tiles, kThreads, shared, stream>>>(arguments, codes);
  support::cuda_check_launch("move_kernel");
}

}  // namespace amrbench::partitioners::gpu
