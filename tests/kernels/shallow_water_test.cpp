// The shallow-water scheme on one block: arithmetic, balance, conservation, positivity, symmetry, changes of level.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "kernels/shallow_water/block.hpp"
#include "kernels/shallow_water/boundary.hpp"
#include "kernels/shallow_water/water_marks.hpp"
#include "sanitized.hpp"
#include "tests/kernels/shallow_water_grid.hpp"

namespace amrbench::kernels::shallow_water {
namespace {

using checks::Grid;
using checks::GridSide;
using Cell = std::array<double, kVariables>;

double sw_uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

void all_sides(auto& grid, GridSide::Kind kind) {
  for (GridSide& side : grid.sides) side.kind = kind;
}

constexpr Limiter kLimiters[] = {Limiter::minmod, Limiter::monotonized, Limiter::van_leer};

TEST(WaterMarks, AreWhatNeighboursSeeOfABlock) {
  for (const int n : {4, 6, 16}) {
    for (int at = 0; at < n * n; ++at) {
      unsigned wanted = kWaterAnywhere;
      for (int face = 0; face < 4; ++face)
        for (int layer = 0; layer < 2; ++layer)
          for (int m = 0; m < n; ++m)
            if (cell_at_face(n, face, layer, m) == static_cast<std::size_t>(at))
              wanted |= marks_of_half(face, m < n / 2 ? 0 : 1);
      EXPECT_EQ(water_marks(n, at % n, at / n), wanted) << "cell " << at << " of " << n << " x " << n;
    }
  }
  for (int face = 0; face < 4; ++face) EXPECT_EQ(marks_of_face(face), marks_of_half(face, 0) | marks_of_half(face, 1));
}

TEST(ShallowWaterArithmetic, InverseCubeRootIsRightToFourUnits) {
  std::mt19937_64 random(7);
  double worst = 0, worst_float = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = std::exp2(200 * sw_uniform(random) - 100);
    const long double exact = 1 / std::cbrt(static_cast<long double>(x));
    const double unit = std::nextafter(static_cast<double>(exact), 1e300) - static_cast<double>(exact);
    worst = std::max(worst, static_cast<double>(std::fabs(inverse_cube_root(x) - exact) / unit));
    const float f = static_cast<float>(std::exp2(100 * sw_uniform(random) - 50));
    const double exact_f = 1 / std::cbrt(static_cast<double>(f));
    const double unit_f = std::nextafter(static_cast<float>(exact_f), 1e30F) - static_cast<float>(exact_f);
    worst_float = std::max(worst_float, std::fabs(inverse_cube_root(f) - exact_f) / unit_f);
  }
  std::printf("inverse cube root: %.2f units at most, float %.2f\n", worst, worst_float);
  EXPECT_LT(worst, 4);
  EXPECT_LT(worst_float, 4);
  EXPECT_GT(worst, 0);
}

TEST(ShallowWaterArithmetic, SlopesAreOddSymmetricAndBounded) {
  std::mt19937_64 random(11);
  int not_zero = 0;
  const auto check = [&]<Limiter kLimiter>(std::integral_constant<Limiter, kLimiter>) {
    for (int i = 0; i < 100000; ++i) {
      const double h0 = std::exp2(-60 * sw_uniform(random)), h1 = std::exp2(-60 * sw_uniform(random));
      const double h2 = random() % 8 == 0 ? 0 : std::exp2(-60 * sw_uniform(random));
      const double a = h1 - h0, b = h2 - h1, s = half_slope<kLimiter>(a, b);
      EXPECT_EQ(s, half_slope<kLimiter>(b, a));
      EXPECT_EQ(s, -half_slope<kLimiter>(-a, -b));
      EXPECT_GE(h1 - s, 0);
      EXPECT_GE(h1 + s, 0);
      EXPECT_LE(std::fabs(s), std::min(std::fabs(a), std::fabs(b)));
      not_zero += s != 0;
    }
    EXPECT_DOUBLE_EQ(half_slope<kLimiter>(2.0, 2.0), 1);
    EXPECT_EQ(half_slope<kLimiter>(2.0, -1.0), 0);
  };
  check(std::integral_constant<Limiter, Limiter::minmod>());
  check(std::integral_constant<Limiter, Limiter::monotonized>());
  check(std::integral_constant<Limiter, Limiter::van_leer>());
  EXPECT_GT(not_zero, 10000);
}

TEST(ShallowWaterFriction, SteadyFlowStaysAndNoFlowTurns) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 10000; ++i) {
    const double h = std::exp2(-12 * sw_uniform(random)), n = 0.1 * sw_uniform(random), dt = 10 * sw_uniform(random);
    const double hu = 4 * sw_uniform(random) - 2, hv = 4 * sw_uniform(random) - 2;
    const double drag = 9.81 * n * n * std::hypot(hu, hv) / std::pow(h, 7.0 / 3);
    const double pushed = 1 + dt * drag;  // what a steady push makes of the discharge before friction
    const double f = friction_factor(h, hu * pushed, hv * pushed, n, 4 * 9.81 * dt, 1e-6);
    EXPECT_NEAR(f * pushed, 1, 1e-13);
    EXPECT_GT(f, 0);
    EXPECT_LE(f, 1);
  }
  EXPECT_EQ(friction_factor(0.3, 1.0, 2.0, 0.0, 4.0, 1e-6), 1);
}

