#pragma once
// Weights as integers, so that sums do not depend on the order of adding.
#include <cstdint>
#include <span>

#include "support/page_buffer.hpp"

namespace amrbench::partitioners {

/// Exponent e such that weights, as integers round(w * 2^e), keep the sum of `n` of them below 2^63 when the largest is
/// `largest`; 0 when that is 0. A weight keeps 63 - ceil(log2 n) bits below the largest one's first: all of a double's
/// where n <= 1024; with 2^26 points a weight of 2^-37 of the largest still counts.
int orb_weight_exponent(std::uint64_t n, double largest);

/// Largest weight, 0 of none. support::InputError with the index (counted from `first`) of the first weight that is
/// negative, NaN or infinite. Threads.
double checked_largest_weight(std::span<const double> weights, std::uint64_t first, int threads);

/// units[i] = round(weights[i] * 2^exponent), ties to even. Threads.
void to_weight_units(std::span<const double> weights, int exponent, int threads,
                     support::PageBuffer<std::uint64_t>& units);

}  // namespace amrbench::partitioners
