// Means over boxes against sums over all cells, bilinear values against the formula, the same bits in any order.
#include "workloads/shallow_water/input/raster_sampler.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

namespace amrbench::workloads::shallow_water {
namespace {

constexpr double kHole = std::numeric_limits<double>::quiet_NaN();

Raster random_raster(std::mt19937_64& random, std::int64_t columns, std::int64_t rows, double holes) {
  Raster raster{"", columns, rows, -31.3, 1200.7, 2.5, 0.7, -9999, {}};
  std::uniform_real_distribution<double> value(-100, 400), chance(0, 1);
  for (std::int64_t i = 0; i < columns * rows; ++i)
    raster.cells.push_back(chance(random) < holes ? kHole : value(random));
  return raster;
}

RasterBox random_box(std::mt19937_64& random, const Raster& raster, double largest) {
  std::uniform_real_distribution<double> part(-0.1, 1.1), size(0.01, largest);
  RasterBox box{};
  box.x0 = raster.west + part(random) * static_cast<double>(raster.columns) * raster.dx;
  box.y0 = raster.south + part(random) * static_cast<double>(raster.rows) * raster.dy;
  box.x1 = box.x0 + size(random) * raster.dx;
  box.y1 = box.y0 + size(random) * raster.dy;
  return box;
}

/// Over every cell of the raster.
double brute_mean(const Raster& raster, const RasterBox& box) {
  long double sum = 0, area = 0;
  for (std::int64_t r = 0; r < raster.rows; ++r)
    for (std::int64_t c = 0; c < raster.columns; ++c) {
      const double x = raster.west + static_cast<double>(c) * raster.dx;
      const double y = raster.north() - static_cast<double>(r + 1) * raster.dy;
      const double width = std::min(box.x1, x + raster.dx) - std::max(box.x0, x);
      const double height = std::min(box.y1, y + raster.dy) - std::max(box.y0, y);
      if (std::isnan(raster.at(r, c)) || width <= 0 || height <= 0) continue;
      sum += static_cast<long double>(width) * height * raster.at(r, c);
      area += static_cast<long double>(width) * height;
    }
  return area > 0 ? static_cast<double>(sum / area) : kHole;
}

TEST(SamplerMean, IsThatOfAllCells) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (const double holes : {0.0, 0.3, 0.9}) {
    const Raster raster = random_raster(random, 37, 23, holes);
    const RasterSampler sampler(raster);
    for (int i = 0; i < 300; ++i) {
      const RasterBox box = random_box(random, raster, i % 3 == 0 ? 1.5 : 30);
      const double expected = brute_mean(raster, box), mean = sampler.mean(box);
      ASSERT_EQ(std::isnan(mean), std::isnan(expected)) << i;
      if (!std::isnan(mean)) {
        EXPECT_NEAR(mean, expected, 1e-5) << i;
      }
    }
  }
}

TEST(SamplerMean, KnownValues) {
  const Raster raster{"", 3, 2, 10, 20, 4, 2, -9999, {1, 2, kHole, 4, 5, kHole}};
  const RasterSampler sampler(raster, SmallBoxes::mean);
  EXPECT_EQ(sampler.mean({10, 14, 20, 22}), 4) << "the south-western cell";
  EXPECT_EQ(sampler.mean({10, 18, 20, 24}), 3);
  EXPECT_EQ(sampler.mean({10, 22, 20, 24}), 3) << "cells without data are passed over";
  EXPECT_EQ(sampler.mean({12, 15, 22, 23}), (2 * 1 + 1 * 2) / 3.0);
  EXPECT_EQ(sampler.mean({0, 14, 0, 22}), 4) << "outside there is no data";
  EXPECT_TRUE(std::isnan(sampler.mean({18, 22, 20, 24}))) << "none has data";
  EXPECT_TRUE(std::isnan(sampler.mean({0, 10, 20, 24}))) << "outside";
  EXPECT_EQ(sampler.value({11, 12, 22.5, 23}), 1) << "inside a cell";
}

TEST(SamplerMean, OfEqualCellsIsEqual) {
  std::mt19937_64 random(7);
  Raster raster = random_raster(random, 20, 20, 0.2);
  for (double& cell : raster.cells)
    if (!std::isnan(cell)) cell = 0.1;
  for (const SmallBoxes small : {SmallBoxes::mean, SmallBoxes::bilinear}) {
    const RasterSampler sampler(raster, small);
    for (int i = 0; i < 200; ++i) {
      const double value = sampler.value(random_box(random, raster, i % 2 ? 0.9 : 9));
      EXPECT_TRUE(value == 0.1 || std::isnan(value)) << fmt::format("{}", value);
    }
  }
}

TEST(SamplerBilinear, IsTheFormulaBetweenCentres) {
  const Raster raster{"", 2, 2, 0, 0, 2, 4, -9999, {30, 70, 10, 20}};
  const RasterSampler sampler(raster);
  EXPECT_EQ(sampler.bilinear(1, 2), 10);
  EXPECT_EQ(sampler.bilinear(3, 2), 20);
  EXPECT_EQ(sampler.bilinear(1, 6), 30);
  EXPECT_EQ(sampler.bilinear(3, 6), 70);
  EXPECT_EQ(sampler.bilinear(2, 4), 32.5);
  EXPECT_EQ(sampler.bilinear(1.5, 2), 12.5);
  EXPECT_EQ(sampler.bilinear(0, 0), 10) << "constant at the edge";
  EXPECT_EQ(sampler.bilinear(4, 8), 70);
  EXPECT_TRUE(std::isnan(sampler.bilinear(4.1, 4)));
  EXPECT_TRUE(std::isnan(sampler.bilinear(2, -0.1)));
}

TEST(SamplerBilinear, IsForBoxesUpToACell) {
  const Raster raster{"", 2, 2, 0, 0, 2, 4, -9999, {30, 70, 10, 20}};
  const RasterSampler bilinear(raster), mean(raster, SmallBoxes::mean);
  EXPECT_EQ(bilinear.value({1, 3, 2, 6}), 32.5);
  EXPECT_EQ(bilinear.value({1.5, 2.5, 3, 5}), 32.5);
  EXPECT_EQ(bilinear.value({1, 1.5, 2, 3}), bilinear.bilinear(1.25, 2.5));
  EXPECT_EQ(mean.value({1, 1.5, 2, 3}), 10);
  EXPECT_EQ(bilinear.value({0, 3, 0, 4}), mean.mean({0, 3, 0, 4})) << "wider than a cell";
  EXPECT_EQ(bilinear.value({0, 1, 0, 6}), mean.mean({0, 1, 0, 6})) << "higher than a cell";
}

TEST(SamplerBilinear, IsContinuous) {
  std::mt19937_64 random(11);
  const Raster raster = random_raster(random, 9, 8, 0);
  const RasterSampler sampler(raster);
  const double step = 1e-7;
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 16; ++j) {
      const double x = raster.west + (i + 0.5) * raster.dx, y = raster.south + (j / 2.0 + 0.21) * raster.dy;
      EXPECT_NEAR(sampler.bilinear(x - step, y), sampler.bilinear(x + step, y), 1e-3);
    }
}

