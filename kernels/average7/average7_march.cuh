#pragma once
// The kernel `march` of kernels/average7/average7_cuda.hpp, compiled for `Lanes` lanes and cubes of `Cells` cells (0 =
// any block). Included by average7_cuda_march_*.cu only.
//
// Computes a stage of the listed blocks; in and out as in average7_cuda.hpp.
//
// The idea. A plane of a chunk is a grid of ny rows of nx * Lanes values; a column is one vector of it (8 or 16 bytes),
// followed through all planes. One thread takes one column and walks along z: the values below, at and above the cell
// stay in registers and move down by one each step, so each plane is read once. Its four neighbours in the plane come
// through pointers found before the walk: into its own block, or at the rim into the neighbour's block or a packed
// face. Each goes on by a constant step a plane. No thread waits for another, and there is no shared memory but for
// sums.
//
// A thread block takes the columns of a few small blocks, or some rows of the planes of a large one.
#include <type_traits>

#include "kernels/average7/average7_call.cuh"
#include "kernels/device_sum.cuh"

namespace amrbench::kernels::detail {

/// How the columns of a plane are shared out among thread blocks.
struct MarchShape {
  int columns = 0;  ///< of one plane, in one thread block
  int parts = 1;    ///< thread blocks a plane
  int items = 1;    ///< blocks a thread block
  int threads = 0;
};

inline constexpr int kMarchMost = 640;  // columns of a thread block

/// Thread blocks take parts of large planes, or `items` blocks (0 = some) of small planes.
constexpr MarchShape march_shape(int ny, int vectors_row, int items) {
  constexpr int kFew = 256;
  MarchShape shape;
  int rows = ny;
  while (rows > 1 && (ny % rows != 0 || rows * vectors_row > kMarchMost)) --rows;
  shape.columns = rows * vectors_row;
  shape.parts = ny / rows;
  if (shape.parts == 1) shape.items = items > 0 ? items : std::max(1, kFew / shape.columns);
  shape.threads = (shape.columns * shape.items + 31) / 32 * 32;
  return shape;
}

struct MarchParameters {
  BlockLayout layout;
  PieceParameters pieces;
  MarchShape shape;
};

/// A neighbour of a column: where it is in plane 0, and how far the next plane is.
struct ColumnNeighbor {
  const double* at;
  int step;
};

/// A setting: how many blocks a thread block takes (0 = march_shape() decides), and how many thread blocks must fit a
/// multiprocessor at once (0 = not said, and the compiler weighs registers against occupancy; told 1 it does not). With
/// sums, which need more registers, a fifth fewer must fit.
template <int Items, int Resident>
struct MarchTeam {
  static constexpr int kItems = Items;
  static constexpr int resident(bool sum) { return sum ? Resident * 4 / 5 : Resident; }
};

/// Threads of a thread block as __launch_bounds__ has them: those of the setting where it says how many thread blocks
/// must fit, else the most there can be.
template <int Lanes, int Cells, class Team>
constexpr int kMarchThreads = Cells > 0 && Team::resident(false) > 0
                                  ? march_shape(Cells, Cells* Lanes / kDeviceWidth<Lanes>, Team::kItems).threads
                                  : kMarchMost;

template <int Lanes, int Cells, class Team, bool Sum>
__global__ void __launch_bounds__(kMarchThreads<Lanes, Cells, Team>, Team::resident(Sum))
    average7_march(const __grid_constant__ MarchParameters all) {
  constexpr int W = kDeviceWidth<Lanes>;
  using Vector = DeviceVector<W>;
  const PieceParameters& p = all.pieces;
  const DeviceShape<Lanes, Cells> s(all.layout);
  // Constants for a cube.
  const MarchShape shape = Cells > 0 ? march_shape(Cells, Cells * Lanes / W, Team::kItems) : all.shape;
  const int part = static_cast<int>(blockIdx.x % shape.parts);
  const unsigned int piece = blockIdx.x / shape.parts;
  if (piece >= p.pieces) return;
  const WorkOrder::Place place = p.order.place(piece);
  if (threadIdx.x < shape.items)
    prefetch_piece(p, piece, shape.items, static_cast<int>(threadIdx.x), s.chunk(), part, shape.parts);
  const int item = static_cast<int>(threadIdx.x) / shape.columns;
  const int column = static_cast<int>(threadIdx.x) % shape.columns + part * shape.columns;
  const int block = place.group * shape.items + item;
  const bool active = item < shape.items && block < p.job.count;
  CellSum sums[W];
  if (active) {
    const BlockEntry entry = p.job.blocks[block];
    const int y = column / (s.row() / W), e = column % (s.row() / W) * W, x = e / Lanes, lane = e % Lanes;
    const int in_plane = y * s.row() + e;
    const long long chunk = static_cast<long long>(place.chunk) * s.chunk();
    const double* const own = p.job.in.at(entry.in) + chunk + in_plane;
    const auto in_place = [&](FaceCode code) { return p.job.in.at(code >> 1) + chunk; };
    // A packed face: its chunk, then the cell's place in it.
    const auto packed = [&](FaceCode code, int cells) {
      return p.job.packed + packed_offset(code) + static_cast<long long>(place.chunk) * cells * Lanes;
    };
    const auto across_x = [&](int side) -> ColumnNeighbor {
      if (side == 0 ? x > 0 : x + 1 < s.nx()) return {own + (side == 0 ? -Lanes : Lanes), s.plane()};
      const FaceCode code = entry.faces[side];
      if (face_is_packed(code)) return {packed(code, s.ny() * s.nz()) + y * Lanes + lane, s.ny() * Lanes};
      return {in_place(code) + y * s.row() + (code & 1) * (s.row() - Lanes) + lane, s.plane()};
    };
    const auto across_y = [&](int side) -> ColumnNeighbor {
      if (side == 0 ? y > 0 : y + 1 < s.ny()) return {own + (side == 0 ? -s.row() : s.row()), s.plane()};
      const FaceCode code = entry.faces[2 + side];
      if (face_is_packed(code)) return {packed(code, s.nx() * s.nz()) + e, s.row()};
      return {in_place(code) + (code & 1) * (s.plane() - s.row()) + e, s.plane()};
    };
    const auto across_z = [&](int side) -> const double* {
      const FaceCode code = entry.faces[4 + side];
      if (face_is_packed(code)) return packed(code, s.nx() * s.ny()) + in_plane;
      return in_place(code) + (code & 1) * (s.chunk() - s.plane()) + in_plane;
    };
    const ColumnNeighbor xm = across_x(0), xp = across_x(1), ym = across_y(0), yp = across_y(1);
    const double* const behind = across_z(1);
    double* const out = p.job.out.at(entry.out) + chunk + in_plane;
    Vector below = load_global<W>(across_z(0)), centre = load_global<W>(own);
#pragma unroll(Cells == 0 ? 4 : Cells < 8 ? Cells : 8)
    for (int z = 0; z < s.nz(); ++z) {
      const Vector above = load_global<W>(z + 1 < s.nz() ? own + (z + 1) * s.plane() : behind);
      const Vector v =
          average7_vector<W>(load_global<W>(xm.at + z * xm.step), load_global<W>(ym.at + z * ym.step), below, centre,
                             above, load_global<W>(yp.at + z * yp.step), load_global<W>(xp.at + z * xp.step));
      store_global<W>(out + z * s.plane(), v);
      if constexpr (Sum) {
#pragma unroll
        for (int w = 0; w < W; ++w) sums[w].add(v.v[w], p.job.sums);
      }
      below = centre;
      centre = above;
    }
  }
  if constexpr (Sum) {
    extern __shared__ unsigned long long scratch[];
    const int present = min(shape.items, p.job.count - place.group * shape.items);
    const auto cells = static_cast<std::uint32_t>(present * shape.columns * W / Lanes * s.nz());
    flush_sums<Lanes, W>(sums, cells, place.chunk, p.job.sums, scratch);
  }
}

template <int Lanes, int Cells, class Team, bool Sum>
void call_march_kernel(const Average7Call& call) {
  const BlockLayout& l = call.layout;
  const MarchShape shape =
      march_shape(l.cells[1], static_cast<int>(l.row_values()) / kDeviceWidth<Lanes>, Team::kItems);
  const MarchParameters p{l, piece_parameters(call, shape.items), shape};
  const auto kernel = average7_march<Lanes, Cells, Team, Sum>;
  const std::size_t scratch =
      Sum ? sum_scratch_words<Lanes, kDeviceWidth<Lanes>>(p.shape.threads) * sizeof(unsigned long long) : 0;
  if (call.facts != nullptr) {
    const int nx = call.layout.cells[0];
    fill_facts(*call.facts, kernel, p.shape.threads, scratch);
    // Columns at the rim of a thread block's part of the plane miss the first-level cache; along z nothing is read
    // twice.
    call.facts->l2_values = l2_values(Lanes, nx, 1.0, p.shape.parts, 1.0);
    call.facts->shared_bytes_a_value = 0.0;
    return;
  }
  const auto grid = static_cast<unsigned int>(checked_pieces(static_cast<long long>(p.pieces.pieces) * p.shape.parts));
  if (grid > 0) launch_pieces(call, kernel, p, grid, p.shape.threads, scratch);
}

template <int Lanes, int Cells>
int call_march_cells(const Average7Call& call) {
  using Usual = Settings<MarchTeam<0, 0>>;
  using Small5 = Settings<MarchTeam<0, 0>, MarchTeam<8, 2>>;
  using Small8 = Settings<MarchTeam<0, 5>, MarchTeam<4, 4>>;
  using Small = std::conditional_t<Lanes == 8, Small8, std::conditional_t<Lanes == 5, Small5, Usual>>;
  using Teams = std::conditional_t<Cells == 4, Small, Usual>;
  return call_setting(Teams{}, call, [&]<class Team, bool Sum>() { call_march_kernel<Lanes, Cells, Team, Sum>(call); });
}

template <int Lanes>
int call_march(const Average7Call& call) {
  const auto& cells = call.layout.cells;
  const bool cube = cells[0] == cells[1] && cells[1] == cells[2];
  return cube && cells[0] == 4 ? call_march_cells<Lanes, 4>(call) : call_march_cells<Lanes, 0>(call);
}

}  // namespace amrbench::kernels::detail
