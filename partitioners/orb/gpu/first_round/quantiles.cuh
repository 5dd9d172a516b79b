#pragma once
// Fractions by quantiles: coordinates that the first round takes instead of the points' own where too many points would
// meet its brackets. Internal to OrbGpu.
//
// In:  points, however they lie. Out: for each point and axis a fraction in [0, 1].
// The idea. A fraction says about what part of all points stands before the point in rule 1's order along the axis,
// which is that of its coordinate, then of the others, then of its number. A sample's coordinates are sorted along each
// axis; some of them, the quantiles, lie in shared memory, and a binary search finds the last one at or before a
// point's. Between two quantiles the share rises in proportion to the coordinate. A coordinate that several quantiles
// have, as many points have it, has the stretch from the first to the last of them, and where its points stand in there
// is what the share on the next axis says, and at last their number. Fractions never fall along rule 1's order, which
// is all that exact cuts need.
#include <algorithm>
#include <cub/device/device_merge_sort.cuh>

#include "partitioners/orb/gpu/first_round/walk.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/rules.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Points of the sample, and how many of their coordinates along an axis are quantiles.
constexpr std::uint32_t kQuantileSample = 1U << 15U;
template <class T>
constexpr std::uint32_t kQuantiles = sizeof(T) == sizeof(float) ? 4096 : 2048;

/// A coordinate of the sample.
template <class T>
struct SampledCoordinate {
  T x;
  std::uint32_t axis;
};

/// What tells fractions from points, and coordinates from fractions. sorted null: fractions are the coordinates
/// themselves.
template <class T, int Dim>
struct QuantileTable {
  static constexpr std::uint32_t kCount = kQuantiles<T>;
  static constexpr std::uint32_t kEach = kQuantileSample / kCount;
  const SampledCoordinate<T>* sorted = nullptr;  ///< [axis][kQuantileSample]

  /// The coordinate at a fraction.
  [[nodiscard]] __device__ T coordinate(float fraction, int axis) const {
    if (sorted == nullptr) return static_cast<T>(fraction);
    const auto along = sorted + std::uint64_t(axis) * kQuantileSample;
    const float at = fraction * static_cast<float>(kCount);
    const auto k = min(static_cast<std::uint32_t>(at), kCount - 1U);
    const auto from = ordered_bits(along[k * kEach].x);
    const auto to = ordered_bits(along[min((k + 1) * kEach, kQuantileSample - 1U)].x);
    const double share = static_cast<double>(at - static_cast<float>(k));
    return from_ordered_bits(static_cast<decltype(from)>(from + share * static_cast<double>(to - from)));
  }
};

/// Where a sample of the fractions goes that has of each of kStrata stretches along an axis as large a share as of the
/// others, but for a point a thread block. Where axes go together, errors of all cuts above a cell are errors of its
/// own cut, and those of such a sample are small at all levels.
struct StratifiedSample {
  static constexpr std::uint32_t kStrata = 512;
  static constexpr std::uint32_t kOne = 1U << 12U;  ///< shares of points of the sample are multiples of its inverse
  float* points = nullptr;                          ///< Dim values each
  std::uint16_t* nodes = nullptr;                   ///< 0; 1 where there is a point afterwards
  std::uint32_t size = 0;
  int axis = 0;
  const std::uint64_t* weights = nullptr;  ///< of the points; null: each stands for as many as the others
  std::uint64_t weight = 0;                ///< of all
  std::uint32_t room = 0;                  ///< of a thread block; set by Quantiles, as what follows
  float share = 0;                         ///< of a point, or of a weight of 1, in parts of kOne
};

constexpr int kSpreadThreads = 1024;
/// Points that a block takes at a time.
constexpr std::uint64_t kSpreadTile = std::uint64_t{kSpreadThreads} * 4;
/// Where quantile k lies. A search looks at quantiles that are powers of two apart: they lie in different banks.
__host__ __device__ constexpr std::uint32_t quantile_slot(std::uint32_t k) {
  return k + k / 32 + k / 1024;
}
/// A quantile more than there are: the end of the last one's stretch.
template <class T>
constexpr std::uint32_t kQuantileSlots = quantile_slot(kQuantiles<T>) + 1;
template <class T, int Dim>
constexpr std::size_t kSpreadShared = Dim* kQuantileSlots<T>*(sizeof(T) + sizeof(std::uint16_t));

