// Bisection of points on GPUs over ranks, which may share one: tree, labels and leaves of one process.
// AMRBENCH_TEST_TRANSPORT=staged|mpi|nccl: all exchanges by that, else by some of each. AMRBENCH_TEST_TRACE=1: where
// each rank stands, which tells where ranks wait for each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "partitioners/orb/gpu_distributed.hpp"
#include "partitioners/orb/inputs.hpp"
#include "support/cuda.hpp"
#include "support/cuda_choice.hpp"
#include "support/cuda_info.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

enum class Spread { even, first_only, last_most, odd_empty };

/// Points of this rank: [begin, end) of n.
std::pair<std::size_t, std::size_t> mine(const Communicator& comm, std::size_t n, Spread spread) {
  const auto size = static_cast<std::size_t>(comm.size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  if (spread == Spread::first_only) return rank == 0 ? std::pair{std::size_t{0}, n} : std::pair{n, n};
  if (spread == Spread::last_most) {
    const std::size_t few = std::min<std::size_t>(3, n / size);
    return {rank * few, rank + 1 == size ? n : (rank + 1) * few};
  }
  if (spread == Spread::odd_empty) {
    const std::size_t sharing = (size + 1) / 2;
    const std::size_t before = (rank + 1) / 2;  // sharing ranks before this one
    return {n * before / sharing, n * (rank % 2 == 0 ? before + 1 : before) / sharing};
  }
  return {n * rank / size, n * (rank + 1) / size};
}

class OrbGpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const support::CudaInfo info = support::cuda_info();
    if (!info.problem.empty()) GTEST_SKIP() << info.problem;
    own_ = support::choose_device(comm_).own;
  }

  /// On each rank's standard error.
  void trace(std::size_t n, const OrbGpusOptions& options, Spread spread, std::string_view phase) const {
    if (std::getenv("AMRBENCH_TEST_TRACE") == nullptr) return;
    std::fprintf(stderr, "rank %d: n %zu leaves %u spread %d: %.*s\n", comm_.rank(), n, options.leaves,
                 static_cast<int>(spread), static_cast<int>(phase.size()), phase.data());
  }

  /// Unless AMRBENCH_TEST_TRANSPORT says otherwise the best there is for a test's first few comparisons only: NCCL
  /// takes as long to start as many comparisons.
  std::string transport() {
    constexpr int kBest = 4;
    if (const char* wanted = std::getenv("AMRBENCH_TEST_TRANSPORT")) return wanted;
    return compared_++ < kBest ? "auto" : "staged";
  }

  template <class V>
  static std::vector<V> on_host(const V* device, std::size_t n) {
    std::vector<V> host(n);
    if (n > 0)
      support::cuda_check(cudaMemcpy(host.data(), device, n * sizeof(V), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host;
  }

  template <class T>
  static support::DeviceBuffer<T> on_device(std::span<const T> host) {
    support::DeviceBuffer<T> device(host.size());
    if (!host.empty())
      support::cuda_check(cudaMemcpy(device.data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice),
                          "cudaMemcpy");
    // A small copy from pageable memory may still be under way, and streams do not wait for it.
    support::cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return device;
  }

  /// Runs twice in the same memory; fails unless all is as orb() has it on all points.
  template <class T, int Dim>
  void compare(const std::vector<T>& points, OrbGpusOptions options, Spread spread) {
    const std::size_t n = points.size() / Dim;
    SCOPED_TRACE("n " + std::to_string(n) + " leaves " + std::to_string(options.leaves) + " spread " +
                 std::to_string(static_cast<int>(spread)) + " rank " + std::to_string(comm_.rank()));
    OrbResult<T, Dim> serial;
    orb<T, Dim>({points, Dim}, {},
                {.leaves = options.leaves, .threads = 1, .side_tolerance = options.side_tolerance, .points = true},
                serial);
    const auto [begin, end] = mine(comm_, n, spread);
    const auto device = on_device(std::span(points).subspan(begin * Dim, (end - begin) * Dim));
    options.own_gpu = own_;
    if (options.transport == "auto") options.transport = transport();
    options.phase = [&](std::string_view phase) { trace(n, options, spread, phase); };
    OrbGpus<T, Dim> gpus(comm_, options);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const OrbTree<T, Dim>& tree = run(gpus, device.data(), end - begin);
      ASSERT_EQ(tree_hash(tree), tree_hash(serial.tree));
      ASSERT_EQ(gpus.first(), begin);
      if (options.labels) {
        const auto labels = on_host(gpus.labels(), end - begin);
        ASSERT_TRUE(std::equal(labels.begin(), labels.end(), serial.labels.data() + begin));
      }
      check_pieces<T, Dim>(gpus, serial, options);
    }
    largest_rounds_ = std::max(largest_rounds_, gpus.times().rounds);
  }

  /// An error ends all ranks: others may wait for this one.
  template <class T, int Dim>
  const OrbTree<T, Dim>& run(OrbGpus<T, Dim>& gpus, const T* points, std::uint64_t n) {
    try {
      return gpus.run(points, n);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", comm_.rank(), error.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
      throw;
    }
  }

  /// All leaves once over ranks; points and numbers as in the permutation.
  template <class T, int Dim>
  void check_pieces(const OrbGpus<T, Dim>& gpus, const OrbResult<T, Dim>& serial, const OrbGpusOptions& options) {
    std::uint32_t leaves = 0;
    for (const OrbGpusPiece<T>& piece : gpus.pieces()) {
      leaves += piece.leaves;
      const std::uint64_t begin = serial.tree.cells[serial.tree.leaf_cell[piece.first_leaf]].begin;
      const auto& last = serial.tree.cells[serial.tree.leaf_cell[piece.first_leaf + piece.leaves - 1]];
      ASSERT_EQ(piece.count, last.begin + last.count - begin);
      if (options.points) {
        const auto points = on_host(piece.points, piece.count * Dim);
        ASSERT_TRUE(std::equal(points.begin(), points.end(), serial.points.data() + begin * Dim));
      }
      if (options.ids) {
        const auto ids = on_host(piece.ids, piece.count);
        ASSERT_TRUE(std::equal(ids.begin(), ids.end(), serial.permutation.data() + begin));
      }
    }
    ASSERT_EQ(support::all_sum(comm_, leaves), serial.tree.leaves);
  }

  template <class T, int Dim>
  void compare_all(const std::vector<T>& points, std::uint32_t leaves, Spread spread) {
    compare<T, Dim>(points, {.leaves = leaves, .ids = true, .labels = true}, spread);
  }

  const Communicator comm_ = Communicator::world();
  bool own_ = true;
  int largest_rounds_ = 0;
  int compared_ = 0;
};

