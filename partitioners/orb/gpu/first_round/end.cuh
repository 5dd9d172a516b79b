#pragma once
// What follows the cuts of the first round (gpu/first_round/first_round.cuh), its only user: labels from codes, and the
// two moves that bring points into the order of the cells, by the upper and by the lower 6 bits of their slots.
//
// A move is a stable partition, as in a radix sort. A first kernel counts the points of each slot in each tile. A
// prefix sum over these counts, slot by slot, says where every tile's points of a slot begin. The second kernel ranks a
// tile's points by slot within the thread block, sorts them in shared memory, and writes each slot's points as one run.
// Words as in gpu/kernels.cuh.
#include <vector>

#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/tree.hpp"

namespace amrbench::partitioners::gpu {

constexpr unsigned kLabelThreads = 256;

/// Leaves of n points from their codes, four points a thread at a time. 6 bytes a point. Both aligned to 16 bytes.
template <class Code>
__global__ void __launch_bounds__(kLabelThreads)
    code_labels_kernel(const Code* __restrict__ codes, std::uint64_t n, const std::uint32_t* __restrict__ leaf_of_code,
                       std::uint32_t* __restrict__ labels) {
  const std::uint64_t groups = n / 4;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t me = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::uint64_t g = me; g < groups; g += step) {
    const uint2 four = __ldcs(reinterpret_cast<const uint2*>(codes) + g);
    const uint4 leaves = make_uint4(__ldg(leaf_of_code + (four.x & 0xffffU)), __ldg(leaf_of_code + (four.x >> 16U)),
                                    __ldg(leaf_of_code + (four.y & 0xffffU)), __ldg(leaf_of_code + (four.y >> 16U)));
    __stcs(reinterpret_cast<uint4*>(labels) + g, leaves);
  }
  if (me < n % 4) labels[4 * groups + me] = leaf_of_code[codes[4 * groups + me]];
}

