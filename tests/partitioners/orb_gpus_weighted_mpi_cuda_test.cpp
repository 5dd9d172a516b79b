// Bisection of points with weights on GPUs over ranks: tree, labels and leaves of one process.
#include <cmath>
#include <iterator>

#include "tests/partitioners/orb_gpus_case.hpp"

namespace amrbench::partitioners {
namespace {

Weights made_weights(std::size_t n, std::uint64_t seed) {
  Weights weights(n);
  make_weights(seed, 0, weights);
  return weights;
}

enum class Kind { random, all_zero, few, wide, one_huge, heavy_start };
constexpr Kind kKinds[] = {Kind::random, Kind::all_zero, Kind::few, Kind::wide, Kind::one_huge, Kind::heavy_start};

/// few: nine of ten are 0; wide: over 60 powers of two, so that many round to 0; one_huge: more than all others
/// together; heavy_start: only a twentieth of the points, which the first ranks hold, weighs anything.
Weights kind_of_weights(Kind kind, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Weights weights = made_weights(n, seed);
  for (std::size_t i = 0; i < n; ++i) {
    if (kind == Kind::all_zero || (kind == Kind::few && random() % 10 != 0) ||
        (kind == Kind::heavy_start && i > n / 20))
      weights[i] = 0;
    if (kind == Kind::wide) weights[i] = std::ldexp(weights[i], -static_cast<int>(random() % 60));
  }
  if (kind == Kind::one_huge) weights[random() % n] = 1e15;
  return weights;
}

TEST_F(OrbGpusTest, WeightsEqualOneProcess) {
  std::uint64_t seed = 20;
  for (const Kind kind : kKinds) {
    SCOPED_TRACE("weights " + std::to_string(static_cast<int>(kind)) + " from seed " + std::to_string(++seed));
    const Spread spread = seed % 2 == 0 ? Spread::last_most : Spread::odd_empty;
    compare_all<float, 3>(made<float, 3>(PointKind::uniform, 100003, seed), 512, Spread::even,
                          kind_of_weights(kind, 100003, seed));
    compare_all<float, 3>(made<float, 3>(PointKind::cluster, 60001, seed), 127, spread,
                          kind_of_weights(kind, 60001, seed));
    compare_all<double, 2>(made<double, 2>(PointKind::plummer, 60001, seed), 61, spread,
                           kind_of_weights(kind, 60001, seed));
    compare_all<double, 3>(lattice<double>(3 * 30000, 7, seed), 1021, Spread::first_only,
                           kind_of_weights(kind, 30000, seed));
    compare_all<float, 2>(lattice<float>(2 * 30000, 300, seed), static_cast<std::uint32_t>(comm_.size()), Spread::even,
                          kind_of_weights(kind, 30000, seed));
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbGpusTest, ManyWeights) {
  compare_all<float, 3>(made<float, 3>(PointKind::uniform, 1500007, 31), 4096, Spread::even, made_weights(1500007, 31));
  compare<float, 3>(made<float, 3>(PointKind::plummer, 1500007, 32), {.leaves = 1021, .side_tolerance = 0},
                    Spread::even, kind_of_weights(Kind::few, 1500007, 32));
}

TEST_F(OrbGpusTest, FewWeights) {
  for (const std::size_t n : {1U, 2U, 5U, 63U, 1000U})
    for (const Kind kind : kKinds)
      for (const std::size_t leaves : {std::size_t{1}, std::size_t{3}, n}) {
        if (leaves > n) continue;
        compare_all<float, 3>(made<float, 3>(PointKind::uniform, n, n), static_cast<std::uint32_t>(leaves),
                              Spread::even, kind_of_weights(kind, n, n));
        if (HasFatalFailure()) return;
      }
}

// Runs of weight zero that reach beyond a window.
TEST_F(OrbGpusTest, RandomWeights) {
  for (std::uint64_t seed = 201; seed <= 218; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t n = 15000 + random() % 40000;
    const auto leaves = static_cast<std::uint32_t>(1 + random() % (seed % 3 == 0 ? n / 8 : 200));
    const auto edge = static_cast<unsigned>(1 + random() % (seed % 2 == 0 ? 10 : 100000));
    const auto spread = static_cast<Spread>(random() % 4);
    const Kind kind = kKinds[seed % std::size(kKinds)];
    compare_all<double, 3>(lattice<double>(3 * n, edge, seed), leaves, spread, kind_of_weights(kind, n, seed));
    compare_all<float, 2>(lattice<float>(2 * n, edge, seed), leaves, spread, kind_of_weights(kind, n, seed + 100));
    if (HasFatalFailure()) return;
  }
}

// Every kernel on few points, for tools that slow a GPU down.
TEST_F(OrbGpusTest, SmallRoundsWithWeights) {
  OrbGpusOptions options{.leaves = 2, .ids = true, .labels = true};
  compare<float, 3>(lattice<float>(3 * 7001, 1000, 4), options, Spread::even, made_weights(7001, 4));
  options.leaves = 67;
  compare<double, 2>(lattice<double>(2 * 7001, 5, 5), options, Spread::odd_empty, kind_of_weights(Kind::few, 7001, 5));
}

TEST_F(OrbGpusTest, RefusesWeightsAlikeOnEveryRank) {
  const auto device = on_device(std::span<const double>(std::vector<double>(3 * 40, 0.5)));
  const std::size_t last = 40 * (static_cast<std::size_t>(comm_.size()) - 1) + 13;
  for (const double bad : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Weights weights(40, 2);
    if (comm_.rank() == comm_.size() - 1) weights[13] = bad;
    const auto device_weights = on_device(std::span<const double>(weights));
    OrbGpus<double, 3> gpus(comm_, {.leaves = 3, .weighted = true, .own_gpu = own_});
    try {
      static_cast<void>(gpus.run(device.data(), 40, device_weights.data()));
      ADD_FAILURE() << bad << " was taken";
    } catch (const support::InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("weight " + std::to_string(last) + " is ", 0), 0U) << error.what();
    }
  }
}

}  // namespace
}  // namespace amrbench::partitioners
