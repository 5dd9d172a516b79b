// What is done to faces that cross a rank or a level: packed, cut to a quarter, restricted, expanded, inserted. One
// thread, blocks in cache. Items = cells of the whole face times variables; bytes = doubles read and written.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/faces.hpp"

namespace {

using namespace amrbench::kernels;

struct Faces {
  explicit Faces(const benchmark::State& state) {
    const int edge = static_cast<int>(state.range(0));
    layout = make_layout({edge, edge, edge}, static_cast<int>(state.range(1)));
    axis = static_cast<int>(state.range(2));
    block.assign(layout.block_values() + kPadding, 1.5);
    whole.assign(layout.face_values(axis) + kPadding, 2.5);
    quarter.assign(layout.quarter_values(axis) + kPadding, 3.5);
  }
  BlockLayout layout;
  int axis = 0;
  std::vector<double> block, whole, quarter;
};

/// Runs `work(faces)`; `moved` = doubles read and written, in quarters of a face.
template <class Work>
void run(benchmark::State& state, int moved, const Work& work) {
  Faces faces(state);
  for (auto unused : state) {
    work(faces);
    benchmark::ClobberMemory();
  }
  const auto values = static_cast<std::int64_t>(faces.layout.face_values(faces.axis));
  state.SetItemsProcessed(state.iterations() * values);
  state.SetBytesProcessed(state.iterations() * values * 2 * moved);
}

void pack(benchmark::State& state) {
  run(state, 8, [](Faces& f) { pack_face(f.layout, f.block.data(), 2 * f.axis + 1, f.whole.data()); });
}
void quarter(benchmark::State& state) {
  run(state, 2, [](Faces& f) { pack_quarter(f.layout, f.block.data(), 2 * f.axis + 1, 1, 0, f.quarter.data()); });
}
void restrict_face(benchmark::State& state) {
  run(state, 5, [](Faces& f) { pack_restricted(f.layout, f.block.data(), 2 * f.axis + 1, f.quarter.data()); });
}
void expand(benchmark::State& state) {
  run(state, 5, [](Faces& f) { expand_quarter(f.layout, f.quarter.data(), f.axis, f.layout.chunks, f.whole.data()); });
}
void insert(benchmark::State& state) {
  run(state, 2,
      [](Faces& f) { insert_quarter(f.layout, f.quarter.data(), f.axis, 1, 0, f.layout.chunks, f.whole.data()); });
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"edge", "variables", "axis"})->ArgsProduct({{4, 8, 16}, {1, 40}, {0, 1, 2}});
}
BENCHMARK(pack)->Apply(shapes);
BENCHMARK(quarter)->Apply(shapes);
BENCHMARK(restrict_face)->Apply(shapes);
BENCHMARK(expand)->Apply(shapes);
BENCHMARK(insert)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
