#include "kernels/extensive.hpp"
#include "kernels/wide_faces_cuda.hpp"

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

/// The values of a block and around it, of one chunk and lane.
struct Values {
  const BlockLayout& layout;
  const DeviceSurroundings& around;
  int block, chunk, lane;
  /// At (a, b) of layer `layer` across `axis`.
  __device__ double at(int axis, int layer, int a, int b) const {
    const int x = axis == 0 ? layer : a, y = axis == 1 ? layer : axis == 0 ? a : b, z = axis == 2 ? layer : b;
    return *around.value(layout, block, chunk, lane, x, y, z);
  }
};

/// Entry (ka, kb) of what a block sends across `face`.
__device__ double piece_value(const TileLayout& l, const Values& values, int face, TileTransfer transfer, int part,
                              int ka, int kb) {
  const int axis = face / 2, layer = face % 2 ? values.layout.cells[axis] - 1 : 0;
  const Extent e = extent_of(l, axis);
  const auto value = [&](int a, int b) { return values.at(axis, layer, a, b); };
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

/// A thread block a job (blockIdx.x) and chunk (blockIdx.y). l: of the extended faces across the axis.
__global__ void __launch_bounds__(kThreads)
    face_kernel(const __grid_constant__ BlockLayout block, const __grid_constant__ TileLayout l, int axis,
                const __grid_constant__ DeviceSurroundings around, const WideFaceJob* jobs, const double* received,
                double* message) {
  const WideFaceJob job = jobs[blockIdx.x];
  const int chunk = static_cast<int>(blockIdx.y);
  const Extent e = extent_of(l, axis);
  const int2 piece = piece_cells(e, job.transfer);
  const std::size_t at_piece = job.at + std::size_t(chunk) * piece.x * piece.y * l.lanes;
  if (job.work == WideFaceWork::pack) {
    for (int k = static_cast<int>(threadIdx.x); k < piece.x * piece.y * l.lanes; k += kThreads) {
      const int cell = k / l.lanes;
      const Values values{block, around, job.block, chunk, k % l.lanes};
      message[at_piece + k] = piece_value(l, values, job.face, job.transfer, job.part, cell % piece.x, cell / piece.x);
    }
    return;
  }
  // The layer of an extended face that lies behind a block's last cells is its second one, 0, else its first, -1.
  const int ghost = job.face % 2 ? 0 : -1;
  double* const face = around.faces[axis] + job.to * around.steps[axis].face + chunk * around.steps[axis].chunk;
  const Ghosts g = ghosts_of(e, job.transfer, job.part);
  for (int k = static_cast<int>(threadIdx.x); k < g.na * g.nb * l.lanes; k += kThreads) {
    const int cell = k / l.lanes, lane = k % l.lanes, ia = cell % g.na, ib = cell / g.na, a = g.a + ia, b = g.b + ib;
    // Fine ghost f of -e .. n - 1 + e takes entry floor(f / 2) + e.
    const int ka = g.doubled ? (ia + e.ea) / 2 : ia, kb = g.doubled ? (ib + e.eb) / 2 : ib;
    const std::size_t to = axis == 0 ? l.cell(ghost, a, b) : axis == 1 ? l.cell(a, ghost, b) : l.cell(a, b, ghost);
    if (job.work == WideFaceWork::unpack)
      face[to + lane] = received[at_piece + (kb * piece.x + ka) * l.lanes + lane];
    else
      face[to + lane] =
          piece_value(l, Values{block, around, job.block, chunk, lane}, job.face ^ 1, job.transfer, job.part, ka, kb);
  }
}

}  // namespace

void launch_wide_faces(const BlockLayout& layout, int axis, const DeviceSurroundings& around, const WideFaceJob* jobs,
                       int count, const double* received, double* message, const support::CudaStream& stream) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(layout.chunks));
  face_kernel<<<grid, kThreads, 0, stream.get()>>>(layout, make_face_tile_layout(layout, axis), axis, around, jobs,
                                                   received, message);
  support::cuda_check_launch("wide faces");
}

}  // namespace amrbench::kernels
