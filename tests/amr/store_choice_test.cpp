// How a stage's results are stored: a trial of both ways where nobody knows what the caches hold.
#include <gtest/gtest.h>

#include <random>

#include "amr/stage_passes.hpp"

namespace amrbench::amr {
namespace {

constexpr HeldBytes kHeld{100, 1000};

/// Runs stages that take so long by way and by stage of the period; returns how the last one stored.
bool run(StoreChoice& choice, int stages, double streamed, double cached, int period = 1) {
  bool streams = false;
  for (int stage = 0; stage < stages; ++stage) {
    streams = choice.streams();
    choice.took((streams ? streamed : cached) * (1 + stage % period));
  }
  return streams;
}

TEST(StoreChoice, WhatIsSurelyHeldOrNotIsNotTried) {
  StoreChoice choice("auto", 1, kHeld);
  choice.mesh_changed(100);
  for (int stage = 0; stage < 10; ++stage) EXPECT_FALSE(run(choice, 1, 1.0, 9.0));
  choice.mesh_changed(1001);
  for (int stage = 0; stage < 10; ++stage) EXPECT_TRUE(run(choice, 1, 9.0, 1.0));
}

TEST(StoreChoice, TheUserDecides) {
  StoreChoice cached("cached", 1, kHeld), streamed("streamed", 1, kHeld);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{500}, std::size_t{5000}}) {
    cached.mesh_changed(bytes);
    streamed.mesh_changed(bytes);
    EXPECT_FALSE(run(cached, 9, 1.0, 9.0));
    EXPECT_TRUE(run(streamed, 9, 9.0, 1.0));
  }
}

TEST(StoreChoice, BetweenTheTwoTheFasterWayStays) {
  for (const int period : {1, 6}) {
    for (const bool faster : {false, true}) {
      StoreChoice choice("auto", period, kHeld);
      choice.mesh_changed(500);
      EXPECT_TRUE(run(choice, 3 * period, faster ? 1.0 : 2.0, faster ? 2.0 : 1.0, period));
      EXPECT_FALSE(run(choice, 3 * period, faster ? 1.0 : 2.0, faster ? 2.0 : 1.0, period));
      EXPECT_EQ(run(choice, 1, 1.0, 1.0), faster);
      EXPECT_EQ(run(choice, 50, faster ? 9.0 : 1.0, faster ? 1.0 : 9.0), faster);  // no longer tried
      choice.mesh_changed(700);
      EXPECT_EQ(run(choice, 50, 1.0, 1.0), faster);
      choice.mesh_changed(800);  // another mesh by half
      EXPECT_TRUE(run(choice, 1, 1.0, 1.0, period));
      EXPECT_EQ(run(choice, 6 * period, faster ? 2.0 : 1.0, faster ? 1.0 : 2.0, period), !faster);
    }
  }
}

TEST(StoreChoice, OneSlowStageDecidesNothing) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int repeat = 0; repeat < 100; ++repeat) {
    StoreChoice choice("auto", 6, kHeld);
    choice.mesh_changed(500);
    const auto slow = static_cast<int>(random() % 36);
    for (int stage = 0; stage < 36; ++stage) {
      if (stage % 5 == 4) choice.mesh_changed(500 + random() % 100);  // as refinement does
      choice.took((choice.streams() ? 2.0 : 1.0) * (stage == slow ? 100 : 1));
    }
    EXPECT_FALSE(choice.streams()) << "slow stage " << slow;
  }
}

}  // namespace
}  // namespace amrbench::amr
