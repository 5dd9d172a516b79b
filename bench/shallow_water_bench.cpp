// One stage of the shallow-water scheme on blocks in the second-level cache and beyond it, one thread. Items = cells.
// Arguments: cells a side; limiter (0 minmod, 1 monotonized, 2 van Leer); cells in all; friction.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "kernels/shallow_water/block.hpp"
#include "kernels/shallow_water/boundary.hpp"

namespace {

using namespace amrbench::kernels::shallow_water;

template <class Real>
void shallow_water(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  const BlockShape<Real> shape{n, Real(1), Real(1)};
  const std::size_t blocks = std::max<std::size_t>(2, std::size_t(state.range(2)) / shape.plane());
  Physics<Real> physics;
  physics.limiter = static_cast<Limiter>(state.range(1));
  std::mt19937 random(1);
  const auto draw = [&](double scale) { return Real(scale * static_cast<double>(random() % 1000)); };
  std::vector<Real> in(blocks * shape.values()), out(in.size());
  const std::size_t strip = strip_values(StripKind::same, n);
  std::vector<Real> strips(blocks * 4 * strip);
  for (std::size_t k = 0; k < blocks; ++k) {
    Real* const block = in.data() + k * shape.values();
    for (std::size_t i = 0; i < shape.plane(); ++i) {
      block[i] = 1 + draw(1e-3);
      for (int v = 1; v < 4; ++v) block[v * shape.plane() + i] = draw(v == 3 ? 1e-4 : 1e-3);
      block[4 * shape.plane() + i] = state.range(3) != 0 ? Real(0.03) : Real(0);
    }
    for (int face = 0; face < 4; ++face)
      fill_boundary(Boundary<Real>{}, n, face, physics, block, strips.data() + (4 * k + std::size_t(face)) * strip);
  }
  Scratch<Real> scratch(n);
  for (auto unused : state)
    for (std::size_t k = 0; k < blocks; ++k) {
      std::array<Strip<Real>, 4> behind;
      for (int face = 0; face < 4; ++face) behind[face].values = strips.data() + (4 * k + std::size_t(face)) * strip;
      const Real* const block = in.data() + k * shape.values();
      benchmark::DoNotOptimize(
          advance_block(shape, physics, block, behind, block, Real(1e-3), out.data() + k * shape.values(), scratch));
    }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(blocks * shape.plane()));
}
BENCHMARK(shallow_water<double>)->ArgsProduct({{8, 16, 32, 64}, {1}, {4096, 1 << 20}, {0, 1}});
BENCHMARK(shallow_water<double>)->ArgsProduct({{16}, {0, 2}, {4096}, {0}});
BENCHMARK(shallow_water<float>)->ArgsProduct({{16, 32}, {1}, {4096}, {0, 1}});

}  // namespace

BENCHMARK_MAIN();
