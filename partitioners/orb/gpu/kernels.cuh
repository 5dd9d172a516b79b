#pragma once
// Types of the multiway method on a GPU, shared by all its rounds, and the kernel of a further round (gpu/multiway.cu)
// that walks points down the guessed tree.
//
// The method. A round cuts several levels of the tree in one pass over the points. It takes a sample, guesses from it
// where each cut lies, and puts an interval around each guess that is wide enough to hold the true cut nearly always.
// One pass sends every point down this guessed tree. Most points lie outside all intervals on their way: where they
// belong is certain. The few inside are listed, counted in histograms and, beside the cut, ordered, which gives the
// exact cuts. An interval that missed its cut costs its cell another round, never the result.
//
// In:  points as in the input, x, y, z of a point together; the cells to cut, each a stretch of consecutive points.
// Out: the exact cuts, and a code for each point that says in which new cell it is.
//
// Words:
//   round      the work above. The first one cuts up to 12 levels below the root (gpu/wide/wide.hpp); further ones cut
//   up to
//              6 levels of each cell that is left, all cells together
//   node       a cell of the guessed tree. Nodes of a round are a heap: children of v are 2v and 2v + 1. Here 128 a
//              cell: node v of cell c has number 128 c + v. An outer node has no cut and passes its points on to the
//              left
//   bracket    the interval of coordinates around a guessed cut, on the node's axis. A point inside it stops there
//   entry      a point that stopped at a bracket, in the list of the node's level
//   code       of a point: 0 .. 63, the node of the last level that it reached; 64 + v, it stopped at the bracket of
//              node v
//   rank       how many of the points at hand stand before a point in the order of rule 1 (rules.hpp)
//   candidates the entries in the one or two bins of a bracket's histogram between which the cut lies. They are ordered
//   pivot      the first point right of a cut
//   resolve    to find a node's exact cut from its bracket's entries and send these on
//   tile       a stretch of one cell's points that one thread block works on
//   slot       a cell at the end of a round. Thread blocks, tiles and slots are in the order of the points, so the move
//              to slots is stable
#include <cstdint>

#include "partitioners/orb/rules.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners::gpu {

constexpr int kLevels = 6;
constexpr int kNodes = 128;
constexpr int kStoppedCode = 64;
constexpr int kSlots = 64;
constexpr int kThreads = 512;
constexpr unsigned kFull = 0xffffffffU;
/// Bins over the brackets of one level of a cell, shared out among the level's nodes.
constexpr unsigned kBins = 16384;
/// Points of one or two bins that are ordered outright.
constexpr unsigned kCandidates = 2048;
/// Entries a block takes at a time, and its threads.
constexpr int kEntryThreads = 256;
constexpr int kEntryItems = 8;

template <class T, int Dim>
constexpr int kItems = sizeof(T) * Dim <= 12 ? 8 : 5;
template <class T, int Dim>
constexpr unsigned kTile = kThreads* kItems<T, Dim>;

/// A cell that a round cuts.
struct Cell {
  std::uint32_t begin, count, leaves;
  std::uint32_t first_tile, tiles;
  std::uint32_t before;  ///< points of the round's cells before this one
  std::uint32_t sample_begin, samples;
};

/// A point in a bracket.
struct Entry {
  std::uint32_t position, node;
};

/// What the sample says of a node.
template <class T, int Dim>
struct Guess {
  T low, high;
  std::int32_t axis;
  std::int32_t inner;
  OrbBox<T, Dim> box;  ///< as the sample sees it
  std::uint32_t leaves;
  std::uint32_t begin, end, cut;  ///< ranks in the sorted sample
};

/// What is known exactly of a node.
template <class T, int Dim>
struct Node {
  OrbBox<T, Dim> box;
  std::uint32_t count, leaves;
  std::int32_t known;     ///< box and count are
  std::int32_t active;    ///< being cut at its level's turn
  std::int32_t resolved;  ///< cut
  std::int32_t axis;
  T cut;
  T bin_low, bin_scale;
  std::uint32_t rank;  ///< of the first right point, among the node's entries, then among its candidates
  std::uint32_t first_bin, last_bin;
  std::uint32_t candidates;
  OrbPoint<T, Dim> pivot;  ///< first right point; id is its position
};

struct Lists {
  Entry* entries[kLevels];
  std::uint32_t* counts;  ///< [level]
  std::uint32_t capacity;
  std::uint32_t* overflow;  ///< set when an entry had no room
};

