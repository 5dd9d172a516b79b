// Additions a second of every kind of order-free sum (support/exact_sum.hpp), beside a plain sum.
// Repeat with: ./exact_sum_bench --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "support/exact_sum.hpp"

namespace amrbench::support {
namespace {

constexpr std::size_t kValues = std::size_t{1} << 15;  // 256 KiB: in cache, so that the sums are measured, not memory

std::vector<double> random_values() {
  std::mt19937_64 random(1);
  std::vector<double> values(kValues);
  for (double& x : values) x = static_cast<double>(random() >> 11) * 0x1p-53;
  return values;
}

void count_values(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kValues));
}

/// Reference: one plain addition a value in 8 lanes (not order-free).
void plain_sum(benchmark::State& state) {
  const std::vector<double> values = random_values();
  using Real = LaneSum<8>::Real;
  for (auto _ : state) {
    Real sum{};
    for (std::size_t i = 0; i < kValues; i += 8) {
      Real v;
      std::memcpy(&v, values.data() + i, sizeof(v));
      sum += v;
    }
    benchmark::DoNotOptimize(sum);
  }
  count_values(state);
}
BENCHMARK(plain_sum);

template <int W>
void lane_sum(benchmark::State& state) {
  const std::vector<double> values = random_values();
  const FixedPointScale scale(0);
  std::vector<FixedPointSum> sums(W, FixedPointSum(scale));
  for (auto _ : state) {
    LaneSum<W> partial(scale);
    for (std::size_t i = 0; i < kValues; i += W) {
      if constexpr (W == 1) {
        partial.accumulate(values[i]);
      } else {
        partial.accumulate(values.data() + i);
      }
    }
    partial.flush_to(sums.data());
    benchmark::DoNotOptimize(sums.data());
  }
  count_values(state);
}
BENCHMARK(lane_sum<1>);
BENCHMARK(lane_sum<4>);
BENCHMARK(lane_sum<8>);
BENCHMARK(lane_sum<16>);

void fixed_point_sum_add(benchmark::State& state) {
  const std::vector<double> values = random_values();
  FixedPointSum sum{FixedPointScale(0)};
  for (auto _ : state) {
    for (const double x : values) sum.add(x);
    benchmark::DoNotOptimize(sum);
  }
  count_values(state);
}
BENCHMARK(fixed_point_sum_add);

void exact_sum(benchmark::State& state) {
  const std::vector<double> values = random_values();
  ExactSum sum;
  for (auto _ : state) {
    sum.add(std::span<const double>(values));
    benchmark::DoNotOptimize(sum);
  }
  count_values(state);
}
BENCHMARK(exact_sum);

void field_hash(benchmark::State& state) {
  const std::vector<double> values = random_values();
  FieldHash hash;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kValues; ++i) hash.add(values[i], i);
    benchmark::DoNotOptimize(hash);
  }
  count_values(state);
}
BENCHMARK(field_hash);

void field_stats(benchmark::State& state) {
  const std::vector<double> values = random_values();
  FieldStats stats;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kValues; ++i) stats.add(values[i], i);
    benchmark::DoNotOptimize(stats);
  }
  count_values(state);
}
BENCHMARK(field_stats);

}  // namespace
}  // namespace amrbench::support

BENCHMARK_MAIN();