/// A bed of random bumps, as a function: the same on every level.
struct RandomBed {
  explicit RandomBed(std::uint64_t seed) : random(seed) {
    for (auto& w : wave)
      w = {1 + 6 * sw_uniform(random), 1 + 6 * sw_uniform(random), 6.3 * sw_uniform(random), sw_uniform(random)};
  }
  [[nodiscard]] double operator()(double x, double y) const {
    double z = 0;
    for (const auto& w : wave) z += 0.5 * w[3] * std::cos(w[0] * x + w[1] * y + w[2]);
    return z;
  }
  std::mt19937_64 random;
  std::array<std::array<double, 4>, 6> wave;
};

TEST(ShallowWaterBlock, LakeAtRestStaysAcrossLevels) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const bool two_levels : {false, true}) {
      const RandomBed bed(seed);
      Grid<double> grid(8, {4, 4}, {0, 0}, {3, 3},
                        [&](int x, int y) { return two_levels && (x * 5 + y * 3) % 4 == 0; });
      grid.physics.limiter = kLimiters[seed % 3];
      int dry = 0, wet = 0;
      grid.fill([&](double x, double y, double, double) {
        const double z = bed(x, y), h = std::max(0.1 - z, 0.0);
        (h > 0 ? wet : dry)++;
        return Cell{h, 0, 0, z, 0.03};
      });
      const double volume = grid.volume();
      double time = 0;
      for (int i = 0; i < 200; ++i) time += grid.step(1);
      EXPECT_GT(wet, 50);
      EXPECT_GT(dry, 50);
      EXPECT_GT(time, 0.5);
      double worst_level = 0, worst_discharge = 0;
      grid.each([&](double, double, double, const Cell& c) {
        worst_level = std::max(worst_level, std::fabs(c[kDepth] - std::max(0.1 - c[kBed], 0.0)));
        worst_discharge = std::max({worst_discharge, std::fabs(c[1]), std::fabs(c[2])});
      });
      EXPECT_LT(worst_level, 1e-12) << "seed " << seed << " levels " << 1 + two_levels;
      EXPECT_LT(worst_discharge, 1e-12) << "seed " << seed << " levels " << 1 + two_levels;
      EXPECT_NEAR(grid.volume() / volume, 1, 1e-13);
    }
}

