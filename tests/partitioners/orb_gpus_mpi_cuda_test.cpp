// Bisection of points on GPUs over ranks: tree, labels and leaves of one process.
#include <array>

#include "tests/partitioners/orb_gpus_case.hpp"

namespace amrbench::partitioners {
namespace {

TEST_F(OrbGpusTest, EqualsOneProcess) {
  for (const PointKind kind : {PointKind::uniform, PointKind::cluster, PointKind::plummer, PointKind::field}) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    for (const Spread spread : {Spread::even, Spread::first_only, Spread::last_most, Spread::odd_empty}) {
      compare_all<float, 3>(made<float, 3>(kind, 200011, 5), 512, spread);
      compare_all<double, 2>(made<double, 2>(kind, 90000, 6), 127, spread);
      if (HasFatalFailure()) return;
    }
    compare_all<double, 3>(made<double, 3>(kind, 150001, 7), 1021, Spread::even);
    compare_all<float, 2>(made<float, 2>(kind, 150001, 8), 61, Spread::even);
    compare<float, 3>(made<float, 3>(kind, 120000, 9), {.leaves = 64, .side_tolerance = 0}, Spread::even);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbGpusTest, ManyPoints) {
  compare_all<float, 3>(made<float, 3>(PointKind::uniform, 2000003, 10), 4096, Spread::even);
  compare_all<float, 3>(made<float, 3>(PointKind::cluster, 2000003, 11), 4093, Spread::even);
}

TEST_F(OrbGpusTest, EachOutputAlone) {
  const auto points = made<float, 3>(PointKind::plummer, 100003, 12);
  const auto ranks = static_cast<std::uint32_t>(comm_.size());
  for (const std::uint32_t leaves : {1U, ranks, 256U}) {
    compare<float, 3>(points, {.leaves = leaves, .points = false}, Spread::even);
    compare<float, 3>(points, {.leaves = leaves}, Spread::even);
    compare<float, 3>(points, {.leaves = leaves, .points = false, .labels = true}, Spread::even);
    compare<float, 3>(points, {.leaves = leaves, .ids = true}, Spread::even);
    compare<float, 3>(points, {.leaves = leaves, .ids = true, .labels = true, .transport = "staged"}, Spread::even);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbGpusTest, Ties) {
  constexpr std::size_t kN = 80000;
  const auto ranks = static_cast<std::uint32_t>(comm_.size());
  for (const Spread spread : {Spread::even, Spread::first_only, Spread::odd_empty}) {
    compare_all<float, 3>(lattice<float>(3 * kN, 4, 1), 101, spread);
    compare_all<float, 3>(lattice<float>(3 * kN, 12, 2), ranks, spread);
    compare_all<double, 3>(lattice<double>(3 * kN, 1, 3), 7, spread);
    compare_all<double, 2>(lattice<double>(2 * kN, 2, 4), 515, spread);
    compare_all<double, 2>(lattice<double>(2 * kN, 40000, 5), 4099, spread);
    compare_all<float, 2>(lattice<float>(2 * kN, 90, 6), 1, spread);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbGpusTest, FewPoints) {
  for (const std::size_t n : {1U, 2U, 5U, 63U, 1000U, 5000U})
    for (const std::size_t leaves : {std::size_t{1}, std::size_t{2}, std::size_t{3}, n}) {
      if (leaves > n) continue;
      compare_all<float, 3>(made<float, 3>(PointKind::uniform, n, n), static_cast<std::uint32_t>(leaves), Spread::even);
      if (HasFatalFailure()) return;
    }
}

// Ranks that hold slabs of the domain: few of them have points near a cut.
TEST_F(OrbGpusTest, SortedInput) {
  std::vector<std::array<float, 3>> points(150000);
  make_points<float>(PointKind::plummer, 3, 14, 0, {&points[0][0], 3 * points.size()});
  std::sort(points.begin(), points.end());
  std::vector<float> flat;
  for (const auto& p : points) flat.insert(flat.end(), p.begin(), p.end());
  for (const Spread spread : {Spread::even, Spread::odd_empty}) {
    compare_all<float, 3>(flat, 509, spread);
    compare_all<float, 3>(flat, 4096, spread);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbGpusTest, RandomInputs) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t n = 20000 + random() % 60000;
    const auto leaves = static_cast<std::uint32_t>(1 + random() % (seed % 3 == 0 ? n / 8 : 200));
    const auto edge = static_cast<unsigned>(1 + random() % (seed % 2 == 0 ? 10 : 100000));
    const auto spread = static_cast<Spread>(random() % 4);
    compare_all<double, 3>(lattice<double>(3 * n, edge, seed), leaves, spread);
    compare_all<float, 2>(lattice<float>(2 * n, edge, seed + 100), leaves, spread);
    if (HasFatalFailure()) return;
  }
}

// Every kernel on few points, for tools that slow a GPU down.
TEST_F(OrbGpusTest, SmallRounds) {
  OrbGpusOptions options{.leaves = 67, .ids = true, .labels = true};
  compare<float, 3>(made<float, 3>(PointKind::uniform, 9001, 1), options, Spread::even);
  compare<double, 2>(lattice<double>(2 * 7001, 5, 2), options, Spread::odd_empty);
  options.leaves = 2;
  compare<double, 3>(lattice<double>(3 * 7001, 1, 3), options, Spread::last_most);
}

TEST_F(OrbGpusTest, RefusesAlikeOnEveryRank) {
  std::vector<double> points(3 * 40, 0.5);
  if (comm_.rank() == comm_.size() - 1) points[3 * 7 + 1] = std::numeric_limits<double>::quiet_NaN();
  const auto device = on_device(std::span<const double>(points));
  const auto refusal = [&](std::uint32_t leaves, std::uint64_t n) {
    OrbGpus<double, 3> gpus(comm_, {.leaves = leaves, .own_gpu = own_});
    try {
      static_cast<void>(gpus.run(device.data(), n));
    } catch (const support::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::size_t bad = 40 * (static_cast<std::size_t>(comm_.size()) - 1) + 7;
  const std::string message = refusal(2, 40);
  EXPECT_NE(message.find("point " + std::to_string(bad) + " "), std::string::npos) << message;
  EXPECT_NE(message.find("finite"), std::string::npos) << message;
  EXPECT_NE(refusal(1000, 7).find("leaves is 1000"), std::string::npos);
  EXPECT_NE(refusal(0, 7).find("leaves is 0"), std::string::npos);
  EXPECT_NE(refusal(1, 0).find("only 0 points"), std::string::npos);
}

}  // namespace
}  // namespace amrbench::partitioners
