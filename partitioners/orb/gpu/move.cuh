#pragma once
// Kernels that move points to their slots, in the order they have (a stable partition by 6 bits), and what they share
// with the kernel that brings leaves back.
//
// In:  points, and a code for each of them that names its slot.
// Out: the points, and their numbers where wanted, slot by slot.
// The idea, as in a radix sort. A first kernel counts the points of each slot in each tile. A prefix sum over these
// counts, slot by slot, says where every tile's points of a slot begin. The second kernel ranks a tile's points by slot
// within the thread block, sorts them in shared memory, and writes each slot's points as one run. Words as in
// gpu/kernels.cuh.
#include "partitioners/orb/gpu/kernels.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "support/async_copy.cuh"

namespace amrbench::partitioners::gpu {

/// Ranks a tile's items by slot, stably. In: codes of 16 bits; an item's slot is code >> shift, its number in the tile
/// (warp * items + j) * 32 + lane. Out: the upper 16 bits of each item hold its place in the tile sorted by slot;
/// first[s] is where slot s begins there. Items past the tile's end must have the last slot, so that they come last.
/// bits: of slots, at most 6. All threads of the block call; barriers inside.
template <unsigned Threads, int Items>
__device__ inline void rank_tile(std::uint32_t (&item)[Items], unsigned shift, unsigned bits,
                                 std::uint32_t (*per_warp)[kSlots], std::uint32_t* first) {
  const unsigned lane = threadIdx.x & 31U;
  const unsigned warp = threadIdx.x >> 5U;
  std::uint32_t* const mine = per_warp[warp];
  mine[lane] = 0;
  mine[lane + 32] = 0;
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const std::uint32_t slot = item[j] >> shift;
    unsigned same = kFull;  // lanes of the same slot
    for (unsigned b = 0; b < bits; ++b) {
      const bool set = ((slot >> b) & 1U) != 0U;
      const unsigned with = __ballot_sync(kFull, set);
      same &= set ? with : ~with;
    }
    const unsigned before = same & ((1U << lane) - 1U);
    const std::uint32_t sum = mine[slot];
    item[j] |= (sum + static_cast<unsigned>(__popc(before))) << 16U;
    __syncwarp();
    if (before == 0U) mine[slot] = sum + static_cast<unsigned>(__popc(same));  // the first of its kind
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x < kSlots) {
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned w = 0; w < Threads / 32; ++w) {
      const std::uint32_t count = per_warp[w][threadIdx.x];
      per_warp[w][threadIdx.x] = sum;
      sum += count;
    }
    first[threadIdx.x] = sum;
  }
  __syncthreads();
  if (warp == 0) {  // two slots a lane
    const std::uint32_t left = first[2 * lane];
    const std::uint32_t both = left + first[2 * lane + 1];
    const std::uint32_t sum = warp_sum_up_to(both);
    first[2 * lane] = sum - both;
    first[2 * lane + 1] = sum - both + left;
  }
  __syncthreads();
  mine[lane] += first[lane];
  mine[lane + 32] += first[lane + 32];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Items; ++j) item[j] += mine[(item[j] & 0xffffU) >> shift] << 16U;
}

/// Threads of a block that counts a tile's codes. It loads all of them first, 16 bytes at a time, and then each warp
/// counts in its own part of shared memory.
constexpr unsigned kCountThreads = 128;
static_assert(kCountThreads >= kSlots);

/// What a move works on.
template <class T>
struct MoveArguments {
  const T* points;
  T* moved;
  const std::uint32_t* ids_in;  ///< may be null: a point's id is its position
  std::uint32_t* ids_out;       ///< may be null
  const Cell* cells;
  std::uint32_t n_cells;
  std::uint32_t points_in_all;
  std::uint32_t* table;        ///< of the tiles' counts, then of their sums
  std::uint32_t first, shift;  ///< codes of two bytes: the slot is the digit above `shift` of code - first
  std::uint8_t* digits_out;    ///< may be null: what remains of codes of two bytes below the shift
};

