#pragma once
// What the benchmarks of bisection on one GPU share: data on its way to the GPU and back, and the comparison with the
// CPU's result.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/orb.hpp"
#include "support/cuda.hpp"

namespace amrbench::bench {

/// To the front of the buffer, which grows as needed. Waits until all is there: a small copy from pageable memory may
/// return before, and streams that do not wait for the default one would read what is not there yet.
template <class V>
void upload(support::DeviceBuffer<V>& device, std::span<const V> host) {
  if (device.size() < host.size()) device.resize_discard(host.size());
  support::cuda_check(cudaMemcpy(device.data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  support::cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

template <class V>
std::vector<V> download(const V* device, std::size_t n) {
  std::vector<V> host(n);
  support::cuda_check(cudaMemcpy(host.data(), device, n * sizeof(V), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}

template <class T, int Dim>
std::vector<T> made(partitioners::PointKind kind, std::size_t n, std::uint64_t seed) {
  std::vector<T> points(n * Dim);
  partitioners::make_points<T>(kind, Dim, seed, 0, points);
  return points;
}

template <class T, int Dim>
partitioners::OrbBox<T, Dim> unit_box() {
  partitioners::OrbBox<T, Dim> box;
  box.upper.fill(T(1));
  return box;
}

/// What is wrong with a run's tree, labels, permutation and points by permutation: empty, or words. ordered: false
/// where the order within a leaf is not defined.
template <class T, int Dim>
std::string differences(const partitioners::OrbGpu<T, Dim>& gpu, const partitioners::OrbTree<T, Dim>& tree,
                        const partitioners::OrbResult<T, Dim>& cpu, std::span<const T> points, bool ordered = true) {
  const std::size_t n = points.size() / Dim;
  std::string wrong;
  if (tree_hash(tree) != tree_hash(cpu.tree)) wrong += " TREE";
  const auto labels = download(gpu.labels(), n);
  if (!std::equal(labels.begin(), labels.end(), cpu.labels.begin())) wrong += " LABELS";
  auto order = download(gpu.permutation(), n);
  const auto moved = download(gpu.points(), n * Dim);
  bool same_points = true;
  for (std::size_t i = 0; i < n && same_points; ++i)
    for (std::size_t a = 0; a < Dim; ++a)
      same_points = same_points && order[i] < n && moved[i * Dim + a] == points[order[i] * Dim + a];
  if (!same_points) wrong += " POINTS";
  if (!ordered)
    for (const std::uint32_t c : tree.leaf_cell) {
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(tree.cells[c].begin);
      std::sort(first, first + static_cast<std::ptrdiff_t>(tree.cells[c].count));
    }
  if (!std::equal(order.begin(), order.end(), cpu.permutation.begin())) wrong += " ORDER";
  return wrong;
}

}  // namespace amrbench::bench