/// The coordinates of a point at random out of each of equal stretches.
template <class T, int Dim>
__global__ void quantile_sample_kernel(const T* __restrict__ points, std::uint64_t n, SampledCoordinate<T>* samples) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint64_t at = sample_position(i, n, kQuantileSample);
  for (std::uint32_t a = 0; a < Dim; ++a) samples[a * kQuantileSample + i] = {points[at * Dim + a], a};
}

/// Quantiles in shared memory.
template <class T, int Dim>
struct SharedQuantiles {
  static constexpr std::uint32_t kCount = kQuantiles<T>, kStride = kQuantileSlots<T>;
  T* x;                  ///< [axis][slot]
  std::uint16_t* first;  ///< of each quantile the first one that is equal

  __device__ explicit SharedQuantiles(unsigned char* memory)
      : x(reinterpret_cast<T*>(memory)), first(reinterpret_cast<std::uint16_t*>(memory + Dim * kStride * sizeof(T))) {}
  __device__ void load(const SampledCoordinate<T>* sorted) const {
    for (std::uint32_t axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k <= kCount; k += kSpreadThreads) {
        const std::uint32_t at = min(k * QuantileTable<T, Dim>::kEach, kQuantileSample - 1U);
        x[axis * kStride + quantile_slot(k)] = sorted[axis * kQuantileSample + at].x;
      }
    __syncthreads();
    for (std::uint32_t axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k < kCount; k += kSpreadThreads) {
        const T* const along = x + axis * kStride;
        std::uint32_t low = 0;  // how many are below
        for (std::uint32_t step = kCount / 2; step > 0; step /= 2)
          if (along[quantile_slot(low + step - 1)] < along[quantile_slot(k)]) low += step;
        first[axis * kStride + quantile_slot(k)] = static_cast<std::uint16_t>(low);
      }
  }
  /// Where a coordinate stands among the quantiles: the stretch from `begin` on of that width.
  __device__ void find(T p, int axis, float& begin, float& width) const {
    const T* const along = x + axis * kStride;
    std::uint32_t k = 0;
    std::uint32_t slot = 0;  // of k; steps have other bits than k, so slots add up, too
#pragma unroll
    for (std::uint32_t step = kCount / 2; step > 0; step /= 2) {
      const bool further = along[slot + quantile_slot(step)] <= p;
      k += further ? step : 0U;
      slot += further ? quantile_slot(step) : 0U;
    }
    const OrderKey<T> key = ordered_bits(p);
    const OrderKey<T> from = ordered_bits(along[slot]);
    const OrderKey<T> to = ordered_bits(along[quantile_slot(k + 1)]);
    const std::uint32_t same = first[axis * kStride + slot];
    const float share = __fdividef(static_cast<float>(key - from), static_cast<float>(to - from));
    const float between = key <= from ? 0.0F : key >= to ? 1.0F : fminf(share, 1.0F);
    begin = key == from ? static_cast<float>(same) : static_cast<float>(k) + between;
    width = key == from ? static_cast<float>(k - same) : 0.0F;
  }
  /// p: a point's coordinates, then its fractions. number: its number's share of all.
  __device__ void fractions(T (&p)[Dim], float number) const {
    float begin[Dim], width[Dim];
#pragma unroll
    for (int a = 0; a < Dim; ++a) find(p[a], a, begin[a], width[a]);
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis) {
      float fraction = number;
#pragma unroll
      for (int stage = Dim - 1; stage >= 0; --stage) {
        const int a = axis_of_stage<T, Dim>(axis, stage);
        fraction = __fmaf_rn(width[a], fraction, begin[a]) * (1.0F / kCount);
      }
      p[axis] = fraction;
    }
  }
};

