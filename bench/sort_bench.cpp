// Sorting pairs of a 64-bit key and a 32-bit index by key, equal keys by index, over number, threads and kind of keys:
// the partitioners' radix sort beside Boost.Sort and std::sort. Items are pairs. Every iteration sorts a fresh copy,
// whose copying is not timed; the first result of each is checked. Keys: 64 random bits; doubles in [0, 1) as ordered
// bits; 1000 values.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <boost/sort/sort.hpp>
#include <cstdint>
#include <random>
#include <utility>

#include "partitioners/ordered_bits.hpp"
#include "partitioners/radix_sort.hpp"

namespace {

using namespace amrbench::partitioners;
using amrbench::support::PageBuffer;

using Pair = KeyValue<std::uint64_t, std::uint32_t>;
using Pairs = PageBuffer<Pair>;

enum Keys : std::int64_t { bits, doubles, few };

bool before(const Pair& a, const Pair& b) {
  return a.key < b.key || (a.key == b.key && a.value < b.value);
}
struct Before {
  bool operator()(const Pair& a, const Pair& b) const { return before(a, b); }
};

Pairs make_pairs(std::size_t n, std::int64_t keys) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> unit(0, 1);
  Pairs pairs(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t key = keys == bits ? rng() : keys == doubles ? ordered_bits(unit(rng)) : rng() % 1000;
    pairs[i] = {key, static_cast<std::uint32_t>(i)};
  }
  return pairs;
}

struct Radix {
  Pairs spare;
  void operator()(Pairs& pairs, int threads) {
    spare.grow(pairs.size());
    radix_sort(pairs, spare, threads);
  }
};
struct Spread {  // one thread; it leaves equal keys in any order, so stretches of them are sorted again
  void operator()(Pairs& pairs, int) const {
    boost::sort::spreadsort::integer_sort(
        pairs.begin(), pairs.end(), [](const Pair& p, unsigned shift) { return p.key >> shift; },
        [](const Pair& a, const Pair& b) { return a.key < b.key; });
    for (Pair* p = pairs.begin(); p != pairs.end();) {
      Pair* end = p + 1;
      while (end != pairs.end() && end->key == p->key) ++end;
      if (end - p > 1) std::sort(p, end, Before{});
      p = end;
    }
  }
};
struct BlockIndirect {
  void operator()(Pairs& pairs, int threads) const {
    boost::sort::block_indirect_sort(pairs.begin(), pairs.end(), Before{}, static_cast<std::uint32_t>(threads));
  }
};
struct Pdq {  // one thread; the comparison has no branch, as it asks for
  void operator()(Pairs& pairs, int) const {
    boost::sort::pdqsort_branchless(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      return (a.key < b.key) | ((a.key == b.key) & (a.value < b.value));
    });
  }
};
struct Std {  // one thread
  void operator()(Pairs& pairs, int) const { std::sort(pairs.begin(), pairs.end(), Before{}); }
};

template <class Sort>
void sorts(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const int threads = static_cast<int>(state.range(1));
  const Pairs source = make_pairs(n, state.range(2));
  Pairs pairs(n);
  Sort sort;
  bool first = true;
  for (auto _ : state) {
    state.PauseTiming();
    std::copy(source.begin(), source.end(), pairs.begin());
    state.ResumeTiming();
    sort(pairs, threads);
    benchmark::DoNotOptimize(pairs.data());
    state.PauseTiming();
    if (std::exchange(first, false) && !std::is_sorted(pairs.begin(), pairs.end(), before))
      state.SkipWithError("not sorted");
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void sizes(benchmark::internal::Benchmark* b, bool parallel) {
  b->ArgNames({"n", "threads", "keys"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const std::int64_t keys : {bits, doubles, few})
    for (const int threads : {1, 2})
      for (const std::int64_t n : {10'000, 1'000'000, 10'000'000})
        if (parallel || threads == 1) b->Args({n, threads, keys});
}
void serial(benchmark::internal::Benchmark* b) {
  sizes(b, false);
}
void parallel(benchmark::internal::Benchmark* b) {
  sizes(b, true);
}

BENCHMARK(sorts<Radix>)->Name("radix_sort")->Apply(parallel);
BENCHMARK(sorts<BlockIndirect>)->Name("block_indirect_sort")->Apply(parallel);
BENCHMARK(sorts<Spread>)->Name("spreadsort")->Apply(serial);
BENCHMARK(sorts<Pdq>)->Name("pdqsort_branchless")->Apply(serial);
BENCHMARK(sorts<Std>)->Name("std_sort")->Apply(serial);

}  // namespace

BENCHMARK_MAIN();
