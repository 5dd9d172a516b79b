// Closed-form solutions: that they fulfil the equations, and that the scheme's results approach them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "sanitized.hpp"
#include "support/error.hpp"
#include "tests/kernels/shallow_water_grid.hpp"
#include "workloads/shallow_water/make.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

using kernels::shallow_water::BoundaryKind;
using kernels::shallow_water::Limiter;
using kernels::shallow_water::checks::Grid;
using kernels::shallow_water::checks::GridSide;

/// How far (h, u, v) are from the equations at a place, by central differences: mass, and both momenta over h.
std::array<double, 3> residual(const Solution& s, double x, double y, double t, double e, double et) {
  const double g = s.setup().gravity;
  const State c = s.at(x, y, t), e1 = s.at(x + e, y, t), w1 = s.at(x - e, y, t), n1 = s.at(x, y + e, t),
              s1 = s.at(x, y - e, t), later = s.at(x, y, t + et), before = s.at(x, y, t - et);
  const double over = 0.5 / e, over_t = 0.5 / et;
  const double n = s.roughness(x, y), speed = std::hypot(c.u, c.v);
  const double drag = g * n * n * speed / std::pow(c.h, 4.0 / 3);
  const double zx = (s.bed(x + e, y) - s.bed(x - e, y)) * over, zy = (s.bed(x, y + e) - s.bed(x, y - e)) * over;
  return {(later.h - before.h) * over_t + (e1.h * e1.u - w1.h * w1.u) * over + (n1.h * n1.v - s1.h * s1.v) * over,
          (later.u - before.u) * over_t + c.u * (e1.u - w1.u) * over + c.v * (n1.u - s1.u) * over +
              g * (e1.h - w1.h) * over + g * zx + drag * c.u,
          (later.v - before.v) * over_t + c.u * (e1.v - w1.v) * over + c.v * (n1.v - s1.v) * over +
              g * (n1.h - s1.h) * over + g * zy + drag * c.v};
}

/// Residuals at many places where the water is deep enough; those of places beside shocks and kinks are left to `skip`.
void fulfils(const Solution& s, double t, double tolerance, const std::function<bool(double, double)>& skip = {}) {
  SCOPED_TRACE(s.name());
  const Setup& setup = s.setup();
  const double size = setup.high[0] - setup.low[0] + setup.high[1] - setup.low[1], e = 1e-5 * size;
  int checked = 0;
  double worst = 0;
  for (int j = 1; j < 40; ++j)
    for (int i = 1; i < 40; ++i) {
      const double x = setup.low[0] + (setup.high[0] - setup.low[0]) * (i + 0.123) / 41;
      const double y = setup.low[1] + (setup.high[1] - setup.low[1]) * (j + 0.321) / 41;
      if (skip && skip(x, y)) continue;
      bool deep = true;
      for (const double dx : {-e, 0.0, e})
        for (const double dy : {-e, 0.0, e}) deep = deep && s.at(x + dx, y + dy, t).h > 1e-6;
      if (!deep) continue;
      for (const double r : residual(s, x, y, t, e, 1e-5 * t)) worst = std::max(worst, std::fabs(r));
      ++checked;
    }
  EXPECT_GT(checked, 100);
  EXPECT_LT(worst, tolerance);
}

TEST(ShallowWaterSolutions, FulfilTheEquations) {
  for (const Axis axis : {Axis::x, Axis::y}) {
    const auto dam = make_dam_break({0.005, 0, 10, 10, 6, axis});
    fulfils(*dam, 3, 1e-6, [&](double x, double y) {  // both ends of the rarefaction are kinks
      const double s = (axis == Axis::x ? x : y) - 5, c = std::sqrt(9.81 * 0.005);
      return std::fabs(s + 3 * c) < 0.05 || s > 5.5 * c;
    });
    for (const BumpFlow flow : {BumpFlow::subcritical, BumpFlow::transcritical, BumpFlow::shock})
      fulfils(*make_bump({flow, 10, axis}), 1, 2e-3, [&](double x, double y) {
        const double s = axis == Axis::x ? x : y;
        return std::fabs(s - 8) < 0.1 || std::fabs(s - 12) < 0.1 || std::fabs(s - 11.67) < 0.1 ||
               std::fabs(s - 10) < 0.1;
      });
    fulfils(*make_friction_channel({2, 0.033, 500, axis}), 1, 1e-5);
  }
  fulfils(*make_planar_bowl(), 1.3, 1e-6);
  fulfils(*make_radial_bowl(), 1.3, 1e-5);
  fulfils(*make_vortex(), 0.7, 1e-6);
  Vortex drifting;
  drifting.drift = {0.5, -0.3};
  drifting.speed = -0.7;
  fulfils(*make_vortex(drifting), 0.7, 1e-6);
  fulfils(*make_lake(), 1, 1e-6);
}

