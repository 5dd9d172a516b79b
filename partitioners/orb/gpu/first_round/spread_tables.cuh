#pragma once
// Where a coordinate stands among quantiles in shared memory, and a point among those of its coordinate: the tables of
// spread.cuh. Internal to OrbGpu.
//
// Shared memory is read in places all over it, which is what the time goes into, so few reads count. The range of all
// quantiles along an axis has kCoarse equal parts. Where hardly any coordinate is shared, each part has one line for
// every kQuantilesOfLine quantiles in it, and one on either side, along which fractions rise in proportion to
// coordinates: two reads. Else, and where lines do not serve, the last quantile at or before the coordinate is wanted.
// Each part has as many buckets of equal width as every second quantile in it. A bucket never falls as its coordinate
// rises, so only quantiles of a coordinate's own bucket are compared with it; where coordinates crowd so much that a
// bucket has many, they are searched by halves. (Halves of all quantiles took 28 ms for 2^30 points, buckets 23.)
#include "partitioners/orb/gpu/first_round/quantiles.cuh"

namespace amrbench::partitioners::gpu {

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
/// A piece of an axis in which fractions rise in proportion to coordinates, from `base` at `low` on, up to `end`. A
/// part has one before its quantiles, one behind them, and one or more between.
struct alignas(16) SpreadLine {
  float low, slope, base, end;
};
constexpr std::uint32_t kQuantilesOfLine = 4, kLinesBeside = 2;
/// Lines of equal width do not serve where one of them has more quantiles than this, as with coordinates over many
/// powers of ten, or where a part's width is too small or too large to be told by a factor.
constexpr float kMostOfLine = 32;
/// Lines take the room of an axis's rests.
template <class T>
constexpr bool kHasLines = sizeof(T) == sizeof(float);
static_assert((kQuantiles<float> / kQuantilesOfLine + kCoarse * (kLinesBeside + 1) + 1) * sizeof(SpreadLine) <=
              kQuantiles<float> * sizeof(double));
/// So many points of the sample with one coordinate show that it is shared, and so does it where more than half of the
/// quantiles share theirs.
constexpr std::uint32_t kSharedCoordinate = 4;
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
  bool tied[Dim];              ///< coordinates are shared, or lines do not serve; else there are lines
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
  /// Which of the parts from `low` on a coordinate is in; those outside are in the first or last one. before: parts
  /// below `low`.
  __device__ static std::uint32_t part_of(float c, float low, float scale, std::uint32_t last, float before = 0.0F) {
    return min(__float2uint_rz((c - low) * scale + before), last);
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
  __device__ SpreadLine* lines(int axis) const {
    return reinterpret_cast<SpreadLine*>(rest + axis * kStride + axis % 2);
  }
  /// Of part b, the first line: below still counts quantiles by parts.
  __device__ std::uint32_t first_line(int axis, std::uint32_t b) const {
    return below[axis * (kFine<T> + 1) + b] / kQuantilesOfLine + (kLinesBeside + 1U) * b;
  }
  /// Where a line begins: the k-th of part b, which has n.
  __device__ float line_begin(int axis, std::uint32_t b, std::uint32_t k, std::uint32_t n) const {
    const std::uint16_t* const begin = below + axis * (kFine<T> + 1) + b;
    const auto at = [&](std::uint32_t quantile) { return static_cast<float>(coordinate(axis, quantile)); };
    const auto edge = [&](std::uint32_t part) {
      const float x = scale[axis] > 0.0F ? low[axis] + static_cast<float>(part) / scale[axis] : low[axis];
      return begin[0] > 0 ? fmaxf(x, at(begin[0] - 1U)) : x;
    };
    if (begin[0] == begin[1]) return edge(b + (k + 1 == n ? 1U : 0U));
    const float from = at(begin[0]), to = at(begin[1] - 1U);
    if (k == 0) return fminf(edge(b), from);
    return k + 1 == n ? to : fminf(from + static_cast<float>(k - 1) * ((to - from) / static_cast<float>(n - 2U)), to);
  }
  /// Lines of an axis, and what finds them. False: they do not serve. Barriers inside.
  __device__ bool make_lines(int axis) {
    const std::uint32_t count = first_line(axis, kCoarse);
    SpreadLine* const line = lines(axis);
    for (std::uint32_t i = threadIdx.x; i <= count; i += kSpreadThreads) {
      std::uint32_t b = 0;
      for (std::uint32_t step = kCoarse / 2; step > 0; step /= 2)
        if (first_line(axis, b + step) <= i) b += step;
      const std::uint32_t first = first_line(axis, b), n = first_line(axis, b + 1) - first;
      const float x = i < count ? line_begin(axis, b, i - first, n) : static_cast<float>(coordinate(axis, kCount));
      const Key mine = ordered_bits(static_cast<T>(x));
      float begin = 0, width = 0;
      find_from(mine, axis, quantiles_up_to(mine, axis, 0, kCount), begin, width);
      line[i] = {x, 0, begin, begin};
    }
    __syncthreads();
    bool serves = true;
    for (std::uint32_t i = threadIdx.x; i < count; i += kSpreadThreads) {
      const float slope = (line[i + 1].base - line[i].base) / (line[i + 1].low - line[i].low);
      line[i].end = line[i + 1].base;
      serves = serves && (line[i].end - line[i].base) * kCount <= kMostOfLine;
      line[i].slope = slope < 1e30F ? slope : 0.0F;
    }
    for (std::uint32_t b = threadIdx.x; b < kCoarse; b += kSpreadThreads) {
      const std::uint32_t first = first_line(axis, b), last = first_line(axis, b + 1) - 1U;
      const float from = line_begin(axis, b, 1, last - first + 1U),
                  to = line_begin(axis, b, last - first, last - first + 1U);
      const float per = per_width(last - first - 1U, to - from);
      serves = serves && (per > 0.0F || last - first == kLinesBeside);
      coarse[axis * kCoarse + b] = {from, per, first, last};
    }
    return __syncthreads_or(serves ? 0 : 1) == 0;
  }
  /// Buckets of an axis whose coordinates are shared. Barriers inside.
  __device__ void make_fine(int axis) {
    for (std::uint32_t b = threadIdx.x; b < kCoarse; b += kSpreadThreads) {
      const std::uint16_t* const begin = below + axis * (kFine<T> + 1) + b;
      const std::uint32_t first = begin[0] / 2U + b, end = begin[1] / 2U + b + 1U;
      const auto from = static_cast<float>(coordinate(axis, begin[0]));
      const auto to = static_cast<float>(coordinate(axis, max(begin[1], std::uint16_t{1}) - 1U));
      coarse[axis * kCoarse + b] = {from, per_width(end - first, to - from), first, end - 1U};
    }
    __syncthreads();
    count_below(axis, kFine<T>, [&](T p) { return fine_of(p, axis); });
  }
  __device__ void make_buckets() {
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis) {
      low[axis] = static_cast<float>(coordinate(axis, 0));
      scale[axis] = per_width(kCoarse, static_cast<float>(coordinate(axis, kCount)) - low[axis]);
      count_below(axis, kCoarse, [&](T p) { return coarse_of(p, axis); });
    }
    __syncthreads();
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis) {
      tied[axis] = tied[axis] || !make_lines(axis);
      if (tied[axis]) make_fine(axis);
    }
  }
  __device__ void find_ties() {
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis) {
      std::uint32_t shared = 0, many = 0;
      for (std::uint32_t k = threadIdx.x; k < kCount; k += kSpreadThreads) {
        const QuantileStretch same = stretch[axis * kStride + k];
        shared += static_cast<std::uint32_t>(__syncthreads_count(same.last > same.first ? 1 : 0));
        many += same.last - same.first + 1U >= kSharedCoordinate ? 1U : 0U;
      }
      tied[axis] = __syncthreads_or(many > 0 ? 1 : 0) != 0 || shared > kCount / 2 || !kHasLines<T>;
    }
  }
  __device__ void load(const Table& table) {
    const auto point = [&](std::uint32_t axis, std::uint32_t i) { return table.sorted[axis * kQuantileSample + i]; };
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; k <= kCount; k += kSpreadThreads) {
        key[axis * kStride + k] = ordered_bits(point(axis, Table::point_of(k)).x[axis]);
        stretch[axis * kStride + k] = table.stretches[axis * kStride + k];
      }
    __syncthreads();
    find_ties();
    make_buckets();
    __syncthreads();
    bool few = false;
    float begin[Dim], width[Dim];
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; tied[axis] && k < kCount; k += kSpreadThreads) {
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
#pragma unroll
    for (int axis = 0; axis < Dim; ++axis)
      for (std::uint32_t k = threadIdx.x; tied[axis] && k < kCount; k += kSpreadThreads) {
        find(coordinate(axis, k), axis, begin[0], width[0]);
        if (static_cast<float>(k + kFewPlaces) > (begin[0] + width[0]) * kCount) continue;
        const double* const along = rest + axis * kStride;
        few = few || width[0] * kCount * (along[k + kFewPlaces] - along[k]) < kFewPlacesRise;
      }
    few_places = __syncthreads_or(few ? 1 : 0) != 0;
  }
  /// How many quantiles are at or before a coordinate: at least `first`, at most `last`.
  __device__ std::uint32_t quantiles_up_to(Key mine, int axis, std::uint32_t first, std::uint32_t last) const {
    const Key* const along = key + axis * kStride;
    while (first < last) {
      const std::uint32_t middle = (first + last) / 2;
      const bool further = along[middle] <= mine;
      first = further ? middle + 1U : first;
      last = further ? last : middle;
    }
    return first;
  }
  /// Which part of all points stands before those of a coordinate, as far as quantiles tell, and which part has it.
  /// up_to: as quantiles_up_to() has it.
  __device__ void find_from(Key mine, int axis, std::uint32_t up_to, float& begin, float& width) const {
    const Key* const along = key + axis * kStride;
    const std::uint32_t k = max(up_to, 1U) - 1U;
    const Key from = along[k], to = along[k + 1];
    const QuantileStretch same = stretch[axis * kStride + k];
    const std::uint32_t next = max(std::uint32_t{stretch[axis * kStride + k + 1].first}, same.last);
    const float share = __fdividef(static_cast<float>(mine - from), static_cast<float>(to - from));
    const float between = mine >= to ? 1.0F : fminf(share, 1.0F);
    const auto part = [](std::uint32_t points) { return static_cast<float>(points) * (1.0F / kQuantileSample); };
    begin = mine <= from ? part(same.first) : part(same.last) + between * part(next - same.last);
    width = mine == from ? part(same.last - same.first) : 0.0F;
  }
  __device__ void find(T p, int axis, float& begin, float& width) const {
    if (!tied[axis]) {
      const auto c = static_cast<float>(p);
      const CoarseBucket b = coarse[axis * kCoarse + coarse_of(p, axis)];
      const SpreadLine line = lines(axis)[b.first + part_of(c, b.low, b.scale, b.last - b.first, 1.0F)];
      begin = fminf(fmaxf(line.base + (c - line.low) * line.slope, line.base), line.end);
      width = 0;
      return;
    }
    const Key mine = ordered_bits(p);
    const std::uint16_t* const bucket = below + axis * (kFine<T> + 1) + fine_of(p, axis);
    std::uint32_t first = bucket[0];
    const std::uint32_t last = bucket[1];
    if (first < last && key[axis * kStride + last - 1U] <= mine) first = last;  // all; they often are alike
    find_from(mine, axis, quantiles_up_to(mine, axis, first, last), begin, width);
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

}  // namespace amrbench::partitioners::gpu
