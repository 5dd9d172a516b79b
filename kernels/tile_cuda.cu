#include "kernels/extensive.hpp"
#include "kernels/tile_cuda.hpp"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 128;

/// A face across `axis`: cells in the plane, and how far it is extended.
struct Extent {
  int na, nb, ea, eb;
};
__device__ Extent extent_of(const TileLayout& l, int axis) {
  const int a = l.block.face_axis_a(axis), b = l.block.face_axis_b(axis);
  return {l.block.cells[a], l.block.cells[b], TileLayout::extension(axis, a), TileLayout::extension(axis, b)};
}

/// Offset in its chunk of the cell at (a, b) of layer `layer` across `axis`.
__device__ std::size_t cell_at(const TileLayout& l, int axis, int layer, int a, int b) {
  return axis == 0 ? l.cell(layer, a, b) : axis == 1 ? l.cell(a, layer, b) : l.cell(a, b, layer);
}

/// Extents of a piece.
__device__ int2 piece_cells(const Extent& e, TileTransfer transfer) {
  switch (transfer) {
    case TileTransfer::quarter:
      return make_int2(e.na / 2 + 2 * e.ea, e.nb / 2 + 2 * e.eb);
    case TileTransfer::restricted:
      return make_int2(e.na / 2 + e.ea, e.nb / 2 + e.eb);
    default:
      return make_int2(e.na + 2 * e.ea, e.nb + 2 * e.eb);
  }
}

/// Entry (ka, kb) of what a tile sends across `face`; `values`: the tile's chunk and lane.
__device__ double piece_value(const TileLayout& l, const double* values, int face, TileTransfer transfer, int part,
                              int ka, int kb) {
  const int axis = face / 2, layer = face % 2 ? l.block.cells[axis] - 1 : 0;
  const Extent e = extent_of(l, axis);
  const auto value = [&](int a, int b) { return values[cell_at(l, axis, layer, a, b)]; };
  switch (transfer) {
    case TileTransfer::quarter:
      return face_quarter(value((part & 1) * (e.na / 2) - e.ea + ka, (part >> 1) * (e.nb / 2) - e.eb + kb));
    case TileTransfer::restricted: {
      const int a = 2 * ((part & 1 ? 0 : -e.ea) + ka), b = 2 * ((part >> 1 ? 0 : -e.eb) + kb);
      const int a0 = max(-e.ea, min(a, e.na - 1 + e.ea)), a1 = max(-e.ea, min(a + 1, e.na - 1 + e.ea));
      const int b0 = max(-e.eb, min(b, e.nb - 1 + e.eb)), b1 = max(-e.eb, min(b + 1, e.nb - 1 + e.eb));
      return face_sum(value(a0, b0), value(a0, b1), value(a1, b0), value(a1, b1));
    }
    default:
      return value(ka - e.ea, kb - e.eb);
  }
}

/// Ghosts that a piece fills: from (a, b) on, so many cells, and the entry of the piece each takes.
struct Ghosts {
  int a, b, na, nb;
  bool doubled;  ///< two fine ghosts a coarse entry
};
__device__ Ghosts ghosts_of(const Extent& e, TileTransfer transfer, int part) {
  if (transfer == TileTransfer::restricted) {
    return {part & 1 ? e.na / 2 : -e.ea, part >> 1 ? e.nb / 2 : -e.eb, e.na / 2 + e.ea, e.nb / 2 + e.eb, false};
  }
  return {-e.ea, -e.eb, e.na + 2 * e.ea, e.nb + 2 * e.eb, transfer == TileTransfer::quarter};
}

/// A thread block a job (blockIdx.x) and chunk (blockIdx.y).
__global__ void __launch_bounds__(kThreads) face_kernel(const __grid_constant__ TileLayout l, const TileJob* jobs,
                                                        double* tiles, const double* received, double* message) {
  const TileJob job = jobs[blockIdx.x];
  const int axis = job.face / 2, chunk = static_cast<int>(blockIdx.y);
  const Extent e = extent_of(l, axis);
  const std::size_t at_chunk = chunk * l.chunk_values();
  double* const tile = tiles + job.tile * l.values() + at_chunk;
  const int2 piece = piece_cells(e, job.transfer);
  const std::size_t at_piece = job.at + std::size_t(chunk) * piece.x * piece.y * l.lanes;
  if (job.work == TileWork::pack) {
    for (int k = static_cast<int>(threadIdx.x); k < piece.x * piece.y * l.lanes; k += kThreads) {
      const int cell = k / l.lanes;
      message[at_piece + k] =
          piece_value(l, tile + k % l.lanes, job.face, job.transfer, job.part, cell % piece.x, cell / piece.x);
    }
    return;
  }
  const int ghost = job.face % 2 ? l.block.cells[axis] : -1, inner = job.face % 2 ? ghost - 1 : 0;
  const Ghosts g = ghosts_of(e, job.work == TileWork::close ? TileTransfer::whole : job.transfer, job.part);
  for (int k = static_cast<int>(threadIdx.x); k < g.na * g.nb * l.lanes; k += kThreads) {
    const int cell = k / l.lanes, lane = k % l.lanes, ia = cell % g.na, ib = cell / g.na;
    // Fine ghost f of -e .. n - 1 + e takes entry floor(f / 2) + e.
    const int ka = g.doubled ? (ia + e.ea) / 2 : ia, kb = g.doubled ? (ib + e.eb) / 2 : ib;
    double value = 0.0;
    if (job.work == TileWork::close)
      value = tile[cell_at(l, axis, inner, g.a + ia, g.b + ib) + lane];
    else if (job.work == TileWork::unpack)
      value = received[at_piece + (kb * piece.x + ka) * l.lanes + lane];
    else
      value = piece_value(l, tiles + job.other * l.values() + at_chunk + lane, job.face ^ 1, job.transfer, job.part, ka,
                          kb);
    tile[cell_at(l, axis, ghost, g.a + ia, g.b + ib) + lane] = value;
  }
}

__global__ void __launch_bounds__(kThreads) load_kernel(const __grid_constant__ TileLayout l, const std::int32_t* slots,
                                                        support::DeviceSlots blocks, double* tiles) {
  const int chunk = static_cast<int>(blockIdx.y), values = static_cast<int>(l.block.block_cells()) * l.lanes;
  const double* const block = blocks.at(slots[blockIdx.x]);
  double* const tile = tiles + blockIdx.x * l.values() + chunk * l.chunk_values();
  for (int k = static_cast<int>(threadIdx.x); k < values; k += kThreads) {
    const int cell = k / l.lanes, row = cell / l.block.cells[0], x = cell % l.block.cells[0];
    const int y = row % l.block.cells[1], z = row / l.block.cells[1];
    tile[l.cell(x, y, z) + k % l.lanes] = block[l.block.offset(chunk * l.lanes + k % l.lanes, x, y, z)];
  }
}

}  // namespace

void launch_load_tiles(const TileLayout& layout, const std::int32_t* slots, int count,
                       const support::DeviceSlots& blocks, double* tiles, const support::CudaStream& stream) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(layout.chunks));
  load_kernel<<<grid, kThreads, 0, stream.get()>>>(layout, slots, blocks, tiles);
  support::cuda_check_launch("load tiles");
}

void launch_tile_faces(const TileLayout& layout, const TileJob* jobs, int count, double* tiles, const double* received,
                       double* message, const support::CudaStream& stream) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(layout.chunks));
  face_kernel<<<grid, kThreads, 0, stream.get()>>>(layout, jobs, tiles, received, message);
  support::cuda_check_launch("tile faces");
}

}  // namespace amrbench::kernels
