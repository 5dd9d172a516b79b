// Building kd-trees: every splitter over points, dimensions and threads. Items are points. Bytes are those of the
// input, so bytes_per_second compares with the copy bandwidth: a build moves its records about once a level.
// `--large`, first of all options: 10^8 points too. Counters: bytes_per_point (most memory held at once beside the
// input), levels.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "partitioners/kd_tree.hpp"

namespace {

using namespace amrbench::partitioners;

/// Uniform points, or half of them within a hundredth of the edge at the lower corner.
template <class T>
std::vector<T> make_points(std::size_t n, int dim, bool cluster) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<T> unit(0, 1);
  std::vector<T> x(n * static_cast<std::size_t>(dim));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool inside = cluster && i / static_cast<std::size_t>(dim) % 2 == 1;
    x[i] = unit(rng) * (inside ? T(0.01) : T(1));
  }
  return x;
}

template <class T>
void build(benchmark::State& state, const char* rule, bool cluster) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const int dim = static_cast<int>(state.range(1));
  const auto x = make_points<T>(n, dim, cluster);
  KdTreeOptions options;
  options.rule = split_rule_from_name(rule);
  options.bucket = static_cast<std::size_t>(state.range(2));
  options.threads = static_cast<int>(state.range(3));
  std::size_t peak = 0;
  int levels = 0;
  for (auto _ : state) {
    const auto tree = build_kd_tree(PointView<T>{x, dim}, {}, options);
    peak = tree.peak_bytes;
    levels = tree.levels();
    benchmark::DoNotOptimize(tree.order.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(x.size() * sizeof(T)));
  state.counters["bytes_per_point"] = static_cast<double>(peak) / static_cast<double>(n);
  state.counters["levels"] = levels;
}

// The macros below make identifiers of the functions' names.
void build_double(benchmark::State& state, const char* rule, bool cluster) {
  build<double>(state, rule, cluster);
}
void build_float(benchmark::State& state, const char* rule, bool cluster) {
  build<float>(state, rule, cluster);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"n", "dim", "bucket", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int threads : {1, 2}) {
    for (const std::int64_t n : {100'000, 1'000'000, 10'000'000}) b->Args({n, 3, 32, threads});
    for (const int dim : {2, 10}) b->Args({1'000'000, dim, 32, threads});
    b->Args({1'000'000, 3, 1, threads});
  }
}

void one_size(benchmark::internal::Benchmark* b) {
  b->ArgNames({"n", "dim", "bucket", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int threads : {1, 2}) b->Args({10'000'000, 3, 32, threads});
}

BENCHMARK_CAPTURE(build_double, midpoint, "midpoint", false)->Apply(sizes);
BENCHMARK_CAPTURE(build_double, median, "median", false)->Apply(sizes);
BENCHMARK_CAPTURE(build_double, selection, "selection", false)->Apply(sizes);
BENCHMARK_CAPTURE(build_double, sampled_median, "sampled_median", false)->Apply(sizes);
BENCHMARK_CAPTURE(build_double, selection_above_midpoint, "selection:6:midpoint", false)->Apply(one_size);
BENCHMARK_CAPTURE(build_double, midpoint_cluster, "midpoint", true)->Apply(one_size);
BENCHMARK_CAPTURE(build_double, median_cluster, "median", true)->Apply(one_size);
BENCHMARK_CAPTURE(build_double, selection_cluster, "selection", true)->Apply(one_size);
BENCHMARK_CAPTURE(build_double, sampled_median_cluster, "sampled_median", true)->Apply(one_size);
BENCHMARK_CAPTURE(build_double, selection_above_midpoint_cluster, "selection:6:midpoint", true)->Apply(one_size);
BENCHMARK_CAPTURE(build_float, midpoint_float, "midpoint", false)->Apply(one_size);

void parts_tree(benchmark::State& state) {
  const auto x = make_points<double>(1'000'000, 3, false);
  KdTreeOptions options;
  options.parts = static_cast<int>(state.range(0));
  options.threads = static_cast<int>(state.range(1));
  for (auto _ : state) {
    const auto tree = build_kd_tree(PointView<double>{x, 3}, {}, options);
    benchmark::DoNotOptimize(tree.order.data());
  }
  state.SetItemsProcessed(state.iterations() * 1'000'000);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(x.size() * sizeof(double)));
}
BENCHMARK(parts_tree)
    ->ArgNames({"parts", "threads"})
    ->ArgsProduct({{1000, 32768}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// 7 GB.
void large(benchmark::internal::Benchmark* b) {
  b->ArgNames({"n", "dim", "bucket", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int threads : {1, 2}) b->Args({100'000'000, 3, 128, threads});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--large") {
    large(benchmark::RegisterBenchmark("build_double/midpoint", build_double, "midpoint", false));
    --argc;
    std::copy(argv + 2, argv + argc + 1, argv + 1);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
