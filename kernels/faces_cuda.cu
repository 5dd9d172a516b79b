#include "kernels/face_move.cuh"
#include "kernels/faces_cuda.hpp"

namespace amrbench::kernels {

namespace {

/// Cells of a face and of a quarter of it.
struct FaceCells {
  int a = 0, b = 0;
  [[nodiscard]] AMRBENCH_HD int all() const { return a * b; }
  [[nodiscard]] AMRBENCH_HD FaceCells quarter() const { return {a / 2, b / 2}; }
};

__host__ __device__ bool goes_into_whole(FaceWork work) {
  return work == FaceWork::restrict_part || work == FaceWork::insert;
}
__host__ __device__ bool reads_piece(FaceWork work) {
  return work == FaceWork::expand || work == FaceWork::insert;
}
/// The values of a quarter are read and divided.
__host__ __device__ bool divides(FaceWork work) {
  return work == FaceWork::pack_quarter || work == FaceWork::prolong;
}
__host__ __device__ bool doubles(FaceWork work) {
  return work == FaceWork::prolong || work == FaceWork::expand;
}
/// What a job writes of a face.
__host__ __device__ FaceCells cells_of(FaceWork work, const FaceCells& face) {
  return doubles(work) || work == FaceWork::pack ? face : face.quarter();
}

/// For kernels/face_move.cuh.
struct FaceMoves {
  static constexpr int kParts = 1;
  BlockLayout block;
  FaceCells faces[3];
  const FaceJob* jobs;
  support::DeviceSlots blocks;
  const double* received;
  double* out;

  /// Cells from the first one of quarter `part` on, at steps a and b.
  [[nodiscard]] __device__ static int to_quarter(const FaceCells& face, int part, int a, int b) {
    return (part & 1) * (face.a / 2) * a + (part >> 1) * (face.b / 2) * b;
  }
  [[nodiscard]] __device__ face_move::Plane part(const FaceJob& job, int chunk, int /*part*/) const {
    const BlockLayout& l = block;
    const int axis = job.face / 2;
    const FaceCells& face = faces[axis];
    if (reads_piece(job.work)) {
      const FaceCells piece = face.quarter();
      return {received + std::int64_t{job.from} * 4 + std::int64_t{chunk} * (piece.all() * l.lanes), l.lanes,
              piece.a * l.lanes};
    }
    const int row = l.cells[0] * l.lanes, plane = row * l.cells[1];
    const int across = axis == 0 ? l.lanes : axis == 1 ? row : plane;
    const int a = axis == 0 ? row : l.lanes, b = axis == 2 ? row : plane;
    const double* const first = blocks.at(job.slot) + std::int64_t{chunk} * (plane * l.cells[2]);
    const int layer = job.face % 2 != 0 ? (l.cells[axis] - 1) * across : 0;
    return {first + layer + (divides(job.work) ? to_quarter(face, job.part, a, b) : 0), a, b};
  }
  [[nodiscard]] __device__ double* target(const FaceJob& job, int chunk) const {
    const int lanes = block.lanes;
    const FaceCells& face = faces[job.face / 2];
    double* const to = out + std::int64_t{job.to} * 4;
    if (goes_into_whole(job.work))
      return to + std::int64_t{chunk} * (face.all() * lanes) + to_quarter(face, job.part, lanes, face.a * lanes);
    return to + std::int64_t{chunk} * (cells_of(job.work, face).all() * lanes);
  }
};

face_move::Group group_of(FaceWork work, const FaceCells& face, int lanes, int first, int jobs) {
  const FaceCells cells = cells_of(work, face);
  face_move::Group g;
  g.first = first, g.jobs = jobs;
  g.cells_a = cells.a, g.cells_b = cells.b;
  g.sums = work == FaceWork::pack_restricted || work == FaceWork::restrict_part;
  g.divides = divides(work);
  const int half = doubles(work) ? 1 : 0;
  g.a = {0, 0, half, 0, face.a - 1, face.a};
  g.b = {0, 0, half, 0, face.b - 1, face.b};
  g.to_a = lanes, g.to_b = (goes_into_whole(work) ? face.a : cells.a) * lanes;
  return g;
}

}  // namespace

void launch_faces(const BlockLayout& layout, const FaceJob* jobs, const FaceJobStarts& starts,
                  const support::DeviceSlots& blocks, const double* received, double* out,
                  const support::CudaStream& stream) {
  if (starts.back() == 0) return;
  FaceMoves moves{layout, {}, jobs, blocks, received, out};
  for (int axis = 0; axis < 3; ++axis)
    moves.faces[axis] = {layout.cells[layout.face_axis_a(axis)], layout.cells[layout.face_axis_b(axis)]};
  face_move::Groups groups(layout.lanes);
  for (std::size_t key = 0; key < kFaceKeys; ++key)
    groups.add(group_of(static_cast<FaceWork>(key / 3), moves.faces[key % 3], layout.lanes, starts[key],
                        starts[key + 1] - starts[key]));
  face_move::launch_moves(moves, groups, layout.chunks, stream);
}

}  // namespace amrbench::kernels
