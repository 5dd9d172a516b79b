// Marking and consensus on a mesh refined around a sphere that has moved on, one rank. Items = blocks.
#include <benchmark/benchmark.h>
#include <mpi.h>

#include "bench/sphere_mesh.hpp"

namespace {

using amrbench::bench::SphereMesh;

void mark(benchmark::State& state) {
  const SphereMesh sphere(static_cast<int>(state.range(0)), {2, 2, 2}, 1);
  for (auto unused : state) benchmark::DoNotOptimize(sphere.marks().data());
  state.SetItemsProcessed(state.iterations() * sphere.mesh.size());
  state.counters["blocks"] = sphere.mesh.size();
}
BENCHMARK(mark)->ArgName("max_level")->DenseRange(4, 7)->UseRealTime();

/// Rounds until nobody has news, from marks that split and merge some blocks.
void consensus(benchmark::State& state) {
  SphereMesh sphere(static_cast<int>(state.range(0)), {2, 2, 2}, 1);
  move_objects(sphere.objects, 2.0);
  const auto marks = sphere.marks();
  amrbench::amr::Consensus result;
  for (auto unused : state) {
    result = reach_consensus(sphere.mesh, marks);
    benchmark::DoNotOptimize(result.changes.data());
  }
  state.SetItemsProcessed(state.iterations() * sphere.mesh.size());
  state.counters["blocks"] = sphere.mesh.size();
  state.counters["splits"] = static_cast<double>(result.splits);
  state.counters["merges"] = static_cast<double>(result.merges);
  state.counters["rounds"] = result.rounds;
}
BENCHMARK(consensus)->ArgName("max_level")->DenseRange(4, 7)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  MPI_Finalize();
  return 0;
}