/// Water, beds and speeds drawn without any sense.
Cell violent(std::mt19937_64& random, double scale) {
  const double h = random() % 3 == 0 ? 0 : scale * std::exp2(-40 * sw_uniform(random) * sw_uniform(random));
  const double speed = 20 * sw_uniform(random) * sw_uniform(random);
  return {h, h * speed * (2 * sw_uniform(random) - 1), h * speed * (2 * sw_uniform(random) - 1), 4 * sw_uniform(random),
          random() % 2 == 0 ? 0 : 0.05};
}

template <class Real>
void violent_run(std::uint64_t seed, double tolerance) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << sizeof(Real) << " bytes");
  std::mt19937_64 random(seed);
  Grid<Real> grid(4, {4, 4}, {0, 0}, {4, 2}, [&](int x, int y) { return (x + 2 * y + int(seed)) % 3 == 0; });
  grid.physics.limiter = kLimiters[seed % 3];
  if (seed % 2 != 0) all_sides(grid, GridSide::Kind::periodic);
  // A time step beyond what is stable: depths must stay positive all the same.
  grid.cfl = seed % 4 == 0 ? 1.5 : 0.45;
  grid.fill([&](double, double, double, double) { return violent(random, 2); });
  const double volume = grid.volume();
  for (int i = 0; i < 60; ++i) {
    grid.step(1);
    ASSERT_GE(grid.result().smallest_depth, 0);
    ASSERT_TRUE(std::isfinite(grid.fastest()));
    ASSERT_GT(grid.fastest(), 0);
  }
  double least = 1, moved = 0;
  grid.each([&](double, double, double, const Cell& c) {
    for (const double value : c) EXPECT_TRUE(std::isfinite(value));
    least = std::min(least, c[kDepth]);
    moved = std::max(moved, std::fabs(c[kDischargeX]));
  });
  EXPECT_GE(least, 0);
  EXPECT_GT(moved, 0);
  EXPECT_NEAR(grid.volume() / volume, 1, tolerance);
}

TEST(ShallowWaterBlock, DepthStaysPositiveAndMassIsConserved) {
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(60, 15)); seed <= last; ++seed) {
    violent_run<double>(seed, 1e-13);
    violent_run<float>(seed, 3e-5);
  }
}

TEST(ShallowWaterBlock, OneStepFromViolentStatesForAnyTimeStep) {
  std::mt19937_64 random(17);
  int emptied = 0;
  for (int turn = 0; turn < 300; ++turn) {
    Grid<double> grid(4, {2, 2}, {0, 0}, {1, 1}, [&](int x, int y) { return (x + y + turn) % 2 == 0; });
    all_sides(grid, GridSide::Kind::periodic);
    grid.cfl = std::exp2(20 * sw_uniform(random) - 4);
    grid.fill([&](double, double, double, double) { return violent(random, std::exp2(random() % 20)); });
    const double volume = grid.volume(), before = grid.result().largest_depth;
    grid.step(1e9);
    ASSERT_GE(grid.result().smallest_depth, 0) << turn;
    ASSERT_NEAR(grid.volume() / volume, 1, 1e-13) << turn;
    emptied += grid.result().largest_depth < before;
  }
  EXPECT_GT(emptied, 0);
}

