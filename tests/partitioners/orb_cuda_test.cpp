// Bisection on a GPU: the CPU's tree, labels, order and points.
#include <gtest/gtest.h>

#ifdef AMRBENCH_CUDA
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <type_traits>

#include "support/error.hpp"
#include "tests/partitioners/orb_on_gpu.hpp"

namespace amrbench::partitioners {
namespace {

using OrbCuda = OrbOnGpu;

template <class T, int Dim>
void compare(const std::vector<T>& points, std::uint32_t leaves, const std::string& method,
             double side_tolerance = kOrbSideTolerance, const OrbGpuTuning& tuning = {}, OrbGpuTimes* times = nullptr) {
  SCOPED_TRACE(method + " n " + std::to_string(points.size() / Dim) + " leaves " + std::to_string(leaves));
  const std::size_t n = points.size() / Dim;
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, {}, {.leaves = leaves, .side_tolerance = side_tolerance}, cpu);
  const auto device = on_device(points);
  OrbGpu<T, Dim> gpu(n, {.leaves = leaves,
                         .method = method,
                         .side_tolerance = side_tolerance,
                         .permutation = true,
                         .labels = true,
                         .tuning = tuning});
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second run reuses memory
    const OrbTree<T, Dim>& tree = gpu.run(device.data(), cpu.tree.cells[1].box);
    expect_all(gpu, tree, cpu, points, method == "multiway");
    if (::testing::Test::HasFatalFailure()) return;
  }
  if (times != nullptr) *times = gpu.times();
}

