#include <algorithm>

#include "kernels/average.hpp"
#include "kernels/average27_cuda.hpp"
#include "kernels/device_sum.cuh"
#include "kernels/divider.hpp"
#include "support/async_copy.cuh"

namespace amrbench::kernels {

namespace {

constexpr int kMostThreads = 288, kRing = 4, kPieces = 27;

/// How chunks are shared out among thread blocks: `groups` columns, one behind the other along y, of `items` blocks
/// each.
struct Shape {
  int groups = 1, all_groups = 1;  ///< of a thread block, of a plane
  int parts = 1;                   ///< thread blocks a plane
  int items = 1;
  int threads = 0;
  int row = 0;             ///< doubles of a row with its ghosts
  int item = 0, slot = 0;  ///< doubles of a plane with what is around it: of a block, of all
  Divider by_row, by_groups;
};

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
template <int Rows>
std::size_t shared_bytes(const Shape& s) {
  return (std::size_t(kRing) * s.slot + 2UL * sums_of<Rows>(s)) * sizeof(double) + 16UL * kPieces * s.items;
}

/// One of the 27 pieces around a block: its first cell in the chunk, and its steps.
struct Around {
  const double* at;
  int row, plane;
};

/// What one thread copies of every plane: the rows of its column, and at the rim of the thread block's part the row
/// before or behind them.
template <int Lanes, int Rows>
struct Feed {
  struct Stream {
    const double* at = nullptr;  ///< in the next plane
    int plane = 0;
  };
  const Around* pieces;  ///< of its block
  int dx, offset;        ///< the piece along x, and the place in a row of it
  int y, ny, skip;       ///< first row; rows of a plane; rows of the column that another thread copies
  bool first, last;      ///< copies the row before, behind
  double* to;            ///< the column's first cell in slot 0
  int row, slot;         ///< doubles of a row and of a slot in shared memory
  Stream own, low, high;
  int own_row = 0;

