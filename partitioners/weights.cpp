#include "partitioners/weights.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

[[noreturn]] void refuse_first(std::span<const double> weights) {
  const auto bad = std::find_if(weights.begin(), weights.end(), [](double w) { return !(w >= 0 && std::isfinite(w)); });
  throw support::InputError("weight " + std::to_string(bad - weights.begin()) + " is " + std::to_string(*bad) +
                            ": weights must be finite and not negative");
}

}  // namespace

std::vector<std::uint64_t> fixed_point_weights(std::span<const double> weights, int threads) {
  const auto n = static_cast<std::ptrdiff_t>(weights.size());
  const int team = team_size(threads);
  double heaviest = 0;
  bool bad = false;
#pragma omp parallel for num_threads(team) schedule(static) reduction(max : heaviest) reduction(|| : bad)
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double w = weights[static_cast<std::size_t>(i)];
    bad = bad || !(w >= 0 && std::isfinite(w));
    heaviest = std::max(heaviest, w);
  }
  if (bad) refuse_first(weights);

  // heaviest < 2^exponent and n <= 2^count_bits.
  int exponent = 0;
  std::frexp(heaviest, &exponent);
  int count_bits = 0;
  while ((std::size_t{1} << count_bits) < weights.size()) ++count_bits;
  // One bit is left for rounding up to 2^exponent.
  const int shift = kWeightBits - 1 - count_bits - exponent;
  std::vector<std::uint64_t> fixed(weights.size());
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    fixed[static_cast<std::size_t>(i)] =
        static_cast<std::uint64_t>(std::llrint(std::ldexp(weights[static_cast<std::size_t>(i)], shift)));
  }
  return fixed;
}

}  // namespace amrbench::partitioners
