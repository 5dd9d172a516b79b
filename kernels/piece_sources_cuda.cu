#include "kernels/piece_sources_cuda.hpp"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256;

__device__ std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + static_cast<std::int64_t>(threadIdx.x);
}

__global__ void __launch_bounds__(kThreads) row_kernel(const __grid_constant__ PieceFinder finder, const Beside* beside,
                                                       std::int64_t count, PieceSource* sources) {
  const std::int64_t t = thread_number();
  if (t >= count) return;
  const auto block = static_cast<std::int32_t>(t / 9);
  const int row = static_cast<int>(t - std::int64_t{block} * 9);
  finder.row(beside, block, row % 3 - 1, row / 3 - 1, sources + 3 * t);
}

__global__ void __launch_bounds__(kThreads)
    octet_kernel(const OctetPlace* octets, std::int64_t count, const PieceSource* sources, PieceSource* octet_sources) {
  const std::int64_t t = thread_number();
  if (t < count) octet_sources[t] = sources[octets[t / 64].piece(static_cast<int>(t % 64))];
}

unsigned int thread_blocks(std::int64_t count) {
  return static_cast<unsigned int>((count + kThreads - 1) / kThreads);
}

}  // namespace

void launch_piece_sources(const PieceFinder& finder, const Beside* beside, int blocks, PieceSource* sources,
                          const support::CudaStream& stream) {
  const std::int64_t count = std::int64_t{9} * blocks;
  if (count == 0) return;
  row_kernel<<<thread_blocks(count), kThreads, 0, stream.get()>>>(finder, beside, count, sources);
  support::cuda_check_launch("pieces around blocks");
}

void launch_octet_sources(const OctetPlace* octets, int count, const PieceSource* sources, PieceSource* octet_sources,
                          const support::CudaStream& stream) {
  const std::int64_t pieces = std::int64_t{64} * count;
  if (pieces == 0) return;
  octet_kernel<<<thread_blocks(pieces), kThreads, 0, stream.get()>>>(octets, pieces, sources, octet_sources);
  support::cuda_check_launch("pieces around octets");
}

}  // namespace amrbench::kernels
