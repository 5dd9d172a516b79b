#include <algorithm>
#include <cub/device/device_merge_sort.cuh>

#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpu/wide/quantiles.cuh"
#include "partitioners/orb/gpu/wide/quantiles.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::cuda_check;
using support::cuda_check_launch;

/// By axis, then by coordinate.
template <class T>
struct Before {
  __device__ bool operator()(const SampledCoordinate<T>& p, const SampledCoordinate<T>& q) const {
    return p.axis != q.axis ? p.axis < q.axis : p.x < q.x;
  }
};

}  // namespace

template <class T, int Dim>
void Quantiles<T, Dim>::spread(const T* points, std::uint64_t n, T* fractions, StratifiedSample sample) {
  const cudaStream_t stream = stream_.get();
  sorted_.resize_discard(std::size_t{kQuantileSample} * Dim);
  quantile_sample_kernel<T, Dim><<<kQuantileSample / 256, 256, 0, stream>>>(points, n, sorted_.data());
  cuda_check_launch("quantile_sample_kernel");
  const auto sort = [&](void* room, std::size_t& bytes) {
    cuda_check(cub::DeviceMergeSort::SortKeys(room, bytes, sorted_.data(), Dim * kQuantileSample, Before<T>{}, stream),
               "DeviceMergeSort");
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  temporary_.resize_discard(bytes);
  sort(temporary_.data(), bytes);
  const unsigned blocks = multiprocessors();
  const std::uint64_t most = ((n - 1) / (kSpreadTile * blocks) + 1) * kSpreadTile;  // points of a block
  sample.room = sample.size / blocks;
  // Some room is left, for strata are rounded up and down.
  sample.share = static_cast<float>(std::max(sample.room - 64.0, 1.0) / static_cast<double>(most));
  if (sample.weights != nullptr) sample.share *= static_cast<float>(static_cast<double>(n) / sample.weight);
  sample.share *= StratifiedSample::kOne;
  allow_shared(spread_kernel<T, Dim>, kSpreadShared<T, Dim>);
  spread_kernel<T, Dim>
      <<<blocks, kSpreadThreads, kSpreadShared<T, Dim>, stream>>>(points, n, table(), sample, fractions);
  cuda_check_launch("spread_kernel");
}

template class Quantiles<float, 2>;
template class Quantiles<float, 3>;
template class Quantiles<double, 2>;
template class Quantiles<double, 3>;

}  // namespace amrbench::partitioners::gpu
