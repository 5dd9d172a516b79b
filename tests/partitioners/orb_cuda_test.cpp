// Bisection on a GPU: the CPU's tree, labels, order and points.
#include <gtest/gtest.h>

#ifdef AMRBENCH_CUDA
#include <algorithm>
#include <random>

#include "partitioners/orb/inputs.hpp"
#include "partitioners/orb/orb.hpp"
#include "partitioners/orb/orb_gpu.hpp"
#include "support/cuda.hpp"
#include "support/cuda_info.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

class OrbCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const support::CudaInfo info = support::cuda_info();
    if (!info.problem.empty()) GTEST_SKIP() << info.problem;
  }
};

template <class V>
std::vector<V> on_host(const V* device, std::size_t n) {
  std::vector<V> host(n);
  support::cuda_check(cudaMemcpy(host.data(), device, n * sizeof(V), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}

template <class T, int Dim>
void compare(const std::vector<T>& points, std::uint32_t leaves, const std::string& method,
             double side_tolerance = kOrbSideTolerance) {
  SCOPED_TRACE(method + " n " + std::to_string(points.size() / Dim) + " leaves " + std::to_string(leaves));
  const std::size_t n = points.size() / Dim;
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, {}, {.leaves = leaves, .side_tolerance = side_tolerance}, cpu);
  support::DeviceBuffer<T> device(points.size());
  support::cuda_check(cudaMemcpy(device.data(), points.data(), points.size() * sizeof(T), cudaMemcpyHostToDevice),
                      "cudaMemcpy");
  OrbGpu<T, Dim> gpu(
      n, {.leaves = leaves, .method = method, .side_tolerance = side_tolerance, .permutation = true, .labels = true});
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second run reuses memory
    const OrbTree<T, Dim>& tree = gpu.run(device.data(), cpu.tree.cells[1].box);
    ASSERT_EQ(tree_hash(tree), tree_hash(cpu.tree));
    const auto labels = on_host(gpu.labels(), n);
    ASSERT_TRUE(std::equal(labels.begin(), labels.end(), cpu.labels.begin()));
    auto order = on_host(gpu.permutation(), n);
    const auto moved = on_host(gpu.points(), n * Dim);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t a = 0; a < Dim; ++a) ASSERT_EQ(moved[i * Dim + a], points.at(order[i] * Dim + a)) << i;
    if (method != "multiway")  // whose order within a leaf is not defined
      for (const std::uint32_t c : tree.leaf_cell) {
        const auto first = order.begin() + static_cast<std::ptrdiff_t>(tree.cells[c].begin);
        std::sort(first, first + static_cast<std::ptrdiff_t>(tree.cells[c].count));
      }
    ASSERT_TRUE(std::equal(order.begin(), order.end(), cpu.permutation.begin()));
  }
}

template <class T, int Dim>
std::vector<T> made(OrbInputKind kind, std::size_t n, std::uint64_t seed) {
  std::vector<T> points(n * Dim);
  make_orb_points<T, Dim>(kind, seed, 0, points);
  return points;
}

constexpr OrbInputKind kKinds[] = {OrbInputKind::uniform, OrbInputKind::cluster, OrbInputKind::plummer,
                                   OrbInputKind::field};

TEST_F(OrbCuda, MultiwayEqualsTheCpu) {
  for (const OrbInputKind kind : kKinds) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    compare<float, 3>(made<float, 3>(kind, 1000001, 1), 4096, "multiway");
    compare<double, 3>(made<double, 3>(kind, 500000, 2), 1021, "multiway");
    compare<float, 2>(made<float, 2>(kind, 500000, 3), 61, "multiway", 0);
    compare<double, 2>(made<double, 2>(kind, 300000, 4), 4093, "multiway");
    if (HasFatalFailure()) return;
  }
}

TEST_F(OrbCuda, SeedMethodsEqualTheCpu) {
  for (const char* method : {"seed-cells", "seed-level", "seed-warp"})
    for (const OrbInputKind kind : kKinds) {
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
    compare<float, 3>(made<float, 3>(OrbInputKind::uniform, 1000, 7), leaves, "multiway");
    compare<float, 3>(made<float, 3>(OrbInputKind::uniform, 1000, 7), leaves, "seed-level");
    if (HasFatalFailure()) return;
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