  __device__ const double* locate(int dz, int at_y, int& plane, int& row_step) const {
    const int dy = DeviceSurroundings::side(at_y, ny);
    const Around& piece = pieces[Surroundings::index(dx, dy, dz)];
    plane = piece.plane;
    row_step = piece.row;
    return piece.at + (dy == 0 ? at_y * piece.row : 0) + offset;
  }
  __device__ void find(int dz) {
    int unused = 0;
    own.at = locate(dz, y, own.plane, own_row);
    if (first) low.at = locate(dz, y - 1, low.plane, unused);
    if (last) high.at = locate(dz, y + Rows, high.plane, unused);
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

template <int Lanes, int Rows, bool Sum>
__global__ void __launch_bounds__(kMostThreads, 2) average27_march(const __grid_constant__ Parameters p) {
  extern __shared__ double shared[];
  const Shape& s = p.shape;
  const auto& n = p.layout.cells;
  const int t = static_cast<int>(threadIdx.x), chunk = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(blockIdx.x / s.parts) * s.items, present = min(s.items, p.job.count - first);
  const int first_group = static_cast<int>(blockIdx.x % s.parts) * s.groups;
  const int groups = min(s.groups, s.all_groups - first_group);
  const auto number = [&](int item) { return p.job.blocks == nullptr ? first + item : p.job.blocks[first + item]; };
  const int sums_plane = sums_of<Rows>(s);
  auto* const pieces = reinterpret_cast<Around*>(shared + kRing * s.slot + 2 * sums_plane);
  for (int k = t; k < present * kPieces; k += static_cast<int>(blockDim.x)) {
    const int item = k / kPieces;
    const PieceSource source = p.job.around.sources[std::int64_t{number(item)} * kPieces + k % kPieces];
    const DeviceSurroundings::Steps& steps = p.job.around.steps[source.kind];
    pieces[k] = {p.job.around.piece(source) + chunk * steps.chunk, steps.row, steps.plane};
  }

  // The thread's column: Rows cells from row y on. Where columns do not divide a plane the last one reaches back.
  const int line = s.by_row(t), e = t - line * s.row, item = s.by_groups(line), group = line - item * s.groups;
  const auto row_of = [&](int g) { return min(g * Rows, n[1] - Rows); };
  const int y = row_of(first_group + group), skip = (first_group + group) * Rows - y, y_part = y - row_of(first_group);
  const bool active = item < present && group < groups;
  const bool inside = active && e >= Lanes && e < s.row - Lanes;
  double* const column = shared + item * s.item + (y_part + 1) * s.row + e;
  double* const sums = shared + kRing * s.slot + (item * s.groups * Rows + y_part) * s.row + e;
  __syncthreads();

  Feed<Lanes, Rows> feed;
  feed.pieces = pieces + item * kPieces;
  feed.dx = e < Lanes ? -1 : inside ? 0 : 1;
  feed.offset = feed.dx == 0 ? e - Lanes : e < Lanes ? e : e - (s.row - Lanes);
  feed.y = y;
  feed.ny = n[1];
  feed.skip = group == 0 ? 0 : skip;
  feed.first = group == 0;
  feed.last = group == groups - 1;
  feed.to = column;
  feed.row = s.row;
  feed.slot = s.slot;
  const auto bring = [&](int layer, int slot) {
    if (active && layer < n[2] + 2) {
      if (layer == 0) feed.find(-1);
      if (layer == 1) feed.find(0);
      if (layer == n[2] + 1) feed.find(1);
      feed.copy(slot);
      feed.next();
    }
    support::copies_commit();
  };
#pragma unroll
  for (int layer = 0; layer < kRing - 1; ++layer) bring(layer, layer);

  const int row = s.row - 2 * Lanes;
  double* out = nullptr;
  if (inside)
    out = p.job.out.at(number(item)) + static_cast<std::int64_t>(chunk) * p.layout.chunk_values() + y * row + e - Lanes;
  CellSum total[1];
  double below[Rows + 2]{}, centre[Rows + 2]{}, above[Rows + 2]{};
  const auto average = [&](int parity) {
    if (!inside) return;
    const double* const nine = sums + parity * sums_plane;
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
  for (int layer = 0; layer < n[2] + 2; ++layer) {
    support::copies_wait_but<kRing - 2>();
    __syncthreads();
    if (layer >= 3) average((layer & 1) ^ 1);
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
  average((n[2] + 1) & 1);
  if constexpr (Sum) {
    __syncthreads();  // the scratch of sums lies where planes lay
    const int rows = min((first_group + groups) * Rows, n[1]) - first_group * Rows;
    flush_sums<Lanes, 1>(total, static_cast<std::uint32_t>(present * rows * n[0] * n[2]), chunk, p.job.sums,
                         reinterpret_cast<unsigned long long*>(shared));
  }
}

/// Cells of a column: the choice that computes fewest cells twice, of equal ones the longer.
int column_rows(int ny) {
  if (ny < 4) return 2;
  return (ny + 4) / 5 * 5 <= (ny + 3) / 4 * 4 ? 5 : 4;
}

Shape shape_with(const BlockLayout& l, int rows, int groups, int items) {
  Shape s;
  s.row = (l.cells[0] + 2) * l.lanes;
  s.all_groups = (l.cells[1] + rows - 1) / rows;
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
double merit(const BlockLayout& l, int rows, const Shape& s) {
  constexpr int kResident = 65536 / 96;
  const double blocks = std::max(1, kResident / s.threads), threads = s.threads;
  const double values = static_cast<double>(l.cells[0]) * l.cells[1] * l.lanes * s.items / s.parts;
  const double read = static_cast<double>(s.parts * (s.groups * rows + 2)) / l.cells[1];
  return values * blocks * (blocks / (blocks + 1)) * (threads / (threads + 16)) / read;
}

Shape shape_of(const BlockLayout& l, int rows, int count) {
  constexpr int kUsualThreads = 192;  // more, where one column needs them
  Shape best = shape_with(l, rows, 1, 1);
  const auto consider = [&](int groups, int items) {
    const Shape s = shape_with(l, rows, groups, items);
    if (s.threads <= kUsualThreads && merit(l, rows, s) > merit(l, rows, best)) best = s;
  };
  const int most =
      std::min({count, static_cast<int>(kSumMaxCells / l.block_cells()), kUsualThreads / (best.all_groups * best.row)});
  for (int groups = 2; groups <= best.all_groups; ++groups) consider(groups, 1);
  for (int items = 2; items <= most; ++items) consider(best.all_groups, items);
  return best;
}

template <int Lanes, int Rows, bool Sum>
void launch(const Parameters& p, cudaStream_t stream) {
  const Shape& s = p.shape;
  const std::size_t words = Sum ? sum_scratch_words<Lanes, 1>(s.threads) : 0;
  const std::size_t bytes = std::max(shared_bytes<Rows>(s), words * sizeof(unsigned long long));
  const auto kernel = average27_march<Lanes, Rows, Sum>;
  support::cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "cudaFuncSetAttribute");
  const dim3 grid(static_cast<unsigned int>((p.job.count + s.items - 1) / s.items * s.parts),
                  static_cast<unsigned int>(p.layout.chunks));
  kernel<<<grid, s.threads, bytes, stream>>>(p);
}

template <int Lanes, int Rows>
void launch_rows(const Parameters& p, cudaStream_t stream) {
  p.job.sums.words != nullptr ? launch<Lanes, Rows, true>(p, stream) : launch<Lanes, Rows, false>(p, stream);
}

template <int Lanes>
void launch_lanes(const Parameters& p, int rows, cudaStream_t stream) {
  switch (rows) {
    case 2:
      return launch_rows<Lanes, 2>(p, stream);
    case 4:
      return launch_rows<Lanes, 4>(p, stream);
    default:
      return launch_rows<Lanes, 5>(p, stream);
  }
}

}  // namespace

std::array<DeviceSurroundings::Steps, 4> device_steps(const BlockLayout& layout) {
  std::array<DeviceSurroundings::Steps, 4> steps;
  for (int kind = 0; kind < 4; ++kind) {
    const bool block = kind == static_cast<int>(PieceSource::kBlock);
    const FaceLayout faces(layout, block ? 0 : kind);
    const PieceSteps s = block ? piece_steps(layout) : piece_steps(faces);
    steps[kind] = {static_cast<std::int32_t>(s.cell[1]), static_cast<std::int32_t>(s.cell[2]),
                   static_cast<std::int64_t>(s.chunk), block ? 0 : static_cast<std::int64_t>(faces.values())};
  }
  return steps;
}

void launch_average27(const BlockLayout& l, const Average27Job& job, const support::CudaStream& stream) {
  if (job.count == 0) return;
  const int rows = column_rows(l.cells[1]);
  const Parameters p{l, job, shape_of(l, rows, job.count)};
  using Launch = void (*)(const Parameters&, int, cudaStream_t);
  static constexpr Launch kLaunches[kMaxLanes] = {launch_lanes<1>, launch_lanes<2>, launch_lanes<3>, launch_lanes<4>,
                                                  launch_lanes<5>, launch_lanes<6>, launch_lanes<7>, launch_lanes<8>};
  kLaunches[l.lanes - 1](p, rows, stream.get());
  support::cuda_check_launch("average27");
}

}  // namespace amrbench::kernels
