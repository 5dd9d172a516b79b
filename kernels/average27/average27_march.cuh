#pragma once
// The kernel of the 27-point average (kernels/average27/average27_cuda.hpp), for blocks and for octets. Included by
// average27_cuda*.cu only: a program that computes no octets does not load their kernels.
#include <algorithm>

#include "kernels/average.hpp"
#include "kernels/average27/average27_cuda.hpp"
#include "kernels/device_sum.cuh"
#include "kernels/divider.hpp"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail27 {

constexpr int kMostThreads = 288, kRing = 4;

/// How chunks are shared out among thread blocks: `groups` columns, one behind the other along y, of `items` cubes
/// each. A cube is a block, or the eight of an octet.
struct Shape {
  int columns = 1;                 ///< of a plane of a block
  int groups = 1, all_groups = 1;  ///< of a thread block, of a plane of a cube
  int parts = 1;                   ///< thread blocks a plane
  int items = 1;
  int threads = 0;
  int row = 0;             ///< doubles of a row with its ghosts
  int item = 0, slot = 0;  ///< doubles of a plane with what is around it: of a cube, of all
  Divider by_row, by_groups;

  /// The first row of a column. Where columns do not divide a plane of a block its last one reaches back.
  template <int Rows, int Side>
  [[nodiscard]] __device__ int row_of(int column, int ny) const {
    const int block = Side == 2 && column >= columns ? 1 : 0;
    return block * ny + min((column - block * columns) * Rows, ny - Rows);
  }
};

/// Pieces of a cube of `Side` blocks along an axis, and around it: along an axis, and all.
template <int Side>
inline constexpr int kWide = Side + 2;
template <int Side>
inline constexpr int kPieces = kWide<Side>* kWide<Side>* kWide<Side>;

struct Parameters {
  BlockLayout layout;
  Average27Job job;
  Shape shape;
};

/// Doubles of sums of nine of a plane.
template <int Rows>
__host__ __device__ int sums_of(const Shape& s) {
  return s.items * s.groups * Rows * s.row;
}
template <int Rows, int Side>
std::size_t shared_bytes(const Shape& s) {
  return (std::size_t(kRing) * s.slot + 2UL * sums_of<Rows>(s)) * sizeof(double) + 16UL * kPieces<Side> * s.items;
}

/// One of the pieces of a cube and around it: its first cell in the chunk, and its steps.
struct Around {
  const double* at;
  int row, plane;
};

/// In which piece coordinate -1 .. Side * n of a cube lies.
template <int Side>
__device__ inline int piece_of(int at, int n) {
  return at < 0 ? 0 : at >= Side * n ? Side + 1 : Side == 1 || at < n ? 1 : 2;
}

/// What one thread copies of every plane: the rows of its column, and at the rim of the thread block's part the row
/// before or behind them.
template <int Lanes, int Rows, int Side>
struct Feed {
  struct Stream {
    const double* at = nullptr;  ///< in the next plane
    int plane = 0;
  };
  const Around* pieces;  ///< of its cube, those that the column is in along x
  int offset;            ///< the place in a row of the piece
  int y, ny, skip;       ///< first row; rows of a plane of a block; rows of the column that another thread copies
  bool first, last;      ///< copies the row before, behind
  double* to;            ///< the column's first cell in slot 0
  int row, slot;         ///< doubles of a row and of a slot in shared memory
  Stream own, low, high;
  int own_row = 0;

