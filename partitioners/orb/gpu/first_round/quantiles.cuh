#pragma once
// Fractions by quantiles: coordinates that the first round takes instead of the points' own where too many points would
// meet its brackets. Internal to OrbGpu.
//
// In:  points, however they lie. Out: for each point and axis a fraction in [0, 1].
// The idea. A fraction says about what part of all points stands before the point in rule 1's order along the axis,
// which is that of its coordinate, then of the others, then of its number. A sample of points is sorted so along each
// axis; coordinates of some of them, the quantiles, lie in shared memory, and a binary search finds the last one at or
// before a point's. Between two quantiles the share rises in proportion to the coordinate. A coordinate that several
// quantiles have, as many points have it, has the stretch from the sample's first to its last point there. Where a
// point stands in there follows from its rest: the share on the next axis and so on, and at last its number. The
// quantiles of the stretch have such a rest, too. Where these are far from even, as with few places, whose rests are
// all alike, the share rises between two of them in proportion to it. Fractions never fall along rule 1's order, which
// is all that exact cuts need.
#include <algorithm>
#include <cub/block/block_merge_sort.cuh>

#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/rules.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Points of the sample, and how many of them are quantiles along an axis.
constexpr std::uint32_t kQuantileSample = 1U << 15U;
template <class T>
constexpr std::uint32_t kQuantiles = sizeof(T) == sizeof(float) ? 4096 : 2048;

/// The points of the sample, sorted along an axis, that have a quantile's coordinate.
struct QuantileStretch {
  std::uint32_t first : 15, last : 15;  ///< both inclusive
  std::uint32_t one_place : 1;          ///< kFewPlaces of the sample's points behind the quantile are in its place
};

/// What tells fractions from points, and coordinates from fractions. sorted null: fractions are the coordinates
/// themselves.
template <class T, int Dim>
struct QuantileTable {
  static constexpr std::uint32_t kCount = kQuantiles<T>;
  static constexpr std::uint32_t kEach = kQuantileSample / kCount;
  const OrbPoint<T, Dim>* sorted = nullptr;    ///< [axis][kQuantileSample]
  const QuantileStretch* stretches = nullptr;  ///< [axis][kCount + 1]; the last one is that of the sample's last point

  /// The sample's point that is quantile k.
  __host__ __device__ static constexpr std::uint32_t point_of(std::uint32_t k) {
    return k < kCount ? k * kEach : kQuantileSample - 1U;
  }
  /// The coordinate at a fraction.
  [[nodiscard]] __device__ T coordinate(float fraction, int axis) const {
    if (sorted == nullptr) return static_cast<T>(fraction);
    const auto along = sorted + std::uint64_t(axis) * kQuantileSample;
    const float at = fraction * static_cast<float>(kQuantileSample);
    const auto k = min(static_cast<std::uint32_t>(at) / kEach, kCount - 1U);
    const QuantileStretch* const stretch = stretches + std::uint64_t(axis) * (kCount + 1) + k;
    const auto last = static_cast<float>(stretch[0].last), next = static_cast<float>(stretch[1].first);
    const auto from = ordered_bits(along[point_of(k)].x[axis]);
    const auto to = ordered_bits(along[point_of(k + 1)].x[axis]);
    const double share = next > last ? fminf(fmaxf((at - last) / (next - last), 0.0F), 1.0F) : 0.0F;
    return from_ordered_bits(static_cast<decltype(from)>(from + share * static_cast<double>(to - from)));
  }
};

/// Points of the sample that a block sorts, a few a thread; they fit into static shared memory.
template <class T>
constexpr std::uint32_t kSortedTogether = sizeof(T) == sizeof(float) ? 2048 : 1024;
constexpr int kSortThreads = 512;

/// A point's coordinates in the order in which rule 1 compares them along an axis.
template <class T, int Dim>
__device__ inline OrbPoint<T, Dim> by_stage(const T* __restrict__ x, int axis, std::uint32_t id) {
  OrbPoint<T, Dim> p;
#pragma unroll
  for (int stage = 0; stage < Dim; ++stage) p.x[stage] = x[axis_of_stage<T, Dim>(axis, stage)];
  p.id = id;
  return p;
}

