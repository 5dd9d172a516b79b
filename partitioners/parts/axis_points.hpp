#pragma once
// Points by axes, and the loops that cut a node of a parts-aware tree: coordinates of an axis stand together, so that a
// pass over a node reads what it compares and nothing else, eight points an instruction.
//
// Points are in order along an axis by (coordinate, number). Every pass leaves the same sets whatever its back end;
// how points stand within a set is no part of the contract. Included by parts/ only.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "partitioners/kd/record.hpp"

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define AMRBENCH_PARTS_AVX512 1
#include <immintrin.h>
#endif

namespace amrbench::partitioners::kd {

/// A point's place along an axis.
struct AxisKey {
  double value = 0;
  std::uint32_t id = 0;

  friend bool operator<(const AxisKey& a, const AxisKey& b) {
    return a.value < b.value || (a.value == b.value && a.id < b.id);
  }
};
/// Not above any point's key, and not below any.
inline constexpr AxisKey kLowestKey{-std::numeric_limits<double>::infinity(), 0};
inline constexpr AxisKey kHighestKey{std::numeric_limits<double>::infinity(), ~std::uint32_t{0}};

/// Borrowed: coordinates of each axis, and numbers.
template <int D>
struct AxisPoints {
  std::array<double*, D> x{};
  std::uint32_t* id = nullptr;
};

/// Keys along one axis: n coordinates and as many numbers.
struct AxisKeys {
  const double* value = nullptr;
  const std::uint32_t* id = nullptr;
  std::size_t n = 0;
};

/// Of keys: how many are up to a lower bound, and how many above that up to an upper one.
struct KeyCounts {
  std::size_t below = 0;
  std::size_t inside = 0;
};

#if defined(AMRBENCH_PARTS_AVX512)

inline constexpr std::size_t kLanes = 8;

/// The first lanes, as many as are left of n at i.
inline __mmask8 lanes_here(std::size_t i, std::size_t n) {
  return n - i >= kLanes ? 0xff : static_cast<__mmask8>((1U << (n - i)) - 1);
}
inline __mmask8 first_lanes(unsigned count) {
  return static_cast<__mmask8>((1U << count) - 1);
}

/// A key in all lanes.
struct KeyLanes {
  __m512d value;
  __m256i id;
  explicit KeyLanes(AxisKey key)
      : value(_mm512_set1_pd(key.value)), id(_mm256_set1_epi32(static_cast<std::int32_t>(key.id))) {}

  /// Lanes among `here` whose keys are up to this one.
  [[nodiscard]] __mmask8 up_to(__mmask8 here, __m512d x, __m256i number) const {
    const __mmask8 less = _mm512_mask_cmp_pd_mask(here, x, value, _CMP_LT_OQ);
    const __mmask8 equal = _mm512_mask_cmp_pd_mask(here, x, value, _CMP_EQ_OQ);
    return static_cast<__mmask8>(less | _mm256_mask_cmple_epu32_mask(equal, number, id));
  }
};

inline void pack(double* to, __mmask8 which, unsigned count, __m512d x) {
  _mm512_mask_storeu_pd(to, first_lanes(count), _mm512_maskz_compress_pd(which, x));
}
inline void pack(std::uint32_t* to, __mmask8 which, unsigned count, __m256i id) {
  _mm256_mask_storeu_epi32(to, first_lanes(count), _mm256_maskz_compress_epi32(which, id));
}

/// Counts keys up to `low` and copies those above it up to `high`; room for n of them, apart from the keys.
inline KeyCounts collect_keys(AxisKeys keys, AxisKey low, AxisKey high, double* to_value, std::uint32_t* to_id) {
  const KeyLanes lower(low), upper(high);
  KeyCounts counts;
  for (std::size_t i = 0; i < keys.n; i += kLanes) {
    const __mmask8 here = lanes_here(i, keys.n);
    const __m512d x = _mm512_maskz_loadu_pd(here, keys.value + i);
    const __m256i id = _mm256_maskz_loadu_epi32(here, keys.id + i);
    const __mmask8 below = lower.up_to(here, x, id);
    const auto inside = static_cast<__mmask8>(upper.up_to(here, x, id) & ~below);
    const auto count = static_cast<unsigned>(std::popcount(static_cast<unsigned>(inside)));
    counts.below += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(below)));
    pack(to_value + counts.inside, inside, count, x);
    pack(to_id + counts.inside, inside, count, id);
    counts.inside += count;
  }
  return counts;
}

inline std::size_t count_up_to(AxisKeys keys, AxisKey key) {
  const KeyLanes pivot(key);
  std::size_t count = 0;
  for (std::size_t i = 0; i < keys.n; i += kLanes) {
    const __mmask8 here = lanes_here(i, keys.n);
    count += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(
        pivot.up_to(here, _mm512_maskz_loadu_pd(here, keys.value + i), _mm256_maskz_loadu_epi32(here, keys.id + i)))));
  }
  return count;
}