  __device__ const double* locate(int piece_z, int at_y, int& plane, int& row_step) const {
    const int piece_y = piece_of<Side>(at_y, ny);
    const Around& piece = pieces[(piece_z * kWide<Side> + piece_y) * kWide<Side>];
    plane = piece.plane;
    row_step = piece.row;
    const bool beside = piece_y == 0 || piece_y == Side + 1;
    return piece.at + (beside ? 0 : at_y - (piece_y - 1) * ny) * piece.row + offset;
  }
  __device__ void find(int piece_z) {
    int unused = 0;
    own.at = locate(piece_z, y, own.plane, own_row);
    if (first) low.at = locate(piece_z, y - 1, low.plane, unused);
    if (last) high.at = locate(piece_z, y + Rows, high.plane, unused);
  }
  __device__ void copy(int number) const {
    double* const place = to + number * slot;
#pragma unroll
    for (int j = 0; j < Rows; ++j)
      if (j >= skip) support::copy_small<sizeof(double)>(place + j * row, own.at + j * own_row);
    if (first) support::copy_small<sizeof(double)>(place - row, low.at);
    if (last) support::copy_small<sizeof(double)>(place + Rows * row, high.at);
  }
  __device__ void next() {
    own.at += own.plane;
    low.at += low.plane;
    high.at += high.plane;
  }
};

template <int Lanes, int Rows, int Side, bool Sum>
__global__ void __launch_bounds__(kMostThreads, 2) average27_march(const __grid_constant__ Parameters p) {
  extern __shared__ double shared[];
  const Shape& s = p.shape;
  const auto& n = p.layout.cells;
  const int planes = Side * n[2];
  const int t = static_cast<int>(threadIdx.x), chunk = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(blockIdx.x / s.parts) * s.items, present = min(s.items, p.job.count - first);
  const int first_group = static_cast<int>(blockIdx.x % s.parts) * s.groups;
  const int groups = min(s.groups, s.all_groups - first_group);
  const auto number = [&](int item) { return p.job.numbers == nullptr ? first + item : p.job.numbers[first + item]; };
  const auto sources = [&](int item) { return p.job.around.sources + std::int64_t{number(item)} * kPieces<Side>; };
  const int sums_plane = sums_of<Rows>(s);
  auto* const pieces = reinterpret_cast<Around*>(shared + kRing * s.slot + 2 * sums_plane);
  for (int k = t; k < present * kPieces<Side>; k += static_cast<int>(blockDim.x)) {
    const int item = k / kPieces<Side>;
    const PieceSource source = sources(item)[k % kPieces<Side>];
    const DeviceSurroundings::Steps& steps = p.job.around.steps[source.kind];
    pieces[k] = {p.job.around.piece(source) + chunk * steps.chunk, steps.row, steps.plane};
  }

  // The thread's column: Rows cells from row y on. The first `skip` of them belong to the column before.
  const int line = s.by_row(t), e = t - line * s.row, item = s.by_groups(line), group = line - item * s.groups;
  const auto row_of = [&](int g) { return s.row_of<Rows, Side>(g, n[1]); };
  const auto end_of = [&](int g) { return g == 0 ? 0 : row_of(g - 1) + Rows; };  // of the columns before g
  const int y = row_of(first_group + group), skip = end_of(first_group + group) - y, y_part = y - row_of(first_group);
  const bool active = item < present && group < groups;
  const bool inside = active && e >= Lanes && e < s.row - Lanes;
  double* const column = shared + item * s.item + (y_part + 1) * s.row + e;
  double* const sums = shared + kRing * s.slot + (item * s.groups * Rows + y_part) * s.row + e;
  __syncthreads();

  Feed<Lanes, Rows, Side> feed;
  const int row = n[0] * Lanes;  // of a block
  const int piece_x = piece_of<Side>(e - Lanes, row);
  feed.pieces = pieces + item * kPieces<Side> + piece_x;
  feed.offset = piece_x == 0 ? e : e - Lanes - (piece_x - 1) * row;
  feed.y = y;
  feed.ny = n[1];
  feed.skip = group == 0 ? 0 : skip;
  feed.first = group == 0;
  feed.last = group == groups - 1;
  feed.to = column;
  feed.row = s.row;
  feed.slot = s.slot;
  const auto bring = [&](int layer, int slot) {
    if (active && layer < planes + 2) {
      if (layer == 0) feed.find(0);
      if (layer == 1) feed.find(1);
      if (layer == n[2] + 1) feed.find(2);
      if (Side == 2 && layer == 2 * n[2] + 1) feed.find(3);
      feed.copy(slot);
      feed.next();
    }
    support::copies_commit();
  };
#pragma unroll
  for (int layer = 0; layer < kRing - 1; ++layer) bring(layer, layer);

  // Where the column's values go of the blocks whose place along z in the cube is `block_z`.
  const auto place = [&](int block_z) {
    const int block_y = Side == 2 && y >= n[1] ? 1 : 0, own = kWide<Side> * (block_z + 1) + block_y + 1;
    const int block = Side == 1 ? number(item) : sources(item)[kWide<Side> * own + piece_x].index;
    return p.job.out.at(block) + static_cast<std::int64_t>(chunk) * p.layout.chunk_values() +
           (y - block_y * n[1]) * row + feed.offset;
  };
  double* out = inside ? place(0) : nullptr;
  CellSum total[1];
  double below[Rows + 2]{}, centre[Rows + 2]{}, above[Rows + 2]{};
  const auto average = [&](int z) {
    if (!inside) return;
    if (Side == 2 && z == n[2]) out = place(1);
    const double* const nine = sums + (z & 1) * sums_plane;
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      if (j < skip) continue;
      const double v = twenty_seventh(nine[j * s.row - Lanes] + nine[j * s.row] + nine[j * s.row + Lanes]);
      out[j * row] = v;
      if constexpr (Sum) total[0].add(v, p.job.sums);
    }
    out += row * n[1];
  };
  // Layer k of a chunk, the plane before its first one being layer 0, lies in slot k % kRing.
  int slot = 0;