/// result = atomicAdd(at, amount) where `wanted`, without a branch. Behind a branch the compiler would copy the result
/// at once, and so wait for the atomic.
__device__ inline void add_where(bool wanted, std::uint32_t* at, std::uint32_t amount, std::uint32_t& result) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p atom.global.add.u32 %0, [%2], %3; }"
               : "+r"(result)
               : "r"(wanted ? 1U : 0U), "l"(__cvta_generic_to_global(at)), "r"(amount)
               : "memory");
}
/// Integers in the order of coordinates; zeros of both signs are equal.
__device__ inline std::uint32_t order_key(float x) {
  const std::uint32_t bits = __float_as_uint(x + 0.0F);
  return bits ^ ((bits >> 31) != 0U ? 0xffffffffU : 0x80000000U);
}
__device__ inline std::uint64_t order_key(double x) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(x + 0.0));
  return bits ^ ((bits >> 63U) != 0U ? ~std::uint64_t{0} : std::uint64_t{1} << 63U);
}
__device__ inline float key_float(std::uint32_t key) {
  return __uint_as_float(key ^ ((key >> 31) != 0U ? 0x80000000U : 0xffffffffU));
}

template <class T, int Dim>
__device__ inline OrbPoint<T, Dim> load_point(const T* points, std::uint32_t position) {
  OrbPoint<T, Dim> p;
  for (int a = 0; a < Dim; ++a) p.x[a] = points[std::uint64_t{position} * Dim + a];
  p.id = position;  // positions within a cell ascend with ids
  return p;
}

/// Gives the calling threads places in the lists, by one atomic in memory for each level and block. All threads of the
/// block call; level < 0: this thread wants none. Two barriers; `shared`: 2 * kLevels words.
struct ListPlaces {
  std::uint32_t* shared;

  __device__ void clear() {
    if (threadIdx.x < 2 * kLevels) shared[threadIdx.x] = 0;
    __syncthreads();
  }
  /// Place within the block's share of the level's list.
  __device__ std::uint32_t take(int level) {
    std::uint32_t place = 0;
    if (__any_sync(kFull, level >= 0) == 0) return place;
    const unsigned lane = threadIdx.x & 31U;
    for (int l = 0; l < kLevels; ++l) {
      const unsigned same = __ballot_sync(kFull, level == l);
      if (same == 0U) continue;
      std::uint32_t base = 0;
      if (lane == 0) base = atomicAdd(&shared[l], static_cast<unsigned>(__popc(same)));
      base = __shfl_sync(kFull, base, 0);
      if (level == l) place = base + static_cast<unsigned>(__popc(same & ((1U << lane) - 1U)));
    }
    return place;
  }
  __device__ void reserve(const Lists& lists) {
    __syncthreads();
    if (threadIdx.x < kLevels && shared[threadIdx.x] > 0)
      shared[kLevels + threadIdx.x] = atomicAdd(&lists.counts[threadIdx.x], shared[threadIdx.x]);
    __syncthreads();
  }
  __device__ void put(const Lists& lists, int level, std::uint32_t place, Entry entry) const {
    const std::uint64_t at = std::uint64_t{shared[kLevels + level]} + place;
    if (at < lists.capacity)
      lists.entries[level][at] = entry;
    else
      *lists.overflow = 1;
  }
};

/// Brackets of one cell, in shared memory.
template <class T>
struct Brackets {
  T low[kSlots], high[kSlots];
  std::uint8_t axis[kSlots];
  std::uint8_t inner[kSlots];
};

template <class T, int Dim>
__device__ inline void load_brackets(Brackets<T>& brackets, const Guess<T, Dim>* guesses, std::uint32_t cell) {
  for (unsigned v = threadIdx.x; v < kSlots; v += blockDim.x) {
    const Guess<T, Dim>& guess = guesses[std::uint64_t{cell} * kNodes + v];
    const bool inner = v > 0 && guess.inner != 0;
    brackets.inner[v] = inner ? 1 : 0;
    brackets.axis[v] = inner ? static_cast<std::uint8_t>(guess.axis) : 0;
    // An outer node passes its points on to the left.
    brackets.low[v] = inner ? guess.low : T(INFINITY);
    brackets.high[v] = inner ? guess.high : T(INFINITY);
  }
}

