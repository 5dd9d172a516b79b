#include "partitioners/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

[[noreturn]] void refuse_first(std::span<const double> weights, std::uint64_t first) {
  const auto bad = std::find_if(weights.begin(), weights.end(), [](double w) { return !(w >= 0 && std::isfinite(w)); });
  throw support::InputError(fmt::format("weight {} is {}; a weight must be finite and not negative",
                                        first + static_cast<std::uint64_t>(bad - weights.begin()), *bad));
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

int fixed_point_shift(std::uint64_t n, double heaviest, int bits) {
  if (n == 0 || heaviest == 0) return 0;
  int exponent = 0;
  std::frexp(heaviest, &exponent);  // heaviest < 2^exponent
  // One bit is left for rounding up to 2^exponent.
  return bits - 1 - std::bit_width(n - 1) - exponent;
}

void to_fixed_point(std::span<const double> weights, int shift, std::span<std::uint64_t> fixed, int threads) {
  const auto n = static_cast<std::ptrdiff_t>(weights.size());
#pragma omp parallel for num_threads(team_size(threads)) schedule(static)
  for (std::ptrdiff_t i = 0; i < n; ++i)
    fixed[i] = static_cast<std::uint64_t>(std::llrint(std::ldexp(weights[i], shift)));
}

std::vector<std::uint64_t> fixed_point_weights(std::span<const double> weights, int threads) {
  std::vector<std::uint64_t> fixed(weights.size());
  const int shift = fixed_point_shift(weights.size(), checked_heaviest(weights, 0, threads));
  to_fixed_point(weights, shift, fixed, threads);
  return fixed;
}

}  // namespace amrbench::partitioners
