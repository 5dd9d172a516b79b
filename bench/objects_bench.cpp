// Marking: any_intersects over all blocks of a uniform grid, a few objects. Items = blocks.
#include <benchmark/benchmark.h>

#include <vector>

#include "amr/objects.hpp"

namespace {

using namespace amrbench::amr;

void mark(benchmark::State& state) {
  constexpr int kEdge = 48;  // 110,592 blocks
  std::vector<Object> objects(static_cast<std::size_t>(state.range(1)));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const double at = 0.2 + 0.15 * static_cast<double>(i);
    objects[i] = {
        .type = ObjectType{static_cast<int>(state.range(0))}, .center = {at, at, at}, .size = {0.3, 0.2, 0.25}};
  }
  std::vector<Box> boxes;
  for (int z = 0; z < kEdge; ++z) {
    for (int y = 0; y < kEdge; ++y) {
      for (int x = 0; x < kEdge; ++x) {
        boxes.push_back({{x / double{kEdge}, y / double{kEdge}, z / double{kEdge}},
                         {(x + 1) / double{kEdge}, (y + 1) / double{kEdge}, (z + 1) / double{kEdge}}});
      }
    }
  }
  std::int64_t marked = 0;
  for (auto unused : state) {
    marked = 0;
    for (const Box& box : boxes) marked += any_intersects(objects, box) ? 1 : 0;
    benchmark::DoNotOptimize(marked);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(boxes.size()));
  state.counters["marked"] = static_cast<double>(marked);
}
BENCHMARK(mark)->ArgNames({"type", "objects"})->ArgsProduct({{0, 1, 2, 3, 4, 20, 22, 25}, {1, 4}});

}  // namespace

BENCHMARK_MAIN();
