#include <cmath>

#include "partitioners/orb/gpu_wide_sample.cuh"
#include "partitioners/orb/gpu_wide_sample.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::cuda_check_launch;

/// Points from which on the blocks' own histograms of the upper levels are worth adding up.
constexpr std::uint32_t kManySamples = 1U << 15U;

std::uint32_t samples_of(std::uint64_t n, int levels, double share) {
  // Time of the sample, which rises with its size, against that of the points in brackets, which falls with its root.
  const double best = 31.2 * std::pow(static_cast<double>(n), 2.0 / 3.0);
  // Cuts so exact that sides of cells which are equally long in truth are so in the sample: with 49000 points in a cell
  // three levels above the last, sides are wrong by 0.6 %, a seventh of the usual tolerance over the root of 2.
  const auto level = static_cast<unsigned>(levels - 1);
  const auto exact = static_cast<double>(std::uint64_t{6144} << level);
  const auto least = static_cast<double>(std::uint64_t{4 * kWideSegment} << level);
  const double wanted = std::max(share * std::max(best, exact), least);
  return static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(n)));
}

/// The sample goes back up to the cells that are cut once more; 0: no such cell is above.
__global__ void wide_restart_kernel(const std::uint16_t* __restrict__ start, std::uint32_t m,
                                    std::uint16_t* __restrict__ node) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) node[i] = start[node[i]];
}

}  // namespace

bool wide_suits(std::uint64_t n, const OrbGpuOptions& options) {
  if (!options.tuning.wide || options.leaves < 2) return false;
  return n >= std::uint64_t{4 * kWideSegment} << static_cast<unsigned>(wide_levels(options.leaves) - 1);
}

template <class T, int Dim>
WideSample<T, Dim>::WideSample(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream)
    : n_(n),
      side_tolerance_(options.side_tolerance),
      stream_(stream),
      levels_(wide_levels(options.leaves)),
      size_(samples_of(n, levels_, options.tuning.samples)) {
  const std::size_t padded = (std::size_t{size_} + 3) / 4 * 4;
  points_.resize_discard(padded * Dim);
  nodes_.resize_discard(padded);
  bins_.resize_discard(kGuessBins);
  table_.resize_discard(kWideInner);
  splits_.resize_discard(kWideNodes);
  guesses_.resize_discard(kWideNodes);
  allow_shared(wide_count_upper_kernel<Dim>, kUpperBins * sizeof(std::uint32_t));
}

template <class T, int Dim>
void WideSample<T, Dim>::start(const OrbBox<T, Dim>& box, std::uint32_t leaves) {
  clear(guesses_, kWideNodes, stream_);
  clear(splits_, kWideNodes, stream_);
  clear(nodes_, nodes_.size(), stream_);
  wide_start_kernel<T, Dim><<<blocks_of(kWideInner, 256), 256, 0, stream_.get()>>>(
      box, leaves, side_tolerance_, guesses_.data(), splits_.data(), table_.data());
  cuda_check_launch("wide_start_kernel");
}

template <class T, int Dim>
void WideSample<T, Dim>::take(const T* points) {
  wide_sample_kernel<T, Dim>
      <<<blocks_of(size_, 256), 256, 0, stream_.get()>>>(points, n_, size_, points_.data(), nodes_.data());
  cuda_check_launch("wide_sample_kernel");
}

template <class T, int Dim>
void WideSample<T, Dim>::restart(const std::uint16_t* start) {
  wide_restart_kernel<<<blocks_of(size_, 256), 256, 0, stream_.get()>>>(start, size_, nodes_.data());
  cuda_check_launch("wide_restart_kernel");
}

template <class T, int Dim>
void WideSample<T, Dim>::guess(int first_level, float sigmas) {
  const cudaStream_t stream = stream_.get();
  for (int level = first_level; level < levels_; ++level) {
    const unsigned level_nodes = 1U << static_cast<unsigned>(level);
    clear(bins_, std::size_t{level_nodes} * guess_bins(level), stream_);
    if (level < kUpperLevels && size_ >= kManySamples)
      wide_count_upper_kernel<Dim><<<std::min(blocks_of(size_, 4 * kUpperThreads), multiprocessors()), kUpperThreads,
                                     kUpperBins * sizeof(std::uint32_t), stream>>>(
          points_.data(), size_, level, splits_.data(), nodes_.data(), bins_.data());
    else
      wide_count_kernel<Dim><<<blocks_of(size_, 4 * 256), 256, 0, stream>>>(
          points_.data(), size_, level, splits_.data(), nodes_.data(), bins_.data());
    cuda_check_launch("wide_count_kernel");
    wide_guess_kernel<T, Dim><<<level_nodes, kGuessThreads, 0, stream>>>(
        level, sigmas, side_tolerance_, bins_.data(), guesses_.data(), splits_.data(), table_.data());
    cuda_check_launch("wide_guess_kernel");
  }
}

template class WideSample<float, 2>;
template class WideSample<float, 3>;
template class WideSample<double, 2>;
template class WideSample<double, 3>;

}  // namespace amrbench::partitioners::gpu
