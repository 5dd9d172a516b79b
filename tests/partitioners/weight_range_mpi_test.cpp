// Weights that sums and integers can hold, the same on every number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "partitioners/even_shares.hpp"
#include "partitioners/inputs/weight_range.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

/// This rank's stretch of the weights is checked; notes, or what was refused.
std::string answer(const std::vector<double>& weights, int bits = kWeightBits) {
  const auto comm = support::Communicator::world();
  const std::uint64_t first = share_of(weights.size(), comm.rank(), comm.size());
  const std::uint64_t end = share_of(weights.size(), comm.rank() + 1, comm.size());
  try {
    std::string text;
    for (const std::string& note :
         check_weight_range(comm, std::span(weights).subspan(first, end - first), weights.size(), bits))
      text += note;
    return text;
  } catch (const support::InputError& error) {
    return std::string("refused: ") + error.what();
  }
}

TEST(WeightRange, UsualOnesPass) {
  EXPECT_EQ(answer({1, 0.5, 3, 0, 1e6}), "");
  EXPECT_EQ(answer({}), "");
  EXPECT_EQ(answer({0, 0, 0}), "");
  EXPECT_EQ(answer({std::ldexp(1.0, 990), std::ldexp(1.0, 985), 0}), "");
  EXPECT_EQ(answer({std::ldexp(1.0, -899), 0}), "");
}

TEST(WeightRange, SumsMustNotOverflow) {
  EXPECT_NE(answer({1, 1e308, 1, 1}).find("refused: the heaviest weight is 1e+308: sums of 4 such weights"),
            std::string::npos);
  EXPECT_NE(answer(std::vector<double>(64, std::ldexp(1.0, 995))).find("may overflow"), std::string::npos);
}

TEST(WeightRange, SumsMustKeepTheirBits) {
  EXPECT_NE(answer({1e-310, 2e-310, 0}).find("refused: the heaviest weight is 2e-310"), std::string::npos);
}

TEST(WeightRange, WeightsThatBecomeZeroAreCounted) {
  EXPECT_NE(answer({1e300, 1e-300, 0, 1e-300, 2}).find("3 of 5 weights count as 0 when parts are made"),
            std::string::npos);
  // The limit is that of the integers themselves.
  for (const int bits : {kWeightBits, kOrbWeightBits}) {
    const int shift = fixed_point_shift(3, 1, bits);
    for (const double light : {std::ldexp(0.5, -shift), std::nextafter(std::ldexp(0.5, -shift), 1)}) {
      std::vector<std::uint64_t> fixed(1);
      to_fixed_point(std::vector<double>{light}, shift, fixed);
      EXPECT_EQ(answer({1, light, 1}, bits).empty(), fixed[0] > 0) << bits << ' ' << light;
    }
  }
}

}  // namespace
}  // namespace amrbench::partitioners