#pragma unroll 1
  for (int layer = 0; layer < planes + 2; ++layer) {
    support::copies_wait_but<kRing - 2>();
    __syncthreads();
    if (layer >= 3) average(layer - 3);
    bring(layer + kRing - 1, slot == 0 ? kRing - 1 : slot - 1);  // where a plane was read before the barrier
    const double* const plane = column + slot * s.slot - s.row;
    slot = slot == kRing - 1 ? 0 : slot + 1;
    if (!active) continue;
#pragma unroll
    for (int j = 0; j < Rows + 2; ++j) {
      below[j] = centre[j];
      centre[j] = above[j];
      above[j] = plane[j * s.row];
    }
    if (layer < 2) continue;
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      sums[(layer & 1) * sums_plane + j * s.row] = below[j] + centre[j] + above[j] + below[j + 1] + centre[j + 1] +
                                                   above[j + 1] + below[j + 2] + centre[j + 2] + above[j + 2];
    }
  }
  __syncthreads();
  average(planes - 1);
  if constexpr (Sum) {
    __syncthreads();  // the scratch of sums lies where planes lay
    const int rows = end_of(first_group + groups) - end_of(first_group);
    flush_sums<Lanes, 1>(total, static_cast<std::uint32_t>(present * rows * Side * n[0] * planes), chunk, p.job.sums,
                         reinterpret_cast<unsigned long long*>(shared));
  }
}

/// Cells of a column: the choice that computes fewest cells twice, of equal ones the longer.
template <int Side>
int column_rows(int ny) {
  if (ny < 4) return 2;
  if (ny == 6 && Side == 2) return 3;  // not measured elsewhere
  return (ny + 4) / 5 * 5 <= (ny + 3) / 4 * 4 ? 5 : 4;
}

inline Shape shape_with(const BlockLayout& l, int side, int rows, int groups, int items) {
  Shape s;
  s.row = (side * l.cells[0] + 2) * l.lanes;
  s.columns = (l.cells[1] + rows - 1) / rows;
  s.all_groups = side * s.columns;
  s.groups = groups;
  s.parts = (s.all_groups + groups - 1) / groups;
  s.items = items;
  s.threads = (items * groups * s.row + 31) / 32 * 32;
  s.item = (groups * rows + 2) * s.row;
  s.slot = items * s.item;
  s.by_row = Divider(s.row);
  s.by_groups = Divider(groups);
  return s;
}