TEST(ShallowWaterBlock, AxesAndDirectionsGiveMirroredBits) {
  for (const Limiter limiter : kLimiters)
    for (const bool two_levels : {false, true}) {
      const auto state = [](int i, int j) {  // of cell (i, j) of the finest grid
        std::mt19937_64 random(std::uint64_t(i) * 1000 + j);
        Cell c = violent(random, 2);
        return c;
      };
      const double dx = 1.0 / 32;  // powers of 2: centres are exact in every orientation
      const auto make = [&](int form) {
        const auto fine = [&](int x, int y) {
          if (form == 2) x = 1 - x;
          if (form == 1) std::swap(x, y);
          return two_levels && x == 0 && y == 1;
        };
        Grid<double> grid(8, {2, 2}, {0, 0}, {1, 1}, fine);
        grid.physics.limiter = limiter;
        grid.fill([&](double x, double y, double, double) {
          if (form == 2) x = 1 - x;
          if (form == 1) std::swap(x, y);
          // Coarse centres lie at corners of fine cells: the same corner in every form.
          Cell c = state(int(std::floor(x / dx * 2)), int(std::floor(y / dx * 2)));
          if (form == 1) std::swap(c[1], c[2]);
          if (form == 2) c[1] = -c[1];
          return c;
        });
        for (int i = 0; i < 12; ++i) grid.step(1);
        return grid;
      };
      const auto plain = make(0), turned = make(1), mirrored = make(2);
      const auto at = [](const Grid<double>& g, double x, double y) {
        Cell found{};
        g.each([&](double cx, double cy, double, const Cell& c) {
          if (cx == x && cy == y) found = c;
        });
        return found;
      };
      int checked = 0;
      plain.each([&](double x, double y, double, const Cell& c) {
        const Cell t = at(turned, y, x), m = at(mirrored, 1 - x, y);
        EXPECT_EQ(c[0], t[0]);
        EXPECT_EQ(c[1], t[2]);
        EXPECT_EQ(c[2], t[1]);
        EXPECT_EQ(c[0], m[0]);
        EXPECT_EQ(c[1], -m[1]);
        EXPECT_EQ(c[2], m[2]);
        checked += c[0] != 0 && c[1] != 0;
      });
      EXPECT_GT(checked, 100);
    }
}

/// Fluxes of a level's change are found by both blocks. With dt and areas as powers of two, and no other face open,
/// what the coarse cell loses is the mean of what the fine cells win: here both are found as the change of depth.
TEST(ShallowWaterBlock, BothSidesOfALevelChangeFindTheSameFluxes) {
  std::mt19937_64 random(23);
  int different_halves = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    Jump<double> jump;
    const auto draw = [&] {
      const Cell c = violent(random, 2);
      return RawCell<double>{c[0], c[1], c[2], c[3]};
    };
    for (auto& c : jump.coarse) c = draw();
    for (auto& layer : jump.fine)
      for (auto& c : layer) c = draw();
    const Physics<double> physics;
    FaceFlux<double> there[2], back[2];
    jump_fluxes<Limiter::monotonized>(jump, true, {20.0, 0.05, 0.04}, physics, there);
    // Seen in a mirror all that is normal changes its sign.
    for (auto& c : jump.coarse) c.along = -c.along;
    for (auto& layer : jump.fine)
      for (auto& c : layer) c.along = -c.along;
    jump_fluxes<Limiter::monotonized>(jump, false, {20.0, 0.05, 0.04}, physics, back);
    for (int half = 0; half < 2; ++half) {
      EXPECT_EQ(there[half].mass, -back[half].mass);
      EXPECT_EQ(there[half].transverse, -back[half].transverse);
      EXPECT_EQ(there[half].lower, back[half].upper);
      EXPECT_EQ(there[half].upper, back[half].lower);
    }
    different_halves += there[0].mass != there[1].mass;
  }
  EXPECT_GT(different_halves, 1000);
}

TEST(ShallowWaterBlock, CutsOfTheGridDoNotShow) {
  const auto run = [](int n, std::array<int, 2> blocks) {
    Grid<double> grid(n, blocks, {0, 0}, {1, 1});
    all_sides(grid, GridSide::Kind::periodic);
    grid.fill([](double x, double y, double, double) {
      std::mt19937_64 here(std::uint64_t(x * 1024) * 4096 + std::uint64_t(y * 1024));
      return violent(here, 1);
    });
    for (int i = 0; i < 10; ++i) grid.step(1);
    std::vector<std::pair<std::array<double, 2>, Cell>> cells;
    grid.each([&](double x, double y, double, const Cell& c) { cells.push_back({{y, x}, c}); });
    std::sort(cells.begin(), cells.end());
    return cells;
  };
  const auto one = run(64, {1, 1});
  EXPECT_EQ(one.size(), 4096U);
  EXPECT_EQ(one, run(16, {4, 4}));
  EXPECT_EQ(one, run(4, {16, 16}));
}

