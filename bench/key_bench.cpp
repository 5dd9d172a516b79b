// Key arithmetic in 3-D: encode, decode and neighbour keys for both curves, parent and child. Items are keys made
// (decoded for decode). Blocks are visited in random order, so nothing is gained from one to the next.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sfc/key.hpp"

namespace {

using namespace amrbench::sfc;
using Space = KeySpace<3>;

constexpr std::size_t kBlocks = 4096;

/// Blocks of levels 3 and 4 below 2 x 2 x 2 roots ("shallow", as in miniAMR's examples) or of 15 and 16 ("deep").
struct Blocks {
  Space space;
  std::vector<int> levels;
  std::vector<Coord<3>> coords;
  std::vector<std::uint64_t> keys;
};

Blocks make_blocks(Curve curve, bool deep) {
  Blocks b{Space(curve, {2, 2, 2}, deep ? 16 : 4), {}, {}, {}};
  std::mt19937_64 rng(1);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const int level = b.space.max_level() - static_cast<int>(rng() % 2);
    Coord<3> c{};
    for (auto& x : c) x = static_cast<std::uint32_t>(rng() % (std::uint64_t{2} << level));
    b.levels.push_back(level);
    b.coords.push_back(c);
    b.keys.push_back(b.space.key(level, c));
  }
  return b;
}

/// Runs f(blocks, i) over all blocks; f returns a number to keep, and each call counts as `items`.
template <class F>
void over_blocks(benchmark::State& state, int items, F f) {
  const Blocks b = make_blocks(static_cast<Curve>(state.range(0)), state.range(1) != 0);
  state.SetLabel(std::string(curve_name(b.space.curve())) + (state.range(1) != 0 ? ", deep" : ", shallow"));
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlocks; ++i) sum += f(b, i);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBlocks) * items);
}

void encode(benchmark::State& state) {
  over_blocks(state, 1, [](const Blocks& b, std::size_t i) { return b.space.key(b.levels[i], b.coords[i]); });
}

void decode(benchmark::State& state) {
  over_blocks(state, 1, [](const Blocks& b, std::size_t i) {
    const auto c = b.space.coord(b.keys[i]);
    return static_cast<std::uint64_t>(b.space.level(b.keys[i])) + c[0] + c[1] + c[2];
  });
}

void neighbor_from_key(benchmark::State& state) {
  over_blocks(state, 1, [](const Blocks& b, std::size_t i) {
    return b.space.neighbor(b.keys[i], static_cast<int>(i % Space::kFaces));
  });
}

void all_neighbors_from_key(benchmark::State& state) {
  over_blocks(state, Space::kFaces, [](const Blocks& b, std::size_t i) {
    std::uint64_t sum = 0;
    for (const auto n : b.space.neighbors(b.keys[i])) sum += n;
    return sum;
  });
}

void parent_and_child(benchmark::State& state) {
  over_blocks(state, 2, [](const Blocks& b, std::size_t i) {
    const std::uint64_t parent = b.space.parent(b.keys[i]);
    return parent + b.space.child(parent, static_cast<int>(i % Space::kChildren));
  });
}

/// The Hilbert automaton alone, `Levels` levels a look-up: what kHilbertLevels was chosen by. The argument is the
/// depth.
template <int Levels>
void hilbert_levels(benchmark::State& state) {
  const auto bits = static_cast<int>(state.range(0));
  std::vector<std::uint64_t> codes(kBlocks);
  std::mt19937_64 rng(1);
  for (auto& c : codes) c = rng() & ((std::uint64_t{1} << (3 * bits)) - 1);
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (const auto c : codes) sum += hilbert_translate<3, Levels>(kHilbertTable<3, Levels>.from_morton, c, bits);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBlocks));
}

void curves_and_depths(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{0, 1}, {0, 1}});
}

BENCHMARK(encode)->Apply(curves_and_depths);
BENCHMARK(decode)->Apply(curves_and_depths);
BENCHMARK(neighbor_from_key)->Apply(curves_and_depths);
BENCHMARK(all_neighbors_from_key)->Apply(curves_and_depths);
BENCHMARK(parent_and_child)->Apply(curves_and_depths);
BENCHMARK_TEMPLATE(hilbert_levels, 1)->Arg(5)->Arg(6)->Arg(17);
BENCHMARK_TEMPLATE(hilbert_levels, 2)->Arg(5)->Arg(6)->Arg(17);
BENCHMARK_TEMPLATE(hilbert_levels, 3)->Arg(5)->Arg(6)->Arg(17);

}  // namespace

BENCHMARK_MAIN();
