#include "kernels/extensive.hpp"
#include "kernels/face_move.cuh"
#include "kernels/faces_cuda.hpp"

namespace amrbench::kernels {

namespace {

using face_move::Cells, face_move::Four, face_move::From, face_move::Plane, face_move::Stretch;

struct Parameters {
  BlockLayout block;
  const FaceJob* jobs;
  int count;
  support::DeviceSlots blocks;
  const double* received;
  double* out;
  Cells whole[3], quarter[3];  ///< of a face, by axis
  Divider by_lanes;
};

/// A face of a block, of one chunk.
__device__ From face_of_block(const Parameters& p, const FaceJob& job, int chunk) {
  const BlockLayout& l = p.block;
  const int axis = job.face / 2, row = l.cells[0] * l.lanes, plane = row * l.cells[1];
  const int across = axis == 0 ? l.lanes : axis == 1 ? row : plane;
  const double* const first = p.blocks.at(job.slot) + std::int64_t{chunk} * (plane * l.cells[2]);
  return {first + (job.face % 2 != 0 ? (l.cells[axis] - 1) * across : 0), axis == 0 ? row : l.lanes,
          axis == 2 ? row : plane};
}

/// A warp a job; blockIdx.y is the chunk, blockIdx.z the stretch.
__global__ void __launch_bounds__(face_move::kWarps* face_move::kWarp, face_move::kResident)
    face_kernel(const __grid_constant__ Parameters p) {
  using face_move::kWarp, face_move::kWarps, face_move::kStretch;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, thread = static_cast<int>(threadIdx.x) % kWarp;
  const int number = static_cast<int>(blockIdx.x) * kWarps + warp, chunk = static_cast<int>(blockIdx.y);
  if (number >= p.count) return;
  const FaceJob job = p.jobs[number];
  const FaceWork work = job.work;
  const int lanes = p.block.lanes, axis = job.face / 2;
  const Cells& whole = p.whole[axis];
  const Cells& quarter = p.quarter[axis];
  const bool doubles = work == FaceWork::prolong || work == FaceWork::expand;
  const Cells cells = doubles || work == FaceWork::pack ? whole : quarter;
  const int begin = static_cast<int>(blockIdx.z) * kStretch, end = min(begin + kStretch, cells.all * lanes);
  if (begin >= end) return;

  const int first_a = (job.part & 1) * quarter.a, first_b = (job.part >> 1) * (quarter.all / quarter.a);
  const bool from_block = work != FaceWork::expand && work != FaceWork::insert;
  From from = from_block ? face_of_block(p, job, chunk)
                         : From{p.received + std::int64_t{job.from} * 4 + std::int64_t{chunk} * (quarter.all * lanes),
                                lanes, quarter.a * lanes};
  const bool divides = work == FaceWork::pack_quarter || work == FaceWork::prolong;
  if (divides) from.at = from.cell(first_a, first_b);
  const bool into_whole = work == FaceWork::restrict_part || work == FaceWork::insert;
  const Cells& there = into_whole ? whole : cells;
  Plane<double> to{p.out + std::int64_t{job.to} * 4 + std::int64_t{chunk} * (there.all * lanes), lanes,
                   there.a * lanes};
  if (into_whole) to.at = to.cell(first_a, first_b);

  const Stretch stretch{begin, end, thread, cells, p.by_lanes, to};
  if (work == FaceWork::pack_restricted || work == FaceWork::restrict_part) {
    const auto load = [&](int a, int b, int lane) {
      const double* const first = from.cell(2 * a, 2 * b) + lane;
      return Four{first[0], first[from.b], first[from.a], first[from.a + from.b]};
    };
    return face_move::move<2>(stretch, load, [](const Four& v) { return face_sum(v.v00, v.v01, v.v10, v.v11); });
  }
  const int half = doubles ? 1 : 0;
  const auto load = [&](int a, int b, int lane) { return from.cell(a >> half, b >> half)[lane]; };
  face_move::move<4>(stretch, load, [&](double v) { return divides ? face_quarter(v) : v; });
}

}  // namespace

void launch_faces(const BlockLayout& layout, const FaceJob* jobs, int count, const support::DeviceSlots& blocks,
                  const double* received, double* out, const support::CudaStream& stream) {
  if (count == 0) return;
  Parameters p{};
  p.block = layout, p.jobs = jobs, p.count = count, p.blocks = blocks, p.received = received, p.out = out;
  p.by_lanes = Divider(layout.lanes);
  int most = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int na = layout.cells[layout.face_axis_a(axis)], nb = layout.cells[layout.face_axis_b(axis)];
    p.whole[axis] = Cells(na, nb);
    p.quarter[axis] = Cells(na / 2, nb / 2);
    most = std::max(most, na * nb * layout.lanes);
  }
  face_kernel<<<face_move::grid_of(count, layout.chunks, most), face_move::kWarps * face_move::kWarp, 0,
                stream.get()>>>(p);
  support::cuda_check_launch("faces");
}

}  // namespace amrbench::kernels