/// One block a tile: its points of each slot, at table[64 * cell's first tile + slot * cell's tiles + tile in cell]. A
/// code of one byte is the slot. With codes of two bytes (gpu/first_round/brackets.cuh) all points are one cell;
/// slot_of_code: null, or what a code's own slot is, which then replaces it. codes: aligned to 16 bytes, with room for
/// a multiple of 16 bytes.
template <class T, int Dim, class Code>
__global__ void __launch_bounds__(kCountThreads)
    tile_counts_kernel(Code* __restrict__ codes, const std::uint16_t* __restrict__ slot_of_code,
                       const MoveArguments<T> a) {
  constexpr bool kTwoBytes = sizeof(Code) == 2;
  constexpr unsigned kEach = 16 / sizeof(Code);  // codes that a thread loads together
  constexpr unsigned kBits = 8 * sizeof(Code), kInPart = 4 / sizeof(Code);
  constexpr unsigned kMore = kTwoBytes ? kCountThreads - 1 : kCountThreads;  // a tile may begin within 16 bytes
  constexpr unsigned kWords = (kTile<T, Dim> / kEach + kMore) / kCountThreads;
  __shared__ std::uint32_t counts[kCountThreads / 32][kSlots];
  Cell cell{0, a.points_in_all, 0, gridDim.x};
  if constexpr (!kTwoBytes) {
    __shared__ std::uint32_t shared_cell;
    find_cell_of_tile(a.cells, a.n_cells, blockIdx.x, &shared_cell);
    __syncthreads();
    cell = a.cells[shared_cell];
  }
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  const std::uint32_t offset = tile * kTile<T, Dim>;
  const std::uint32_t n = min(kTile<T, Dim>, cell.count - offset);
  const std::uint64_t begin = std::uint64_t{cell.begin} + offset;
  const std::uint32_t skip = kTwoBytes ? 0U : static_cast<std::uint32_t>(begin % kEach);
  auto* const words = reinterpret_cast<uint4*>(codes + (begin - skip));
  uint4 word[kWords];
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) {
    const std::uint32_t k = w * kCountThreads + threadIdx.x;
    word[w] = kEach * k < skip + n ? words[k] : make_uint4(0, 0, 0, 0);
  }
  for (unsigned k = threadIdx.x; k < kCountThreads / 32 * kSlots; k += kCountThreads)
    counts[k / kSlots][k % kSlots] = 0;
  __syncthreads();
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) {
    const std::uint32_t k = w * kCountThreads + threadIdx.x;
    std::uint32_t parts[4] = {word[w].x, word[w].y, word[w].z, word[w].w};
#pragma unroll
    for (unsigned c = 0; c < kEach; ++c) {
      const std::uint32_t at = kEach * k + c;
      if (at - skip >= n) continue;  // wraps where it is before the tile
      constexpr std::uint32_t kMask = (1U << kBits) - 1U;
      const unsigned bit = kBits * (c % kInPart);
      std::uint32_t code = (parts[c / kInPart] >> bit) & kMask;
      if constexpr (kTwoBytes) {
        if (slot_of_code != nullptr) {
          code = a.first + slot_of_code[code];
          parts[c / kInPart] = (parts[c / kInPart] & ~(kMask << bit)) | code << bit;
        }
        code = (code - a.first) >> a.shift;
      }
      atomicAdd(&counts[threadIdx.x / 32][code], 1U);
    }
    if constexpr (kTwoBytes) {
      const bool changed =
          parts[0] != word[w].x || parts[1] != word[w].y || parts[2] != word[w].z || parts[3] != word[w].w;
      if (changed && kEach * k < n) words[k] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
    }
  }
  __syncthreads();
  if (threadIdx.x >= kSlots) return;
  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned w = 0; w < kCountThreads / 32; ++w) sum += counts[w][threadIdx.x];
  a.table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] = sum;
}

/// Values of a tile's points in shared memory: its points begin at most 15 bytes behind a multiple of 16.
template <class T, int Dim>
constexpr std::size_t kRawBytes = std::size_t{kTile<T, Dim>} * sizeof(T) * Dim + 16;

