// Water that comes in through a side: its depth by characteristics, its mass to rounding, the same through all sides.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/shallow_water/block.hpp"
#include "kernels/shallow_water/inflow.hpp"

namespace amrbench::kernels::shallow_water {
namespace {

double drawn(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

template <class Real>
void check_depths(double tolerance) {
  constexpr std::uint64_t kSeed = 61;
  std::mt19937_64 random(kSeed);
  const Physics<Real> physics;
  int slow = 0, fast = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const double h = trial % 8 == 0 ? 0.0 : std::pow(10.0, drawn(random, -3, 2)), c = std::sqrt(9.81 * h);
    const double u = drawn(random, -1.5, 3.0) * c, q = std::pow(10.0, drawn(random, -4, 3));
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", h " + std::to_string(h) + ", u " + std::to_string(u) + ", q " +
                 std::to_string(q));
    const double depth = inflow_depth<Real>({Real(q), Real(0)}, Real(h), Real(h * u), physics);
    const double critical = std::cbrt(q * q / 9.81), wave = std::sqrt(9.81 * depth);
    ASSERT_GE(depth, critical * (1 - tolerance));
    if (u - 2 * c < -std::cbrt(9.81 * q)) {
      ++slow;  // the invariant that leaves is that of the cell inside
      ASSERT_NEAR(q / depth - 2 * wave, u - 2 * c, tolerance * (std::abs(u) + 2 * c + wave));
    } else {
      ++fast;
      ASSERT_NEAR(depth, critical, tolerance * critical);
    }
    ASSERT_EQ(inflow_depth<Real>({Real(q), Real(0.7 * critical)}, Real(h), Real(h * u), physics), Real(0.7 * critical));
    ASSERT_EQ(inflow_depth<Real>({Real(q), Real(1.3 * critical)}, Real(h), Real(h * u), physics), Real(depth))
        << "slow flow has the depth that the inside gives it";
  }
  EXPECT_GT(slow, 1000);
  EXPECT_GT(fast, 1000);
}

TEST(ShallowWaterInflow, DepthFollowsFromWhatLeaves) {
  check_depths<double>(1e-12);
  check_depths<float>(2e-5);
}

constexpr int kEdge = 6;

/// A block with water over a rough bed, walls but for the face where water comes in.
struct Case {
  BlockShape<double> shape{kEdge, 2.0, 3.0};
  Physics<double> physics;
  std::vector<double> block = std::vector<double>(shape.values());
  std::array<std::vector<double>, 4> behind;
  std::array<Strip<double>, 4> strips;
  std::vector<double> through = std::vector<double>(inflow_values(kEdge));

  void close(int face, const std::vector<Inflow<double>>& inflows) {
    for (std::size_t f = 0; f < 4; ++f) {
      behind[f].resize(strip_values(StripKind::same, kEdge));
      strips[f] = {behind[f].data(), StripKind::same};
      const Boundary<double> wall{};
      if (static_cast<int>(f) != face) {
        fill_boundary(wall, kEdge, static_cast<int>(f), physics, block.data(), behind[f].data());
        continue;
      }
      const bool comes =
          fill_inflow(inflows.data(), wall, kEdge, face, physics, block.data(), behind[f].data(), through.data());
      if (comes) strips[f].inflow = through.data();
    }
  }
};

TEST(ShallowWaterInflow, BringsItsMassToRoundingThroughAnyFace) {
  constexpr std::uint64_t kSeed = 62;
  std::mt19937_64 random(kSeed);
  Scratch<double> scratch(kEdge);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", trial " + std::to_string(trial));
    Case c;
    c.physics.limiter = static_cast<Limiter>(trial / 4 % 3);
    const std::size_t plane = c.shape.plane();
    for (std::size_t at = 0; at < plane; ++at) {
      c.block[at] = trial % 5 == 0 ? 0.0 : drawn(random, 0.0, 1.0);
      for (std::size_t v : {1U, 2U}) c.block[v * plane + at] = c.block[at] * drawn(random, -1.0, 1.0);
      c.block[kBed * plane + at] = drawn(random, 0.0, 0.3);
      c.block[kRoughness * plane + at] = 0.03;
    }
    const int face = trial % 4;
    std::vector<Inflow<double>> inflows(kEdge);
    double comes = 0.0;
    for (auto& inflow : inflows) {
      if (random() % 4 != 0) inflow.discharge = drawn(random, 0.0, 5.0);
      if (random() % 2 != 0) inflow.depth = drawn(random, 0.0, 0.5);
      comes += inflow.discharge * (face < 2 ? c.shape.dy : c.shape.dx);
    }
    c.close(face, inflows);
    std::vector<double> out = c.block;
    const double dt = 0.05;
    const auto found =
        advance_block<double>(c.shape, c.physics, c.block.data(), c.strips, nullptr, dt, out.data(), scratch);
    const auto volume = [&](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.begin() + std::ptrdiff_t(plane), 0.0) * c.shape.dx * c.shape.dy;
    };
    const double after = volume(out);
    EXPECT_NEAR(after, volume(c.block) + comes * dt, 1e-13 * after);
    EXPECT_GE(found.smallest_depth, 0.0);
  }
}

/// Even flow over a flat bed: what comes in goes on as what is there.
TEST(ShallowWaterInflow, LeavesEvenFlowAsItIs) {
  Scratch<double> scratch(kEdge);
  for (int face = 0; face < 4; ++face) {
    for (const double speed : {1.0, 8.0}) {  // slower and faster than waves
      SCOPED_TRACE("face " + std::to_string(face) + ", speed " + std::to_string(speed));
      Case c;
      c.physics.friction = false;
      const std::size_t plane = c.shape.plane();
      const double h = 2.0, along = face % 2 == 0 ? h * speed : -h * speed;
      std::fill_n(c.block.begin(), plane, h);
      std::fill_n(c.block.begin() + std::ptrdiff_t((face < 2 ? 1 : 2) * plane), plane, along);
      c.close(face, std::vector<Inflow<double>>(kEdge, {h * speed, h}));
      const int opposite = face ^ 1;
      fill_boundary({BoundaryKind::open, 0.0}, kEdge, opposite, c.physics, c.block.data(),
                    c.behind[std::size_t(opposite)].data());
      std::vector<double> out = c.block;
      static_cast<void>(
          advance_block<double>(c.shape, c.physics, c.block.data(), c.strips, nullptr, 0.02, out.data(), scratch));
      for (std::size_t k = 0; k < 3 * plane; ++k) EXPECT_NEAR(out[k], c.block[k], 1e-12) << "value " << k;
    }
  }
}

}  // namespace
}  // namespace amrbench::kernels::shallow_water
