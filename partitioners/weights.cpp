#include "partitioners/weights.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

[[noreturn]] void refuse_first(std::span<const double> weights, std::uint64_t first) {
  const auto bad = std::find_if(weights.begin(), weights.end(), [](double w) { return !(w >= 0 && std::isfinite(w)); });
  const auto number = first + static_cast<std::uint64_t>(bad - weights.begin());
  throw support::InputError("weight " + std::to_string(number) + " is " + std::to_string(*bad) +
                            ": weights must be finite and not negative");
}

}  // namespace

double checked_heaviest(std::span<const double> weights, std::uint64_t first, int threads) {
  const auto n = static_cast<std::ptrdiff_t>(weights.size());
  double heaviest = 0;
  bool bad = false;
#pragma omp parallel for num_threads(team_size(threads)) schedule(static) reduction(max : heaviest) reduction(|| : bad)
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double w = weights[static_cast<std::size_t>(i)];
    bad = bad || !(w >= 0 && std::isfinite(w));
    heaviest = std::max(heaviest, w);
  }
  if (bad) refuse_first(weights, first);
  return heaviest;
}

int fixed_point_shift(std::size_t n, double heaviest) {
  // heaviest < 2^exponent and n <= 2^count_bits.
  int exponent = 0;
  std::frexp(heaviest, &exponent);
  int count_bits = 0;
  while ((std::size_t{1} << count_bits) < n) ++count_bits;
  // One bit is left for rounding up to 2^exponent.
  return kWeightBits - 1 - count_bits - exponent;
}

std::vector<std::uint64_t> to_fixed_point(std::span<const double> weights, int shift, int threads) {
  const auto n = static_cast<std::ptrdiff_t>(weights.size());
  std::vector<std::uint64_t> fixed(weights.size());
#pragma omp parallel for num_threads(team_size(threads)) schedule(static)
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    fixed[static_cast<std::size_t>(i)] =
        static_cast<std::uint64_t>(std::llrint(std::ldexp(weights[static_cast<std::size_t>(i)], shift)));
  }
  return fixed;
}

std::vector<std::uint64_t> fixed_point_weights(std::span<const double> weights, int threads) {
  const double heaviest = checked_heaviest(weights, 0, threads);
  return to_fixed_point(weights, fixed_point_shift(weights.size(), heaviest), threads);
}

}  // namespace amrbench::partitioners