/// Shared memory of move_kernel besides its fixed part: the tile's points as they lie; by place in the sorted tile a
/// MovedItem, and the id.
template <class T, int Dim>
constexpr std::size_t move_shared(bool ids) {
  return kRawBytes<T, Dim> + std::size_t{kTile<T, Dim>} * (ids ? 2 : 1) * sizeof(std::uint32_t);
}

/// An item at its place in a sorted tile, in one word: its number in the tile, slot and digit.
struct MovedItem {
  static constexpr unsigned kSlotBit = 16, kDigitBit = 24;
  std::uint32_t word;

  static __device__ MovedItem of(std::uint32_t number, std::uint32_t slot, std::uint32_t digit) {
    return {number | slot << kSlotBit | digit << kDigitBit};
  }
  __device__ std::uint32_t number() const { return word & 0xffffU; }
  __device__ std::uint32_t slot() const { return (word >> kSlotBit) & (kSlots - 1U); }
  __device__ std::uint32_t digit() const { return word >> kDigitBit; }
};

/// Starts copying `count` values to shared memory and returns where the first one will lie. `raw`: aligned to 16 bytes,
/// with room for 16 bytes more than the values need. Copies are whole pieces of 16 bytes, so up to 12 bytes before
/// `from` are read, but none behind the last value. All threads call, and pass a barrier of the block before
/// wait_for_tile().
template <class T>
__device__ inline T* ask_for_tile(T* raw, const T* from, std::uint32_t count, [[maybe_unused]] std::uint64_t* barrier) {
  const auto skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16 / sizeof(T));
  T* const tile = raw + skip;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr std::uint32_t kWord = 16 / sizeof(T);
  const std::uint32_t whole = (skip + count) / kWord * kWord;  // the last few values may end where the memory does
  if (threadIdx.x == 0) {
    support::barrier_init(barrier, 1);
    support::barrier_init_fence();
    support::barrier_arrive_expect(barrier, whole * sizeof(T));
    if (whole > 0) support::copy_bulk(raw, from - skip, whole * sizeof(T), barrier);
  }
  const std::uint32_t rest = whole > skip ? whole - skip : 0;
  if (threadIdx.x < kWord && rest + threadIdx.x < count) tile[rest + threadIdx.x] = from[rest + threadIdx.x];
#else
  for (std::uint32_t k = threadIdx.x; k < count; k += kThreads) tile[k] = from[k];
#endif
  return tile;
}

/// Waits for the values of ask_for_tile; all threads call, and a barrier of the block stands between the two.
__device__ inline void wait_for_tile([[maybe_unused]] std::uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  support::barrier_wait(barrier, 0);
#endif
}

/// Writes a sorted tile: an item's place in `moved` is its place in the sorted tile plus way[slot]. Items of one slot
/// are neighbours in both, so a warp's stores are contiguous but where slots meet.
template <class T, int Dim>
__device__ inline void write_tile(const MoveArguments<T>& a, const T* raw, const MovedItem* items,
                                  const std::uint32_t* ids, const std::uint32_t* way, std::uint32_t n,
                                  std::uint32_t begin) {
#pragma unroll 4
  for (std::uint32_t k = threadIdx.x; k < n * Dim; k += kThreads) {
    const std::uint32_t place = k / Dim;
    const std::uint32_t axis = k - place * Dim;
    const MovedItem item = items[place];
    a.moved[std::uint64_t{place + way[item.slot()]} * Dim + axis] = raw[item.number() * Dim + axis];
  }
  if (a.digits_out != nullptr)
    for (std::uint32_t place = threadIdx.x; place < n; place += kThreads)
      a.digits_out[place + way[items[place].slot()]] = static_cast<std::uint8_t>(items[place].digit());
  if (a.ids_out != nullptr)
    for (std::uint32_t place = threadIdx.x; place < n; place += kThreads)
      a.ids_out[place + way[items[place].slot()]] = a.ids_in != nullptr ? ids[place] : begin + items[place].number();
}

