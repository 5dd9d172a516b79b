#include "kernels/extensive.hpp"
#include "kernels/refine_data_cuda.hpp"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256;

/// A cell's value by its place in a chunk.
struct Place {
  int z, y, x, lane;
};
__device__ Place place_of(int k, const BlockLayout& l) {
  const int cell = k / l.lanes, row = cell / l.cells[0];
  return {row / l.cells[1], row % l.cells[1], cell % l.cells[0], k % l.lanes};
}
__device__ int offset_of(const BlockLayout& l, int z, int y, int x, int lane) {
  return ((z * l.cells[1] + y) * l.cells[0] + x) * l.lanes + lane;
}

/// Grids have a column a job and a row a chunk.
__global__ void __launch_bounds__(kThreads)
    split_kernel(const __grid_constant__ BlockLayout l, const SplitJob* jobs, support::DeviceSlots blocks) {
  const SplitJob job = jobs[blockIdx.x];
  const auto values = static_cast<int>(l.chunk_values());
  const std::size_t chunk = std::size_t(blockIdx.y) * values;
  const int x0 = job.octant & 1 ? l.cells[0] / 2 : 0, y0 = job.octant & 2 ? l.cells[1] / 2 : 0;
  const int z0 = job.octant & 4 ? l.cells[2] / 2 : 0;
  const double* const parent = blocks.at(job.from) + chunk;
  double* const child = blocks.at(job.to) + chunk;
  for (int k = static_cast<int>(threadIdx.x); k < values; k += kThreads) {
    const Place p = place_of(k, l);
    child[k] = cell_eighth(parent[offset_of(l, z0 + p.z / 2, y0 + p.y / 2, x0 + p.x / 2, p.lane)]);
  }
}

__global__ void __launch_bounds__(kThreads)
    merge_kernel(const __grid_constant__ BlockLayout l, const MergeJob* jobs, support::DeviceSlots blocks) {
  const MergeJob& job = jobs[blockIdx.x];
  const auto values = static_cast<int>(l.chunk_values());
  const std::size_t chunk = std::size_t(blockIdx.y) * values;
  double* const parent = blocks.at(job.to) + chunk;
  for (int k = static_cast<int>(threadIdx.x); k < values; k += kThreads) {
    const Place p = place_of(k, l);
    const int x = 2 * p.x, y = 2 * p.y, z = 2 * p.z;
    const int octant = (x >= l.cells[0] ? 1 : 0) | (y >= l.cells[1] ? 2 : 0) | (z >= l.cells[2] ? 4 : 0);
    const double* const child = blocks.at(job.from[octant]) + chunk;
    parent[k] = cell_sum([&](int fx, int fy, int fz) {
      return child[offset_of(l, z % l.cells[2] + fz, y % l.cells[1] + fy, x % l.cells[0] + fx, p.lane)];
    });
  }
}

__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ BlockLayout l, const CopyJob* jobs,
                                                        support::DeviceSlots source, support::DeviceSlots target) {
  const CopyJob job = jobs[blockIdx.x];
  const auto values = static_cast<int>(l.chunk_values());
  const std::size_t chunk = std::size_t(blockIdx.y) * values;
  const auto* const from = reinterpret_cast<const double2*>(source.at(job.from) + chunk);
  auto* const to = reinterpret_cast<double2*>(target.at(job.to) + chunk);
  for (int k = static_cast<int>(threadIdx.x); k < values / 2; k += kThreads) to[k] = from[k];
}

dim3 grid_of(const BlockLayout& layout, int jobs) {
  return {static_cast<unsigned int>(jobs), static_cast<unsigned int>(layout.chunks), 1};
}

}  // namespace

void launch_splits(const BlockLayout& layout, const SplitJob* jobs, int count, const support::DeviceSlots& blocks,
                   const support::CudaStream& stream) {
  if (count == 0) return;
  split_kernel<<<grid_of(layout, count), kThreads, 0, stream.get()>>>(layout, jobs, blocks);
  support::cuda_check_launch("split");
}

void launch_merges(const BlockLayout& layout, const MergeJob* jobs, int count, const support::DeviceSlots& blocks,
                   const support::CudaStream& stream) {
  if (count == 0) return;
  merge_kernel<<<grid_of(layout, count), kThreads, 0, stream.get()>>>(layout, jobs, blocks);
  support::cuda_check_launch("merge");
}

void launch_copies(const BlockLayout& layout, const CopyJob* jobs, int count, const support::DeviceSlots& source,
                   const support::DeviceSlots& target, const support::CudaStream& stream) {
  if (count == 0) return;
  copy_kernel<<<grid_of(layout, count), kThreads, 0, stream.get()>>>(layout, jobs, source, target);
  support::cuda_check_launch("copy");
}

}  // namespace amrbench::kernels
