#pragma once
// What tests of bisection on one GPU share. Only in builds with the CUDA back end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/orb.hpp"
#include "support/cuda.hpp"
#include "support/cuda_info.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners {

/// Skipped where there is no GPU.
class OrbOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const support::CudaInfo info = support::cuda_info();
    if (!info.problem.empty()) GTEST_SKIP() << info.problem;
  }
};

/// Waits until all is there: a small copy from pageable memory may return before.
template <class V>
support::DeviceBuffer<V> on_device(const std::vector<V>& host) {
  support::DeviceBuffer<V> device(host.size());
  support::cuda_check(cudaMemcpy(device.data(), host.data(), host.size() * sizeof(V), cudaMemcpyHostToDevice),
                      "cudaMemcpy");
  support::cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return device;
}

template <class V>
std::vector<V> on_host(const V* device, std::size_t n) {
  std::vector<V> host(n);
  support::cuda_check(cudaMemcpy(host.data(), device, n * sizeof(V), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}

inline constexpr PointKind kInputs[] = {PointKind::uniform, PointKind::cluster, PointKind::plummer, PointKind::field};

template <class T, int Dim>
std::vector<T> made(PointKind kind, std::size_t n, std::uint64_t seed) {
  std::vector<T> points(n * Dim);
  make_points<T>(kind, Dim, seed, 0, points);
  return points;
}

/// Points that lie so that a sample's brackets hold very many of them: in two cubes far apart; on lines along the axes;
/// half of them in one place; all of them; in 100 places; in 1000 places; a tenth of them in one place, which not every
/// cut meets; in places and beside them, with one of 1000 coordinates an axis that are not alike often, or with any.
enum class HardKind { pair, lines, half, equal, places, many_places, tenth, shared };
inline constexpr HardKind kHardKinds[] = {HardKind::pair,   HardKind::lines,       HardKind::half,  HardKind::equal,
                                          HardKind::places, HardKind::many_places, HardKind::tenth, HardKind::shared};

template <class T, int Dim>
std::vector<T> made_hard(HardKind kind, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto coordinate = [seed](std::uint64_t place, std::size_t a) {
    return static_cast<T>(support::splitmix64(seed + Dim * place + a) >> 40U) * static_cast<T>(0x1p-24);
  };
  std::vector<T> points(n * Dim);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t draw = random();
    for (std::size_t a = 0; a < Dim; ++a) {
      const T any = static_cast<T>(random() >> 40U) * static_cast<T>(0x1p-24);
      T& x = points[i * Dim + a];
      switch (kind) {
        case HardKind::pair:
          x = (draw % 2 == 0 ? T(0) : T(1)) + any * static_cast<T>(0x1p-10);
          break;
        case HardKind::lines:
          x = draw % Dim == a ? any : T(0.5);
          break;
        case HardKind::half:
          x = draw % 2 == 0 ? any : T(0.25);
          break;
        case HardKind::equal:
          x = T(0.25);
          break;
        case HardKind::places:
        case HardKind::many_places:
          x = coordinate(draw % (kind == HardKind::places ? 100 : 1000), a);
          break;
        case HardKind::tenth:
          x = draw % 10 == 0 ? T(0.25) : any;
          break;
        case HardKind::shared: {
          const std::uint64_t other = random(), one = draw % 3 == 0 ? draw / 3 : other / 4;
          x = draw % 3 == 0 || other % 4 != 0 ? coordinate((one % 1000) * (one / 1000 % 1000) / 1000, a) : any;
          break;
        }
      }
    }
  }
  return points;
}

/// The CPU's tree and labels.
template <class T, int Dim>
void expect_labels(const OrbGpu<T, Dim>& gpu, const OrbTree<T, Dim>& tree, const OrbResult<T, Dim>& cpu) {
  ASSERT_EQ(tree.cells.size(), cpu.tree.cells.size());
  for (std::size_t i = 1; i < tree.cells.size(); ++i) {
    ASSERT_EQ(tree.cells[i].count, cpu.tree.cells[i].count) << "cell " << i;
    ASSERT_EQ(tree.cells[i].weight, cpu.tree.cells[i].weight) << "cell " << i;
    ASSERT_EQ(tree.cells[i].axis, cpu.tree.cells[i].axis) << "cell " << i;
    ASSERT_EQ(tree.cells[i].cut, cpu.tree.cells[i].cut) << "cell " << i;
  }
  ASSERT_EQ(tree_hash(tree), tree_hash(cpu.tree));
  ASSERT_EQ(tree.weight_unit, cpu.tree.weight_unit);
  const auto labels = on_host(gpu.labels(), cpu.labels.size());
  ASSERT_TRUE(std::equal(labels.begin(), labels.end(), cpu.labels.begin()));
}

/// The CPU's tree, labels and permutation, and the points in its order. ordered: false where the order within a leaf is
/// not defined.
template <class T, int Dim>
void expect_all(const OrbGpu<T, Dim>& gpu, const OrbTree<T, Dim>& tree, const OrbResult<T, Dim>& cpu,
                const std::vector<T>& points, bool ordered = true) {
  expect_labels(gpu, tree, cpu);
  if (::testing::Test::HasFatalFailure()) return;
  const std::size_t n = points.size() / Dim;
  auto order = on_host(gpu.permutation(), n);
  const auto moved = on_host(gpu.points(), n * Dim);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < Dim; ++a) ASSERT_EQ(moved[i * Dim + a], points.at(order[i] * Dim + a)) << i;
  if (!ordered)
    for (const std::uint32_t c : tree.leaf_cell) {
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(tree.cells[c].begin);
      std::sort(first, first + static_cast<std::ptrdiff_t>(tree.cells[c].count));
    }
  ASSERT_TRUE(std::equal(order.begin(), order.end(), cpu.permutation.begin()));
}

}  // namespace amrbench::partitioners
