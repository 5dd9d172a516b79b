#pragma once
// What tests of bisection over GPUs share: ranks that may share a GPU, and the comparison with one process.
// AMRBENCH_TEST_TRANSPORT=staged|mpi|nccl: all exchanges by that, else by some of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/gpus/distributed.hpp"
#include "support/cuda.hpp"
#include "support/cuda_choice.hpp"
#include "support/cuda_info.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

using Weights = std::vector<double>;

enum class Spread { even, first_only, last_most, odd_empty };

/// Points of this rank: [begin, end) of n.
inline std::pair<std::size_t, std::size_t> mine(const support::Communicator& comm, std::size_t n, Spread spread) {
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

  /// Runs twice in the same memory; fails unless all is as orb() has it on all points. weights: none, or one a point.
  template <class T, int Dim>
  void compare(const std::vector<T>& points, OrbGpusOptions options, Spread spread, const Weights& weights = {}) {
    const std::size_t n = points.size() / Dim;
    SCOPED_TRACE("n " + std::to_string(n) + " leaves " + std::to_string(options.leaves) + " spread " +
                 std::to_string(static_cast<int>(spread)) + " rank " + std::to_string(comm_.rank()));
    OrbResult<T, Dim> serial;
    orb<T, Dim>({points, Dim}, weights,
                {.leaves = options.leaves, .threads = 1, .side_tolerance = options.side_tolerance, .points = true},
                serial);
    const auto [begin, end] = mine(comm_, n, spread);
    const auto device = on_device(std::span(points).subspan(begin * Dim, (end - begin) * Dim));
    options.weighted = !weights.empty();
    const auto device_weights =
        on_device(options.weighted ? std::span(weights).subspan(begin, end - begin) : std::span<const double>());
    options.own_gpu = own_;
    if (options.transport == "auto") options.transport = transport();
    OrbGpus<T, Dim> gpus(comm_, options);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const OrbTree<T, Dim>& tree = run(gpus, device.data(), end - begin, device_weights.data());
      ASSERT_EQ(tree_hash(tree), tree_hash(serial.tree));
      ASSERT_EQ(tree.weight_unit, serial.tree.weight_unit);
      ASSERT_EQ(gpus.first(), begin);
      if (options.labels) {
        const auto labels = on_host(gpus.labels(), end - begin);
        ASSERT_TRUE(std::equal(labels.begin(), labels.end(), serial.labels.data() + begin));
      }
      check_pieces<T, Dim>(gpus, serial, options);
    }
  }

  /// An error ends all ranks: others may wait for this one.
  template <class T, int Dim>
  const OrbTree<T, Dim>& run(OrbGpus<T, Dim>& gpus, const T* points, std::uint64_t n, const double* weights) {
    try {
      return gpus.run(points, n, weights);
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
  void compare_all(const std::vector<T>& points, std::uint32_t leaves, Spread spread, const Weights& weights = {}) {
    compare<T, Dim>(points, {.leaves = leaves, .ids = true, .labels = true}, spread, weights);
  }

  const support::Communicator comm_ = support::Communicator::world();
  bool own_ = true;
  int compared_ = 0;
};

template <class T, int Dim>
std::vector<T> made(PointKind kind, std::size_t n, std::uint64_t seed) {
  std::vector<T> points(n * Dim);
  make_points<T>(kind, Dim, seed, 0, points);
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

}  // namespace amrbench::partitioners