template <class T, int Dim>
std::vector<T> made(OrbInputKind kind, std::size_t n, std::uint64_t seed) {
  std::vector<T> points(n * Dim);
  make_orb_points<T, Dim>(kind, seed, 0, points);
  return points;
}

template <class T>
std::vector<T> lattice(std::size_t values, unsigned edge, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> points(values);
  const unsigned middle = edge / 2;
  for (T& x : points) x = static_cast<T>(random() % edge) - static_cast<T>(middle);
  return points;
}

TEST_F(OrbGpusTest, EqualsOneProcess) {
  for (const OrbInputKind kind :
       {OrbInputKind::uniform, OrbInputKind::cluster, OrbInputKind::plummer, OrbInputKind::field}) {
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
  compare_all<float, 3>(made<float, 3>(OrbInputKind::uniform, 2000003, 10), 4096, Spread::even);
  compare_all<float, 3>(made<float, 3>(OrbInputKind::cluster, 2000003, 11), 4093, Spread::even);
}

TEST_F(OrbGpusTest, EachOutputAlone) {
  const auto points = made<float, 3>(OrbInputKind::plummer, 100003, 12);
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
      compare_all<float, 3>(made<float, 3>(OrbInputKind::uniform, n, n), static_cast<std::uint32_t>(leaves),
                            Spread::even);
      if (HasFatalFailure()) return;
    }
}

// Ranks that hold slabs of the domain: brackets are met by the points of few of them.
TEST_F(OrbGpusTest, SortedInput) {
  std::vector<std::array<float, 3>> points(150000);
  make_orb_points<float, 3>(OrbInputKind::plummer, 14, 0, {&points[0][0], 3 * points.size()});
  std::sort(points.begin(), points.end());
  std::vector<float> flat;
  for (const auto& p : points) flat.insert(flat.end(), p.begin(), p.end());
  for (const Spread spread : {Spread::even, Spread::odd_empty}) {
    compare_all<float, 3>(flat, 509, spread);
    compare_all<float, 3>(flat, 4096, spread);
    if (HasFatalFailure()) return;
  }
}

// A sample that says little: wide brackets, misses, further rounds.
TEST_F(OrbGpusTest, RandomInputsAndSmallSamples) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t n = 20000 + random() % 60000;
    const auto leaves = static_cast<std::uint32_t>(1 + random() % (seed % 3 == 0 ? n / 8 : 200));
    const auto edge = static_cast<unsigned>(1 + random() % (seed % 2 == 0 ? 10 : 100000));
    const auto spread = static_cast<Spread>(random() % 4);
    const std::uint64_t samples = 100 + random() % 2000;
    compare<double, 3>(lattice<double>(3 * n, edge, seed),
                       {.leaves = leaves, .ids = true, .labels = true, .samples = samples}, spread);
    compare<float, 2>(lattice<float>(2 * n, edge, seed + 100),
                      {.leaves = leaves, .ids = true, .labels = true, .samples = samples}, spread);
    if (HasFatalFailure()) return;
  }
  if (comm_.size() > 1) {
    EXPECT_GT(largest_rounds_, 1) << "no case had a second round";
  }
}

// Every kernel on few points, for tools that slow a GPU down.
TEST_F(OrbGpusTest, SmallRounds) {
  OrbGpusOptions options{.leaves = 67, .ids = true, .labels = true, .samples = 300};
  compare<float, 3>(made<float, 3>(OrbInputKind::uniform, 9001, 1), options, Spread::even);
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