/// Of each code the slot, which is a node of the last level, and the leaf: those of the uppermost node on the way to it
/// that is not cut; of a node above the last level, of the first one below it. leaves: of the root.
template <class T, int Dim>
__global__ void slots_kernel(const Node<T, Dim>* __restrict__ nodes, int levels, std::uint32_t leaves,
                             std::uint16_t* slot_of_code, std::uint32_t* leaf_of_code) {
  const std::uint32_t code = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  if (code == 0 || code >= 2 * first) return;
  int below = level_of(code);
  std::uint32_t v = 1, leaf = 0;
  for (; below > 0 && nodes[v].resolved != 0; --below) {
    v = code >> static_cast<unsigned>(below - 1);
    const std::uint32_t left = left_leaves(leaves);
    leaf += v % 2 != 0 ? left : 0;
    leaves = v % 2 != 0 ? leaves - left : left;
  }
  slot_of_code[code] = static_cast<std::uint16_t>((v << static_cast<unsigned>(levels - level_of(v))) - first);
  leaf_of_code[code] = leaf;
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
/// code of one byte is the slot. With codes of two bytes all points are one cell;
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
  start_arrivals(&arrived);
  const T* const raw =
      ask_for_values(reinterpret_cast<T*>(memory), a.points + std::uint64_t{begin} * Dim, n * Dim, &arrived);
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
  wait_for_values(&arrived, 0);
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

template <class T, int Dim>
class CodeMoves {
 public:
  /// n points, whose codes are of a tree of so many levels.
  CodeMoves(std::uint64_t n, int levels, const support::CudaStream& stream)
      : n_(n), levels_(levels), first_(1U << static_cast<unsigned>(levels)), stream_(stream) {
    allow_shared(move_kernel<T, Dim, std::uint8_t>, move_shared<T, Dim>(true));
    allow_shared(move_kernel<T, Dim, std::uint16_t>, move_shared<T, Dim>(true));
  }

  /// nodes: those of the tree. direct: there is no cell above the last level that should have been cut.
  void make_slots(const OrbTree<T, Dim>& tree, const Node<T, Dim>* nodes, bool direct) {
    // A direct code is a slot's; moves that are not direct overwrite codes with first_ + slot, labels come before.
    direct_ = direct && sizeof(T) == sizeof(float);
    slot_of_code_.resize_discard(kFirstNodes);
    leaf_of_code_.resize_discard(kFirstNodes);
    slots_kernel<T, Dim><<<blocks_of(kFirstNodes, 256), 256, 0, stream_.get()>>>(
        nodes, levels_, tree.leaves, slot_of_code_.data(), leaf_of_code_.data());
    cuda_check_launch("slots_kernel");
    const auto tiles_of = [](std::uint32_t count) { return (count - 1) / kTile<T, Dim> + 1; };
    const auto all = static_cast<std::uint32_t>(n_);
    cells_.assign(1, {0, all, 0, tiles_of(all)});
    std::uint32_t begin = 0, tiles = 0;
    std::vector<std::uint32_t> walk{1};
    while (!walk.empty()) {  // the second move's cells, whose slots share all but their last digit
      const std::uint32_t v = walk.back();
      walk.pop_back();
      const OrbCell<T, Dim>& cell = tree.cells[v];
      if (v < first_ / kSlots && cell.axis >= 0) {
        walk.push_back(2 * v + 1);
        walk.push_back(2 * v);
        continue;
      }
      if (cell.count == 0) continue;
      const auto size = static_cast<std::uint32_t>(cell.count);
      cells_.push_back({begin, size, tiles, tiles_of(size)});
      begin += size;
      tiles += cells_.back().tiles;
    }
  }

  void label(const std::uint16_t* codes, std::uint32_t* labels) {
    const unsigned grid = std::min(8 * multiprocessors(), blocks_of(n_ / 4 + 4, kLabelThreads));
    code_labels_kernel<<<grid, kLabelThreads, 0, stream_.get()>>>(codes, n_, leaf_of_code_.data(), labels);
    cuda_check_launch("code_labels_kernel");
  }

  /// As FirstRound::move().
  int move(std::uint16_t* codes, const T* points, support::DeviceBuffer<T>* moved,
           support::DeviceBuffer<std::uint32_t>* ids) {
    const bool twice = levels_ > kLevels;
    const std::uint32_t tiles = cells_[0].tiles;
    tile_table_.resize_discard((tiles + (twice ? cells_.size() - 1 : 0)) * std::size_t{kSlots});
    for (int k = 0; k < (twice ? 2 : 1); ++k) {
      moved[k].resize_discard(n_ * Dim);
      if (ids != nullptr) ids[k].resize_discard(n_);
    }
    if (twice) low_digits_.resize_discard((n_ + 15) / 16 * 16);
    device_cells_.resize_discard(cells_.size());
    copy_to_device(device_cells_.data(), cells_.data(), cells_.size(), stream_);
    std::uint32_t* const ids_out[2] = {ids != nullptr ? ids[0].data() : nullptr,
                                       ids != nullptr && twice ? ids[1].data() : nullptr};
    move_by_digit<T, Dim>(
        codes, direct_ ? nullptr : slot_of_code_.data(),
        {points, moved[0].data(), nullptr, ids_out[0], device_cells_.data(), 1, cells_[0].count, tile_table_.data(),
         first_, twice ? static_cast<unsigned>(kLevels) : 0U, twice ? low_digits_.data() : nullptr},
        tiles, temporary_, stream_);
    direct_ = true;  // codes name slots now
    if (!twice) return 0;
    move_by_digit<T, Dim>(
        low_digits_.data(), nullptr,
        {moved[0].data(), moved[1].data(), ids_out[0], ids_out[1], device_cells_.data() + 1,
         static_cast<std::uint32_t>(cells_.size() - 1), cells_[0].count, tile_table_.data(), 0, 0, nullptr},
        cells_.back().first_tile + cells_.back().tiles, temporary_, stream_);
    return 1;
  }

 private:
  std::uint64_t n_;
  int levels_;
  std::uint32_t first_;  ///< node of the last level
  const support::CudaStream& stream_;
  bool direct_ = false;      ///< a code names its slot
  std::vector<Cell> cells_;  ///< all points, for the first move; then those of the second one
  support::DeviceBuffer<Cell> device_cells_;
  support::DeviceBuffer<std::uint8_t> low_digits_;
  support::DeviceBuffer<std::uint16_t> slot_of_code_;
  support::DeviceBuffer<std::uint32_t> leaf_of_code_, tile_table_;
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