/// Copies points begin .. end - 1: those up to the pivot along `axis` to places from `lower` on, the others to places
/// from `upper` on, and returns the boxes of both.
template <int D>
std::array<Box<double, D>, 2> distribute(const AxisPoints<D>& from, std::size_t begin, std::size_t end, int axis,
                                         AxisKey key, const AxisPoints<D>& to, std::size_t lower, std::size_t upper) {
  const KeyLanes pivot(key);
  constexpr double kFar = std::numeric_limits<double>::infinity();
  __m512d least[2][D], most[2][D];
  for (int s = 0; s < 2; ++s) {
    for (int d = 0; d < D; ++d) {
      least[s][d] = _mm512_set1_pd(kFar);
      most[s][d] = _mm512_set1_pd(-kFar);
    }
  }
  for (std::size_t i = begin; i < end; i += kLanes) {
    const __mmask8 here = lanes_here(i, end);
    __m512d x[D];
    for (int d = 0; d < D; ++d) x[d] = _mm512_maskz_loadu_pd(here, from.x[static_cast<std::size_t>(d)] + i);
    const __m256i id = _mm256_maskz_loadu_epi32(here, from.id + i);
    const __m512d along = _mm512_maskz_loadu_pd(here, from.x[static_cast<std::size_t>(axis)] + i);
    const __mmask8 low = pivot.up_to(here, along, id);
    const auto high = static_cast<__mmask8>(here & ~low);
    const auto low_count = static_cast<unsigned>(std::popcount(static_cast<unsigned>(low)));
    const auto high_count = static_cast<unsigned>(std::popcount(static_cast<unsigned>(high)));
    for (int d = 0; d < D; ++d) {
      double* const column = to.x[static_cast<std::size_t>(d)];
      pack(column + lower, low, low_count, x[d]);
      pack(column + upper, high, high_count, x[d]);
      least[0][d] = _mm512_mask_min_pd(least[0][d], low, least[0][d], x[d]);
      most[0][d] = _mm512_mask_max_pd(most[0][d], low, most[0][d], x[d]);
      least[1][d] = _mm512_mask_min_pd(least[1][d], high, least[1][d], x[d]);
      most[1][d] = _mm512_mask_max_pd(most[1][d], high, most[1][d], x[d]);
    }
    pack(to.id + lower, low, low_count, id);
    pack(to.id + upper, high, high_count, id);
    lower += low_count;
    upper += high_count;
  }
  std::array<Box<double, D>, 2> box;
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t d = 0; d < D; ++d) {
      std::array<double, kLanes> lo, hi;
      _mm512_storeu_pd(lo.data(), least[s][d]);
      _mm512_storeu_pd(hi.data(), most[s][d]);
      box[s].lo[d] = *std::min_element(lo.begin(), lo.end());
      box[s].hi[d] = *std::max_element(hi.begin(), hi.end());
    }
  }
  return box;
}

/// The same of numbers alone.
template <int D>
void distribute_numbers(const AxisPoints<D>& from, std::size_t begin, std::size_t end, int axis, AxisKey key,
                        std::uint32_t* to, std::size_t lower, std::size_t upper) {
  const KeyLanes pivot(key);
  const double* const x = from.x[static_cast<std::size_t>(axis)];
  for (std::size_t i = begin; i < end; i += kLanes) {
    const __mmask8 here = lanes_here(i, end);
    const __m256i id = _mm256_maskz_loadu_epi32(here, from.id + i);
    const __mmask8 low = pivot.up_to(here, _mm512_maskz_loadu_pd(here, x + i), id);
    const auto high = static_cast<__mmask8>(here & ~low);
    const auto low_count = static_cast<unsigned>(std::popcount(static_cast<unsigned>(low)));
    const auto high_count = static_cast<unsigned>(std::popcount(static_cast<unsigned>(high)));
    pack(to + lower, low, low_count, id);
    pack(to + upper, high, high_count, id);
    lower += low_count;
    upper += high_count;
  }
}

#else

inline bool up_to_key(double x, std::uint32_t id, AxisKey key) {
  return static_cast<bool>(static_cast<int>(x < key.value) |
                           (static_cast<int>(x == key.value) & static_cast<int>(id <= key.id)));
}

inline KeyCounts collect_keys(AxisKeys keys, AxisKey low, AxisKey high, double* to_value, std::uint32_t* to_id) {
  KeyCounts counts;
  for (std::size_t i = 0; i < keys.n; ++i) {
    const bool below = up_to_key(keys.value[i], keys.id[i], low);
    const bool inside = !below && up_to_key(keys.value[i], keys.id[i], high);
    to_value[counts.inside] = keys.value[i];
    to_id[counts.inside] = keys.id[i];
    counts.below += below ? 1 : 0;
    counts.inside += inside ? 1 : 0;
  }
  return counts;
}

inline std::size_t count_up_to(AxisKeys keys, AxisKey key) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < keys.n; ++i) count += up_to_key(keys.value[i], keys.id[i], key) ? 1 : 0;
  return count;
}

template <int D>
std::array<Box<double, D>, 2> distribute(const AxisPoints<D>& from, std::size_t begin, std::size_t end, int axis,
                                         AxisKey key, const AxisPoints<D>& to, std::size_t lower, std::size_t upper) {
  std::array<Box<double, D>, 2> box{Box<double, D>::empty(), Box<double, D>::empty()};
  for (std::size_t i = begin; i < end; ++i) {
    const bool low = up_to_key(from.x[static_cast<std::size_t>(axis)][i], from.id[i], key);
    const std::size_t at = low ? lower : upper;
    Box<double, D>& side = box[low ? 0 : 1];
    for (std::size_t d = 0; d < D; ++d) {
      const double x = from.x[d][i];
      to.x[d][at] = x;
      side.lo[d] = x < side.lo[d] ? x : side.lo[d];
      side.hi[d] = x > side.hi[d] ? x : side.hi[d];
    }
    to.id[at] = from.id[i];
    lower += low ? 1 : 0;
    upper += low ? 0 : 1;
  }
  return box;
}

template <int D>
void distribute_numbers(const AxisPoints<D>& from, std::size_t begin, std::size_t end, int axis, AxisKey key,
                        std::uint32_t* to, std::size_t lower, std::size_t upper) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool low = up_to_key(from.x[static_cast<std::size_t>(axis)][i], from.id[i], key);
    to[low ? lower : upper] = from.id[i];
    lower += low ? 1 : 0;
    upper += low ? 0 : 1;
  }
}

#endif

}  // namespace amrbench::partitioners::kd
