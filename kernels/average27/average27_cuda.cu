// Which kernel computes a stage, and where it finds what lies around.
#include "kernels/average27/average27_march.cuh"

namespace amrbench::kernels {

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

bool average27_takes_octets(const BlockLayout& l) {
  // Beyond these they gain nothing (results/reference/h200/octets.txt).
  const int most = l.lanes == 1 ? 16 : 14;
  const auto [least, largest] = std::minmax_element(l.cells.begin(), l.cells.end());
  return *least >= 4 && *largest <= most;
}

void launch_average27(const BlockLayout& l, const Average27Job& job, const support::CudaStream& stream) {
  if (job.count == 0) return;
  job.octets ? detail27::launch_octets(l, job, stream.get()) : detail27::launch_march<1>(l, job, stream.get());
  support::cuda_check_launch("average27");
}

}  // namespace amrbench::kernels