/// Labels alone, for which points need not move.
template <class T, int Dim>
void compare_labels(const std::vector<T>& points, std::uint32_t leaves, const OrbGpuTuning& tuning = {}) {
  SCOPED_TRACE("labels alone, n " + std::to_string(points.size() / Dim) + " leaves " + std::to_string(leaves));
  const std::size_t n = points.size() / Dim;
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, {}, {.leaves = leaves}, cpu);
  const auto device = on_device(points);
  OrbGpu<T, Dim> gpu(n, {.leaves = leaves, .points = false, .labels = true, .tuning = tuning});
  for (int repeat = 0; repeat < 2; ++repeat) {
    expect_labels(gpu, gpu.run(device.data(), cpu.tree.cells[1].box), cpu);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(OrbCuda, MultiwayEqualsTheCpu) {
  for (const PointKind kind : kInputs) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    compare<float, 3>(made<float, 3>(kind, 1000001, 1), 4096, "multiway");
    compare<double, 3>(made<double, 3>(kind, 500000, 2), 1021, "multiway");
    compare<float, 2>(made<float, 2>(kind, 500000, 3), 61, "multiway", 0);
    compare<double, 2>(made<double, 2>(kind, 300000, 4), 4093, "multiway");
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbCuda, TheFirstRoundEqualsTheCpu) {
  for (const PointKind kind : kInputs) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    OrbGpuTimes times;
    const auto cut = [&](const auto& points, auto dim, std::uint32_t leaves, double tolerance, OrbGpuTuning tuning) {
      using T = typename std::decay_t<decltype(points)>::value_type;
      compare<T, dim>(points, leaves, "multiway", tolerance, tuning, &times);
      EXPECT_TRUE(times.first_round) << leaves << " leaves";
      compare_labels<T, dim>(points, leaves, tuning);
    };
    constexpr std::integral_constant<int, 2> kTwo;
    constexpr std::integral_constant<int, 3> kThree;
    cut(made<float, 3>(kind, 1200003, 11), kThree, 4096, kOrbSideTolerance, {});
    cut(made<float, 3>(kind, 1300000, 12), kThree, 4096, 0, {.sigmas = 3, .samples = 3});
    cut(made<float, 3>(kind, 1100001, 13), kThree, 2049, kOrbSideTolerance, {.again = false});
    cut(made<double, 3>(kind, 600001, 14), kThree, 1021, kOrbSideTolerance, {.samples = 0.025});
    // So small a sample gets some axes wrong: a few cells are left to later rounds.
    cut(made<float, 3>(kind, 600003, 22), kThree, 1024, kOrbSideTolerance, {.samples = 0.025});
    cut(made<double, 2>(kind, 200002, 15), kTwo, 127, kOrbSideTolerance, {});
    cut(made<float, 2>(kind, 100003, 16), kTwo, 61, 0, {.again = false});
    cut(made<float, 3>(kind, 1100000, 17), kThree, 8000, kOrbSideTolerance, {});  // more rounds follow
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbCuda, HardPointsEqualTheCpu) {
  std::mt19937_64 random(30);
  for (const HardKind kind : kHardKinds) {
    SCOPED_TRACE("hard kind " + std::to_string(static_cast<int>(kind)));
    OrbGpuTimes times;
    compare<float, 3>(made_hard<float, 3>(kind, 1200003, random()), 4096, "multiway", kOrbSideTolerance, {}, &times);
    EXPECT_TRUE(times.first_round && (times.quantiles || times.sites || kind >= HardKind::tenth));
    compare<float, 3>(made_hard<float, 3>(kind, 1100000, random()), 1000003, "multiway");
    compare<double, 3>(made_hard<double, 3>(kind, 600000, random()), 1021, "multiway", 0, {}, &times);
    EXPECT_TRUE(times.first_round && (times.quantiles || times.sites || kind >= HardKind::tenth));
    compare<float, 2>(made_hard<float, 2>(kind, 100003, random()), 61, "multiway");
    compare<double, 2>(made_hard<double, 2>(kind, 200000, random()), 5000, "multiway");
    compare<float, 3>(made_hard<float, 3>(kind, 300007, random()), 1000, "multiway", kOrbSideTolerance,
                      {.first_round = false});
    compare_labels<float, 3>(made_hard<float, 3>(kind, 1200000, random()), 2000);
    compare_labels<double, 2>(made_hard<double, 2>(kind, 200000, random()), 1000);
    if (HasFatalFailure()) return;
  }
}

/// On the diagonal, where fractions follow lines: beyond them a few points that no sample has, and coordinates for
/// which lines do not serve.
TEST_F(OrbCuda, FarPointsAndPowersOfTenEqualTheCpu) {
  std::mt19937_64 random(31);
  const auto on_diagonal = [&](const auto& coordinate) {
    std::vector<float> points(3 * std::size_t{1200003});
    for (std::size_t i = 0; i < points.size(); i += 3)
      points[i] = points[i + 1] = points[i + 2] = coordinate(static_cast<float>(random() >> 40U) * 0x1p-24F);
    return points;
  };
  const auto compare_both = [](const std::vector<float>& points) {
    OrbGpuTimes times;
    compare<float, 3>(points, 4096, "multiway", kOrbSideTolerance, {}, &times);
    EXPECT_TRUE(times.quantiles);
    compare_labels<float, 3>(points, 1000);
  };
  for (const float far : {1e5F, 1e11F, 1e30F, -1e30F}) {
    SCOPED_TRACE("far point at " + std::to_string(far));
    std::vector<float> points = on_diagonal([](float x) { return x; });
    points[3 * std::size_t{700001}] = far;
    compare_both(points);
    if (HasFatalFailure()) return;
  }
  compare_both(on_diagonal([](float x) { return std::pow(10.0F, -30.0F * x); }));
  compare_both(on_diagonal([](float x) { return 1e-30F * x; }));
}

/// Points on so many random coordinates an axis, in random order or sorted by place.
template <class T, int Dim>
std::vector<T> in_few_places(const std::array<unsigned, Dim>& along, std::size_t n, bool sorted, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<std::vector<T>, Dim> coordinates;
  for (int a = 0; a < Dim; ++a) {
    coordinates[a] = {T(0), T(-0.0)};  // one coordinate
    while (coordinates[a].size() < along[a] + 1)
      coordinates[a].push_back(static_cast<T>(random() >> 40) * T(0x1p-20) - 8);
  }
  std::vector<std::array<T, Dim>> points(n);
  for (auto& point : points)
    for (int a = 0; a < Dim; ++a) point[a] = coordinates[a][random() % coordinates[a].size()];
  if (sorted) std::sort(points.begin(), points.end());
  std::vector<T> flat;
  for (const auto& point : points) flat.insert(flat.end(), point.begin(), point.end());
  return flat;
}

template <class T, int Dim>
void compare_few_places(const std::array<unsigned, Dim>& along, std::size_t n, std::uint32_t leaves, double tolerance,
                        std::uint64_t seed) {
  for (const bool sorted : {false, true}) {
    SCOPED_TRACE(std::to_string(along[0]) + " coordinates" + (sorted ? ", sorted" : ""));
    auto points = in_few_places<T, Dim>(along, n, sorted, seed);
    OrbGpuTimes times;
    compare<T, Dim>(points, leaves, "multiway", tolerance, {}, &times);
    EXPECT_TRUE(times.first_round && times.sites && !times.quantiles);
    compare_labels<T, Dim>(points, leaves);
    points[n / 3 * Dim] = T(0.1234);  // a place that the sample has not
    compare<T, Dim>(points, leaves, "multiway", tolerance, {}, &times);
    EXPECT_FALSE(times.sites);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(OrbCuda, FewPlacesEqualTheCpu) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  compare_few_places<float, 3>({32, 32, 32}, 1200001, 4096, kOrbSideTolerance, seed);
  compare_few_places<float, 3>({3, 40, 9}, 1100003, 3001, 0, seed);
  compare_few_places<float, 3>({1, 1, 1}, 1100000, 4096, kOrbSideTolerance, seed);
  compare_few_places<double, 3>({2, 5, 1000}, 1300000, 1000003, kOrbSideTolerance, seed);
  compare_few_places<float, 2>({31, 1024}, 200006, 128, kOrbSideTolerance, seed);
  compare_few_places<double, 2>({100, 7}, 300002, 1000, kOrbSideTolerance, seed);
  // Places anywhere, of which the coordinates would make too many.
  OrbGpuTimes times;
  compare<float, 3>(made_hard<float, 3>(HardKind::many_places, 1200003, seed), 4096, "multiway", kOrbSideTolerance, {},
                    &times);
  EXPECT_TRUE(times.sites);
  compare<double, 3>(made_hard<double, 3>(HardKind::places, 600001, seed), 1021, "multiway", 0, {}, &times);
  EXPECT_TRUE(times.sites);
  compare<float, 2>(made_hard<float, 2>(HardKind::many_places, 200001, seed), 500, "multiway", kOrbSideTolerance, {},
                    &times);
  EXPECT_TRUE(times.sites);
}

TEST_F(OrbCuda, RoundsOfSixLevelsEqualTheCpu) {
  for (const PointKind kind : kInputs) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    compare<float, 3>(made<float, 3>(kind, 1200003, 18), 4096, "multiway", kOrbSideTolerance, {.first_round = false});
    compare<double, 2>(made<double, 2>(kind, 200002, 19), 1021, "multiway", kOrbSideTolerance, {.first_round = false});
    if (HasFatalFailure()) return;
  }
}

// Brackets from so few samples that many miss or overflow: later rounds finish what the first one leaves, with labels
// carried by the points' numbers.
TEST_F(OrbCuda, LatticesLeaveCellsToLaterRounds) {
  std::mt19937_64 random(20);
  for (const unsigned edge : {4U, 64U, 100000U}) {
    SCOPED_TRACE("edge " + std::to_string(edge));
    std::vector<float> points(3 * 300007);
    for (std::size_t i = 0; i < points.size(); ++i)  // a third of the points on the lattice, the rest anywhere
      points[i] = i / 3 % 3 == 0 ? static_cast<float>(random() % edge)
                                 : static_cast<float>(edge) * static_cast<float>(random() >> 40) * 0x1p-24F;
    compare<float, 3>(points, 500, "multiway");
    compare_labels<float, 3>(points, 500);
    if (HasFatalFailure()) return;
  }
}

// A pointer that is not aligned to 16 bytes takes the rounds of 6 levels.
TEST_F(OrbCuda, PointsNeedNotBeAligned) {
  const std::size_t n = 100000;
  auto points = made<float, 3>(PointKind::uniform, n, 21);
  OrbResult<float, 3> cpu;
  orb<float, 3>({points, 3}, {}, {.leaves = 64}, cpu);
  points.insert(points.begin(), 0.0F);
  const auto device = on_device(points);
  OrbGpu<float, 3> gpu(n, {.leaves = 64, .labels = true});
  expect_labels(gpu, gpu.run(device.data() + 1, cpu.tree.cells[1].box), cpu);
  EXPECT_FALSE(gpu.times().first_round);
}

TEST_F(OrbCuda, SeedMethodsEqualTheCpu) {
  for (const char* method : {"seed-cells", "seed-level", "seed-warp"})
    for (const PointKind kind : kInputs) {
      compare<float, 3>(made<float, 3>(kind, 200000, 5), 509, method);
      if (HasFatalFailure()) return;
    }
}

TEST_F(OrbCuda, Ties) {
  std::mt19937_64 random(6);
  for (const unsigned edge : {1U, 2U, 16U, 1000U})
    for (const char* method : {"multiway", "seed-warp"}) {
      std::vector<float> points(3 * 100000);
      const unsigned middle = edge / 2;
      for (float& x : points) x = static_cast<float>(random() % edge) - static_cast<float>(middle);
      compare<float, 3>(points, 100, method);
      if (HasFatalFailure()) return;
    }
}

TEST_F(OrbCuda, FewPointsAndLeaves) {
  for (const std::uint32_t leaves : {1U, 2U, 3U, 64U, 65U, 1000U}) {
    compare<float, 3>(made<float, 3>(PointKind::uniform, 1000, 7), leaves, "multiway");
    compare<float, 3>(made<float, 3>(PointKind::uniform, 1000, 7), leaves, "seed-level");
    if (HasFatalFailure()) return;
  }
}

// Blocks of three sizes finish small cells: most points and leaves of each, and one more.
TEST_F(OrbCuda, SmallCellsOfAllSizesEqualTheCpu) {
  std::mt19937_64 random(31);
  for (const std::size_t most : {2048U, 4096U, 8192U, 16384U})
    for (const std::size_t more : {0U, 1U})
      for (const std::uint32_t leaves : {2U, 7U, 16U, 128U, 129U, 256U, 512U, 513U}) {
        compare<float, 3>(made<float, 3>(PointKind::uniform, most + more, random()), leaves, "multiway");
        compare<double, 2>(made_hard<double, 2>(HardKind::many_places, most + more, random()), leaves, "multiway");
        if (HasFatalFailure()) return;
      }
}

// Where many coordinates are the same, small cells are ordered by ranks: of two axes or three in one key, or in two.
TEST_F(OrbCuda, SmallCellsOfHardPointsEqualTheCpu) {
  std::mt19937_64 random(41);
  for (const HardKind kind : kHardKinds) {
    SCOPED_TRACE("hard kind " + std::to_string(static_cast<int>(kind)));
    for (const std::size_t n : {700U, 4000U, 7001U, 16384U})
      for (const std::uint32_t leaves : {20U, 300U}) {
        compare<float, 3>(made_hard<float, 3>(kind, n, random()), leaves, "multiway");
        compare<float, 2>(made_hard<float, 2>(kind, n, random()), leaves, "multiway");
        compare<double, 3>(made_hard<double, 3>(kind, n / 2, random()), leaves, "multiway");
        if (HasFatalFailure()) return;
      }
  }
}

TEST_F(OrbCuda, Refusals) {
  const auto refuses = [](std::uint64_t n, OrbGpuOptions options) {
    try {
      OrbGpu<float, 3> gpu(n, options);
    } catch (const support::InputError&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refuses(10, {.leaves = 11}));
  EXPECT_TRUE(refuses(10, {.leaves = 0}));
  EXPECT_TRUE(refuses(std::uint64_t{1} << 32, {.leaves = 1}));
  EXPECT_TRUE(refuses(10, {.leaves = 2, .method = "quick"}));
  // More than any GPU has: the message says how much is needed.
  EXPECT_THROW((OrbGpu<double, 3>((std::uint64_t{1} << 32) - 1, {.leaves = 4096, .permutation = true})),
               support::RunError);
}

}  // namespace
}  // namespace amrbench::partitioners
#else
TEST(OrbCuda, NotBuilt) {
  GTEST_SKIP() << "built without the CUDA back end";
}
#endif