TEST(ShallowWaterSolutions, ShocksKeepMassAndMomentum) {
  const double g = 9.81;
  const auto dam = make_dam_break();
  // Between rarefaction and shock; the front is found by bisection.
  double low = 5, high = 10;
  for (int i = 0; i < 60; ++i) (dam->at(0.5 * (low + high), 0, 6).h > 0.001 ? low : high) = 0.5 * (low + high);
  const State behind = dam->at(low - 1e-6, 0, 6);
  const double speed = (low - 5) / 6;
  EXPECT_NEAR(behind.h * behind.u, speed * (behind.h - 0.001), 1e-12);
  EXPECT_NEAR(behind.h * behind.u * behind.u + 0.5 * g * (behind.h * behind.h - 1e-6), speed * behind.h * behind.u,
              1e-12);
  EXPECT_GT(behind.h, 0.002);

  const auto bump = make_bump({BumpFlow::shock, 2, Axis::x});
  low = 10.5, high = 12;
  for (int i = 0; i < 60; ++i) (bump->at(0.5 * (low + high), 0, 0).u > 1.1 ? low : high) = 0.5 * (low + high);
  EXPECT_NEAR(low, 11.665, 0.01);  // Delestre et al. show it there
  const auto momentum = [&](double x) {
    const State s = bump->at(x, 0, 0);
    return s.h * s.u * s.u + 0.5 * g * s.h * s.h;
  };
  EXPECT_NEAR(momentum(low - 1e-9), momentum(high + 1e-9), 1e-8);
  EXPECT_GT(bump->at(low - 0.01, 0, 0).u, 1.5 * bump->at(high + 0.01, 0, 0).u);
}

TEST(ShallowWaterSolutions, BadParametersAreRefused) {
  EXPECT_THROW((void)make_dam_break({1, 2}), support::InputError);
  EXPECT_THROW((void)make_radial_bowl({0.1, 1, 1.5, 4, 1}), support::InputError);
  EXPECT_THROW((void)make_vortex({0.01, 5, 1}), support::InputError);
  EXPECT_THROW((void)make_lake({1, 0}), support::InputError);
}

/// A grid for a solution, with its state at time 0 and its sides; `exact` sides everywhere if asked for.
Grid<double> grid_for(
    const Solution& s, int n, std::array<int, 2> blocks, bool exact_sides = false,
    const std::function<bool(int, int)>& fine = [](int, int) { return false; }) {
  Grid<double> grid(n, blocks, s.setup().low, s.setup().high, fine);
  for (int side = 0; side < 4; ++side) {
    const SideCondition& condition = s.setup().sides[side];
    GridSide& to = grid.sides[side];
    to.boundary.value = condition.value;
    switch (condition.kind) {
      case Side::wall:
        to.boundary.kind = BoundaryKind::wall;
        break;
      case Side::open:
        to.boundary.kind = BoundaryKind::open;
        break;
      case Side::inflow:
        to.boundary.kind = BoundaryKind::inflow;
        break;
      case Side::level:
        to.boundary.kind = BoundaryKind::level;
        break;
      case Side::exact:
        to.kind = GridSide::Kind::given;
        break;
    }
    if (exact_sides) to.kind = GridSide::Kind::given;
  }
  grid.fill([&](double x, double y, double dx, double dy) { return cell_values(s, x, y, dx, dy, 0); });
  return grid;
}

/// Runs to the end; sides that are given follow the solution.
void run_to(Grid<double>& grid, const Solution& s, double end) {
  grid.given = [&](double x, double y, double dx, double dy) { return cell_values(s, x, y, dx, dy, grid.time); };
  grid.run(end);
}

struct Errors {
  double h = 0, q = 0;  ///< mean absolute errors of depth and of both discharges
};
Errors errors_of(const Grid<double>& grid, const Solution& s, const std::function<bool(double, double)>& only = {}) {
  Errors errors;
  double area = 0;
  grid.each([&](double x, double y, double a, const CellValues& c) {
    if (only && !only(x, y)) return;
    const State e = s.at(x, y, grid.time);
    errors.h += a * std::fabs(c[0] - e.h);
    errors.q += a * (std::fabs(c[1] - e.h * e.u) + std::fabs(c[2] - e.h * e.v));
    area += a;
  });
  EXPECT_GT(area, 0);
  return {errors.h / area, errors.q / area};
}

