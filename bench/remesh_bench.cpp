// A whole refinement step by step around a moving sphere, one rank: mark, consensus, apply (keys, values, new mesh),
// plans of the halo. The stage that follows, which puts blocks back into curve order, is not timed. Items = blocks
// present.
#include <benchmark/benchmark.h>
#include <mpi.h>

#include <chrono>

#include "amr/stage.hpp"
#include "bench/sphere_mesh.hpp"

namespace {

using amrbench::bench::SphereMesh;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void remesh(benchmark::State& state) {
  const int edge = static_cast<int>(state.range(1));
  SphereMesh sphere(static_cast<int>(state.range(0)), {edge, edge, edge}, static_cast<int>(state.range(2)));
  const auto stage = amrbench::amr::make_stage("average7", sphere.fields.layout(), {});
  amrbench::support::Metrics metrics;
  stage->mesh_changed(sphere.mesh);
  stage->advance(sphere.mesh, sphere.fields, 0, nullptr, metrics);
  std::int64_t blocks = 0, changed = 0;
  double marking = 0.0, agreeing = 0.0, applying = 0.0, planning = 0.0;
  for (auto unused : state) {
    move_objects(sphere.objects, 1.0);
    const double start = seconds();
    auto marks = sphere.marks();
    const double marked = seconds();
    const auto consensus = reach_consensus(sphere.mesh, std::move(marks));
    const double agreed = seconds();
    apply_changes(sphere.mesh, sphere.fields, consensus);
    const double applied = seconds();
    stage->mesh_changed(sphere.mesh);
    const double done = seconds();
    state.SetIterationTime(done - start);
    marking += marked - start;
    agreeing += agreed - marked;
    applying += applied - agreed;
    planning += done - applied;
    blocks += sphere.mesh.size();
    changed += consensus.splits + 8 * consensus.merges;
    stage->advance(sphere.mesh, sphere.fields, 0, nullptr, metrics);
  }
  state.SetItemsProcessed(blocks);
  const double total = marking + agreeing + applying + planning;
  state.counters["blocks"] = static_cast<double>(blocks) / static_cast<double>(state.iterations());
  state.counters["changed%"] = 100.0 * static_cast<double>(changed) / static_cast<double>(blocks);
  state.counters["mark%"] = 100.0 * marking / total;
  state.counters["consensus%"] = 100.0 * agreeing / total;
  state.counters["apply%"] = 100.0 * applying / total;
  state.counters["plan%"] = 100.0 * planning / total;
}
BENCHMARK(remesh)
    ->ArgNames({"max_level", "edge", "variables"})
    ->Args({5, 4, 1})
    ->Args({6, 4, 1})
    ->Args({7, 2, 1})
    ->Args({5, 8, 4})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  MPI_Finalize();
  return 0;
}
