#include <algorithm>

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
///
/// A thread of a split makes 16 bytes of a row of the child, which stand for four rows: two in y times two in z come
/// from the same row of the parent. threadIdx.x is the place in the row, threadIdx.y steps over rows of the parent.
/// Most bytes are written, few are read, so what bounds it are instructions: no division a value.
__global__ void split_kernel(const __grid_constant__ BlockLayout l, const SplitJob* jobs, support::DeviceSlots blocks) {
  const SplitJob job = jobs[blockIdx.x];
  const auto chunk = static_cast<long long>(blockIdx.y) * static_cast<long long>(l.chunk_values());
  const int row = l.cells[0] * l.lanes, plane = row * l.cells[1], half_y = l.cells[1] / 2, half_z = l.cells[2] / 2;
  const double* const parent = blocks.at(job.from) + chunk + (job.octant & 1 ? row / 2 : 0) +
                               (job.octant & 2 ? half_y * row : 0) + (job.octant & 4 ? half_z * plane : 0);
  double* const child = blocks.at(job.to) + chunk;
  const int step_y = static_cast<int>(blockDim.y);
  for (int e = static_cast<int>(threadIdx.x) * 2; e < row; e += static_cast<int>(blockDim.x) * 2) {
    const int first = e / l.lanes / 2 * l.lanes + e % l.lanes;
    const int second = (e + 1) / l.lanes / 2 * l.lanes + (e + 1) % l.lanes;
    int y = static_cast<int>(threadIdx.y), z = 0;
    for (; y >= half_y; y -= half_y) ++z;
    while (z < half_z) {
      const double* const from = parent + z * plane + y * row;
      const double2 value = make_double2(cell_eighth(__ldg(from + first)), cell_eighth(__ldg(from + second)));
      double* const to = child + 2 * (z * plane + y * row) + e;
      *reinterpret_cast<double2*>(to) = value;
      *reinterpret_cast<double2*>(to + row) = value;
      *reinterpret_cast<double2*>(to + plane) = value;
      *reinterpret_cast<double2*>(to + plane + row) = value;
      y += step_y;
      for (; y >= half_y; y -= half_y) ++z;
    }
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
  // Threads along a row, and as many rows of the parent's octant as make at most kThreads, none idle in the last step.
  const int vectors = static_cast<int>(layout.row_values()) / 2, rows = layout.cells[1] * layout.cells[2] / 4;
  const int along = std::min(vectors, kThreads), most = kThreads / along, steps = (rows + most - 1) / most;
  const dim3 threads(along, (rows + steps - 1) / steps, 1);
  split_kernel<<<grid_of(layout, count), threads, 0, stream.get()>>>(layout, jobs, blocks);
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
