#include "partitioners/orb/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/error.hpp"

namespace amrbench::partitioners {

int orb_weight_exponent(std::uint64_t n, double largest) {
  if (n == 0 || largest == 0) return 0;
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  return 63 - std::bit_width(n - 1) - exponent;
}

double checked_largest_weight(std::span<const double> weights, std::uint64_t first, int threads) {
  double largest = 0;
  std::size_t bad = weights.size();
#pragma omp parallel for num_threads(threads) reduction(max : largest) reduction(min : bad) schedule(static)
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double w = weights[i];
    if (!(w >= 0 && w <= std::numeric_limits<double>::max())) bad = std::min(bad, i);
    largest = std::max(largest, w);
  }
  if (bad < weights.size())
    throw support::InputError(
        fmt::format("weight {} is {}; a weight must be finite and not negative", first + bad, weights[bad]));
  return largest;
}

void to_weight_units(std::span<const double> weights, int exponent, int threads,
                     support::PageBuffer<std::uint64_t>& units) {
  units.resize_discard(weights.size());
  std::uint64_t* out = units.data();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < weights.size(); ++i)
    out[i] = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(weights[i], exponent)));
}

}  // namespace amrbench::partitioners
