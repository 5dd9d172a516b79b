// Slabs: runs of equal weight along the longest side of the points' box.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {
namespace {

TEST(Slabs, AreRunsOfEqualWeightAlongTheLongestSide) {
  constexpr unsigned kSeed = 7;
  std::mt19937_64 random(kSeed);
  for (const int dim : {2, 3}) {
    for (int longest = 0; longest < dim; ++longest) {
      SCOPED_TRACE(::testing::Message() << dim << "-D, axis " << longest << ", seed " << kSeed);
      const std::size_t n = 2000;
      std::vector<double> points, weights;
      for (std::size_t i = 0; i < n; ++i) {
        // Along the longest side few places, so that the others decide too.
        for (int d = 0; d < dim; ++d)
          points.push_back(d == longest ? 5.0 * static_cast<double>(random() % 40)
                                        : static_cast<double>(random() % 97));
        weights.push_back(1.0 + static_cast<double>(random() % 8));
      }
      const Problem problem{{points, dim}, weights, nullptr, nullptr};
      PartitionOptions options;
      options.parts = 13;
      const PartitionResult result = make_partitioner("slabs")->partition(problem, options);
      ASSERT_EQ(result.order.size(), n);
      std::vector<double> loads(13, 0.0);
      for (std::size_t k = 0; k < n; ++k) {
        const std::uint32_t i = result.order[k];
        loads[static_cast<std::size_t>(result.part[i])] += weights[i];
        if (k == 0) continue;
        const std::uint32_t before = result.order[k - 1];
        EXPECT_LE(result.part[before], result.part[i]);
        EXPECT_LE(problem.points[before][longest], problem.points[i][longest]);
      }
      double total = 0.0;
      for (const double load : loads) total += load;
      for (const double load : loads) EXPECT_NEAR(load, total / 13, 8.0);  // the heaviest point
    }
  }
}

}  // namespace
}  // namespace amrbench::partitioners
