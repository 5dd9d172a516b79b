#include "kernels/extensive.hpp"
#include "kernels/faces_cuda.hpp"

namespace amrbench::kernels {

namespace {

/// Threads a job: a face of a usual block has some hundred to some thousand values.
constexpr int kThreads = 128;

/// A face of a block seen from one of its chunks: first cell, steps along its axes.
struct FaceSteps {
  int start, a, b;
};

__device__ FaceSteps face_steps(const BlockLayout& l, int face) {
  const int axis = face / 2, row = static_cast<int>(l.row_values()), plane = static_cast<int>(l.plane_values());
  const int across = axis == 0 ? l.lanes : axis == 1 ? row : plane;
  return {face % 2 ? (l.cells[axis] - 1) * across : 0, axis == 0 ? row : l.lanes, axis == 2 ? row : plane};
}

/// Place of a value among na x nb cells of a chunk.
struct Place {
  int chunk, b, a, lane;
};
__device__ Place place_of(int k, int na, int nb, int lanes) {
  const int cell = k / lanes, row = cell / na;
  return {row / nb, row % nb, cell % na, k % lanes};
}

/// Calls f(k, place) for every value of na x nb cells of all chunks.
template <class F>
__device__ void for_values(const BlockLayout& l, int na, int nb, const F& f) {
  for (int k = static_cast<int>(threadIdx.x); k < na * nb * l.lanes * l.chunks; k += kThreads)
    f(k, place_of(k, na, nb, l.lanes));
}

__global__ void __launch_bounds__(kThreads)
    face_kernel(const __grid_constant__ BlockLayout l, const FaceJob* jobs, support::DeviceSlots blocks,
                const double* received, double* out) {
  const FaceJob job = jobs[blockIdx.x];
  const int axis = job.face / 2, na = l.cells[l.face_axis_a(axis)], nb = l.cells[l.face_axis_b(axis)];
  const int ha = na / 2, hb = nb / 2, qa = job.part & 1, qb = job.part >> 1;
  const int chunk_values = static_cast<int>(l.chunk_values());
  const FaceSteps s = face_steps(l, job.face);
  const bool of_block = job.work != FaceWork::expand && job.work != FaceWork::insert;
  const double* const block = of_block ? blocks.at(job.slot) + s.start : nullptr;
  const double* const from = received + std::size_t(job.from) * 4;
  double* const to = out + std::size_t(job.to) * 4;
  const auto value = [&](const Place& p, int a, int b) {
    return block[std::size_t(p.chunk) * chunk_values + b * s.b + a * s.a + p.lane];
  };
  const auto restricted = [&](const Place& p) {
    const int a = 2 * p.a, b = 2 * p.b;
    return face_sum(value(p, a, b), value(p, a, b + 1), value(p, a + 1, b), value(p, a + 1, b + 1));
  };
  // A value of quarter (qa, qb) in a whole packed face, and of a cell in a packed quarter.
  const auto in_whole = [&](const Place& p) {
    return ((p.chunk * nb + qb * hb + p.b) * na + qa * ha + p.a) * l.lanes + p.lane;
  };
  const auto in_quarter = [&](const Place& p) { return ((p.chunk * hb + p.b / 2) * ha + p.a / 2) * l.lanes + p.lane; };
  switch (job.work) {
    case FaceWork::pack:
      return for_values(l, na, nb, [&](int k, const Place& p) { to[k] = value(p, p.a, p.b); });
    case FaceWork::pack_quarter:
      return for_values(l, ha, hb,
                        [&](int k, const Place& p) { to[k] = face_quarter(value(p, qa * ha + p.a, qb * hb + p.b)); });
    case FaceWork::pack_restricted:
      return for_values(l, ha, hb, [&](int k, const Place& p) { to[k] = restricted(p); });
    case FaceWork::prolong:
      return for_values(l, na, nb, [&](int k, const Place& p) {
        to[k] = face_quarter(value(p, qa * ha + p.a / 2, qb * hb + p.b / 2));
      });
    case FaceWork::expand:
      return for_values(l, na, nb, [&](int k, const Place& p) { to[k] = from[in_quarter(p)]; });
    case FaceWork::restrict_part:
      return for_values(l, ha, hb, [&](int, const Place& p) { to[in_whole(p)] = restricted(p); });
    case FaceWork::insert:
      return for_values(l, ha, hb, [&](int k, const Place& p) { to[in_whole(p)] = from[k]; });
  }
}

}  // namespace

void launch_faces(const BlockLayout& layout, const FaceJob* jobs, int count, const support::DeviceSlots& blocks,
                  const double* received, double* out, const support::CudaStream& stream) {
  if (count == 0) return;
  face_kernel<<<count, kThreads, 0, stream.get()>>>(layout, jobs, blocks, received, out);
  support::cuda_check_launch("faces");
}

}  // namespace amrbench::kernels
