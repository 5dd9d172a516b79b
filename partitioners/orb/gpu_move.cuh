#pragma once
// Kernels that move points to their slots, and what they share with the one that brings leaves back.
#include "kernels/async_copy.cuh"
#include "partitioners/orb/gpu_kernels.cuh"
#include "partitioners/orb/gpu_steps.hpp"

namespace amrbench::partitioners::gpu {

/// Stable places of a tile's points among the slots: per_warp[w][s] becomes the place of warp w's first point of slot
/// s, the result is each item's place in the tile sorted by slot. All threads call; barriers inside. first[s]: where
/// slot s begins in the sorted tile; kSlots + 1 words. An item's number in the tile is (warp * items + j) * 32 + lane;
/// its slot is code >> shift, none where the code is negative.
template <int Items>
__device__ inline void rank_tile(const int (&code)[Items], unsigned shift, std::uint32_t (&place)[Items],
                                 std::uint32_t (*per_warp)[kSlots], std::uint32_t* first) {
  const unsigned lane = threadIdx.x & 31U;
  const unsigned warp = threadIdx.x >> 5U;
  for (unsigned k = threadIdx.x; k < kThreads / 32 * kSlots; k += kThreads) per_warp[k / kSlots][k % kSlots] = 0;
  __syncthreads();
  std::uint32_t* const mine = per_warp[warp];
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const bool here = code[j] >= 0;
    const auto slot = static_cast<std::uint32_t>(code[j]) >> shift;
    unsigned same = __ballot_sync(kFull, here);
#pragma unroll
    for (unsigned b = 0; b < 6; ++b) {
      const bool set = ((slot >> b) & 1U) != 0U;
      const unsigned with = __ballot_sync(kFull, set);
      same &= set ? with : ~with;
    }
    const unsigned before = same & ((1U << lane) - 1U);
    std::uint32_t sum = 0;
    if (here) {
      sum = mine[slot];
      place[j] = sum + static_cast<unsigned>(__popc(before));
    }
    __syncwarp();
    if (here && before == 0U) mine[slot] = sum + static_cast<unsigned>(__popc(same));  // the first of its kind
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
    if (code[j] >= 0) place[j] += first[code[j] >> shift] + mine[code[j] >> shift];
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
  find_cell_of_tile(cells, n_cells, blockIdx.x, &shared_cell);
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

/// Values of a tile's points in shared memory: its points begin at most 15 bytes behind a multiple of 16.
template <class T, int Dim>
constexpr std::size_t kRawBytes = std::size_t{kTile<T, Dim>} * sizeof(T) * Dim + 16;

/// Shared memory of move_kernel besides its fixed part: the tile's points as they lie; by place in the tile sorted by
/// slot the number of the point's first value, the id and the digit.
template <class T, int Dim>
constexpr std::size_t move_shared(bool ids, bool digits) {
  return kRawBytes<T, Dim> +
         std::size_t{kTile<T, Dim>} * (sizeof(std::uint16_t) + (ids ? sizeof(std::uint32_t) : 0) + (digits ? 1 : 0));
}

/// Writes a sorted tile's n points of `Per` values to where their slots want them, `to` in points; get(k) is its k-th
/// value. Each warp takes an equal stretch of the tile and goes through the slots in it; its stores begin at multiples
/// of 32 values.
template <int Per, class V, class Get>
__device__ inline void write_runs(V* __restrict__ out, const std::uint32_t* first, const std::uint32_t* to,
                                  std::uint32_t n, const Get& get) {
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
    const std::uint64_t target = std::uint64_t{to[s] + (p - first[s])} * Per;
    V* const run = out + target;
    const int values = static_cast<int>((end - p) * Per);
#pragma unroll 4
    for (int k = lane - static_cast<int>(target % 32); k < values; k += 32)
      if (k >= 0) run[k] = get(p * Per + static_cast<std::uint32_t>(k));
    p = end;
  }
}

/// Has `count` values copied to shared memory; returns where the first one comes to lie. `raw`: aligned to 16 bytes, 16
/// bytes more than the values need. `here`: one thread that initialised the barrier for one arrival, which comes when
/// the values are there; before it waits for that, each thread passes a barrier of the block.
template <class T>
__device__ inline T* ask_for_tile(T* raw, const T* from, std::uint32_t count, [[maybe_unused]] std::uint64_t* barrier) {
  constexpr std::uint32_t kWord = 16 / sizeof(T);
  const auto skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16 / sizeof(T));
  T* const tile = raw + skip;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const std::uint32_t whole = (skip + count) / kWord * kWord;  // the last few values may end where the memory does
  if (threadIdx.x == 0) {
    kernels::barrier_init(barrier, 1);
    kernels::barrier_init_fence();
    kernels::barrier_arrive_expect(barrier, whole * sizeof(T));
    if (whole > 0) kernels::copy_bulk(raw, from - skip, whole * sizeof(T), barrier);
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
  kernels::barrier_wait(barrier, 0);
#endif
}

/// One block a tile: its points, which come into shared memory while they are ranked by slot, to their places. Bytes a
/// point of 12 without ids: 24, the code, and a digit.
template <class T, int Dim, class Code>
__global__ void __launch_bounds__(kThreads, 3) move_kernel(const MoveArguments<T> a, const Code* __restrict__ codes) {
  constexpr bool kWide = sizeof(Code) == 2;
  constexpr int kMine = kItems<T, Dim>;
  constexpr unsigned kSize = kTile<T, Dim>;
  static_assert(kSize * Dim <= 0x10000U, "a value's number has 16 bits");
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const sorted_ids = reinterpret_cast<std::uint32_t*>(memory + kRawBytes<T, Dim>);
  auto* const order = reinterpret_cast<std::uint16_t*>(a.ids_in != nullptr ? sorted_ids + kSize : sorted_ids);
  auto* const sorted_digits = reinterpret_cast<std::uint8_t*>(order + kSize);
  __shared__ std::uint32_t per_warp[kThreads / 32][kSlots];
  __shared__ std::uint32_t first[kSlots + 1];
  __shared__ std::uint32_t to[kSlots];
  __shared__ std::uint8_t slots[kNodes];
  __shared__ std::uint32_t shared_cell;
  __shared__ std::uint64_t arrived;
  find_cell_of_tile(a.cells, a.n_cells, blockIdx.x, &shared_cell);
  __syncthreads();
  const Cell cell = a.cells[shared_cell];
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  const std::uint32_t offset = tile * kSize;
  const std::uint32_t n = min(kSize, cell.count - offset);
  const std::uint64_t begin = std::uint64_t{cell.begin} + offset;
  const T* const raw = ask_for_tile(reinterpret_cast<T*>(memory), a.points + begin * Dim, n * Dim, &arrived);
  if (!kWide && threadIdx.x < kNodes)
    slots[threadIdx.x] = a.slot_of_code[std::uint64_t{shared_cell} * kNodes + threadIdx.x];
  if (threadIdx.x < kSlots)
    to[threadIdx.x] =
        a.table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] -
        cell.before + cell.begin;
  const unsigned base = (threadIdx.x >> 5U) * (32U * kMine) + (threadIdx.x & 31U);
  int code[kMine];
  std::uint32_t place[kMine];
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = base + 32U * j;
    place[j] = 0;
    code[j] = i < n ? static_cast<int>(codes[begin + i] - (kWide ? a.first : 0U)) : -1;
  }
  __syncthreads();
  if constexpr (!kWide) {
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      if (code[j] >= 0) code[j] = slots[code[j]];
  }
  rank_tile<kMine>(code, kWide ? a.shift : 0U, place, per_warp, first);
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = base + 32U * j;
    if (i >= n) continue;
    order[place[j]] = static_cast<std::uint16_t>(i * Dim);
    if (a.ids_in != nullptr) sorted_ids[place[j]] = __ldg(a.ids_in + begin + i);
    if (kWide && a.digits_out != nullptr) sorted_digits[place[j]] = static_cast<std::uint8_t>(code[j] % kSlots);
  }
  __syncthreads();
  wait_for_tile(&arrived);
  write_runs<Dim>(a.moved, first, to, n, [&](std::uint32_t k) { return raw[order[k / Dim] + k % Dim]; });
  if (a.ids_out != nullptr)
    write_runs<1>(a.ids_out, first, to, n, [&](std::uint32_t k) {
      return a.ids_in != nullptr ? sorted_ids[k] : static_cast<std::uint32_t>(begin) + order[k] / Dim;
    });
  if (kWide && a.digits_out != nullptr)
    write_runs<1>(a.digits_out, first, to, n, [&](std::uint32_t k) { return sorted_digits[k]; });
}

/// Lets it have the shared memory that it wants.
template <class T, int Dim>
void allow_move_shared() {
  allow_shared(move_kernel<T, Dim, std::uint8_t>, move_shared<T, Dim>(true, true));
  allow_shared(move_kernel<T, Dim, std::uint16_t>, move_shared<T, Dim>(true, true));
}

template <class T, int Dim, class Code>
void launch_move(std::uint32_t tiles, cudaStream_t stream, const MoveArguments<T>& arguments, const Code* codes) {
  const std::size_t shared = move_shared<T, Dim>(arguments.ids_in != nullptr, arguments.digits_out != nullptr);
  move_kernel<T, Dim, Code><<<tiles, kThreads, shared, stream>>>(arguments, codes);
  support::cuda_check_launch("move_kernel");
}

}  // namespace amrbench::partitioners::gpu