TEST(ShallowWaterBoundary, InflowAndLevelAsAskedFor) {
  const int n = 4;
  BlockShape<double> shape{n, 1, 1};
  const Physics<double> physics;
  std::vector<double> block(shape.values(), 0.0), strip(strip_values(StripKind::same, n));
  for (int face = 0; face < 4; ++face) {
    fill_boundary({BoundaryKind::inflow, 2.0}, n, face, physics, block.data(), strip.data());
    const double critical = std::cbrt(4 / 9.81);
    const int normal = face < 2 ? kDischargeX : kDischargeY;
    for (int k = 0; k < 2 * n; ++k) {
      EXPECT_NEAR(strip[kDepth * 2 * n + k], critical, 1e-14);
      EXPECT_EQ(strip[std::size_t(normal) * 2 * n + k], face % 2 == 0 ? 2 : -2);
    }
    fill_boundary({BoundaryKind::level, 0.75}, n, face, physics, block.data(), strip.data());
    for (int k = 0; k < 2 * n; ++k) EXPECT_EQ(strip[kDepth * 2 * n + k], 0.75);
  }
}

/// GPUs tell zeros of floats apart by their signs where the host does not: none of -0 may stay in a state.
TEST(ShallowWaterBlock, StagesOfFloatsLeaveNoMinusZero) {
  constexpr unsigned kSeed = 23;
  std::mt19937_64 random(kSeed);
  constexpr int kCells = 8;
  constexpr std::size_t kPlane = kCells * kCells;
  const BlockShape<float> shape{kCells, 1.0F, 1.0F};
  Scratch<float> scratch(kCells);
  int damped = 0, zeros = 0;
  for (int turn = 0; turn < 50; ++turn) {
    Physics<float> physics;
    physics.limiter = kLimiters[turn % 3];
    std::vector<float> state(kVariables * kPlane, 0.0F), next(kMoving * kPlane);
    for (std::size_t at = 0; at < kPlane; ++at) {
      const float wet = random() % 3 == 0 ? 1.0F : random() % 2 == 0 ? 0.1F * physics.dry_depth : 0.0F;
      state[at] = wet * static_cast<float>(sw_uniform(random));
      for (std::size_t v = 1; v < kMoving; ++v)
        state[v * kPlane + at] = static_cast<float>((sw_uniform(random) - 0.5) * (random() % 4 == 0 ? 1e-44 : 1e-6));
      damped += state[at] == 0.0F && state[kPlane + at] < 0.0F ? 1 : 0;
    }
    std::array<std::vector<float>, 4> behind;
    std::array<Strip<float>, 4> strips;
    for (std::size_t face = 0; face < 4; ++face) {
      behind[face].resize(strip_values(StripKind::same, kCells));
      fill_boundary(Boundary<float>{}, kCells, static_cast<int>(face), physics, state.data(), behind[face].data());
      strips[face] = {behind[face].data(), StripKind::same};
    }
    for (const float* const old : {static_cast<const float*>(nullptr), static_cast<const float*>(state.data())}) {
      advance_block(shape, physics, state.data(), strips, old, 0.01F, next.data(), scratch);
      for (const float x : next) {
        zeros += x == 0.0F ? 1 : 0;
        ASSERT_FALSE(x == 0.0F && std::signbit(x)) << "seed " << kSeed << ", turn " << turn;
      }
    }
  }
  EXPECT_GT(damped, 100);
  EXPECT_GT(zeros, 100);
}

}  // namespace
}  // namespace amrbench::kernels::shallow_water
