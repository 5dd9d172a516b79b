// Traversing kd-trees of uniform points by each curve, over points, dimension, bucket and threads, and the whole order
// (tree and traversal). Items are points. Bytes: nodes and the tree's order read once, the order written once.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "partitioners/traversal.hpp"

namespace {

using namespace amrbench::partitioners;

std::vector<double> make_points(std::size_t n, int dim) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double> x(n * static_cast<std::size_t>(dim));
  for (auto& v : x) v = unit(rng);
  return x;
}

KdTreeOptions options_of(const benchmark::State& state) {
  KdTreeOptions options;
  options.bucket = static_cast<std::size_t>(state.range(2));
  options.threads = static_cast<int>(state.range(3));
  return options;
}

void traverse(benchmark::State& state, TreeCurve curve) {
  const int dim = static_cast<int>(state.range(1));
  const auto x = make_points(static_cast<std::size_t>(state.range(0)), dim);
  const auto options = options_of(state);
  const auto tree = build_kd_tree(PointView<double>{x, dim}, {}, options);
  for (auto _ : state) {
    const auto order = curve_order(tree, curve, options.threads);
    benchmark::DoNotOptimize(order.data());
  }
  const std::size_t bytes = tree.nodes.size() * sizeof(tree.nodes[0]) + 2 * tree.order.size() * sizeof(tree.order[0]);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void whole_order(benchmark::State& state, TreeCurve curve) {
  const int dim = static_cast<int>(state.range(1));
  const auto x = make_points(static_cast<std::size_t>(state.range(0)), dim);
  const auto options = options_of(state);
  for (auto _ : state) {
    const auto tree = build_kd_tree(PointView<double>{x, dim}, {}, options);
    const auto order = curve_order(tree, curve, options.threads);
    benchmark::DoNotOptimize(order.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"n", "dim", "bucket", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int threads : {1, 2}) {
    for (const std::int64_t n : {100'000, 1'000'000, 10'000'000}) b->Args({n, 3, 32, threads});
    b->Args({1'000'000, 3, 1, threads});
    b->Args({1'000'000, 2, 1, threads});
  }
}

BENCHMARK_CAPTURE(traverse, morton, TreeCurve::morton)->Apply(sizes);
BENCHMARK_CAPTURE(traverse, hilbert, TreeCurve::hilbert)->Apply(sizes);
BENCHMARK_CAPTURE(traverse, gensfc, TreeCurve::gensfc)->Apply(sizes);
BENCHMARK_CAPTURE(whole_order, morton, TreeCurve::morton)->Apply(sizes);
BENCHMARK_CAPTURE(whole_order, hilbert, TreeCurve::hilbert)->Apply(sizes);
BENCHMARK_CAPTURE(whole_order, gensfc, TreeCurve::gensfc)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
