// Cutting an order of weighted items into parts: even marks beside the cuts whose heaviest part is as light as can be,
// over items, parts and kind of weights: 0 = uniform in 0 to 999, 1 = powers of two up to 2^19. The counter says what
// the heaviest part weighs over the mean.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "partitioners/exact_slices.hpp"
#include "partitioners/slices.hpp"
#include "support/mpi.hpp"

namespace {

using namespace amrbench::partitioners;

std::vector<std::uint64_t> make_weights(std::size_t items, std::int64_t kind) {
  std::mt19937_64 rng(1);
  std::vector<std::uint64_t> weights(items);
  for (auto& w : weights) w = kind == 0 ? rng() % 1000 : std::uint64_t{1} << (rng() % 20);
  return weights;
}

template <class Cut>
void cuts(benchmark::State& state, Cut&& cut) {
  const auto weights = make_weights(static_cast<std::size_t>(state.range(0)), state.range(2));
  const int parts = static_cast<int>(state.range(1));
  std::vector<std::int64_t> found;
  for (auto _ : state) {
    found = cut(weights, parts);
    benchmark::DoNotOptimize(found.data());
  }
  std::uint64_t heaviest = 0, total = 0;
  for (std::size_t p = 0; p + 1 < found.size(); ++p) {
    std::uint64_t weight = 0;
    for (auto i = static_cast<std::size_t>(found[p]); i < static_cast<std::size_t>(found[p + 1]); ++i)
      weight += weights[i];
    heaviest = std::max(heaviest, weight);
    total += weight;
  }
  state.counters["max_over_mean"] = static_cast<double>(heaviest) * parts / static_cast<double>(total);
}

void even_slices(benchmark::State& state) {
  cuts(state, [](const std::vector<std::uint64_t>& weights, int parts) {
    return slice_on_ranks(amrbench::support::Communicator(), weights, weights.size(), parts);
  });
}
void exact_slices(benchmark::State& state) {
  cuts(state, [](const std::vector<std::uint64_t>& weights, int parts) { return exact_cuts(weights, parts); });
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"n", "parts", "weights"})->Unit(benchmark::kMillisecond);
  for (const std::int64_t kind : {0, 1}) {
    b->Args({2500, 512, kind})
        ->Args({1'000'000, 65536, kind})
        ->Args({10'000'000, 512, kind})
        ->Args({10'000'000, 65536, kind});
  }
}
BENCHMARK(even_slices)->Apply(sizes);
BENCHMARK(exact_slices)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
