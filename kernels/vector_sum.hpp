#pragma once
// Raw sums of a run of vectors (kernels/stage_sum.hpp) while they are in registers. Included by kernels only.
#include <array>
#include <cstring>
#include <numeric>

#include "kernels/simd.hpp"
#include "kernels/stage_sum.hpp"

namespace amrbench::kernels {

/// Vectors of `length` values after which the pattern of lanes repeats.
constexpr int pattern_count(int lanes, int length) {
  return lanes / std::gcd(lanes, length);
}

template <int N>
struct VectorSum {
  SimdBits<N> hi, lo, flags;
  inline void add(const SimdDouble<N>& v, double magic_hi, double magic_lo) {
    const SimdDouble<N> m = SimdDouble<N>{} + magic_hi;
    const SimdDouble<N> shifted = v + m;
    const SimdBits<N> bits = (SimdBits<N>)shifted;
    hi += bits;
    flags |= bits ^ (SimdBits<N>)m;
    const SimdDouble<N> rest = v - (shifted - m);
    lo += (SimdBits<N>)(rest + magic_lo);
  }
};

template <int N, std::size_t P>
inline void load_sums(std::array<VectorSum<N>, P>& sums, const RawSum* raw) {
  for (std::size_t p = 0; p < P; ++p) {
    std::memcpy(static_cast<void*>(&sums[p].hi), raw[p].hi.data(), sizeof sums[p].hi);
    std::memcpy(static_cast<void*>(&sums[p].lo), raw[p].lo.data(), sizeof sums[p].lo);
    std::memcpy(static_cast<void*>(&sums[p].flags), raw[p].flags.data(), sizeof sums[p].flags);
  }
}
template <int N, std::size_t P>
inline void store_sums(const std::array<VectorSum<N>, P>& sums, RawSum* raw) {
  for (std::size_t p = 0; p < P; ++p) {
    std::memcpy(raw[p].hi.data(), &sums[p].hi, sizeof sums[p].hi);
    std::memcpy(raw[p].lo.data(), &sums[p].lo, sizeof sums[p].lo);
    std::memcpy(raw[p].flags.data(), &sums[p].flags, sizeof sums[p].flags);
  }
}

/// Adds n values, whole vectors, of which the first begins pattern 0.
template <int N, std::size_t P>
inline void add_values(std::array<VectorSum<N>, P>& sums, const double* values, std::size_t n, const SumMagic& magic) {
  for (std::size_t k = 0; k < n / N; ++k) sums[k % P].add(load<N>(values + k * N), magic.hi, magic.lo);
}

}  // namespace amrbench::kernels