/// Code of a point that is in node v.
template <class T, int Dim>
__device__ inline int code_from(const Brackets<T>& brackets, int v, const T* x, int levels) {
  const int first = 1 << levels;
  int stopped = 0;
  while (v < first) {
    T c = x[0];
    const int axis = brackets.axis[v];
    if (axis == 1) c = x[1];
    if (Dim == 3 && axis == 2) c = x[Dim - 1];
    const bool right = c >= brackets.low[v];
    if (right && stopped == 0 && c <= brackets.high[v]) stopped = v;
    v = 2 * v + (right ? 1 : 0);
  }
  return stopped != 0 ? kStoppedCode + stopped : v - first;
}

/// Which of n cells a tile belongs to: the last one whose first tile is not after it. A binary search.
template <class AnyCell>
__device__ inline std::uint32_t cell_of_tile(const AnyCell* cells, std::uint32_t n, std::uint32_t tile) {
  std::uint32_t low = 0;
  std::uint32_t high = n;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (cells[middle].first_tile <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The same for a whole block. Where there are no more cells than threads, each thread looks at one cell: one read
/// instead of several that depend on each other. All threads call; a barrier must follow before the result is read.
__device__ inline void find_cell_of_tile(const Cell* cells, std::uint32_t n, std::uint32_t tile, std::uint32_t* found) {
  if (n > blockDim.x) {
    if (threadIdx.x == 0) *found = cell_of_tile(cells, n, tile);
    return;
  }
  const std::uint32_t c = threadIdx.x;
  if (c < n && tile - cells[c].first_tile < cells[c].tiles) *found = c;  // wraps where the tile is before the cell's
}

/// One block a tile: codes of its points, counts of codes a cell, entries of points in brackets.
template <class T, int Dim>
__global__ void __launch_bounds__(kThreads)
    classify_kernel(const T* __restrict__ points, std::uint8_t* __restrict__ codes, const Cell* cells,
                    std::uint32_t n_cells, const Guess<T, Dim>* guesses, int levels, std::uint32_t* code_counts,
                    Lists lists) {
  constexpr int kMine = kItems<T, Dim>;
  __shared__ Brackets<T> brackets;
  __shared__ std::uint32_t counts[kNodes];
  __shared__ std::uint32_t places_memory[2 * kLevels];
  __shared__ std::uint32_t shared_cell;
  if (threadIdx.x == 0) shared_cell = cell_of_tile(cells, n_cells, blockIdx.x);
  if (threadIdx.x < kNodes) counts[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t c = shared_cell;
  const Cell cell = cells[c];
  load_brackets(brackets, guesses, c);
  ListPlaces places{places_memory};
  places.clear();  // a barrier for the brackets too
  const std::uint32_t offset = (blockIdx.x - cell.first_tile) * kTile<T, Dim>;
  const std::uint32_t n = min(kTile<T, Dim>, cell.count - offset);
  const std::uint32_t begin = cell.begin + offset;
  std::uint32_t place[kMine];
  int code[kMine];
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = j * kThreads + threadIdx.x;
    code[j] = -1;
    if (i < n) {
      T x[Dim];
      for (int a = 0; a < Dim; ++a) x[a] = points[(std::uint64_t{begin} + i) * Dim + a];
      code[j] = code_from<T, Dim>(brackets, 1, x, levels);
      codes[std::uint64_t{begin} + i] = static_cast<std::uint8_t>(code[j]);
      atomicAdd(&counts[code[j]], 1U);
    }
  }
#pragma unroll
  for (int j = 0; j < kMine; ++j)
    place[j] = places.take(code[j] > kStoppedCode ? 31 - __clz(code[j] - kStoppedCode) : -1);
  places.reserve(lists);
#pragma unroll
  for (int j = 0; j < kMine; ++j)
    if (code[j] > kStoppedCode) {
      const auto v = static_cast<std::uint32_t>(code[j] - kStoppedCode);
      places.put(lists, 31 - __clz(static_cast<int>(v)), place[j],
                 {begin + j * kThreads + threadIdx.x, c * kNodes + v});
    }
  if (threadIdx.x < kNodes && counts[threadIdx.x] > 0)
    atomicAdd(&code_counts[std::uint64_t{c} * kNodes + threadIdx.x], counts[threadIdx.x]);
}

}  // namespace amrbench::partitioners::gpu
