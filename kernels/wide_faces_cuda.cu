#include "kernels/face_move.cuh"
#include "kernels/wide_faces_cuda.hpp"

namespace amrbench::kernels {

namespace {

/// Cells along a and b in the plane of an axis, and by how many a face is extended there.
struct Extent {
  int na = 0, nb = 0, ea = 0, eb = 0;
  /// Cells of a piece.
  [[nodiscard]] AMRBENCH_HD int a(TileTransfer transfer) const { return along(transfer, na, ea); }
  [[nodiscard]] AMRBENCH_HD int b(TileTransfer transfer) const { return along(transfer, nb, eb); }

 private:
  [[nodiscard]] AMRBENCH_HD static int along(TileTransfer transfer, int n, int e) {
    return transfer == TileTransfer::whole ? n + 2 * e : n / 2 + (transfer == TileTransfer::restricted ? 1 : 2) * e;
  }
};

/// For kernels/face_move.cuh: jobs across one axis.
struct WideMoves {
  static constexpr int kParts = 9;
  BlockLayout block;
  DeviceSurroundings around;
  const WideFaceJob* jobs;
  const double* received;
  double* message;
  GhostChunks chunks;
  int axis, axis_a, axis_b;
  Extent extent;

  [[nodiscard]] AMRBENCH_HD int step(const DeviceSurroundings::Steps& steps, int along) const {
    return along == 0 ? block.lanes : along == 1 ? steps.row : steps.plane;
  }
  /// Doubles of a piece of a message up to a chunk.
  [[nodiscard]] __device__ std::int64_t before(const WideFaceJob& job, int chunk) const {
    return std::int64_t{chunk} * (extent.a(job.transfer) * extent.b(job.transfer) * block.lanes);
  }
  /// Part `number` of a block's layer: its own cells, and what lies beside them in the plane; cells are counted from
  /// the block's. A message has one part only.
  [[nodiscard]] __device__ face_move::Plane part(const WideFaceJob& job, int i, int number) const {
    const int chunk = chunks.number(i);
    if (job.work == WideFaceWork::unpack)
      return {received + job.at + before(job, chunk), block.lanes, extent.a(job.transfer) * block.lanes};
    const int face = job.work == WideFaceWork::pack ? job.face : job.face ^ 1;
    const int da = number % 3 - 1, db = number / 3 - 1;
    const int dx = axis == 0 ? 0 : da, dy = axis == 1 ? 0 : axis == 0 ? da : db, dz = axis == 2 ? 0 : db;
    const PieceSource source = around.sources[std::int64_t{job.block} * 27 + Surroundings::index(dx, dy, dz)];
    const DeviceSurroundings::Steps& steps = around.steps[source.kind];
    const int layer = face % 2 != 0 ? block.cells[axis] - 1 : 0;
    return {around.piece(source) + chunk * steps.chunk + layer * step(steps, axis), da == 0 ? step(steps, axis_a) : 0,
            db == 0 ? step(steps, axis_b) : 0};
  }
  /// Where a job's values go: into the message, or to the ghosts that the piece fills.
  [[nodiscard]] __device__ double* target(const WideFaceJob& job, int i) const {
    const int chunk = chunks.number(i);
    if (job.work == WideFaceWork::pack) return message + job.at + before(job, chunk);
    const DeviceSurroundings::Steps& steps = around.steps[axis];
    const bool is_part = job.transfer == TileTransfer::restricted;
    // Counted from the face's first cell.
    const int a = is_part && (job.part & 1) != 0 ? extent.na / 2 + extent.ea : 0;
    const int b = is_part && job.part >> 1 != 0 ? extent.nb / 2 + extent.eb : 0;
    return around.faces[axis] + job.to * steps.face + chunk * steps.chunk + a * step(steps, axis_a) +
           b * step(steps, axis_b);
  }
};

/// Which cells a job reads along an axis of n cells, extended by e.
face_move::Reach reach_of(WideFaceWork work, TileTransfer transfer, bool upper, int n, int e) {
  const bool doubled = transfer == TileTransfer::quarter && work != WideFaceWork::pack;
  face_move::Reach r{0, doubled ? e : 0, doubled ? 1 : 0, -e, n - 1 + e, n};
  if (work == WideFaceWork::unpack)
    r.cells = n + 2 * e;  // of the message, and counted from its first one
  else if (transfer == TileTransfer::restricted)
    r.first = upper ? 0 : -e;
  else  // fine ghost f of -e .. n - 1 + e takes entry floor(f / 2) + e of a coarse neighbour's piece
    r.first = (transfer == TileTransfer::quarter && upper ? n / 2 : 0) - e;
  return r;
}

face_move::Group group_of(const WideMoves& moves, std::size_t key, int first, int jobs) {
  const auto work = static_cast<WideFaceWork>(key / 12);
  const auto transfer = static_cast<TileTransfer>(key / 4 % 3);
  const int part = static_cast<int>(key % 4), lanes = moves.block.lanes;
  const bool packs = work == WideFaceWork::pack, is_quarter = transfer == TileTransfer::quarter;
  const TileTransfer cells = is_quarter && !packs ? TileTransfer::whole : transfer;
  const Extent& x = moves.extent;
  face_move::Group g;
  g.first = first, g.jobs = jobs;
  g.cells_a = x.a(cells), g.cells_b = x.b(cells);
  g.a = reach_of(work, transfer, (part & 1) != 0, x.na, x.ea);
  g.b = reach_of(work, transfer, part >> 1 != 0, x.nb, x.eb);
  const DeviceSurroundings::Steps& steps = moves.around.steps[moves.axis];
  g.to_a = packs ? lanes : moves.step(steps, moves.axis_a);
  g.to_b = packs ? x.a(transfer) * lanes : moves.step(steps, moves.axis_b);
  g.sums = transfer == TileTransfer::restricted && work != WideFaceWork::unpack;
  g.divides = is_quarter && work != WideFaceWork::unpack;
  return g;
}

}  // namespace

void launch_wide_faces(const BlockLayout& layout, int axis, const DeviceSurroundings& around, const GhostChunks& chunks,
                       const WideFaceJob* jobs, const WideFaceJobStarts& starts, const double* received,
                       double* message, const support::CudaStream& stream) {
  if (starts.back() == 0) return;
  const int a = layout.face_axis_a(axis), b = layout.face_axis_b(axis);
  const Extent extent{layout.cells[a], layout.cells[b], TileLayout::extension(axis, a), TileLayout::extension(axis, b)};
  const WideMoves moves{layout, around, jobs, received, message, chunks, axis, a, b, extent};
  face_move::Groups groups(layout.lanes);
  for (std::size_t key = 0; key < kWideFaceKeys; ++key)
    groups.add(group_of(moves, key, starts[key], starts[key + 1] - starts[key]));
  face_move::launch_moves(moves, groups, chunks.count, stream);
}

}  // namespace amrbench::kernels
