#pragma once
// Weights as integers, so that sums are exact and the same in any order.
//
// A weight w becomes round(w * 2^s), with one s for all of them: the largest for which the sum of n weights as heavy as
// the heaviest stays below 2^kWeightBits. Weights that are integers, or dyadic fractions within that range, lose
// nothing. Two weights whose ratio is above 2^kWeightBits / n do not both fit: the light one becomes 0.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/fixed_point_sum.hpp"

namespace amrbench::partitioners {

/// Sum of all fixed-point weights is at most 2^(kWeightBits - 1): it fits, times a number of parts (31 bits) and beside
/// a count of points (40 bits), 127 bits.
inline constexpr int kWeightBits = 56;
/// Orthogonal bisection sums in 64 bits and multiplies in 128: a weight keeps 63 - ceil(log2 n) bits below the largest
/// one's first, all of a double's where n <= 1024; with 2^26 points a weight of 2^-37 of the largest still counts.
inline constexpr int kOrbWeightBits = 64;

/// The heaviest weight, 0 if there is none. Throws support::InputError that names the first weight which is negative,
/// NaN or infinite; numbers start at `first`. O(n), threads by OpenMP (0: all).
double checked_heaviest(std::span<const double> weights, std::uint64_t first = 0, int threads = 0);

/// The s for n weights of which `heaviest` is the largest; 0 where that is 0.
int fixed_point_shift(std::uint64_t n, double heaviest, int bits = kWeightBits);

/// fixed[i] = round(weights[i] * 2^shift), ties to even. Threads.
void to_fixed_point(std::span<const double> weights, int shift, std::span<std::uint64_t> fixed, int threads = 0);

/// Fixed-point weights of n points; empty in, empty out (every point then weighs 1). Throws support::InputError that
/// names the first weight which is negative, NaN or infinite. O(n), threads by OpenMP (0: all).
std::vector<std::uint64_t> fixed_point_weights(std::span<const double> weights, int threads = 0);

/// Orders sets of points by weight first and count second: sums of masses compare like the pairs (weight, count). So
/// points without weight still have a place in a balance, and unweighted points are weighted ones with weight 0.
using Mass = support::int128;
inline constexpr int kCountBits = 40;
constexpr Mass point_mass(std::uint64_t weight) {
  return (static_cast<Mass>(weight) << kCountBits) + 1;
}

}  // namespace amrbench::partitioners