double order(double coarse, double fine) {
  return std::log2(coarse / fine);
}

void report(const char* what, const Errors& coarse, const Errors& fine) {
  std::printf("%s: errors of h %.3e %.3e order %.2f, of q %.3e %.3e order %.2f\n", what, coarse.h, fine.h,
              order(coarse.h, fine.h), coarse.q, fine.q, order(coarse.q, fine.q));
}

TEST(ShallowWaterConvergence, Vortex) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  for (const bool drifting : {false, true})
    for (const Limiter limiter : {Limiter::monotonized, Limiter::van_leer, Limiter::minmod}) {
      Vortex parameters;
      if (drifting) parameters.drift = {0.6, 0.4};
      parameters.end_time = 0.5;
      const auto s = make_vortex(parameters);
      Errors e[2];
      for (int k = 0; k < 2; ++k) {
        auto grid = grid_for(*s, 16, {4 << k, 4 << k});
        grid.physics.limiter = limiter;
        run_to(grid, *s, s->setup().end_time);
        e[k] = errors_of(grid, *s);
      }
      const char* names[] = {"minmod", "monotonized", "van Leer"};
      std::printf("%s, ", names[int(limiter)]);
      report(drifting ? "drifting vortex" : "steady vortex", e[0], e[1]);
      if (limiter == Limiter::minmod) continue;
      EXPECT_GT(order(e[0].h, e[1].h), 1.8);
      EXPECT_GT(order(e[0].q, e[1].q), 1.8);
    }
}

TEST(ShallowWaterConvergence, VortexAcrossLevels) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  const auto s = make_vortex({1, 1, 0.5, {0.6, 0.4}, 5, 0.5});
  Errors e[2];
  for (int k = 0; k < 2; ++k) {
    const int blocks = 4 << k;
    const auto fine = [&](int x, int y) { return x >= blocks / 4 && x < blocks * 3 / 4 && y >= blocks / 2; };
    auto grid = grid_for(*s, 16, {blocks, blocks}, false, fine);
    run_to(grid, *s, s->setup().end_time);
    e[k] = errors_of(grid, *s);
  }
  report("vortex across levels", e[0], e[1]);
  EXPECT_GT(order(e[0].h, e[1].h), 1.7);
  EXPECT_GT(order(e[0].q, e[1].q), 1.7);
}

TEST(ShallowWaterConvergence, DamBreaks) {
  for (const double right : {0.001, 0.0})
    for (const Axis axis : {Axis::x, Axis::y}) {
      const auto s = make_dam_break({0.005, right, 10, 10.0 / 16, 6, axis});
      Errors e[3];
      for (int k = 0; k < 3; ++k) {
        const int blocks = 16 << k;
        auto grid = grid_for(*s, 4, axis == Axis::x ? std::array{blocks, 1 << k} : std::array{1 << k, blocks});
        const double volume = grid.volume();
        run_to(grid, *s, 6);
        EXPECT_NEAR(grid.volume() / volume, 1, 1e-13);
        EXPECT_GE(grid.result().smallest_depth, 0);
        e[k] = errors_of(grid, *s);
      }
      report(right > 0 ? "Stoker" : "Ritter", e[1], e[2]);
      EXPECT_LT(e[1].h, 0.8 * e[0].h);
      EXPECT_LT(e[2].h, 0.7 * e[1].h);
      EXPECT_LT(e[2].q, 0.7 * e[1].q);
      EXPECT_LT(e[2].h, 0.004 * 0.005);
    }
}

TEST(ShallowWaterConvergence, Bowls) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  for (const bool planar : {true, false}) {
    const auto s = planar ? make_planar_bowl() : make_radial_bowl();
    Errors e[2], inner[2];
    for (int k = 0; k < 2; ++k) {
      auto grid = grid_for(*s, 16, {4 << k, 4 << k});
      const double volume = grid.volume();
      run_to(grid, *s, s->setup().end_time);
      EXPECT_NEAR(grid.volume() / volume, 1, 1e-13);
      EXPECT_GE(grid.result().smallest_depth, 0);
      e[k] = errors_of(grid, *s);
      inner[k] = errors_of(grid, *s, [&](double x, double y) { return s->at(x, y, 0).h > 0.04; });
    }
    report(planar ? "planar bowl" : "radial bowl", e[0], e[1]);
    report("  away from the shore", inner[0], inner[1]);
    EXPECT_GT(order(e[0].h, e[1].h), 1);
    EXPECT_GT(order(e[0].q, e[1].q), 0.9);
    EXPECT_LT(e[1].h, 0.02 * 0.1);
  }
}