TEST(SamplerBilinear, LeavesOutCellsWithoutData) {
  const Raster raster{"", 2, 2, 0, 0, 1, 1, -9999, {kHole, kHole, 10, 20}};
  const RasterSampler sampler(raster);
  EXPECT_EQ(sampler.bilinear(1, 1), 15);
  EXPECT_EQ(sampler.bilinear(0.75, 1), 12.5);
  EXPECT_TRUE(std::isnan(sampler.bilinear(0.5, 1.5))) << "at the centre of one without";
  EXPECT_TRUE(std::isnan(sampler.bilinear(1, 1.75)));
}

TEST(SamplerBoxes, OneCellAndOneRow) {
  const Raster one{"", 1, 1, 0, 0, 8, 8, -9999, {5}};
  EXPECT_EQ(RasterSampler(one).value({1, 2, 1, 2}), 5);
  EXPECT_EQ(RasterSampler(one).value({-8, 16, -8, 16}), 5);
  const Raster row{"", 3, 1, 0, 0, 1, 1, -9999, {1, 2, 4}};
  EXPECT_EQ(RasterSampler(row).bilinear(2, 0.9), 3);
  EXPECT_DOUBLE_EQ(RasterSampler(row).mean({0, 3, 0, 1}), 7 / 3.0);
}

TEST(SamplerBoxes, Cover) {
  const Raster raster{"", 3, 3, 0, 0, 0.1, 0.1, -9999, std::vector<double>(9, 1.0)};
  const RasterSampler sampler(raster);
  EXPECT_TRUE(sampler.covers({0, 0.3, 0, 0.3})) << "3 * 0.1 is above 0.3";
  EXPECT_TRUE(sampler.covers({0, 0.1 + 0.1 + 0.1, 0.1, 0.2}));
  EXPECT_TRUE(sampler.covers({-1e-8, 0.1, 0, 0.3}));
  EXPECT_FALSE(sampler.covers({-1e-6, 0.1, 0, 0.3}));
  EXPECT_FALSE(sampler.covers({0, 0.31, 0, 0.3}));
  EXPECT_FALSE(sampler.covers({0, 0.3, -0.01, 0.3}));
  EXPECT_FALSE(sampler.covers({0, 0.3, 0, 0.5}));
}

TEST(SamplerBoxes, ThatAreNone) {
  const Raster raster{"", 1, 1, 0, 0, 1, 1, -9999, {5}};
  const RasterSampler sampler(raster);
  for (const RasterBox box :
       {RasterBox{1, 1, 0, 1}, RasterBox{0, 1, 2, 1}, RasterBox{kHole, 1, 0, 1}, RasterBox{0, 1, 0, HUGE_VAL}}) {
    EXPECT_THROW(static_cast<void>(sampler.value(box)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(sampler.mean(box)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(sampler.covers(box)), std::invalid_argument);
  }
  const Raster without_cells{"", 1, 1, 0, 0, 1, 1, -9999, {}};
  EXPECT_THROW(RasterSampler{without_cells}, std::invalid_argument);
}

TEST(SamplerThreads, GiveTheSameBitsInAnyOrder) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  const Raster raster = random_raster(random, 61, 47, 0.1);
  const RasterSampler sampler(raster);
  std::vector<RasterBox> boxes;
  for (int i = 0; i < 2000; ++i) boxes.push_back(random_box(random, raster, i % 2 ? 0.9 : 20));
  std::vector<std::uint64_t> alone;
  for (const RasterBox& box : boxes) alone.push_back(std::bit_cast<std::uint64_t>(sampler.value(box)));
  constexpr std::size_t kThreads = 4;
  std::vector<std::vector<std::uint64_t>> found(kThreads, std::vector<std::uint64_t>(boxes.size()));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::size_t> order(boxes.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), std::mt19937_64(seed + t));
      for (const std::size_t i : order) found[t][i] = std::bit_cast<std::uint64_t>(sampler.value(boxes[i]));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& bits : found) EXPECT_EQ(bits, alone);
}

}  // namespace
}  // namespace amrbench::workloads::shallow_water
