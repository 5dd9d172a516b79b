#pragma once
// What the files of the 7-point average on a GPU share on the host side: how a setting is found, how the pieces of work
// are numbered, how a kernel is launched. Included by average7_*.cu and average7_*.cuh only; words as in
// average7_cuda.hpp.
#include <algorithm>

#include "kernels/average7/average7_cuda.hpp"
#include "kernels/device_vector.cuh"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail {

/// A launch; with `facts` nothing is launched and the facts are filled in.
struct Average7Call {
  const BlockLayout& layout;
  const Average7Job& job;
  const Average7Options& options;
  bool summing = false;
  cudaStream_t stream = nullptr;
  Average7Facts* facts = nullptr;
};

/// Launch the setting that call.options names, where there is one (and do nothing for a job of no blocks without
/// facts); return how many settings there are for the layout.
int call_march_narrow(const Average7Call& call);  // average7_cuda_march_narrow.cu
int call_march_wide(const Average7Call& call);    // average7_cuda_march_wide.cu
int call_group(const Average7Call& call);         // average7_cuda_group.cu
int call_planes(const Average7Call& call);        // average7_cuda_planes.cu
int call_ring(const Average7Call& call);          // average7_cuda_ring.cu

/// ring is for planes of 6 rows and more; where lanes are odd a row needs a thread for each value beside it.
inline bool ring_serves(const BlockLayout& layout) {
  constexpr int kLeastRows = 6, kLeastCells = 4;
  return layout.cells[1] >= kLeastRows && (layout.lanes % 2 == 0 || layout.cells[0] >= kLeastCells);
}
/// group as it serves a layout best; automatic where it does not.
Average7Options best_group(const BlockLayout& layout);  // average7_cuda_group.cu

/// Bytes of shared memory that a multiprocessor has for its thread blocks, and a thread block at most, 9.0.
inline constexpr int kSharedRoom = 227 * 1024;

/// The settings of a kernel for one layout: a list of shapes.
template <class... Shapes>
struct Settings {};

/// Calls launch<Shape, Sum>() for the setting that call.options names. Returns the number of settings.
template <class... Shapes, class Launch>
int call_setting(Settings<Shapes...> /*list*/, const Average7Call& call, const Launch& launch) {
  if (call.job.count == 0 && call.facts == nullptr) return sizeof...(Shapes);
  int number = 0;
  const auto consider = [&]<class Shape>(const Shape*) {
    if (number++ != call.options.setting) return;
    if (call.summing)
      launch.template operator()<Shape, true>();
    else
      launch.template operator()<Shape, false>();
  };
  (consider(static_cast<const Shapes*>(nullptr)), ...);
  return sizeof...(Shapes);
}

/// The parameters of a kernel whose thread blocks take a piece each (average7_cuda.hpp).
struct PieceParameters {
  Average7Job job;
  WorkOrder order;
  unsigned int pieces = 0;  ///< order.count()
  unsigned int ahead = 0;   ///< pieces from the present one to the one that is prefetched; 0 = none
  bool each_arrives = false;
};

inline PieceParameters piece_parameters(const Average7Call& call, int blocks_a_piece) {
  const Average7Options& options = call.options;
  PieceParameters p{call.job, {}, 0, 0, options.each_arrives};
  p.order.groups = (call.job.count + blocks_a_piece - 1) / blocks_a_piece;
  p.order.chunks = call.layout.chunks;
  p.order.tile = options.tile <= 0 ? std::max(1, p.order.groups) : std::max(1, options.tile / blocks_a_piece);
  p.pieces = static_cast<unsigned int>(checked_pieces(p.order.count()));
  const std::size_t bytes = call.layout.chunk_values() * sizeof(double) * blocks_a_piece;
  p.ahead = static_cast<unsigned int>((options.ahead_bytes + bytes - 1) / bytes);
  return p;
}

/// Prefetches, for the piece that comes `ahead` after this one, the chunk of its block number `item`, or of that chunk
/// part `part` of `parts`. Reading the block's entry for this brings the entry into the cache, too.
__device__ inline void prefetch_piece(const PieceParameters& p, unsigned int piece, int blocks_a_piece, int item,
                                      int chunk_values, int part = 0, int parts = 1) {
  const unsigned int number = piece + p.ahead;
  if (p.ahead == 0 || number >= p.pieces) return;
  const WorkOrder::Place place = p.order.place(number);
  const int block = place.group * blocks_a_piece + item, values = chunk_values / parts;
  if (block >= p.job.count) return;
  const long long first = static_cast<long long>(place.chunk) * chunk_values + part * values;
  support::prefetch_bulk(p.job.in.at(p.job.blocks[block].in) + first,
                         static_cast<std::uint32_t>(values * sizeof(double)));
}

/// Launches `grid` thread blocks, in clusters where options ask for them and the device has such. Their number is
/// rounded up to whole clusters; thread blocks beyond the last piece return at once. Of the two scheduling policies
/// "load balancing" is the faster one (results/reference/h200/stencil_4x40.txt).
template <class Kernel, class Parameters>
void launch_pieces(const Average7Call& call, Kernel kernel, const Parameters& p, unsigned int grid, int threads,
                   std::size_t bytes) {
  constexpr int kHasClusters = 90;  // compute capability, times ten
  const bool clusters = call.options.cluster > 1 && support::current_device_shape().capability >= kHasClusters;
  const auto cluster = static_cast<unsigned int>(clusters ? call.options.cluster : 1);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = cluster;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
  attributes[1].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicyLoadBalancing;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((grid + cluster - 1) / cluster * cluster);
  config.blockDim = dim3(static_cast<unsigned int>(threads));
  config.dynamicSmemBytes = bytes;
  config.stream = call.stream;
  config.attrs = attributes;
  config.numAttrs = clusters ? 2 : 0;
  support::cuda_check(cudaLaunchKernelEx(&config, kernel, p), "cudaLaunchKernelEx");
}

template <class Kernel>
void fill_facts(Average7Facts& facts, Kernel kernel, int threads, std::size_t shared_bytes) {
  cudaFuncAttributes attributes{};
  support::cuda_check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  facts.threads = threads;
  facts.registers = attributes.numRegs;
  facts.spilled_bytes = static_cast<int>(attributes.localSizeBytes);
  facts.shared_bytes = shared_bytes + attributes.sharedSizeBytes;
  support::cuda_check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts.thread_blocks, kernel, threads, shared_bytes),
      "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
}

/// Lets a kernel have `bytes` of shared memory.
template <class Kernel>
void allow_shared(Kernel kernel, std::size_t bytes) {
  support::cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "cudaFuncSetAttribute");
}

/// Values read from the second-level cache for each value of a cube, counted in whole sectors of 4 doubles: the cube
/// once, and of its faces across x, y and z the given shares (1 = both faces as a whole).
inline double l2_values(int lanes, int cells, double share_x, double share_y, double share_z) {
  constexpr int kSector = 4;
  const double run = static_cast<double>((lanes + kSector - 1) / kSector * kSector) / lanes;
  return 1.0 + 2.0 * (run * share_x + share_y + share_z) / cells;
}

}  // namespace amrbench::kernels::detail
