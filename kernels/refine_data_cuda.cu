#include <algorithm>
#include <type_traits>

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

/// Children of octants 1 to 7. Grids have a column a job, a row a chunk and a layer an octant.
///
/// Two rows in y times two in z of a child come from the same row of the parent. So a thread makes 16 bytes of a
/// child's row once and writes them to all four rows. threadIdx.x is the place in the row, threadIdx.y steps over rows
/// of the parent. Much more is written than read, so instructions are what limits it, and there is no division for each
/// value.
__global__ void split_kernel(const __grid_constant__ BlockLayout l, const SplitJob* jobs, support::DeviceSlots blocks) {
  const SplitJob& job = jobs[blockIdx.x];
  const int octant = static_cast<int>(blockIdx.z) + 1;
  const auto chunk = static_cast<long long>(blockIdx.y) * static_cast<long long>(l.chunk_values());
  const int row = l.cells[0] * l.lanes, plane = row * l.cells[1], half_y = l.cells[1] / 2, half_z = l.cells[2] / 2;
  const double* const parent = blocks.at(job.from) + chunk + (octant & 1 ? row / 2 : 0) +
                               (octant & 2 ? half_y * row : 0) + (octant & 4 ? half_z * plane : 0);
  double* const child = blocks.at(job.to[octant]) + chunk;
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

/// Threads: a quarter of a plane of the largest block.
constexpr int kQuarterPlane = kMaxBlockEdge / 2 * (kMaxBlockEdge / 2) * kMaxLanes;

/// The child of octant 0, which may take its parent's slot, so it is made after the others. Its planes are made from
/// the last to the first: a plane of the child is made of a plane of the parent at or before its own place, and all of
/// that is read before anything is written, so nothing that is still needed is overwritten. A thread block a job
/// (blockIdx.x) and chunk (blockIdx.y).
__global__ void __launch_bounds__(kThreads)
    split_first_kernel(const __grid_constant__ BlockLayout l, const SplitJob* jobs, support::DeviceSlots blocks) {
  __shared__ double quarter[kQuarterPlane];
  const SplitJob& job = jobs[blockIdx.x];
  const std::size_t chunk = std::size_t(blockIdx.y) * l.chunk_values();
  const double* const parent = blocks.at(job.from) + chunk;
  double* const child = blocks.at(job.to[0]) + chunk;
  const int hx = l.cells[0] / 2, hy = l.cells[1] / 2, plane = static_cast<int>(l.plane_values());
  for (int z = l.cells[2] / 2 - 1; z >= 0; --z) {
    for (int q = static_cast<int>(threadIdx.x); q < hx * hy * l.lanes; q += kThreads) {
      const int cell = q / l.lanes;
      quarter[q] = cell_eighth(parent[offset_of(l, z, cell / hx, cell % hx, q % l.lanes)]);
    }
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < 2 * plane; k += kThreads) {
      const Place p = place_of(k % plane, l);
      child[2 * z * plane + k] = quarter[(p.y / 2 * hx + p.x / 2) * l.lanes + p.lane];
    }
    __syncthreads();
  }
}

/// Merges. The parent may take the slot of child 0. Its planes are made from the first to the last, each of planes of
/// the children at or behind its own place; what comes from child 0 is read before the plane is written. A thread block
/// a job (blockIdx.x) and chunk (blockIdx.y).
__global__ void __launch_bounds__(kThreads)
    merge_kernel(const __grid_constant__ BlockLayout l, const MergeJob* jobs, support::DeviceSlots blocks) {
  __shared__ double quarter[kQuarterPlane];
  const MergeJob& job = jobs[blockIdx.x];
  const std::size_t chunk = std::size_t(blockIdx.y) * l.chunk_values();
  const int hx = l.cells[0] / 2, hy = l.cells[1] / 2, hz = l.cells[2] / 2;
  const int plane = static_cast<int>(l.plane_values());
  double* const parent = blocks.at(job.to) + chunk;
  const auto merged = [&](int octant, int z, int y, int x, int lane) {
    const double* const child = blocks.at(job.from[octant]) + chunk;
    return cell_sum([&](int fx, int fy, int fz) { return child[offset_of(l, z + fz, y + fy, x + fx, lane)]; });
  };
  for (int z = 0; z < l.cells[2]; ++z) {
    const int upper = z < hz ? 0 : 4, from_z = 2 * (z < hz ? z : z - hz);
    if (upper == 0) {
      for (int q = static_cast<int>(threadIdx.x); q < hx * hy * l.lanes; q += kThreads) {
        const int cell = q / l.lanes;
        quarter[q] = merged(0, from_z, 2 * (cell / hx), 2 * (cell % hx), q % l.lanes);
      }
      __syncthreads();
    }
    for (int k = static_cast<int>(threadIdx.x); k < plane; k += kThreads) {
      const Place p = place_of(k, l);
      const int octant = upper | (p.x >= hx ? 1 : 0) | (p.y >= hy ? 2 : 0);
      const int x = p.x >= hx ? p.x - hx : p.x, y = p.y >= hy ? p.y - hy : p.y;
      parent[z * plane + k] =
          octant == 0 ? quarter[(y * hx + x) * l.lanes + p.lane] : merged(octant, from_z, 2 * y, 2 * x, p.lane);
    }
    __syncthreads();
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

/// Blocks in a list of slots to or from a sequence.
template <bool Gather>
__global__ void __launch_bounds__(kThreads)
    sequence_kernel(const __grid_constant__ BlockLayout l, const std::int32_t* slots, support::DeviceSlots blocks,
                    std::conditional_t<Gather, double*, const double*> sequence) {
  const auto values = static_cast<int>(l.chunk_values());
  const std::size_t chunk = std::size_t(blockIdx.y) * values;
  double* const block = blocks.at(slots[blockIdx.x]) + chunk;
  auto* const other = sequence + blockIdx.x * l.block_values() + chunk;
  for (int k = static_cast<int>(threadIdx.x); k < values; k += kThreads) {
    if constexpr (Gather)
      other[k] = block[k];
    else
      block[k] = other[k];
  }
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
  const dim3 grid = grid_of(layout, count), octants(grid.x, grid.y, 7);
  split_kernel<<<octants, threads, 0, stream.get()>>>(layout, jobs, blocks);
  support::cuda_check_launch("split");
  split_first_kernel<<<grid, kThreads, 0, stream.get()>>>(layout, jobs, blocks);
  support::cuda_check_launch("split, octant 0");
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

void launch_gather(const BlockLayout& layout, const std::int32_t* slots, int count, const support::DeviceSlots& blocks,
                   double* sequence, const support::CudaStream& stream) {
  if (count == 0) return;
  sequence_kernel<true><<<grid_of(layout, count), kThreads, 0, stream.get()>>>(layout, slots, blocks, sequence);
  support::cuda_check_launch("gather");
}

void launch_scatter(const BlockLayout& layout, const std::int32_t* slots, int count, const support::DeviceSlots& blocks,
                    const double* sequence, const support::CudaStream& stream) {
  if (count == 0) return;
  sequence_kernel<false><<<grid_of(layout, count), kThreads, 0, stream.get()>>>(layout, slots, blocks, sequence);
  support::cuda_check_launch("scatter");
}

}  // namespace amrbench::kernels
