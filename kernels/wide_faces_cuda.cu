#include "kernels/extensive.hpp"
#include "kernels/face_move.cuh"
#include "kernels/wide_faces_cuda.hpp"

namespace amrbench::kernels {

namespace {

using face_move::Cells, face_move::Four, face_move::From, face_move::Plane, face_move::Stretch;

constexpr int kParts = 9, kTransfers = 3;

struct Parameters {
  BlockLayout block;
  DeviceSurroundings around;
  const WideFaceJob* jobs;
  int count;
  const double* received;
  double* message;
  GhostChunks chunks;
  int axis, a, b;            ///< across the face, and in it
  int na, nb, ea, eb;        ///< cells in the plane, and how far it is extended
  Cells pieces[kTransfers];  ///< by TileTransfer
  Divider by_lanes;
};

/// Part `number` of the nine of a block's layer, its own cells and what lies beside them in the plane; cells are
/// counted from the block's.
__device__ From part_of_layer(const Parameters& p, int block, int face, int chunk, int number) {
  const int da = number % 3 - 1, db = number / 3 - 1;
  const int dx = p.axis == 0 ? 0 : da, dy = p.axis == 1 ? 0 : p.axis == 0 ? da : db, dz = p.axis == 2 ? 0 : db;
  const PieceSource source = p.around.sources[std::int64_t{block} * 27 + Surroundings::index(dx, dy, dz)];
  const DeviceSurroundings::Steps& steps = p.around.steps[source.kind];
  const auto step = [&](int axis) { return axis == 0 ? p.block.lanes : axis == 1 ? steps.row : steps.plane; };
  const int layer = face % 2 ? p.block.cells[p.axis] - 1 : 0;
  return {p.around.piece(source) + chunk * steps.chunk + layer * step(p.axis), da == 0 ? step(p.a) : 0,
          db == 0 ? step(p.b) : 0};
}

/// Where a job's values go: into the message, or to the ghosts that the piece fills.
__device__ Plane<double> target_of(const Parameters& p, const WideFaceJob& job, const Cells& piece, int chunk) {
  const int lanes = p.block.lanes;
  if (job.work == WideFaceWork::pack)
    return {p.message + job.at + std::int64_t{chunk} * (piece.all * lanes), lanes, piece.a * lanes};
  const DeviceSurroundings::Steps& steps = p.around.steps[p.axis];
  const auto step = [&](int axis) { return axis == 0 ? lanes : axis == 1 ? steps.row : steps.plane; };
  const bool is_part = job.transfer == TileTransfer::restricted;
  // Counted from the face's first cell.
  const int a = is_part && (job.part & 1) != 0 ? p.na / 2 + p.ea : 0;
  const int b = is_part && job.part >> 1 != 0 ? p.nb / 2 + p.eb : 0;
  double* const face = p.around.faces[p.axis] + job.to * steps.face + chunk * steps.chunk;
  return {face + a * step(p.a) + b * step(p.b), step(p.a), step(p.b)};
}

/// A warp a job; blockIdx.y is the number of the chunk, blockIdx.z that of the stretch.
__global__ void __launch_bounds__(face_move::kWarps* face_move::kWarp, face_move::kResident)
    face_kernel(const __grid_constant__ Parameters p) {
  using face_move::kWarp, face_move::kWarps, face_move::kStretch;
  __shared__ From all_parts[kWarps][kParts];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, thread = static_cast<int>(threadIdx.x) % kWarp;
  const int number = static_cast<int>(blockIdx.x) * kWarps + warp,
            chunk = p.chunks.number(static_cast<int>(blockIdx.y));
  if (number >= p.count) return;
  const WideFaceJob job = p.jobs[number];
  const bool packs = job.work == WideFaceWork::pack, unpacks = job.work == WideFaceWork::unpack;
  const bool is_quarter = job.transfer == TileTransfer::quarter, is_doubled = is_quarter && !packs;
  const Cells piece = p.pieces[static_cast<int>(job.transfer)];
  const Cells cells = p.pieces[static_cast<int>(is_doubled ? TileTransfer::whole : job.transfer)];
  const int lanes = p.block.lanes, begin = static_cast<int>(blockIdx.z) * kStretch;
  const int end = min(begin + kStretch, cells.all * lanes);
  if (begin >= end) return;

  From* const parts = all_parts[warp];
  if (thread < kParts) {
    parts[thread] = unpacks
                        ? From{p.received + job.at + std::int64_t{chunk} * (piece.all * lanes), lanes, piece.a * lanes}
                        : part_of_layer(p, job.block, packs ? job.face : job.face ^ 1, chunk, thread);
  }
  __syncwarp();
  const auto value = [&](int a, int b, int lane) {
    const int part = (DeviceSurroundings::side(b, p.nb) + 1) * 3 + DeviceSurroundings::side(a, p.na) + 1;
    return parts[part].cell(a, b)[lane];
  };
  const Stretch stretch{begin, end, thread, cells, p.by_lanes, target_of(p, job, piece, chunk)};
  if (job.transfer == TileTransfer::restricted && !unpacks) {
    const int ea = p.ea, eb = p.eb, first_a = (job.part & 1) != 0 ? 0 : -ea, first_b = job.part >> 1 != 0 ? 0 : -eb;
    const auto load = [&](int ka, int kb, int lane) {
      const int a = 2 * (first_a + ka), b = 2 * (first_b + kb);
      const int a0 = max(-ea, min(a, p.na - 1 + ea)), a1 = max(-ea, min(a + 1, p.na - 1 + ea));
      const int b0 = max(-eb, min(b, p.nb - 1 + eb)), b1 = max(-eb, min(b + 1, p.nb - 1 + eb));
      return Four{value(a0, b0, lane), value(a0, b1, lane), value(a1, b0, lane), value(a1, b1, lane)};
    };
    return face_move::move<2>(stretch, load, [](const Four& v) { return face_sum(v.v00, v.v01, v.v10, v.v11); });
  }
  // Fine ghost f of -e .. n - 1 + e takes entry floor(f / 2) + e of a coarse neighbour's piece.
  const int more_a = is_doubled ? p.ea : 0, more_b = is_doubled ? p.eb : 0, half = is_doubled ? 1 : 0;
  const int first_a = unpacks ? 0 : (is_quarter ? (job.part & 1) * (p.na / 2) : 0) - p.ea;
  const int first_b = unpacks ? 0 : (is_quarter ? (job.part >> 1) * (p.nb / 2) : 0) - p.eb;
  const bool divides = is_quarter && !unpacks;
  const auto load = [&](int ka, int kb, int lane) {
    return value(first_a + ((ka + more_a) >> half), first_b + ((kb + more_b) >> half), lane);
  };
  face_move::move<4>(stretch, load, [&](double v) { return divides ? face_quarter(v) : v; });
}

}  // namespace

void launch_wide_faces(const BlockLayout& layout, int axis, const DeviceSurroundings& around, const GhostChunks& chunks,
                       const WideFaceJob* jobs, int count, const double* received, double* message,
                       const support::CudaStream& stream) {
  if (count == 0) return;
  Parameters p{};
  p.block = layout, p.around = around, p.jobs = jobs, p.count = count;
  p.received = received, p.message = message, p.chunks = chunks;
  p.axis = axis, p.a = layout.face_axis_a(axis), p.b = layout.face_axis_b(axis);
  p.na = layout.cells[p.a], p.nb = layout.cells[p.b];
  p.ea = TileLayout::extension(axis, p.a), p.eb = TileLayout::extension(axis, p.b);
  p.pieces[static_cast<int>(TileTransfer::whole)] = Cells(p.na + 2 * p.ea, p.nb + 2 * p.eb);
  p.pieces[static_cast<int>(TileTransfer::quarter)] = Cells(p.na / 2 + 2 * p.ea, p.nb / 2 + 2 * p.eb);
  p.pieces[static_cast<int>(TileTransfer::restricted)] = Cells(p.na / 2 + p.ea, p.nb / 2 + p.eb);
  p.by_lanes = Divider(layout.lanes);
  const int most = p.pieces[static_cast<int>(TileTransfer::whole)].all * layout.lanes;
  face_kernel<<<face_move::grid_of(count, chunks.count, most), face_move::kWarps * face_move::kWarp, 0, stream.get()>>>(
      p);
  support::cuda_check_launch("wide faces");
}

}  // namespace amrbench::kernels
