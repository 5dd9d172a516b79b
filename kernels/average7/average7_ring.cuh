#pragma once
// The kernel `ring` of kernels/average7/average7_cuda.hpp, compiled for `Lanes` lanes, for blocks of any shape.
// Included by average7_cuda_ring.cu only.
//
// Computes a stage of the listed blocks; in and out as in average7_cuda.hpp.
//
// The idea. A thread block takes one chunk of a few small blocks, or some rows of the planes of a large one, and walks
// it along z. Planes, with the cells around them, come to a ring in shared memory by small asynchronous copies, Ring -
// 1 planes ahead. A thread has a column of `Rows` vectors of lanes, one behind the other along y. Of the sum of seven
// it adds up the first four when their plane is there, and the other three a plane later, so only the newest plane is
// read: Rows + 2 vectors along y, which its cells share, and two beside each. One barrier a plane.
//
// Counts a value, of a cube of n cells a side: shared memory 8 (1 + 6 / n) bytes written, 8 (3 + 2 / Rows) read.
#include "kernels/average7/average7_call.cuh"
#include "kernels/device_sum.cuh"

namespace amrbench::kernels::detail {

/// How a chunk's columns are shared out: `groups` columns of Rows rows, one behind the other along y, of `items` blocks
/// each, to a thread block; `parts` thread blocks a plane.
struct RingShape {
  int groups = 1, all_groups = 1, parts = 1, items = 1, threads = 0;
  int row = 0;             ///< vectors of a row
  int pitch = 0;           ///< doubles from row to row in the ring
  int item = 0, slot = 0;  ///< doubles of a plane and what is around it in the ring: of a block, of all
};

struct RingParameters {
  BlockLayout layout;
  PieceParameters pieces;
  RingShape shape;
};

inline constexpr int kRingWidth = 2;   // doubles that a thread moves at once: 16 aligned bytes, for edges are even
inline constexpr int kRingRows = 2;    // of a column; divides every even edge
inline constexpr int kRingPlanes = 6;  // in the ring
inline constexpr int kRingMost = 320;  // threads; what the registers of a thread were measured with

/// Doubles before and behind a row in the ring: for the cells across x, and such that a row lies there at the same
/// place of a sector of memory (4 doubles) as where it comes from, for copies of 16 bytes from one half of a sector to
/// the other are slow (results/reference/h200/ring.txt, end). `row`: doubles of a row, an even number.
__host__ __device__ constexpr int ring_lead(int lanes, int row) {
  return lanes + ((row - lanes) % 4 + 4) % 4;
}

/// Copies what a thread brings of every plane.
template <int Lanes>
struct RingFeed {
  static constexpr int W = kRingWidth, Rows = kRingRows;
  /// Doubles that move together across x. Where lanes are odd a vector of two has lanes of two cells.
  static constexpr int kAcross = Lanes % W == 0 ? W : 1;
  struct Stream {
    const double* at = nullptr;  ///< in plane 0
    int row = 0, plane = 0;
  };
  Stream own, beside, low, high;  ///< beside: across x, for cells at the block's rim
  const double *below, *above;    ///< behind the first plane and the last one
  double* to;                     ///< the column's first cell in slot 0
  int to_beside;                  ///< from there to the cells beside
  int pitch, slot, nz;