/// Takes a point of these fractions where it is the turn of its stratum, whose shares the block counts; one of a
/// large share more than once. taken: of the block's room. here: there is a point. All threads of the warp call.
template <class T, int Dim>
__device__ inline void take_for_sample(const StratifiedSample& sample, std::uint64_t weight, bool here,
                                       const T (&x)[Dim], std::uint32_t* shares, std::uint32_t* taken) {
  float c[Dim];
  as_floats(x, c);
  const float at = on_axis<Dim>(c, static_cast<std::uint32_t>(sample.axis)) * StratifiedSample::kStrata;
  const std::uint32_t stratum =
      here ? min(static_cast<std::uint32_t>(at), StratifiedSample::kStrata - 1U) : StratifiedSample::kStrata;
  auto share = static_cast<std::uint32_t>(sample.share + 0.5F);
  std::uint32_t before = 0;
  if (sample.weights != nullptr) {
    share = here ? __float2uint_rn(static_cast<float>(weight) * sample.share) : 0U;
    before = atomicAdd(&shares[stratum], share);
  } else {
    const unsigned same = __match_any_sync(kFull, stratum);  // neighbours often are of one
    const auto lower = static_cast<unsigned>(__popc(same & ((1U << (threadIdx.x & 31U)) - 1U)));
    if (lower == 0) before = atomicAdd(&shares[stratum], share * static_cast<unsigned>(__popc(same)));
    before = __shfl_sync(kFull, before, __ffs(static_cast<int>(same)) - 1) + share * lower;
  }
  std::uint32_t copies = (before + share) / StratifiedSample::kOne - before / StratifiedSample::kOne;
  if (!here || copies == 0) return;
  const bool heavy = copies >= kHeavyCopies;
  for (std::uint32_t place = atomicAdd(taken, copies); copies > 0 && place < sample.room; ++place, --copies) {
    const std::uint32_t to = blockIdx.x * sample.room + place;
#pragma unroll
    for (int a = 0; a < Dim; ++a) sample.points[std::uint64_t{to} * Dim + a] = c[a];
    sample.nodes[to] = static_cast<std::uint16_t>(heavy ? 1U | kHeavyNode : 1U);
  }
}

/// Fractions of all points. Blocks stay, one a multiprocessor. Bytes a point: 24 of 12.
template <class T, int Dim>
__global__ void __launch_bounds__(kSpreadThreads, 1)
    spread_kernel(const T* __restrict__ points, std::uint64_t n, const QuantileTable<T, Dim> table,
                  const StratifiedSample sample, T* __restrict__ fractions) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ std::uint32_t shares[StratifiedSample::kStrata + 1], taken;
  const SharedQuantiles<T, Dim> quantiles(memory);
  quantiles.load(table.sorted);
  for (std::uint32_t k = threadIdx.x; k < StratifiedSample::kStrata; k += kSpreadThreads)  // begins at random
    shares[k] = static_cast<std::uint32_t>(support::splitmix64(blockIdx.x * StratifiedSample::kStrata + k)) %
                StratifiedSample::kOne;
  if (threadIdx.x == 0) taken = 0;
  __syncthreads();
  const float step = 1.0F / static_cast<float>(n);
  for (std::uint64_t begin = blockIdx.x * kSpreadTile; begin < n; begin += gridDim.x * kSpreadTile) {
    const std::uint64_t i = begin + threadIdx.x * std::uint64_t{4};
    T x[4][Dim];
    load_four<T, Dim>(points, i, n, x);
    std::uint64_t weight[4][1];
    if (sample.weights != nullptr) load_four<std::uint64_t, 1>(sample.weights, i, n, weight);
#pragma unroll
    for (int j = 0; j < 4; ++j) quantiles.fractions(x[j], static_cast<float>(static_cast<std::uint32_t>(i) + j) * step);
#pragma unroll
    for (int j = 0; j < 4; ++j) take_for_sample<T, Dim>(sample, weight[j][0], i + j < n, x[j], shares, &taken);
    store_four<T, Dim>(fractions, i, n, x);
  }
}

/// By axis, then by coordinate.
template <class T>
struct CoordinateBefore {
  __device__ bool operator()(const SampledCoordinate<T>& p, const SampledCoordinate<T>& q) const {
    return p.axis != q.axis ? p.axis < q.axis : p.x < q.x;
  }
};

template <class T, int Dim>
class Quantiles {
 public:
  explicit Quantiles(const support::CudaStream& stream) : stream_(stream) {}

  /// Fractions of n points, Dim values each. Both aligned to 16 bytes. sample: taken on the way.
  void spread(const T* points, std::uint64_t n, T* fractions, StratifiedSample sample) {
    const cudaStream_t stream = stream_.get();
    sorted_.resize_discard(std::size_t{kQuantileSample} * Dim);
    quantile_sample_kernel<T, Dim><<<kQuantileSample / 256, 256, 0, stream>>>(points, n, sorted_.data());
    cuda_check_launch("quantile_sample_kernel");
    with_room(temporary_, "DeviceMergeSort", [&](void* room, std::size_t& bytes) {
      return cub::DeviceMergeSort::SortKeys(room, bytes, sorted_.data(), Dim * kQuantileSample, CoordinateBefore<T>{},
                                            stream);
    });
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

  [[nodiscard]] QuantileTable<T, Dim> table() const { return {sorted_.data()}; }

 private:
  const support::CudaStream& stream_;
  support::DeviceBuffer<SampledCoordinate<T>> sorted_;
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
