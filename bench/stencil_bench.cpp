// The 7-point average over a cube of blocks, faces in place, by lanes, block size and variables; with and without the
// fused exact sums. Items = cell updates (cells times variables); bytes = one read and one write of each value.
//
// Repeat: stencil_bench --benchmark_counters_tabular=true; OMP_NUM_THREADS sets the threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/average7/average7.hpp"
#include "kernels/layout.hpp"
#include "kernels/simd.hpp"
#include "support/page_buffer.hpp"

namespace {

using namespace amrbench::kernels;
using amrbench::support::FixedPointScale;

/// edge^3 blocks in row-major order with two buffers that together take about 256 MiB: well beyond the caches.
class Grid {
 public:
  explicit Grid(const BlockLayout& layout) : layout_(layout) {
    const std::size_t wanted = (std::size_t{128} << 20) / (layout.block_values() * sizeof(double));
    while ((edge_ + 1) * (edge_ + 1) * (edge_ + 1) <= static_cast<std::int64_t>(wanted)) ++edge_;
    in_.grow(std::size_t(blocks()) * layout.block_values() + kPadding);
    out_.grow(std::size_t(blocks()) * layout.block_values() + kPadding);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < blocks(); ++i) {
      double* const values = in_.data() + std::size_t(i) * layout.block_values();
      for (std::size_t k = 0; k < layout.block_values(); ++k)
        values[k] = 1.0 + static_cast<double>((i + k) % 97) / 97.0;
      std::fill_n(out_.data() + std::size_t(i) * layout.block_values(), layout.block_values(), 0.0);
    }
  }
  [[nodiscard]] std::int64_t blocks() const {
    return edge_ * edge_ * edge_;
  }
  [[nodiscard]] BlockArgs args(std::int64_t i) {
    BlockArgs args;
    args.in = block(i);
    args.out = out_.data() + std::size_t(i) * layout_.block_values();
    const std::int64_t step[3] = {1, edge_, edge_ * edge_};
    for (int face = 0; face < 6; ++face) {
      const int axis = face / 2, side = face % 2;
      const std::int64_t at = i / step[axis] % edge_;
      const bool outside = side != 0 ? at + 1 == edge_ : at == 0;
      const std::int64_t j = outside ? i : i + (side != 0 ? step[axis] : -step[axis]);
      args.faces[face] = in_place_face(layout_, block(j), axis, outside ? side : 1 - side);
    }
    return args;
  }
  void swap() {
    in_.swap(out_);
  }

 private:
  [[nodiscard]] const double* block(std::int64_t i) const {
    return in_.data() + std::size_t(i) * layout_.block_values();
  }
  BlockLayout layout_;
  std::int64_t edge_ = 1;
  amrbench::support::PageBuffer<double> in_, out_;
};

void run(benchmark::State& state, const BlockLayout& layout, bool summing, bool streaming) {
  Grid grid(layout);
  const Average7Kernel kernel = select_average7(layout);
  const FixedPointScale scale = FixedPointScale::for_bound(4.0);
  for (auto unused : state) {
#pragma omp parallel
    {
      std::optional<StageSum> sum;
      if (summing) sum.emplace(layout, kernel.vector_length, kernel.patterns, scale);
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < grid.blocks(); ++i) {
        if (summing) {
          sum->reserve(layout.block_cells());
          run_block(kernel.summing, layout, grid.args(i), &*sum, streaming);
        } else {
          run_block(kernel.plain, layout, grid.args(i), nullptr, streaming);
        }
      }
      stream_fence();
      if (summing) benchmark::DoNotOptimize(sum->totals().data());
    }
    grid.swap();
  }
  const std::int64_t updates =
      state.iterations() * grid.blocks() * static_cast<std::int64_t>(layout.block_cells()) * layout.variables;
  state.SetItemsProcessed(updates);
  state.SetBytesProcessed(updates * 16);
  state.counters["blocks"] = static_cast<double>(grid.blocks());
  state.counters["lanes"] = layout.lanes;
}

/// About 40 variables in lanes of a given width, whatever make_layout would choose.
void average7_lanes(benchmark::State& state) {
  BlockLayout layout;
  const int edge = static_cast<int>(state.range(0));
  layout.cells = {edge, edge, edge};
  layout.lanes = static_cast<int>(state.range(1));
  layout.chunks = (40 + layout.lanes - 1) / layout.lanes;
  layout.variables = layout.lanes * layout.chunks;
  run(state, layout, state.range(2) != 0, true);
}
BENCHMARK(average7_lanes)
    ->ArgNames({"edge", "lanes", "sums"})
    ->ArgsProduct({{4, 8, 16}, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1}})
    ->UseRealTime();

/// The layout that make_layout chooses.
void average7_variables(benchmark::State& state) {
  const int edge = static_cast<int>(state.range(0));
  run(state, make_layout({edge, edge, edge}, static_cast<int>(state.range(1))), state.range(2) != 0,
      state.range(3) != 0);
}
BENCHMARK(average7_variables)
    ->ArgNames({"edge", "variables", "sums", "streaming"})
    ->ArgsProduct({{4, 6, 8, 16, 32}, {1, 10, 40}, {0, 1}, {0, 1}})
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