/// One block a tile: moves its points to their places. They are copied to shared memory while their codes are ranked by
/// slot; a code of one byte is the slot. Bytes a point of 12 without ids: 24, the code, and a digit.
template <class T, int Dim, class Code>
__global__ void __launch_bounds__(kThreads, 3) move_kernel(const MoveArguments<T> a, const Code* __restrict__ codes) {
  constexpr bool kTwoBytes = sizeof(Code) == 2;
  constexpr int kMine = kItems<T, Dim>;
  constexpr unsigned kSize = kTile<T, Dim>;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const items = reinterpret_cast<MovedItem*>(memory + kRawBytes<T, Dim>);
  auto* const ids = reinterpret_cast<std::uint32_t*>(items + kSize);
  __shared__ std::uint32_t per_warp[kThreads / 32][kSlots];
  __shared__ std::uint32_t first[kSlots];
  __shared__ std::uint32_t way[kSlots];
  __shared__ std::uint32_t shared_cell;
  __shared__ std::uint64_t arrived;
  find_cell_of_tile(a.cells, a.n_cells, blockIdx.x, &shared_cell);
  __syncthreads();
  const Cell cell = a.cells[shared_cell];
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  const std::uint32_t offset = tile * kSize;
  const std::uint32_t n = min(kSize, cell.count - offset);
  const std::uint32_t begin = cell.begin + offset;
  const T* const raw =
      ask_for_tile(reinterpret_cast<T*>(memory), a.points + std::uint64_t{begin} * Dim, n * Dim, &arrived);
  if (threadIdx.x < kSlots)
    way[threadIdx.x] =
        a.table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile];
  const std::uint32_t number = (threadIdx.x >> 5U) * (32U * kMine) + (threadIdx.x & 31U);
  std::uint32_t item[kMine];
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = number + 32U * j;
    item[j] = i < n ? std::uint32_t{codes[std::uint64_t{begin} + i]} : ~0U;
  }
  __syncthreads();
  const unsigned shift = kTwoBytes ? a.shift : 0U;
  const std::uint32_t last = ((kSlots - 1U) << shift) | ((1U << shift) - 1U);
#pragma unroll
  for (int j = 0; j < kMine; ++j) item[j] = min(item[j] - (kTwoBytes ? a.first : 0U), last);  // past the end too
  rank_tile<kThreads>(item, shift, kLevels, per_warp, first);
#pragma unroll
  for (int j = 0; j < kMine; ++j)
    items[item[j] >> 16U] = MovedItem::of(number + 32U * j, (item[j] & 0xffffU) >> shift, item[j] % kSlots);
  if (a.ids_in != nullptr) {
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      if (number + 32U * j < n) ids[item[j] >> 16U] = __ldg(a.ids_in + begin + number + 32U * j);
  }
  if (threadIdx.x < kSlots) way[threadIdx.x] -= first[threadIdx.x];
  __syncthreads();
  wait_for_tile(&arrived);
  write_tile<T, Dim>(a, raw, items, ids, way, n, begin);
}

/// Counts, adds up and moves: points by one digit of their codes. slot_of_code: as tile_counts_kernel has it.
template <class T, int Dim, class Code>
void move_by_digit(Code* codes, const std::uint16_t* slot_of_code, const MoveArguments<T>& a, std::uint32_t tiles,
                   support::DeviceBuffer<unsigned char>& temporary, const support::CudaStream& stream) {
  tile_counts_kernel<T, Dim><<<tiles, kCountThreads, 0, stream.get()>>>(codes, slot_of_code, a);
  cuda_check_launch("tile_counts_kernel");
  sums_before(a.table, a.table, std::size_t{tiles} * kSlots, temporary, stream);
  move_kernel<T, Dim><<<tiles, kThreads, move_shared<T, Dim>(a.ids_in != nullptr), stream.get()>>>(a, codes);
  cuda_check_launch("move_kernel");
}

}  // namespace amrbench::partitioners::gpu
