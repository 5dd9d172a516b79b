#include <cub/device/device_radix_sort.cuh>

#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpu/wide/quantiles.cuh"
#include "partitioners/orb/gpu/wide/quantiles.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::cuda_check;
using support::cuda_check_launch;

constexpr unsigned kSampleBlocks = kQuantileSample / 256;

}  // namespace

template <class T, int Dim>
bool Quantiles<T, Dim>::available() {
  return has_shared(kSpreadShared<T, Dim>);
}

/// The sample in rule 1's order along each axis: stable sorts, the last of the coordinates first.
template <class T, int Dim>
void Quantiles<T, Dim>::sort() {
  using Key = std::conditional_t<sizeof(T) == sizeof(float), std::uint32_t, std::uint64_t>;
  const cudaStream_t stream = stream_.get();
  for (int k = 0; k < 2; ++k) {
    keys_[k].resize_discard(kQuantileSample);
    order_[k].resize_discard(kQuantileSample);
  }
  cub::DoubleBuffer<Key> keys(reinterpret_cast<Key*>(keys_[0].data()), reinterpret_cast<Key*>(keys_[1].data()));
  cub::DoubleBuffer<std::uint32_t> order(order_[0].data(), order_[1].data());
  constexpr int kBits = 8 * static_cast<int>(sizeof(Key));
  const auto sort_pairs = [&](void* room, std::size_t& bytes) {
    cuda_check(cub::DeviceRadixSort::SortPairs(room, bytes, keys, order, kQuantileSample, 0, kBits, stream),
               "DeviceRadixSort");
  };
  std::size_t bytes = 0;
  sort_pairs(nullptr, bytes);
  temporary_.resize_discard(bytes);
  for (int axis = 0; axis < Dim; ++axis) {
    write_numbers(order.Current(), kQuantileSample, stream_);
    for (int stage = Dim - 1; stage >= 0; --stage) {
      quantile_keys_kernel<T, Dim><<<kSampleBlocks, 256, 0, stream>>>(
          sample_.data(), order.Current(), axis_of_stage<T, Dim>(axis, stage), keys.Current());
      cuda_check_launch("quantile_keys_kernel");
      sort_pairs(temporary_.data(), bytes);
    }
    quantile_gather_kernel<T, Dim><<<kSampleBlocks, 256, 0, stream>>>(
        sample_.data(), order.Current(), sorted_.data() + std::size_t{kQuantileSample} * axis);
    cuda_check_launch("quantile_gather_kernel");
  }
}

template <class T, int Dim>
void Quantiles<T, Dim>::spread(const T* points, std::uint64_t n, T* fractions) {
  const cudaStream_t stream = stream_.get();
  sample_.resize_discard(kQuantileSample);
  sorted_.resize_discard(std::size_t{kQuantileSample} * Dim);
  quantile_sample_kernel<T, Dim><<<kSampleBlocks, 256, 0, stream>>>(points, n, sample_.data());
  cuda_check_launch("quantile_sample_kernel");
  sort();
  allow_shared(spread_kernel<T, Dim>, kSpreadShared<T, Dim>);
  spread_kernel<T, Dim>
      <<<multiprocessors(), kSpreadThreads, kSpreadShared<T, Dim>, stream>>>(points, n, table(), fractions);
  cuda_check_launch("spread_kernel");
}

template class Quantiles<float, 2>;
template class Quantiles<float, 3>;
template class Quantiles<double, 2>;
template class Quantiles<double, 3>;

}  // namespace amrbench::partitioners::gpu
