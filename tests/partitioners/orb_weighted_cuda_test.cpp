// Bisection by weights on a GPU: the CPU's tree, labels, order and points, whatever the weights.
#include <gtest/gtest.h>

#ifdef AMRBENCH_CUDA
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "support/error.hpp"
#include "tests/partitioners/orb_on_gpu.hpp"

namespace amrbench::partitioners {
namespace {

using OrbWeightedCuda = OrbOnGpu;
using Weights = std::vector<double>;

struct Case {
  std::uint32_t leaves = 2;
  double side_tolerance = kOrbSideTolerance;
  std::string_view reference = "auto";
  OrbGpuTuning tuning = {};
};

/// Compares twice, for the second run reuses memory, and then labels alone, for which points need not move.
template <class T, int Dim>
void compare(const std::vector<T>& points, const Weights& weights, const Case& with, OrbGpuTimes* times = nullptr) {
  const std::size_t n = points.size() / Dim;
  SCOPED_TRACE("n " + std::to_string(n) + " leaves " + std::to_string(with.leaves) + " dim " + std::to_string(Dim) +
               " bytes " + std::to_string(sizeof(T)) + (with.tuning.first_round ? "" : " level by level"));
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, weights,
              {.leaves = with.leaves, .method = with.reference, .side_tolerance = with.side_tolerance}, cpu);
  const auto device = on_device(points);
  const auto device_weights = on_device(weights);
  OrbGpuOptions options{.leaves = with.leaves,
                        .side_tolerance = with.side_tolerance,
                        .permutation = true,
                        .labels = true,
                        .weighted = true,
                        .tuning = with.tuning};
  OrbGpu<T, Dim> gpu(n, options);
  const OrbBox<T, Dim>& box = cpu.tree.cells[1].box;
  for (int repeat = 0; repeat < 2; ++repeat) {
    expect_all(gpu, gpu.run(device.data(), box, device_weights.data()), cpu, points);
    if (::testing::Test::HasFatalFailure()) return;
  }
  if (times != nullptr) *times = gpu.times();
  options.points = options.permutation = false;
  OrbGpu<T, Dim> labelling(n, options);
  expect_labels(labelling, labelling.run(device.data(), box, device_weights.data()), cpu);
}

enum class Kind { uniform, zeros, halves, heavy, huge, subnormal, equal, mostly_zero, few, pareto };
constexpr Kind kAllKinds[] = {Kind::uniform,   Kind::zeros, Kind::halves,      Kind::heavy, Kind::huge,
                              Kind::subnormal, Kind::equal, Kind::mostly_zero, Kind::few,   Kind::pareto};

Weights weights_of(Kind kind, std::size_t n, std::uint64_t seed) {
  Weights weights(n, 0.0);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  for (double& w : weights) switch (kind) {
      case Kind::uniform:
        w = 1 - unit(random);
        break;
      case Kind::zeros:
        break;
      case Kind::halves:
        w = random() % 2 == 0 ? 0 : unit(random);
        break;
      case Kind::heavy:
        w = std::exp(3 * std::sqrt(-2 * std::log(1 - unit(random))) * std::cos(6.28 * unit(random)));
        break;
      case Kind::huge:
        w = unit(random);
        break;
      case Kind::subnormal:
        w = 4.9406564584124654e-324 * static_cast<double>(random() % 1000);
        break;
      case Kind::equal:
        w = 0.1;
        break;
      case Kind::mostly_zero:
        w = random() % 100 == 0 ? unit(random) : 0;
        break;
      case Kind::few:
        w = random() % 10000 == 0 ? unit(random) : 0;
        break;
      case Kind::pareto:
        w = 1 / (1 - unit(random));
        break;
    }
  if (kind == Kind::huge) weights[random() % n] = 1e200;
  return weights;
}

/// Both ways on the same input: with the first round and without it.
template <class T, int Dim>
void both_ways(PointKind input, std::size_t n, std::uint64_t seed, Kind kind, Case with) {
  SCOPED_TRACE("input " + std::to_string(static_cast<int>(input)) + " seed " + std::to_string(seed) + " weights " +
               std::to_string(static_cast<int>(kind)));
  const auto points = made<T, Dim>(input, n, seed);
  const auto weights = weights_of(kind, n, seed + 1000);
  compare<T, Dim>(points, weights, with);
  with.tuning.first_round = false;
  compare<T, Dim>(points, weights, with);
}

TEST_F(OrbWeightedCuda, EqualsTheSortingReference) {
  std::uint64_t seed = 100;
  for (const PointKind input : kInputs)
    for (const Kind kind : kAllKinds) {
      const Case with{.leaves = 37, .reference = "sort"};
      both_ways<float, 3>(input, 40001, ++seed, kind, with);
      both_ways<double, 3>(input, 40000, ++seed, kind, with);
      both_ways<float, 2>(input, 35003, ++seed, kind, {.leaves = 64, .side_tolerance = 0, .reference = "sort"});
      both_ways<double, 2>(input, 50000, ++seed, kind, {.leaves = 53, .reference = "sort"});
      if (HasFatalFailure()) return;
    }
}

TEST_F(OrbWeightedCuda, SmallCellsOfAllSizesEqualTheCpu) {
  std::uint64_t seed = 500;
  for (const std::size_t most : {2048U, 4096U, 8192U})
    for (const std::size_t more : {0U, 1U})
      for (const std::uint32_t leaves : {2U, 16U, 128U, 129U, 512U, 513U})
        for (const Kind kind : {Kind::uniform, Kind::halves, Kind::pareto}) {
          both_ways<float, 3>(PointKind::uniform, most + more, ++seed, kind, {.leaves = leaves});
          both_ways<double, 3>(PointKind::cluster, most + more, ++seed, kind, {.leaves = leaves});
          if (HasFatalFailure()) return;
        }
}

TEST_F(OrbWeightedCuda, TwelveLevelsEqualTheCpu) {
  std::uint64_t seed = 200;
  for (const PointKind input : kInputs) {
    SCOPED_TRACE("input " + std::to_string(static_cast<int>(input)));
    const auto cut = [&](auto zero, auto dim, std::size_t n, std::uint32_t leaves, OrbGpuTuning tuning) {
      using T = decltype(zero);
      SCOPED_TRACE("seed " + std::to_string(++seed));
      OrbGpuTimes times;
      compare<T, dim>(made<T, dim>(input, n, seed), weights_of(Kind::uniform, n, seed),
                      {.leaves = leaves, .tuning = tuning}, &times);
      EXPECT_EQ(times.first_round, tuning.first_round) << leaves << " leaves";
    };
    constexpr std::integral_constant<int, 2> kTwo;
    constexpr std::integral_constant<int, 3> kThree;
    cut(0.0F, kThree, 1200003, 4096, {});
    cut(0.0F, kThree, 1100001, 2049, {.samples = 2});
    cut(0.0F, kThree, 1300000, 4093, {});
    cut(0.0, kThree, 600001, 1021, {});
    cut(0.0, kTwo, 200002, 127, {});
    cut(0.0F, kTwo, 100003, 61, {.samples = 0.5});
    cut(0.0F, kThree, 1100000, 8000, {});  // a further level follows
    cut(0.0F, kThree, 300000, 4096, {.first_round = false});
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbWeightedCuda, HardPointsEqualTheCpu) {
  std::uint64_t seed = 600;
  for (const HardKind kind : kHardKinds)
    for (const Kind weights :
         {Kind::uniform, Kind::halves, Kind::heavy, Kind::zeros, Kind::mostly_zero, Kind::pareto, Kind::huge}) {
      SCOPED_TRACE("hard kind " + std::to_string(static_cast<int>(kind)) + " weights " +
                   std::to_string(static_cast<int>(weights)));
      OrbGpuTimes times;
      ++seed;
      compare<float, 3>(made_hard<float, 3>(kind, 600003, seed), weights_of(weights, 600003, seed), {.leaves = 2048},
                        &times);
      // Where few points have all the weight, a sample by weight has each many times and too few others to tell.
      const bool told = kind < HardKind::places && weights <= Kind::heavy;
      EXPECT_TRUE(times.quantiles || times.sites || !told);
      ++seed;
      compare<double, 2>(made_hard<double, 2>(kind, 100003, seed), weights_of(weights, 100003, seed), {.leaves = 127});
      compare<float, 3>(made_hard<float, 3>(kind, 200003, seed), weights_of(weights, 200003, seed), {.leaves = 100003});
      if (HasFatalFailure()) return;
    }
}

/// Points on a lattice of so many coordinates an axis.
template <class T, int Dim>
void compare_on_lattice(std::uint64_t edge, std::size_t n, std::uint32_t leaves, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> points(n * Dim);
  for (T& x : points) x = static_cast<T>(random() % edge) / static_cast<T>(edge);
  for (const Kind kind : {Kind::uniform, Kind::equal, Kind::heavy, Kind::pareto, Kind::huge, Kind::halves}) {
    SCOPED_TRACE("edge " + std::to_string(edge) + " weights " + std::to_string(static_cast<int>(kind)));
    OrbGpuTimes times;
    compare<T, Dim>(points, weights_of(kind, n, random()), {.leaves = leaves}, &times);
    const bool all_weigh = kind == Kind::uniform || kind == Kind::equal;
    EXPECT_TRUE(!all_weigh || (times.first_round && times.sites));
    EXPECT_FALSE(kind == Kind::halves && times.sites);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(OrbWeightedCuda, FewPlacesEqualTheCpu) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  compare_on_lattice<float, 3>(32, 1200001, 4096, seed);
  compare_on_lattice<double, 3>(7, 600001, 1021, seed);
  compare_on_lattice<float, 2>(100, 200003, 127, seed);
  compare_on_lattice<float, 3>(1, 600001, 2048, seed);
}

TEST_F(OrbWeightedCuda, HeavyPointsDoNotHideTheOthers) {
  std::uint64_t seed = 700;
  for (const Kind kind : {Kind::huge, Kind::pareto, Kind::mostly_zero}) {
    SCOPED_TRACE("weights " + std::to_string(static_cast<int>(kind)) + " seed " + std::to_string(++seed));
    OrbGpuTimes times;
    compare<float, 3>(made<float, 3>(PointKind::uniform, 1200003, seed), weights_of(kind, 1200003, seed),
                      {.leaves = 2048}, &times);
    // The sample tells of the points beside them: no fractions, and at most one more time.
    EXPECT_TRUE(times.first_round);
    EXPECT_FALSE(times.quantiles);
    EXPECT_LE(times.again, 1);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbWeightedCuda, WeightsThatFollowPlacesEqualTheCpu) {
  constexpr std::size_t kPoints = 1200003;
  std::uint64_t seed = 800;
  const auto cut = [&](const char* what, const auto& weight_at) {
    SCOPED_TRACE(std::string(what) + " seed " + std::to_string(++seed));
    const auto points = made<float, 3>(PointKind::uniform, kPoints, seed);
    Weights weights(kPoints);
    for (std::size_t i = 0; i < kPoints; ++i) weights[i] = weight_at(&points[3 * i]);
    OrbGpuTimes times;
    compare<float, 3>(points, weights, {.leaves = 3000}, &times);
    EXPECT_TRUE(times.first_round);
    EXPECT_FALSE(times.quantiles);
    EXPECT_LE(times.again, 1);
  };
  cut("slope", [](const float* x) { return std::exp(20.0 * x[0]); });
  cut("peak", [](const float* x) { return std::exp(-60.0 * std::hypot(x[0] - 0.4, x[1] - 0.4, x[2] - 0.4)); });
  // A few thousand points have most of the weight: cells are guessed with the heavy points that they have.
  cut("bell", [](const float* x) {
    return std::exp(-200.0 * (std::pow(x[0] - 0.5, 2) + std::pow(x[1] - 0.5, 2) + std::pow(x[2] - 0.5, 2)));
  });
  cut("corner", [](const float* x) { return x[0] < 0.1F && x[1] < 0.1F && x[2] < 0.1F ? 1.0 : 1e-6; });
  cut("corner alone", [](const float* x) { return x[0] < 0.1F && x[1] < 0.1F && x[2] < 0.1F ? 1.0 : 0.0; });
}

TEST_F(OrbWeightedCuda, CellsThatBecomeSmallAtManyLevelsEqualTheCpu) {
  constexpr std::size_t kPoints = 200003;
  const auto cut = [&](auto zero, std::uint64_t seed) {
    using T = decltype(zero);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto points = made<T, 3>(PointKind::uniform, kPoints, seed);
    Weights weights;  // of a thin shell: cells outside keep many points and have few leaves
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double r = std::hypot(points[3 * i] - 0.5, points[3 * i + 1] - 0.5, points[3 * i + 2] - 0.5);
      weights.push_back(1e-4 + std::exp(-std::pow((r - 0.3) / 0.003, 2)));
    }
    OrbGpuTimes times;
    compare<T, 3>(points, weights, {.leaves = 5237, .tuning = {.first_round = false}}, &times);
    EXPECT_GE(times.rounds, 9);  // a level each, and one for small cells
  };
  cut(0.0F, 850);
  cut(0.0, 851);
}

TEST_F(OrbWeightedCuda, FewWeightsEqualTheCpu) {
  std::uint64_t seed = 900;
  for (const std::uint32_t leaves : {7U, 2048U, 3000U}) {
    SCOPED_TRACE("seed " + std::to_string(++seed));
    OrbGpuTimes times;
    compare<float, 3>(made<float, 3>(PointKind::uniform, 1200003, seed), weights_of(Kind::few, 1200003, seed),
                      {.leaves = leaves}, &times);
    EXPECT_TRUE(times.first_round);
    compare<double, 2>(made<double, 2>(PointKind::uniform, 400003, seed), weights_of(Kind::few, 400003, seed),
                       {.leaves = leaves / 4 + 3});
    if (HasFatalFailure()) return;
  }
}

/// Very many points have one coordinate, and others beside them: too many to be ordered at a cut. With 4200 in a column
/// the first round goes by coordinates, with 8000 by fractions, though brackets have few of all points. Equal weights
/// part the columns between two of them.
TEST_F(OrbWeightedCuda, ManyPointsInEachOfManyColumnsEqualTheCpu) {
  std::mt19937_64 random(501);
  std::uniform_real_distribution<float> unit(0, 1);
  for (const auto& [columns, each] : {std::pair<std::size_t, std::size_t>{1000, 4200}, {400, 8000}}) {
    const std::size_t n = columns * each;
    std::vector<float> points(2 * n);
    for (std::size_t i = 0; i < n; ++i) {
      points[2 * i] = static_cast<float>(i % columns);
      points[2 * i + 1] = static_cast<float>(columns) / 4 * unit(random);
    }
    for (const Kind kind : {Kind::equal, Kind::uniform, Kind::halves, Kind::mostly_zero, Kind::few}) {
      SCOPED_TRACE("weights " + std::to_string(static_cast<int>(kind)));
      OrbGpuTimes times;
      compare<float, 2>(points, weights_of(kind, n, 502), {.leaves = 60}, &times);
      if (HasFatalFailure()) return;
      if (kind != Kind::uniform) continue;
      EXPECT_EQ(times.quantiles, each == 8000);
    }
  }
}

/// Many points in a thin slab at a cut, one bin of the sample's, but in no one place: the first round goes by
/// coordinates.
TEST_F(OrbWeightedCuda, AThinSlabIsNoCrowdedPlace) {
  constexpr std::size_t kPoints = 4000000, kEach = 50;  // of so many points one is in the slab
  std::mt19937_64 random(503);
  std::uniform_real_distribution<float> unit(0, 1);
  std::vector<float> points(3 * kPoints);
  for (float& x : points) x = unit(random);
  for (std::size_t i = 0; i < kPoints; i += kEach) points[3 * i] = 0.5F + 0x1p-15F * points[3 * i];
  for (std::size_t axis = 0; axis < 3; ++axis) {  // the box, so that bins are known
    points[3 + axis] = 0;
    points[6 + axis] = 1;
  }
  for (const Kind kind : {Kind::equal, Kind::uniform}) {
    SCOPED_TRACE("weights " + std::to_string(static_cast<int>(kind)));
    OrbGpuTimes times;
    compare<float, 3>(points, weights_of(kind, kPoints, 504), {.leaves = 64}, &times);
    EXPECT_TRUE(times.first_round);
    EXPECT_FALSE(times.quantiles);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbWeightedCuda, FewPointsOneALeaf) {
  std::uint64_t seed = 300;
  for (const Kind kind : kAllKinds)
    for (const std::uint32_t leaves : {1U, 2U, 3U, 5U, 64U, 65U, 997U, 1009U}) {
      both_ways<float, 3>(PointKind::uniform, 1009, ++seed, kind, {.leaves = leaves});
      both_ways<double, 2>(PointKind::cluster, 1009, ++seed, kind, {.leaves = leaves});
      if (HasFatalFailure()) return;
    }
  for (const std::size_t n : {1U, 2U, 3U, 7U, 1024U, 1025U, 20011U})
    both_ways<float, 3>(PointKind::uniform, n, ++seed, Kind::uniform, {.leaves = static_cast<std::uint32_t>(n)});
}

TEST_F(OrbWeightedCuda, Ties) {
  std::uint64_t seed = 400;
  for (const unsigned edge : {1U, 2U, 16U, 1000U})
    for (const Kind kind : kAllKinds) {
      std::mt19937_64 random(++seed);
      SCOPED_TRACE("edge " + std::to_string(edge) + " seed " + std::to_string(seed));
      std::vector<float> points(3 * 60000);
      const unsigned middle = edge / 2;
      for (float& x : points) x = static_cast<float>(random() % edge) - static_cast<float>(middle);
      for (std::size_t i = 0; i < points.size(); i += 7)
        if (points[i] == 0) points[i] = -0.0F;
      const std::vector<double> doubles(points.begin(), points.begin() + 60000);
      const Weights weights = weights_of(kind, 60000, seed);
      compare<float, 3>(points, weights, {.leaves = 100});
      compare<float, 3>(points, weights, {.leaves = 7, .tuning = {.first_round = false}});
      compare<double, 2>(doubles, Weights(weights.begin(), weights.begin() + 30000), {.leaves = 31});
      if (HasFatalFailure()) return;
    }
}

TEST_F(OrbWeightedCuda, PointsNeedNotBeAligned) {
  const std::size_t n = 100000;
  auto points = made<float, 3>(PointKind::uniform, n, 501);
  const Weights weights = weights_of(Kind::uniform, n, 501);
  OrbResult<float, 3> cpu;
  orb<float, 3>({points, 3}, weights, {.leaves = 64}, cpu);
  points.insert(points.begin(), 0.0F);
  const auto device = on_device(points);
  const auto device_weights = on_device(weights);
  OrbGpu<float, 3> gpu(n, {.leaves = 64, .labels = true, .weighted = true});
  expect_labels(gpu, gpu.run(device.data() + 1, cpu.tree.cells[1].box, device_weights.data()), cpu);
  EXPECT_FALSE(gpu.times().first_round);
}

TEST_F(OrbWeightedCuda, RefusesWhatIsNoWeight) {
  const std::size_t n = 100003;
  const auto points = on_device(made<float, 3>(PointKind::uniform, n, 601));
  OrbBox<float, 3> box;
  box.upper.fill(1.0F);
  OrbGpu<float, 3> gpu(n, {.leaves = 4, .weighted = true});
  const Weights good = weights_of(Kind::uniform, n, 601);
  for (const double bad : {-1.0, -std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    Weights weights = good;
    weights[77777] = weights[70001] = weights[99999] = bad;
    const auto device = on_device(weights);
    try {
      gpu.run(points.data(), box, device.data());
      ADD_FAILURE() << bad << " was accepted";
    } catch (const support::InputError& error) {
      EXPECT_NE(std::string(error.what()).find("weight 70001 is "), std::string::npos) << error.what();
    }
  }
  const auto device = on_device(good);
  EXPECT_EQ(gpu.run(points.data(), box, device.data()).leaves, 4U);  // works after a refusal
  EXPECT_THROW(gpu.run(points.data(), box), std::logic_error);
  EXPECT_THROW((OrbGpu<float, 3>(n, {.leaves = 4, .method = "seed-warp", .weighted = true})), support::InputError);
}

}  // namespace
}  // namespace amrbench::partitioners
#else
TEST(OrbWeightedCuda, NotBuilt) {
  GTEST_SKIP() << "built without the CUDA back end";
}
#endif
