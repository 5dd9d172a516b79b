#pragma once
// Fractions of all points by the tables of quantiles.cuh. Internal to OrbGpu.
//
// In:  points, quantiles. Out: fractions, and a sample of them. Bytes a point: 24 of 12.
// The last quantile at or before a coordinate is found through buckets: the range of all quantiles has kCoarse equal
// parts, and each of them as many equal parts as every second quantile in it. A bucket never falls as its coordinate
// rises, so only quantiles of a coordinate's own bucket are compared with it. Where coordinates crowd so much that a
// bucket has many, they are searched by halves. (Halves of all quantiles took 28 ms for 2^30 points, buckets 23:
// shared memory is read in places all over it, by any way.)
#include "partitioners/orb/gpu/first_round/quantiles.cuh"

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

constexpr int kSpreadThreads = 1024;
/// Points that a block takes at a time.
constexpr std::uint64_t kSpreadTile = std::uint64_t{kSpreadThreads} * 4;
/// Equal parts of the range of all quantiles along an axis.
constexpr std::uint32_t kCoarse = 256;
template <class T>
constexpr std::uint32_t kFine = kQuantiles<T> / 2 + kCoarse;
/// A part's range, that of the quantiles in it, and its fine buckets.
struct alignas(16) CoarseBucket {
  float low, scale;
  std::uint32_t first, last;  ///< both inclusive
};
/// Rests, coordinates and stretches of one quantile more than there are, the end of the last one's stretch; buckets.
template <class T, int Dim>
constexpr std::size_t kSpreadShared = Dim*((kQuantiles<T> + 1) *
                                               (sizeof(double) + sizeof(T) + sizeof(QuantileStretch)) +
                                           kCoarse * sizeof(CoarseBucket) + (kFine<T> + 1) * sizeof(std::uint16_t));

/// Few places: over kFewPlaces points of the sample, or quantiles, of a stretch rests alone rise less than this, in
/// points or quantiles. Of points all over the stretch hardly any table of quantiles has that by chance.
constexpr float kFewPlacesRise = 0.02F;

/// Quantiles in shared memory.
template <class T, int Dim>
struct SharedQuantiles {
  using Table = QuantileTable<T, Dim>;
  static constexpr std::uint32_t kCount = Table::kCount, kStride = kCount + 1;
  using Key = OrderKey<T>;
  CoarseBucket* coarse;        ///< [axis][kCoarse]
  double* rest;                ///< [axis][kStride]: see rest_of()
  Key* key;                    ///< [axis][kStride]: of coordinates
  QuantileStretch* stretch;    ///< [axis][kStride]
  std::uint16_t* below;        ///< [axis][kFine + 1]: quantiles in lower fine buckets
  float low[Dim], scale[Dim];  ///< of the range of all quantiles
  double step;                 ///< a point's share of all
  bool few_places;             ///< rests of many quantiles are nearly alike