TEST(ShallowWaterConvergence, SteadyChannels) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  for (const BumpFlow flow : {BumpFlow::subcritical, BumpFlow::transcritical, BumpFlow::shock}) {
    const auto s = make_bump({flow, 25.0 / 25, Axis::x});
    Errors e[2];
    for (int k = 0; k < 2; ++k) {
      auto grid = grid_for(*s, 4, {25 << k, 1});
      grid.physics.limiter = Limiter::van_leer;
      run_to(grid, *s, 60);
      e[k] = errors_of(grid, *s);
    }
    report(flow == BumpFlow::subcritical ? "bump, subcritical"
           : flow == BumpFlow::shock     ? "bump, shock"
                                         : "bump, transcritical",
           e[0], e[1]);
    EXPECT_LT(e[1].h, flow == BumpFlow::shock ? 2e-3 : 1e-3);
    EXPECT_LT(e[1].h, 0.8 * e[0].h);
  }
  for (const Axis axis : {Axis::x, Axis::y}) {
    const auto s = make_friction_channel({2, 0.033, 40, axis});
    Errors e[2], own[2];
    for (int k = 0; k < 2; ++k)
      for (const bool exact_sides : {true, false}) {
        const int blocks = 8 << k;
        auto grid = grid_for(*s, 4, axis == Axis::x ? std::array{blocks, 1} : std::array{1, blocks}, exact_sides);
        run_to(grid, *s, 1500);
        (exact_sides ? e : own)[k] = errors_of(grid, *s);
      }
    report("friction channel", e[0], e[1]);
    report("  inflow and level at its ends", own[0], own[1]);
    EXPECT_GT(order(e[0].h, e[1].h), 1.8);
    EXPECT_GT(order(e[0].q, e[1].q), 1.8);
    EXPECT_LT(e[1].h, 1e-4);
    EXPECT_GT(order(own[0].h, own[1].h), 0.9);  // conditions of first order
  }
}

/// The depth of uniform flow, h = (n q / sqrt(slope))^(3/5), down a slope much steeper than h / dx. So rough that no
/// roll waves grow, as they do above a Froude number of 1.5.
TEST(ShallowWaterConvergence, ThinFlowDownASteepSlopeIsUniform) {
  for (const auto& [slope, n] : {std::array{0.1, 0.03}, {1.0, 0.1}, {3.0, 0.2}}) {
    const double q = 2e-3, normal = std::pow(n * q / std::sqrt(slope), 0.6);
    Grid<double> grid(4, {8, 1}, {0, 0}, {32, 4});
    grid.sides[0].boundary = {BoundaryKind::inflow, q};
    grid.sides[1].boundary = {BoundaryKind::open, 0};
    const double steep = slope, rough = n;
    grid.fill([&](double x, double, double, double) { return CellValues{0, 0, 0, steep * (32 - x), rough}; });
    grid.longest_step = 0.05;
    grid.run(300);
    double worst = 0, least = 1;
    grid.each([&](double x, double, double, const CellValues& c) {
      if (x < 8 || x > 26) return;  // a level bed is put behind either end
      worst = std::max(worst, std::fabs(c[0] / normal - 1));
      least = std::min(least, c[0]);
    });
    std::printf("slope %.1f, normal depth %.2e m: off by %.2e\n", slope, normal, worst);
    EXPECT_LT(worst, 5e-3);
    EXPECT_GT(least, 0);
  }
}

/// A film on the edge must not dam the water behind it.
TEST(ShallowWaterConvergence, TerraceRunsEmpty) {
  for (const Limiter limiter : {Limiter::minmod, Limiter::monotonized, Limiter::van_leer})
    for (const double film : {0.0, 1e-9, 1e-4}) {
      Grid<double> grid(4, {8, 1}, {0, 0}, {32, 4});
      grid.physics.limiter = limiter;
      grid.sides[1].boundary.kind = BoundaryKind::open;
      grid.fill([&](double x, double, double, double) {
        return CellValues{x < 16 ? 0.007 : film, 0, 0, x < 17 ? 3 : 3 - 2 * (x - 17), 0.01};
      });
      grid.longest_step = 1;
      grid.run(300);
      double left = 0;
      grid.each([&](double x, double, double, const CellValues& c) { left += x < 16 ? c[0] / 64 : 0; });
      EXPECT_LT(left, 0.5 * 0.007) << film;
      EXPECT_GT(left, 0);
      EXPECT_GE(grid.result().smallest_depth, 0);
    }
}

}  // namespace
}  // namespace amrbench::workloads::shallow_water
