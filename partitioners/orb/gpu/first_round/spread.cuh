#pragma once
// Fractions of all points by the tables of quantiles.cuh. Internal to OrbGpu.
//
// In:  points, quantiles. Out: fractions, and a sample of them. Bytes a point: 24 of 12.
// spread_tables.cuh has the tables.
#include "partitioners/orb/gpu/first_round/spread_tables.cuh"

namespace amrbench::partitioners::gpu {

/// The counterpart of load_four().
template <class T, int Dim>
__device__ inline void store_four(T* __restrict__ to, std::uint64_t first, std::uint64_t n, const T (&x)[4][Dim]) {
  if (first + 4 <= n) {
    uint4 words[sizeof(x) / sizeof(uint4)];
    auto* out = reinterpret_cast<uint4*>(to + first * Dim);
    memcpy(&words, &x, sizeof(x));
#pragma unroll
    for (const uint4& word : words) *out++ = word;
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int a = 0; a < Dim; ++a)
      if (first + j < n) to[(first + j) * Dim + a] = x[j][a];
}

/// Takes a point of these fractions where it is the turn of its stratum, whose shares the block counts; one of a
/// large share more than once, heavy ones not at all. The block's room: from `taken` on, up to `end`. here: there is a
/// point. All threads of the warp call.
template <class T, int Dim>
__device__ inline void take_for_sample(const StratifiedSample& sample, std::uint64_t weight, bool here,
                                       const T (&x)[Dim], std::uint32_t* shares, std::uint32_t* taken,
                                       std::uint32_t end) {
  constexpr std::uint32_t kOne = StratifiedSample::kOne;
  float c[Dim];
  as_floats(x, c);
  const float at = on_axis<Dim>(c, static_cast<std::uint32_t>(sample.axis)) * StratifiedSample::kStrata;
  const std::uint32_t stratum =
      here ? min(static_cast<std::uint32_t>(at), StratifiedSample::kStrata - 1U) : StratifiedSample::kStrata;
  auto share = static_cast<std::uint32_t>(sample.share + 0.5F);
  std::uint32_t before = 0;
  if (sample.weights.units != nullptr) {
    const bool light = here && weight < sample.weights.heavy;
    share = light ? __float2uint_rn(static_cast<float>(weight) * sample.share) : 0U;
    before = atomicAdd(&shares[stratum], share);
  } else {
    const unsigned same = __match_any_sync(kFull, stratum);  // neighbours often are of one
    const auto lower = static_cast<unsigned>(__popc(same & ((1U << (threadIdx.x & 31U)) - 1U)));
    if (lower == 0) before = atomicAdd(&shares[stratum], share * static_cast<unsigned>(__popc(same)));
    before = __shfl_sync(kFull, before, __ffs(static_cast<int>(same)) - 1) + share * lower;
  }
  const std::uint32_t copies = here ? (before % kOne + share) / kOne : 0U;
  const std::uint32_t place = copies > 0 ? atomicAdd(taken, copies) : 0U;
  sample.put<Dim>(c, place, min(place + copies, end));
}

/// Fractions of all points. Blocks stay, one a multiprocessor, each with a stretch of the points. Bytes a point: 24 of
/// 12.
template <class T, int Dim>
__global__ void __launch_bounds__(kSpreadThreads, 1)
    spread_kernel(const T* __restrict__ points, std::uint64_t n, const QuantileTable<T, Dim> table,
                  const StratifiedSample sample, T* __restrict__ fractions) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ std::uint32_t shares[StratifiedSample::kStrata + 1], taken;
  const std::uint64_t each = ((n - 1) / (kSpreadTile * gridDim.x) + 1) * kSpreadTile;
  const std::uint64_t first = min(n, blockIdx.x * each), last = min(n, first + each);
  SharedQuantiles<T, Dim> quantiles(memory, n);
  quantiles.load(table);
  for (std::uint32_t k = threadIdx.x; k < StratifiedSample::kStrata; k += kSpreadThreads)  // begins at random
    shares[k] = static_cast<std::uint32_t>(support::splitmix64(blockIdx.x * StratifiedSample::kStrata + k)) %
                StratifiedSample::kOne;
  if (threadIdx.x == 0) taken = sample.room_of(first, n);
  const std::uint32_t end = sample.room_of(last, n);
  __syncthreads();
  for (std::uint64_t begin = first; begin < last; begin += kSpreadTile) {
    const std::uint64_t i = begin + threadIdx.x * std::uint64_t{4};
    T x[4][Dim];
    load_four<T, Dim>(points, i, n, x);
    std::uint64_t weight[4][1];
    if (sample.weights.units != nullptr) load_four<std::uint64_t, 1>(sample.weights.units, i, n, weight);
#pragma unroll
    for (int j = 0; j < 4; ++j) quantiles.fractions(x[j], static_cast<std::uint32_t>(i) + j);
#pragma unroll
    for (int j = 0; j < 4; ++j) take_for_sample<T, Dim>(sample, weight[j][0], i + j < n, x[j], shares, &taken, end);
    store_four<T, Dim>(fractions, i, n, x);
  }
}

template <class T, int Dim>
class Quantiles {
 public:
  explicit Quantiles(const support::CudaStream& stream) : stream_(stream) {}

  /// Sorts a sample of n points along each axis; aligned to 16 bytes.
  void sample(const T* points, std::uint64_t n) {
    const cudaStream_t stream = stream_.get();
    sample_.resize_discard(std::size_t{kQuantileSample} * Dim);
    sorted_.resize_discard(sample_.size());
    quantile_sample_kernel<T, Dim>
        <<<dim3(kQuantileSample / kSortedTogether<T>, Dim), kSortThreads, 0, stream>>>(points, n, sample_.data());
    cuda_check_launch("quantile_sample_kernel");
    quantile_merge_kernel<T, Dim><<<Dim * kQuantileSample / 256, 256, 0, stream>>>(sample_.data(), sorted_.data());
    cuda_check_launch("quantile_merge_kernel");
  }
  /// [axis][kQuantileSample]
  [[nodiscard]] const OrbPoint<T, Dim>* sorted() const { return sorted_.data(); }

  /// Fractions of the points that the sample is of, Dim values each; aligned to 16 bytes. sample: taken on the way.
  void spread(const T* points, std::uint64_t n, T* fractions, StratifiedSample sample) {
    const cudaStream_t stream = stream_.get();
    stretches_.resize_discard(std::size_t{Dim} * (kQuantiles<T> + 1));
    quantile_stretch_kernel<T, Dim>
        <<<blocks_of(stretches_.size(), 128), 128, 0, stream>>>(sorted_.data(), stretches_.data());
    cuda_check_launch("quantile_stretch_kernel");
    const unsigned blocks = multiprocessors();
    const double all = sample.weights.units != nullptr ? static_cast<double>(sample.weight) : static_cast<double>(n);
    sample.share = static_cast<float>(sample.taken / all * StratifiedSample::kOne);
    allow_shared(spread_kernel<T, Dim>, kSpreadShared<T, Dim>);
    spread_kernel<T, Dim>
        <<<blocks, kSpreadThreads, kSpreadShared<T, Dim>, stream>>>(points, n, table(), sample, fractions);
    cuda_check_launch("spread_kernel");
  }

  [[nodiscard]] QuantileTable<T, Dim> table() const { return {sorted_.data(), stretches_.data()}; }

 private:
  const support::CudaStream& stream_;
  support::DeviceBuffer<OrbPoint<T, Dim>> sample_, sorted_;
  support::DeviceBuffer<QuantileStretch> stretches_;
};

}  // namespace amrbench::partitioners::gpu