/// The sample, a point at random out of each of equal stretches, and along each axis kSortedTogether of them at a time
/// sorted. Points by stage.
template <class T, int Dim>
__global__ void __launch_bounds__(kSortThreads)
    quantile_sample_kernel(const T* __restrict__ points, std::uint64_t n, OrbPoint<T, Dim>* sample) {
  constexpr std::uint32_t kMine = kSortedTogether<T> / kSortThreads;
  using Sort = cub::BlockMergeSort<OrbPoint<T, Dim>, kSortThreads, static_cast<int>(kMine)>;
  __shared__ typename Sort::TempStorage room;
  const std::uint32_t first = blockIdx.x * kSortedTogether<T>;
  const auto position = [&](std::uint32_t k) { return sample_position(first + k, n, kQuantileSample); };
  OrbPoint<T, Dim> mine[kMine];
#pragma unroll
  for (std::uint32_t j = 0; j < kMine; ++j) {
    // The sample's own numbers rise with those of its points, and differ where it has a point twice.
    const std::uint32_t k = j * kSortThreads + threadIdx.x;
    mine[j] = by_stage<T, Dim>(points + position(k) * Dim, static_cast<int>(blockIdx.y), k);
  }
  Sort(room).Sort(mine, [](const auto& a, const auto& b) { return orb_before(a, b, 0); });
#pragma unroll
  for (std::uint32_t j = 0; j < kMine; ++j) {
    mine[j].id = static_cast<std::uint32_t>(position(mine[j].id));
    sample[blockIdx.y * kQuantileSample + first + threadIdx.x * kMine + j] = mine[j];
  }
}

/// Merges the sorted parts: a point's place follows from its place in each of them.
template <class T, int Dim>
__global__ void quantile_merge_kernel(const OrbPoint<T, Dim>* __restrict__ sample, OrbPoint<T, Dim>* sorted) {
  constexpr std::uint32_t kPart = kSortedTogether<T>;
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x, own = k / kPart;
  const OrbPoint<T, Dim> mine = sample[k];
  const std::uint32_t axis = k / kQuantileSample, first = axis * (kQuantileSample / kPart);
  std::uint32_t place = k % kPart;
#pragma unroll 4
  for (std::uint32_t part = first; part < first + kQuantileSample / kPart; ++part) {
    const OrbPoint<T, Dim>* const along = sample + part * kPart;
    // Of a point that the sample has twice, the one in the lower part comes first.
    const auto before = [&](const OrbPoint<T, Dim>& p) {
      return part < own ? !orb_before(mine, p, 0) : orb_before(p, mine, 0);
    };
    std::uint32_t low = 0;
    for (std::uint32_t step = kPart / 2; step > 0; step /= 2)
      if (before(along[low + step - 1])) low += step;
    if (before(along[low])) ++low;
    place += part == own ? 0U : low;
  }
  OrbPoint<T, Dim>& to = sorted[axis * kQuantileSample + place];
#pragma unroll
  for (int stage = 0; stage < Dim; ++stage) to.x[axis_of_stage<T, Dim>(static_cast<int>(axis), stage)] = mine.x[stage];
  to.id = mine.id;
}

/// So many points of the sample in the place of the one before them may make it one of few places.
constexpr std::uint32_t kFewPlaces = 3;

/// A thread a quantile.
template <class T, int Dim>
__global__ void quantile_stretch_kernel(const OrbPoint<T, Dim>* __restrict__ sorted, QuantileStretch* stretches) {
  using Table = QuantileTable<T, Dim>;
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t axis = i / (Table::kCount + 1), at = Table::point_of(i % (Table::kCount + 1));
  if (axis >= Dim) return;
  const OrbPoint<T, Dim>* const along = sorted + axis * kQuantileSample;
  const T x = along[at].x[axis];
  std::uint32_t below = 0, up_to = 0;  // points below, and at or below
  for (std::uint32_t step = kQuantileSample / 2; step > 0; step /= 2) {
    if (along[below + step - 1].x[axis] < x) below += step;
    if (along[up_to + step - 1].x[axis] <= x) up_to += step;
  }
  if (along[up_to].x[axis] <= x) ++up_to;
  const std::uint32_t begin = min(at, kQuantileSample - 1U - kFewPlaces);
  bool same = true;
  for (std::uint32_t k = 1; k <= kFewPlaces; ++k)
    for (int a = 0; a < Dim; ++a) same = same && along[begin + k].x[a] == along[begin].x[a];
  stretches[i] = {below, up_to - 1U, same ? 1U : 0U};
}

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
  UnitWeights weights;       ///< of the points; null: each stands for as many as the others
  std::uint64_t weight = 0;  ///< of all that are not heavy
  double taken = 0;          ///< about so many points are taken
  float share = 0;           ///< of a point, or of a weight of 1, in parts of kOne; set by Quantiles

  /// Where points from number i on have their room, of n; i: a multiple of kWeightGroup, or n.
  [[nodiscard]] __device__ std::uint32_t room_of(std::uint64_t i, std::uint64_t n) const {
    if (i == 0 || i == n) return i == 0 ? 0 : size;
    const double part = weights.units == nullptr
                            ? static_cast<double>(i) / static_cast<double>(n)
                            : static_cast<double>(weights.ends[i / kWeightGroup - 1]) / static_cast<double>(weight);
    return static_cast<std::uint32_t>(size * part);
  }
  /// Copies of a point of these fractions.
  template <int Dim>
  __device__ void put(const float (&c)[Dim], std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t to = first; to < last; ++to) {
#pragma unroll
      for (int a = 0; a < Dim; ++a) points[std::uint64_t{to} * Dim + a] = c[a];
      nodes[to] = 1;
    }
  }
};

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
/// Where quantile k lies. A search looks at quantiles that are powers of two apart: they lie in different banks.
__host__ __device__ constexpr std::uint32_t quantile_slot(std::uint32_t k) {
  return k + k / 32 + k / 1024;
}
/// A quantile more than there are: the end of the last one's stretch.
template <class T>
constexpr std::uint32_t kQuantileSlots = quantile_slot(kQuantiles<T>) + 1;
template <class T, int Dim>
constexpr std::size_t kSpreadShared = Dim* kQuantileSlots<T>*(sizeof(T) + sizeof(double) + sizeof(QuantileStretch));