  __device__ SharedQuantiles(unsigned char* memory, std::uint64_t n)
      : coarse(reinterpret_cast<CoarseBucket*>(memory)),
        rest(reinterpret_cast<double*>(coarse + Dim * kCoarse)),
        key(reinterpret_cast<Key*>(rest + Dim * kStride)),
        stretch(reinterpret_cast<QuantileStretch*>(key + Dim * kStride)),
        below(reinterpret_cast<std::uint16_t*>(stretch + Dim * kStride)),
        step(1.0 / static_cast<double>(n)) {}
  /// Parts of a range, so many of equal width, by width; 0: all is in one.
  __device__ static float per_width(std::uint32_t parts, float width) {
    const float scale = static_cast<float>(parts) / width;
    return scale < 1e30F ? scale : 0.0F;
  }
  /// Which of the parts from `low` on a coordinate is in; those outside are in the first or last one.
  __device__ static std::uint32_t part_of(float c, float low, float scale, std::uint32_t last) {
    return min(__float2uint_rz((c - low) * scale), last);
  }
  __device__ std::uint32_t coarse_of(T p, int axis) const {
    return part_of(static_cast<float>(p), low[axis], scale[axis], kCoarse - 1U);
  }
  __device__ std::uint32_t fine_of(T p, int axis) const {
    const CoarseBucket b = coarse[axis * kCoarse + coarse_of(p, axis)];
    return b.first + part_of(static_cast<float>(p), b.low, b.scale, b.last - b.first);
  }
  /// Of quantile k.
  __device__ T coordinate(int axis, std::uint32_t k) const { return from_ordered_bits(key[axis * kStride + k]); }
  /// below: of each bucket and of their end, how many quantiles are in lower ones.
  template <class BucketOf>
  __device__ void count_below(int axis, std::uint32_t buckets, const BucketOf& bucket_of) {
    for (std::uint32_t k = threadIdx.x; k <= kCount; k += kSpreadThreads) {
      const std::uint32_t to = k < kCount ? bucket_of(coordinate(axis, k)) : buckets;
      for (std::uint32_t b = k > 0 ? bucket_of(coordinate(axis, k - 1)) + 1U : 0U; b <= to; ++b)
        below[axis * (kFine<T> + 1) + b] = static_cast<std::uint16_t>(k);
    }
  }
  __device__ void make_buckets() {
    for (int axis = 0; axis < Dim; ++axis) {
      low[axis] = static_cast<float>(coordinate(axis, 0));
      scale[axis] = per_width(kCoarse, static_cast<float>(coordinate(axis, kCount)) - low[axis]);
      count_below(axis, kCoarse, [&](T p) { return coarse_of(p, axis); });
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < Dim * kCoarse; i += kSpreadThreads) {
      const auto axis = static_cast<int>(i / kCoarse);
      const std::uint32_t b = i % kCoarse;
      const std::uint16_t* const begin = below + axis * (kFine<T> + 1) + b;
      const std::uint32_t first = begin[0] / 2U + b, end = begin[1] / 2U + b + 1U;
      const auto from = static_cast<float>(coordinate(axis, begin[0]));
      const auto to = static_cast<float>(coordinate(axis, max(begin[1], std::uint16_t{1}) - 1U));
      coarse[i] = {from, per_width(end - first, to - from), first, end - 1U};
    }
    __syncthreads();
    for (int axis = 0; axis < Dim; ++axis) count_below(axis, kFine<T>, [&](T p) { return fine_of(p, axis); });
  }
  __device__ void load(const Table& table) {
    const auto point = [&](std::uint32_t axis, std::uint32_t i) { return table.sorted[axis * kQuantileSample + i]; };
    for (std::uint32_t axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k <= kCount; k += kSpreadThreads) {
        key[axis * kStride + k] = ordered_bits(point(axis, Table::point_of(k)).x[axis]);
        stretch[axis * kStride + k] = table.stretches[axis * kStride + k];
      }
    __syncthreads();
    make_buckets();
    __syncthreads();
    bool few = false;
    float begin[Dim], width[Dim];
    for (int axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k < kCount; k += kSpreadThreads) {
        const std::uint32_t slot = axis * kStride + k, at = Table::point_of(k);
        const OrbPoint<T, Dim> p = point(axis, at);
        find_all(p.x, begin, width);
        rest[slot] = rest_of(begin, width, p.id * step, axis);
        if (stretch[slot].one_place == 0) continue;
        const std::uint32_t id = point(axis, at + kFewPlaces).id;
        const double rise = rest_of(begin, width, id * step, axis) - rest[slot];
        few = few || width[axis] * kQuantileSample * rise < kFewPlacesRise;
      }
    __syncthreads();
    for (int axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k < kCount; k += kSpreadThreads) {
        find(coordinate(axis, k), axis, begin[0], width[0]);
        if (static_cast<float>(k + kFewPlaces) > (begin[0] + width[0]) * kCount) continue;
        const double* const along = rest + axis * kStride;
        few = few || width[0] * kCount * (along[k + kFewPlaces] - along[k]) < kFewPlacesRise;
      }
    few_places = __syncthreads_or(few ? 1 : 0) != 0;
  }
  /// Which part of all points stands before those of a coordinate, as far as quantiles tell, and which part has it.
  __device__ void find(T p, int axis, float& begin, float& width) const {
    const Key mine = ordered_bits(p);
    const Key* const along = key + axis * kStride;
    const std::uint16_t* const bucket = below + axis * (kFine<T> + 1) + fine_of(p, axis);
    std::uint32_t first = bucket[0], last = bucket[1];           // quantiles up to p: from `first` to `last` of them
    if (first < last && along[last - 1U] <= mine) first = last;  // all; they often are alike
    while (first < last) {
      const std::uint32_t middle = (first + last) / 2;
      const bool further = along[middle] <= mine;
      first = further ? middle + 1U : first;
      last = further ? last : middle;
    }
    const std::uint32_t k = max(first, 1U) - 1U;
    const Key from = along[k], to = along[k + 1];
    const QuantileStretch same = stretch[axis * kStride + k];
    const std::uint32_t next = max(std::uint32_t{stretch[axis * kStride + k + 1].first}, same.last);
    const float share = __fdividef(static_cast<float>(mine - from), static_cast<float>(to - from));
    const float between = mine >= to ? 1.0F : fminf(share, 1.0F);
    const auto part = [](std::uint32_t points) { return static_cast<float>(points) * (1.0F / kQuantileSample); };
    begin = mine <= from ? part(same.first) : part(same.last) + between * part(next - same.last);
    width = mine == from ? part(same.last - same.first) : 0.0F;
  }
  __device__ void find_all(const T (&p)[Dim], float (&begin)[Dim], float (&width)[Dim]) const {
#pragma unroll
    for (int a = 0; a < Dim; ++a) find(p[a], a, begin[a], width[a]);
  }
  /// From 0 to 1: where a point stands among those of its coordinate on an axis, as far as the stretches on the other
  /// axes and its number tell: `share` is its number's. Of points in one place only the last digits differ.
  template <class Share>
  __device__ static Share rest_of(const float (&begin)[Dim], const float (&width)[Dim], Share share, int axis) {
#pragma unroll
    for (int stage = Dim - 1; stage > 0; --stage)
#pragma unroll
      for (int a = 0; a < Dim; ++a)
        if (axis_of_stage<T, Dim>(axis, stage) == a) share = width[a] * share + begin[a];
    return share;
  }
  /// How far a rest is into the stretch from `begin` on, all in quantiles. Rests of its place: from bottom to top.
  __device__ __noinline__ float into(int axis, float begin, float width, double mine, double bottom, double top) const {
    const auto first = static_cast<std::uint32_t>(ceilf(begin)), last = static_cast<std::uint32_t>(begin + width);
    const std::uint32_t count = last - first + 1U;  // of quantiles, at least one
    const double* const along = rest + axis * kStride + first;
    const auto between = [&](double from, double to) {
      const auto range = static_cast<float>(to - from);
      const float share = __fdividef(static_cast<float>(mine - from), range);
      return range > 0.0F ? fminf(fmaxf(share, 0.0F), 1.0F) : 0.0F;
    };
    std::uint32_t low = 0;  // so many are at or before it
    for (std::uint32_t high = count; low < high;) {
      const std::uint32_t middle = (low + high) / 2;
      if (along[middle] <= mine)
        low = middle + 1;
      else
        high = middle;
    }
    // Half of what lies beyond the outer ones is for points of their places, which may be all.
    const float before = static_cast<float>(first) - begin;
    if (low == 0) return before * 0.5F * (top >= along[0] ? 1.0F + between(bottom, along[0]) : between(0, along[0]));
    const double below = along[low - 1];
    const float so_far = before + static_cast<float>(low - 1);
    if (low < count) return so_far + between(below, along[low]);
    const float beyond = begin + width - static_cast<float>(last);
    return so_far + beyond * 0.5F * (bottom <= below ? between(below, top) : 1.0F + between(below, 1));
  }
  /// p: a point's coordinates, then its fractions.
  __device__ void fractions(T (&p)[Dim], std::uint32_t id) const {
    float begin[Dim], width[Dim];
    find_all(p, begin, width);
    const float share = fminf(static_cast<float>(id) * static_cast<float>(step), 1.0F);
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis) {
      if (!few_places)
        p[axis] = begin[axis] + width[axis] * rest_of(begin, width, share, axis);
      else if (width[axis] > 0.0F) {
        const float first = begin[axis] * kCount;
        p[axis] = (first + into(axis, first, width[axis] * kCount, rest_of(begin, width, id * step, axis),
                                rest_of(begin, width, 0.0, axis), rest_of(begin, width, 1.0, axis))) *
                  (1.0F / kCount);
      } else
        p[axis] = begin[axis];
    }
  }
};

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