/// Values of a multiprocessor under way at once, as far as registers bound that. Less for few thread blocks, which wait
/// together, for short ones, and for rows that two of them read; fits what was measured
/// (results/reference/h200/lanes.txt).
inline double merit(const BlockLayout& l, int side, int rows, const Shape& s) {
  constexpr int kResident = 65536 / 96;
  const double blocks = std::max(1, kResident / s.threads), threads = s.threads;
  const double plane_rows = side * l.cells[1];
  const double values = side * l.cells[0] * plane_rows * l.lanes * s.items / s.parts;
  const double read = s.parts * (s.groups * rows + 2) / plane_rows;
  return values * blocks * (blocks / (blocks + 1)) * (threads / (threads + 16)) / read;
}

inline Shape shape_of(const BlockLayout& l, int side, int rows, int count) {
  constexpr int kUsualThreads = 192;  // more, where one column needs them
  Shape best = shape_with(l, side, rows, 1, 1);
  const auto consider = [&](int groups, int items) {
    const Shape s = shape_with(l, side, rows, groups, items);
    if (s.threads <= kUsualThreads && merit(l, side, rows, s) > merit(l, side, rows, best)) best = s;
  };
  const int cells = side * side * side * static_cast<int>(l.block_cells());
  const int most = std::min(
      {count, std::max(1, static_cast<int>(kSumMaxCells) / cells), kUsualThreads / (best.all_groups * best.row)});
  for (int groups = 2; groups <= best.all_groups; ++groups) consider(groups, 1);
  for (int items = 2; items <= most; ++items) consider(best.all_groups, items);
  return best;
}

template <int Lanes, int Rows, int Side, bool Sum>
void launch(const Parameters& p, cudaStream_t stream) {
  const Shape& s = p.shape;
  const std::size_t words = Sum ? sum_scratch_words<Lanes, 1>(s.threads) : 0;
  const std::size_t bytes = std::max(shared_bytes<Rows, Side>(s), words * sizeof(unsigned long long));
  const auto kernel = average27_march<Lanes, Rows, Side, Sum>;
  support::cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "cudaFuncSetAttribute");
  const dim3 grid(static_cast<unsigned int>((p.job.count + s.items - 1) / s.items * s.parts),
                  static_cast<unsigned int>(p.layout.chunks));
  kernel<<<grid, s.threads, bytes, stream>>>(p);
}

template <int Lanes, int Side>
void launch_lanes(const Parameters& p, int rows, cudaStream_t stream) {
  const auto launch_rows = [&]<int Rows>() {
    p.job.sums.words != nullptr ? launch<Lanes, Rows, Side, true>(p, stream)
                                : launch<Lanes, Rows, Side, false>(p, stream);
  };
  constexpr int kFew = Side == 2 ? 3 : 2;
  if (rows == kFew) return launch_rows.template operator()<kFew>();
  return rows == 4 ? launch_rows.template operator()<4>() : launch_rows.template operator()<5>();
}

/// Puts a job of blocks, Side 1, or of octets, Side 2, into the stream.
template <int Side>
void launch_march(const BlockLayout& l, const Average27Job& job, cudaStream_t stream) {
  const int rows = column_rows<Side>(l.cells[1]);
  const Parameters p{l, job, shape_of(l, Side, rows, job.count)};
  using Launch = void (*)(const Parameters&, int, cudaStream_t);
  static constexpr Launch kLaunches[kMaxLanes] = {launch_lanes<1, Side>, launch_lanes<2, Side>, launch_lanes<3, Side>,
                                                  launch_lanes<4, Side>, launch_lanes<5, Side>, launch_lanes<6, Side>,
                                                  launch_lanes<7, Side>, launch_lanes<8, Side>};
  kLaunches[l.lanes - 1](p, rows, stream);
}

void launch_octets(const BlockLayout& l, const Average27Job& job, cudaStream_t stream);  // average27_cuda_octets.cu

}  // namespace amrbench::kernels::detail27
