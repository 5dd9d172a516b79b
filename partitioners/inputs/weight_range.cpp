#include "partitioners/inputs/weight_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "partitioners/weights.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

using support::InputError;

std::vector<std::string> check_weight_range(const support::Communicator& comm, std::span<const double> weights,
                                            std::uint64_t size, int bits) {
  const auto most = std::max_element(weights.begin(), weights.end());
  double heaviest = most == weights.end() ? 0 : *most;
  if (comm.size() > 1) heaviest = support::all_max(comm, heaviest);
  if (heaviest == 0) return {};
  int exponent = 0;
  std::frexp(heaviest, &exponent);  // heaviest < 2^exponent
  if (exponent + static_cast<int>(std::bit_width(size - 1)) > kLargestExponent)
    throw InputError(
        fmt::format("the heaviest weight is {}: sums of {} such weights may overflow; multiply all weights by a number "
                    "below 1",
                    heaviest, size));
  if (exponent <= kSmallestExponent)
    throw InputError(fmt::format(
        "the heaviest weight is {}: it must be at least {:.1e}, for sums lose bits below; multiply all weights by a "
        "number above 1",
        heaviest, std::ldexp(1.0, kSmallestExponent)));
  const double least = std::ldexp(0.5, -fixed_point_shift(size, heaviest, bits));  // half a unit is rounded to even, 0
  auto lost = static_cast<std::uint64_t>(
      std::count_if(weights.begin(), weights.end(), [&](double w) { return w > 0 && w <= least; }));
  if (comm.size() > 1) lost = support::all_sum(comm, lost);
  if (lost == 0) return {};
  return {
      fmt::format("{} of {} weights count as 0 when parts are made: they are above 0, but at most {:.1e}, and the "
                  "heaviest is {}",
                  lost, size, least, heaviest)};
}

}  // namespace amrbench::partitioners
