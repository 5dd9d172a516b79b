// Bisection on a GPU: each output asked for alone, and levels behind the first round, where points stay in the memory
// that it left them in.
#include <gtest/gtest.h>

#ifdef AMRBENCH_CUDA
#include <string>

#include "tests/partitioners/orb_on_gpu.hpp"

namespace amrbench::partitioners {
namespace {

using OrbOutputsCuda = OrbOnGpu;

/// Points alone, permutation alone, labels alone; twice each, so that memory is used again.
template <class T, int Dim>
void each_output(const std::vector<T>& points, bool weighted, std::uint32_t leaves, const OrbGpuTuning& tuning = {}) {
  const std::size_t n = points.size() / Dim;
  SCOPED_TRACE("n " + std::to_string(n) + " leaves " + std::to_string(leaves) + (weighted ? " weights" : ""));
  std::vector<double> weights;
  for (std::size_t i = 0; weighted && i < n; ++i)
    weights.push_back(static_cast<double>(support::splitmix64(i) >> 40U) + 1.0);
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, weights, {.leaves = leaves}, cpu);
  const auto device = on_device(points);
  const auto device_weights = on_device(weights);
  const auto run = [&](bool moved, bool permutation, bool labels, const auto& expect) {
    OrbGpu<T, Dim> gpu(n, {.leaves = leaves,
                           .points = moved,
                           .permutation = permutation,
                           .labels = labels,
                           .weighted = weighted,
                           .tuning = tuning});
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto& tree = gpu.run(device.data(), cpu.tree.cells[1].box, weighted ? device_weights.data() : nullptr);
      ASSERT_EQ(tree_hash(tree), tree_hash(cpu.tree));
      expect(gpu);
    }
  };
  run(true, false, false, [&](const OrbGpu<T, Dim>& gpu) {
    const auto moved = on_host(gpu.points(), n * Dim);
    for (std::size_t i = 0; i < n * Dim; ++i)
      ASSERT_EQ(moved[i], points.at(cpu.permutation[i / Dim] * Dim + i % Dim)) << i;
  });
  run(false, true, false, [&](const OrbGpu<T, Dim>& gpu) {
    const auto order = on_host(gpu.permutation(), n);
    ASSERT_TRUE(std::equal(order.begin(), order.end(), cpu.permutation.begin()));
  });
  run(false, false, true, [&](const OrbGpu<T, Dim>& gpu) {
    const auto labels = on_host(gpu.labels(), n);
    ASSERT_TRUE(std::equal(labels.begin(), labels.end(), cpu.labels.begin()));
  });
}

TEST_F(OrbOutputsCuda, EachAloneEqualsTheCpu) {
  std::uint64_t seed = 900;
  for (const bool weighted : {false, true}) {
    // Of the cells that the first round leaves: all, cut once and twice more; some; all, small ones.
    for (const std::uint32_t leaves : {8192U, 16384U, 5000U, 32768U})
      each_output<float, 3>(made<float, 3>(PointKind::cluster, 1200003, ++seed), weighted, leaves);
    each_output<float, 3>(made_hard<float, 3>(HardKind::pair, 1200001, ++seed), weighted, 16384);
    each_output<double, 2>(made<double, 2>(PointKind::plummer, 1200000, ++seed), weighted, 16383);
    // Level by level from the points that the caller has, which must stay as they are.
    const auto points = made<float, 3>(PointKind::uniform, 200001, ++seed);
    for (const std::uint32_t leaves : {2U, 3U, 4U, 1000U, 20000U})
      each_output<float, 3>(points, weighted, leaves, {.first_round = false});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace amrbench::partitioners

#else

TEST(OrbOutputsCuda, NotBuilt) {
  GTEST_SKIP() << "built without the CUDA back end";
}

#endif
