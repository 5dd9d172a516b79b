// support/metrics.hpp: exclusive times under a clock the test controls, and reduction over ranks.
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/metrics.hpp"
#include "support/mpi.hpp"

namespace amrbench::support {
namespace {

/// A clock the test turns by hand; static, because Metrics takes a plain function.
struct HandClock {
  static double& now() {
    static double value = 100.0;
    return value;
  }
  static double read() { return now(); }
  static void advance(double s) { now() += s; }
};

TEST(Metrics, NestedTimeIsNotCountedTwice) {
  Metrics metrics(&HandClock::read);
  HandClock::advance(50);  // before the run: nobody's
  {
    const PhaseTimer run(metrics, Phase::other);
    HandClock::advance(1);
    {
      const PhaseTimer refine(metrics, Phase::refine);
      HandClock::advance(2);
      {
        const PhaseTimer halo(metrics, Phase::halo);
        HandClock::advance(4);
      }
      HandClock::advance(8);
      {
        const PhaseTimer again(metrics, Phase::refine);  // a phase within itself
        HandClock::advance(16);
      }
    }
    const PhaseTimer halo(metrics, Phase::halo);
    HandClock::advance(32);
  }
  HandClock::advance(1000);
  EXPECT_EQ(metrics.seconds(Phase::other), 1);
  EXPECT_EQ(metrics.seconds(Phase::refine), 26);
  EXPECT_EQ(metrics.seconds(Phase::halo), 36);
  EXPECT_EQ(metrics.seconds(Phase::stencil), 0);
  EXPECT_EQ(metrics.total_seconds(), 63);
  EXPECT_EQ(metrics.calls(Phase::refine), 2);
  EXPECT_EQ(metrics.calls(Phase::halo), 2);
  EXPECT_EQ(metrics.calls(Phase::migrate), 0);
  metrics.reset();
  EXPECT_EQ(metrics.total_seconds(), 0);
  const PhaseTimer running(metrics, Phase::output);
  EXPECT_THROW(metrics.reset(), std::logic_error);
}

TEST(Metrics, ARealClockRuns) {
  Metrics metrics;
  {
    const PhaseTimer timer(metrics, Phase::stencil);
    const double start = Metrics::steady_seconds();
    while (Metrics::steady_seconds() < start + 0.002) {
    }
  }
  EXPECT_GE(metrics.seconds(Phase::stencil), 0.002);
}

TEST(Metrics, NamesAreThoseOfTheRunRecord) {
  EXPECT_EQ(phase_name(Phase::stencil), "stencil");
  EXPECT_EQ(phase_name(Phase::checksum), "checksum");
  EXPECT_EQ(phase_name(static_cast<Phase>(kPhases - 1)), "other");
}

TEST(Metrics, ReducesOverRanks) {
  const Communicator world = Communicator::world();
  const int n = world.size();
  Metrics metrics(&HandClock::read);
  for (int i = 0; i <= world.rank(); ++i) {
    const PhaseTimer timer(metrics, Phase::halo);
    HandClock::advance(2);
  }
  metrics.count("blocks", world.rank() + 1);
  metrics.count("blocks", 10);
  metrics.count_max("deepest", world.rank());
  metrics.count_max("deepest", -1);
  if (world.rank() == n - 1) metrics.count("only last");
  EXPECT_EQ(metrics.counter("blocks"), world.rank() + 11);
  EXPECT_EQ(metrics.counter("deepest"), world.rank());
  EXPECT_EQ(metrics.counter("none"), 0);
  const MetricsSummary summary = metrics.reduce(world);
  EXPECT_EQ(summary.phase(Phase::halo).min_s, 2);
  EXPECT_EQ(summary.phase(Phase::halo).mean_s, n + 1);
  EXPECT_EQ(summary.phase(Phase::halo).max_s, 2 * n);
  EXPECT_EQ(summary.phase(Phase::halo).calls, n);
  EXPECT_EQ(summary.phase(Phase::stencil).max_s, 0);
  EXPECT_EQ(summary.counters.size(), 3U);
  EXPECT_EQ(summary.counter("blocks").sum, 10 * n + n * (n + 1) / 2);
  EXPECT_EQ(summary.counter("blocks").max, 10 + n);
  EXPECT_EQ(summary.counter("only last").sum, 1);
  EXPECT_EQ(summary.counter("never").sum, 0);
  EXPECT_TRUE(Metrics().reduce(world).counters.empty());
}

}  // namespace
}  // namespace amrbench::support