/// Few places: over kFewPlaces points of the sample, or quantiles, of a stretch rests alone rise less than this, in
/// points or quantiles. Of points all over the stretch hardly any table of quantiles has that by chance.
constexpr float kFewPlacesRise = 0.02F;

/// Quantiles in shared memory.
template <class T, int Dim>
struct SharedQuantiles {
  using Table = QuantileTable<T, Dim>;
  static constexpr std::uint32_t kCount = Table::kCount, kStride = kQuantileSlots<T>;
  static constexpr float kPoint = 1.0F / Table::kEach;  ///< of the sample, in quantiles
  double* rest;                                         ///< [axis][slot]: see rest_of()
  T* x;                                                 ///< [axis][slot]
  QuantileStretch* stretch;                             ///< [axis][slot]
  double step;                                          ///< a point's share of all
  bool few_places;                                      ///< rests of many quantiles are nearly alike

  __device__ SharedQuantiles(unsigned char* memory, std::uint64_t n)
      : rest(reinterpret_cast<double*>(memory)),
        x(reinterpret_cast<T*>(rest + Dim * kStride)),
        stretch(reinterpret_cast<QuantileStretch*>(x + Dim * kStride)),
        step(1.0 / static_cast<double>(n)) {}
  __device__ void load(const Table& table) {
    const auto point = [&](std::uint32_t axis, std::uint32_t i) { return table.sorted[axis * kQuantileSample + i]; };
    for (std::uint32_t axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k <= kCount; k += kSpreadThreads) {
        x[axis * kStride + quantile_slot(k)] = point(axis, Table::point_of(k)).x[axis];
        stretch[axis * kStride + quantile_slot(k)] = table.stretches[axis * (kCount + 1) + k];
      }
    __syncthreads();
    bool few = false;
    float begin[Dim], width[Dim];
    for (int axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k < kCount; k += kSpreadThreads) {
        const std::uint32_t slot = axis * kStride + quantile_slot(k), at = Table::point_of(k);
        const OrbPoint<T, Dim> p = point(axis, at);
        find_all(p.x, begin, width);
        rest[slot] = rest_of(begin, width, p.id, axis);
        if (stretch[slot].one_place == 0) continue;
        const std::uint32_t id = point(axis, at + kFewPlaces).id;
        const double rise = rest_of(begin, width, id, axis) - rest[slot];
        few = few || width[axis] * Table::kEach * rise < kFewPlacesRise;
      }
    __syncthreads();
    for (int axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k < kCount; k += kSpreadThreads) {
        find(x[axis * kStride + quantile_slot(k)], axis, begin[0], width[0]);
        if (static_cast<float>(k + kFewPlaces) > begin[0] + width[0]) continue;
        const double* const along = rest + axis * kStride;
        few = few || width[0] * (along[quantile_slot(k + kFewPlaces)] - along[quantile_slot(k)]) < kFewPlacesRise;
      }
    few_places = __syncthreads_or(few ? 1 : 0) != 0;
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
    const QuantileStretch same = stretch[axis * kStride + slot];
    const std::uint32_t next = max(std::uint32_t{stretch[axis * kStride + quantile_slot(k + 1)].first}, same.last);
    const float share = __fdividef(static_cast<float>(key - from), static_cast<float>(to - from));
    const float between = key >= to ? 1.0F : fminf(share, 1.0F);
    const auto points = [](std::uint32_t n) { return static_cast<float>(n) * kPoint; };
    begin = key <= from ? points(same.first) : points(same.last) + between * points(next - same.last);
    width = key == from ? points(same.last - same.first) : 0.0F;
  }
  __device__ void find_all(const T (&p)[Dim], float (&begin)[Dim], float (&width)[Dim]) const {
#pragma unroll
    for (int a = 0; a < Dim; ++a) find(p[a], a, begin[a], width[a]);
  }
  /// From 0 to 1: where a point stands among those of its coordinate on an axis, as far as the stretches on the other
  /// axes and its number tell. Of points in one place only the last digits differ.
  __device__ double rest_of(const float (&begin)[Dim], const float (&width)[Dim], std::uint32_t id, int axis) const {
    double share = id * step;
#pragma unroll
    for (int stage = Dim - 1; stage > 0; --stage)
#pragma unroll
      for (int a = 0; a < Dim; ++a)
        if (axis_of_stage<T, Dim>(axis, stage) == a) share = (width[a] * share + begin[a]) * (1.0 / kCount);
    return share;
  }
  /// How far a rest is into the stretch from `begin` on.
  __device__ float into(int axis, float begin, float width, double mine) const {
    const auto first = static_cast<std::uint32_t>(ceilf(begin)), last = static_cast<std::uint32_t>(begin + width);
    const std::uint32_t count = last - first + 1U;  // of quantiles, at least one
    const double* const along = rest + axis * kStride;
    const auto at = [&](std::uint32_t k) { return along[quantile_slot(first + k)]; };
    const auto between = [&](double from, double to) {
      return to > from ? static_cast<float>(fmin(fmax((mine - from) / (to - from), 0.0), 1.0)) : 0.0F;
    };
    std::uint32_t low = 0;  // so many are at or before it
    for (std::uint32_t high = count; low < high;) {
      const std::uint32_t middle = (low + high) / 2;
      if (at(middle) <= mine)
        low = middle + 1;
      else
        high = middle;
    }
    // Half of what lies beyond them is within the distance of two, for they may be of one place. Of a single one: by
    // how much rests differ where the whole stretch is one place.
    double near = 1;
    for (int a = 1; a < Dim; ++a) near *= width * (1.0 / kCount);
    const float before = static_cast<float>(first) - begin;
    if (low == 0) {
      const double from = fmax(at(0) - (count > 1 ? at(1) - at(0) : near), 0.0);
      return before * 0.5F * (between(0, from) + between(from, at(0)));
    }
    const float so_far = before + static_cast<float>(low - 1);
    if (low < count) return so_far + between(at(low - 1), at(low));
    const double to = fmin(at(low - 1) + (count > 1 ? at(low - 1) - at(low - 2) : near), 1.0);
    return so_far + (begin + width - static_cast<float>(last)) * 0.5F * (between(at(low - 1), to) + between(to, 1));
  }
  /// p: a point's coordinates, then its fractions.
  __device__ void fractions(T (&p)[Dim], std::uint32_t id) const {
    float begin[Dim], width[Dim];
    find_all(p, begin, width);
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis) {
      float at = begin[axis];
      if (width[axis] > 0.0F) {
        const double mine = rest_of(begin, width, id, axis);
        at += few_places ? into(axis, begin[axis], width[axis], mine) : width[axis] * static_cast<float>(mine);
      }
      p[axis] = at * (1.0F / kCount);
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

  /// Fractions of n points, Dim values each. Both aligned to 16 bytes. sample: taken on the way.
  void spread(const T* points, std::uint64_t n, T* fractions, StratifiedSample sample) {
    const cudaStream_t stream = stream_.get();
    sample_.resize_discard(std::size_t{kQuantileSample} * Dim);
    sorted_.resize_discard(sample_.size());
    quantile_sample_kernel<T, Dim>
        <<<dim3(kQuantileSample / kSortedTogether<T>, Dim), kSortThreads, 0, stream>>>(points, n, sample_.data());
    cuda_check_launch("quantile_sample_kernel");
    quantile_merge_kernel<T, Dim><<<Dim * kQuantileSample / 256, 256, 0, stream>>>(sample_.data(), sorted_.data());
    cuda_check_launch("quantile_merge_kernel");
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