  __device__ void bring(int layer, int number) const {
    double* const place = to + number * slot;
    const bool inside = layer > 0 && layer <= nz;
    const double* const from = inside       ? own.at + static_cast<std::int64_t>(layer - 1) * own.plane
                               : layer == 0 ? below
                                            : above;
#pragma unroll
    for (int j = 0; j < Rows; ++j) support::copy_small<W * sizeof(double)>(place + j * pitch, from + j * own.row);
    if (!inside) return;
    if (beside.at != nullptr) {
      const double* const side = beside.at + static_cast<std::int64_t>(layer - 1) * beside.plane;
#pragma unroll
      for (int j = 0; j < Rows; ++j)
        support::copy_small<kAcross * sizeof(double)>(place + to_beside + j * pitch, side + j * beside.row);
    }
    if (low.at != nullptr) support::copy_small<W * sizeof(double)>(place - pitch, low.at + (layer - 1) * low.plane);
    if (high.at != nullptr)
      support::copy_small<W * sizeof(double)>(place + Rows * pitch, high.at + (layer - 1) * high.plane);
  }
};

template <int Lanes, bool Sum>
__global__ void __launch_bounds__(kRingMost, 2) average7_ring(const __grid_constant__ RingParameters all) {
  constexpr int W = kRingWidth, Rows = kRingRows, Ring = kRingPlanes;
  using Vector = DeviceVector<W>;
  constexpr int kAcross = RingFeed<Lanes>::kAcross;
  extern __shared__ __align__(16) double shared[];
  const PieceParameters& p = all.pieces;
  const RingShape& s = all.shape;
  const DeviceShape<Lanes, 0> n(all.layout);
  const int t = static_cast<int>(threadIdx.x), part = static_cast<int>(blockIdx.x % s.parts);
  const unsigned int piece = blockIdx.x / s.parts;
  if (piece >= p.pieces) return;
  const WorkOrder::Place place = p.order.place(piece);
  const int first = place.group * s.items, present = min(s.items, p.job.count - first);
  const int first_group = part * s.groups, groups = min(s.groups, s.all_groups - first_group);
  const int line = t / s.row, e = (t - line * s.row) * W, item = line / s.groups, group = line - item * s.groups;
  const bool active = item < present && group < groups;
  if (!Sum && __all_sync(~0U, active ? 0 : 1) != 0) return;  // barriers count those that are left

  const int y = (first_group + group) * Rows;
  double* const column = shared + item * s.item + (group * Rows + 1) * s.pitch + ring_lead(Lanes, n.row()) + e;
  RingFeed<Lanes> feed;
  double* out = nullptr;
  if (active) {
    const BlockEntry entry = p.job.blocks[first + item];
    const long long chunk = static_cast<long long>(place.chunk) * n.chunk();
    const int x = e / Lanes, in_plane = y * n.row() + e;
    const auto in_place = [&](FaceCode code) { return p.job.in.at(code >> 1) + chunk; };
    const auto packed = [&](FaceCode code, int cells) {
      return p.job.packed + packed_offset(code) + static_cast<long long>(place.chunk) * cells * Lanes;
    };
    const auto across_y = [&](int side) -> typename RingFeed<Lanes>::Stream {
      const FaceCode code = entry.faces[2 + side];
      if (face_is_packed(code)) return {packed(code, n.nx() * n.nz()) + e, 0, n.row()};
      return {in_place(code) + (code & 1) * (n.plane() - n.row()) + e, 0, n.plane()};
    };
    const auto across_z = [&](int side) -> const double* {
      const FaceCode code = entry.faces[4 + side];
      if (face_is_packed(code)) return packed(code, n.nx() * n.ny()) + in_plane;
      return in_place(code) + (code & 1) * (n.chunk() - n.plane()) + in_plane;
    };
    feed.own = {p.job.in.at(entry.in) + chunk + in_plane, n.row(), n.plane()};
    // Which value beside the rows a thread brings: that beside its own, or, where vectors go over cells, any.
    const int number = e / W;
    const bool brings = kAcross == W ? x == 0 || x == n.nx() - 1 : number < 2 * Lanes;
    if (brings) {
      const int side = kAcross == W ? (x == 0 ? 0 : 1) : number / Lanes;
      const int lane = kAcross == W ? e % Lanes : number % Lanes;
      const FaceCode code = side == 0 ? entry.faces[0] : entry.faces[1];
      if (face_is_packed(code))
        feed.beside = {packed(code, n.ny() * n.nz()) + y * Lanes + lane, Lanes, n.ny() * Lanes};
      else
        feed.beside = {in_place(code) + y * n.row() + (code & 1) * (n.row() - Lanes) + lane, n.row(), n.plane()};
      feed.to_beside = (side == 0 ? -Lanes : n.row()) + lane - e;
    }
    if (group == 0) {
      feed.low = y == 0 ? across_y(0) : typename RingFeed<Lanes>::Stream{feed.own.at - n.row(), 0, n.plane()};
    }
    if (group == groups - 1) {
      feed.high = y + Rows == n.ny() ? across_y(1)
                                     : typename RingFeed<Lanes>::Stream{feed.own.at + Rows * n.row(), 0, n.plane()};
    }
    feed.below = across_z(0);
    feed.above = across_z(1);
    feed.to = column;
    feed.pitch = s.pitch;
    feed.slot = s.slot;
    feed.nz = n.nz();
    out = p.job.out.at(entry.out) + chunk + in_plane;
  }
  const auto bring = [&](int layer, int slot) {
    if (active && layer < n.nz() + 2) feed.bring(layer, slot);
    support::copies_commit();
  };
#pragma unroll
  for (int layer = 0; layer < Ring - 1; ++layer) bring(layer, layer);
  if (t < s.items && n.chunk() % (2 * s.parts) == 0) prefetch_piece(p, piece, s.items, t, n.chunk(), part, s.parts);

  // What lies beside a vector across x; of a pair of one lane half is in the vector itself.
  const auto load_across = [](const double* from, const Vector& own, int side) {
    Vector v;
    if constexpr (kAcross == W) {
      v = load_shared<W>(from);
    } else if constexpr (Lanes == 1) {
      v = side == 0 ? Vector{from[0], own.v[0]} : Vector{own.v[1], from[1]};
    } else {
#pragma unroll
      for (int w = 0; w < W; ++w) v.v[w] = from[w];
    }
    return v;
  };
  CellSum sums[W];
  Vector four[Rows]{}, behind_y[Rows]{}, behind_x[Rows]{}, before[Rows]{};
  int slot = 0;
#pragma unroll 1
  for (int layer = 0; layer < n.nz() + 2; ++layer) {
    support::copies_wait_but<Ring - 2>();
    __syncthreads();
    bring(layer + Ring - 1, slot == 0 ? Ring - 1 : slot - 1);  // where a plane was read before the barrier
    const double* const plane = column + slot * s.slot;
    slot = slot == Ring - 1 ? 0 : slot + 1;
    if (!active) continue;
    Vector c[Rows];
#pragma unroll
    for (int j = 0; j < Rows; ++j) c[j] = load_shared<W>(plane + j * s.pitch);
    if (layer > 1) {
#pragma unroll
      for (int j = 0; j < Rows; ++j) {
        Vector v;
#pragma unroll
        for (int w = 0; w < W; ++w) {
          v.v[w] = seventh(four[j].v[w] + c[j].v[w] + behind_y[j].v[w] + behind_x[j].v[w]);
          if constexpr (Sum) sums[w].add(v.v[w], p.job.sums);
        }
        store_global<W>(out + j * n.row(), v);
      }
      out += n.plane();
    }
    if (layer > 0 && layer <= n.nz()) {
      const Vector low = load_shared<W>(plane - s.pitch), high = load_shared<W>(plane + Rows * s.pitch);
#pragma unroll
      for (int j = 0; j < Rows; ++j) {
        const Vector xm = load_across(plane + j * s.pitch - Lanes, c[j], 0), ym = j == 0 ? low : c[j == 0 ? 0 : j - 1];
#pragma unroll
        for (int w = 0; w < W; ++w) four[j].v[w] = xm.v[w] + ym.v[w] + before[j].v[w] + c[j].v[w];
        behind_x[j] = load_across(plane + j * s.pitch + Lanes, c[j], 1);
        behind_y[j] = j == Rows - 1 ? high : c[j == Rows - 1 ? j : j + 1];
      }
    }
#pragma unroll
    for (int j = 0; j < Rows; ++j) before[j] = c[j];
  }
  if constexpr (Sum) {
    __syncthreads();  // the scratch of sums lies where planes lay
    flush_sums<Lanes, W>(sums, static_cast<std::uint32_t>(present * groups * Rows * n.nx() * n.nz()), place.chunk,
                         p.job.sums, reinterpret_cast<unsigned long long*>(shared));
  }
}

/// Threads of a thread block, at most: as many as small planes and medium ones leave few idle of.
inline int ring_threads(const BlockLayout& l) {
  constexpr int kSmall = 64, kMedium = 256, kLarge = 800;  // cells of a plane
  const int cells = l.cells[0] * l.cells[1];
  if (cells > kLarge && l.lanes == 1) return 192;  // else one thread block takes the plane, and few have room
  return cells <= kSmall ? 128 : cells <= kMedium ? 192 : 256;
}

/// threads: of a thread block, at most, where a row has no more.
inline RingShape ring_shape(const BlockLayout& l, int count, int threads) {
  RingShape s;
  s.row = l.cells[0] * l.lanes / kRingWidth;
  s.pitch = l.cells[0] * l.lanes + 2 * ring_lead(l.lanes, l.cells[0] * l.lanes);
  s.all_groups = l.cells[1] / kRingRows;
  const int most = std::max(1, threads / s.row);
  s.parts = (s.all_groups + most - 1) / most;
  s.groups = (s.all_groups + s.parts - 1) / s.parts;
  s.parts = (s.all_groups + s.groups - 1) / s.groups;
  if (s.parts == 1) {
    const int cells = static_cast<int>(l.block_cells());
    s.items = std::clamp(std::min(most / s.groups, static_cast<int>(kSumMaxCells) / cells), 1, std::max(1, count));
  }
  s.threads = (s.items * s.groups * s.row + 31) / 32 * 32;
  s.item = (s.groups * kRingRows + 2) * s.pitch;
  s.slot = s.items * s.item;
  return s;
}

template <int Lanes, bool Sum>
void call_ring_kernel(const Average7Call& call) {
  const int threads = call.options.threads > 0 ? std::min(call.options.threads, kRingMost) : ring_threads(call.layout);
  const RingShape s = ring_shape(call.layout, call.job.count, threads);
  const RingParameters p{call.layout, piece_parameters(call, s.items), s};
  const auto kernel = average7_ring<Lanes, Sum>;
  const std::size_t scratch = Sum ? sum_scratch_words<Lanes, kRingWidth>(s.threads) * sizeof(unsigned long long) : 0;
  const std::size_t bytes = std::max(std::size_t{kRingPlanes} * s.slot * sizeof(double), scratch);
  allow_shared(kernel, bytes);
  if (call.facts != nullptr) {
    const int nx = call.layout.cells[0];
    fill_facts(*call.facts, kernel, s.threads, bytes);
    call.facts->l2_values = l2_values(Lanes, nx, 1.0, s.parts, 1.0);
    call.facts->shared_bytes_a_value = sizeof(double) * (1.0 + 6.0 / nx + 3.0 + 2.0 / kRingRows);
    call.facts->flight_bytes = std::size_t{kRingPlanes - 1} * s.slot * sizeof(double);
    return;
  }
  const auto grid = static_cast<unsigned int>(checked_pieces(static_cast<long long>(p.pieces.pieces) * s.parts));
  if (grid > 0) launch_pieces(call, kernel, p, grid, s.threads, bytes);
}

}  // namespace amrbench::kernels::detail
