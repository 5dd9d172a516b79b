#include "kernels/initial.hpp"
#include "kernels/initial_cuda.hpp"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    initial_kernel(const __grid_constant__ BlockLayout l, const RootBlock* blocks, support::DeviceSlots slots,
                   bool ones, std::uint64_t seed) {
  const RootBlock block = blocks[blockIdx.x];
  const auto values = static_cast<int>(l.chunk_values()), chunk = static_cast<int>(blockIdx.y);
  double* const to = slots.at(block.slot) + std::size_t(chunk) * values;
  for (int k = static_cast<int>(threadIdx.x); k < values; k += kThreads) {
    const int cell = k / l.lanes, row = cell / l.cells[0], variable = chunk * l.lanes + k % l.lanes;
    const std::uint64_t x = std::uint64_t(block.coord[0]) * l.cells[0] + cell % l.cells[0];
    const std::uint64_t y = std::uint64_t(block.coord[1]) * l.cells[1] + row % l.cells[1];
    const std::uint64_t z = std::uint64_t(block.coord[2]) * l.cells[2] + row / l.cells[1];
    to[k] = variable >= l.variables ? 0.0 : ones ? 1.0 : random_value(seed, variable, x, y, z);
  }
}

}  // namespace

void launch_initial(const BlockLayout& layout, const RootBlock* blocks, int count, const support::DeviceSlots& slots,
                    bool ones, std::uint64_t seed, const support::CudaStream& stream) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(layout.chunks));
  initial_kernel<<<grid, kThreads, 0, stream.get()>>>(layout, blocks, slots, ones, seed);
  support::cuda_check_launch("initial");
}

}  // namespace amrbench::kernels
