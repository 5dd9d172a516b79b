#include "loadbalance/replay/trace_recorder.hpp"

#include <algorithm>

#include "amr/objects.hpp"
#include "loadbalance/replay/trace_mesh.hpp"
#include "partitioners/even_shares.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

/// A block that splits, or the parent that a family becomes.
struct Changed {
  std::uint64_t code;
  std::int32_t level;
  std::int32_t splits;
};

/// Those of this rank; a family counts where its first member along the curve is.
template <int Dim>
std::vector<Changed> find_changes(const amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes) {
  const auto& space = mesh.space();
  std::vector<Changed> found;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto change = changes[static_cast<std::size_t>(i)];
    sfc::Coord<Dim> c = mesh.coord(i);
    if (change == amr::Change::refine) {
      found.push_back({sfc::morton_encode<Dim>(c), mesh.level(i), 1});
    } else if (change == amr::Change::coarsen && space.child_index(mesh.keys()[static_cast<std::size_t>(i)]) == 0) {
      for (auto& x : c) x /= 2;
      found.push_back({sfc::morton_encode<Dim>(c), mesh.level(i) - 1, 0});
    }
  }
  return found;
}

TracePass make_pass(std::vector<Changed> changed, int max_level) {
  std::sort(changed.begin(), changed.end(), [](const Changed& a, const Changed& b) { return a.code < b.code; });
  TracePass pass;
  pass.splits.resize(static_cast<std::size_t>(max_level) + 1);
  pass.merges.resize(pass.splits.size());
  for (const Changed& c : changed)
    (c.splits != 0 ? pass.splits : pass.merges)[static_cast<std::size_t>(c.level)].push_back(c.code);
  return pass;
}

/// A block and what it costs.
struct Cost {
  std::uint64_t code;
  std::int64_t level;
  double cost;
};

/// In the order of a trace.
CostRuns make_runs(std::vector<Cost> costs) {
  std::ranges::sort(costs, {}, [](const Cost& c) { return std::pair(c.level, c.code); });
  CostRuns runs;
  for (const Cost& c : costs) {
    if (runs.empty() || runs.back().second != c.cost) runs.emplace_back(0, c.cost);
    ++runs.back().first;
  }
  return runs;
}

}  // namespace

TraceHeader trace_header(const amr::Config& config, amr::HaloShape halo) {
  return {config.mesh.root,
          config.mesh.max_level,
          config.mesh.block,
          config.fields.variables,
          config.run.steps,
          config.run.name,
          config.work,
          config.mesh.dim,
          halo,
          config.mesh.periodic};
}

template <int Dim>
TraceRecorder<Dim>::TraceRecorder(const support::Communicator& comm, amr::Rebalancer<Dim>& inner,
                                  const std::filesystem::path& file, const amr::Config& config, amr::HaloShape halo)
    : inner_(inner) {
  support::run_on_root(comm, [&] { writer_ = std::make_unique<TraceWriter>(file, trace_header(config, halo)); });
}

template <int Dim>
void TraceRecorder<Dim>::write_open() {
  if (is_open_ && writer_) writer_->write(refinement_);
  is_open_ = false;
}

template <int Dim>
void TraceRecorder<Dim>::begin(const amr::RunPosition& position) {
  // A file that cannot be written any more is found here on rank 0 alone, and ends the run there.
  write_open();
  refinement_ = {position.step, position.stages, {}};
  is_open_ = true;
  inner_.begin(position);
}

template <int Dim>
void TraceRecorder<Dim>::set_costs(amr::Mesh<Dim>& mesh, std::span<const double> costs) {
  std::vector<Cost> mine;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto block = static_cast<std::int32_t>(i);
    mine.push_back({sfc::morton_encode<Dim>(mesh.coord(block)), mesh.level(block), costs[i]});
  }
  auto all = partitioners::on_root<Cost>(mesh.comm(), mine);
  if (writer_) (refinement_.passes.empty() ? refinement_.costs : refinement_.costs_after) = make_runs(std::move(all));
  if (inner_.wants_costs()) inner_.set_costs(mesh, costs);
}

template <int Dim>
bool TraceRecorder<Dim>::rebalance_ahead(amr::Mesh<Dim>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                                         support::Metrics& metrics) {
  {
    const support::PhaseTimer timer(metrics, support::Phase::output);
    auto all = partitioners::on_root<Changed>(mesh.comm(), find_changes(mesh, changes));
    if (writer_) refinement_.passes.push_back(make_pass(std::move(all), mesh.space().max_level()));
  }
  return inner_.rebalance_ahead(mesh, fields, changes, metrics);
}

template <int Dim>
void TraceRecorder<Dim>::finish(const support::Communicator& comm, std::int64_t steps, std::int64_t stages) {
  support::run_on_root(comm, [&] {
    write_open();
    writer_->finish(steps, stages);
  });
}

template class TraceRecorder<2>;
template class TraceRecorder<3>;

TraceSummary record_mesh(const amr::Config& config, const std::filesystem::path& file,
                         const std::function<void(std::int64_t)>& progress) {
  if (config.run.workload != "averages")
    throw support::InputError("run.workload = \"" + config.run.workload +
                              "\": its mesh follows its values, so only a run knows it; amrbench run --trace FILE");
  if (config.run.time > 0.0)
    throw support::InputError("run.time: a trace of the mesh alone counts steps of length 1; set run.steps");
  TraceWriter writer(file, trace_header(config));
  TraceMesh<3> mesh(trace_header(config), "morton");
  std::vector<amr::Object> objects = amr::make_objects(config.objects);
  TraceSummary summary;
  const auto refine = [&](std::int64_t step, int passes) {
    TraceRefinement refinement{step, step * config.run.stages_per_step, {}};
    std::vector<amr::Change> marks;
    for (int pass = 0; pass < passes; ++pass) {
      marks = pass == 0 ? amr::mark_blocks(mesh.mesh(), config.mesh, objects)
                        : amr::mark_new_blocks(mesh.mesh(), config.mesh, objects, marks);
      const amr::Consensus consensus = amr::reach_consensus(mesh.mesh(), marks);
      if (consensus.splits + consensus.merges == 0) break;
      refinement.passes.push_back(make_pass(find_changes(mesh.mesh(), consensus.changes), config.mesh.max_level));
      mesh.apply(consensus.changes);
      summary.blocks_max = std::max(summary.blocks_max, mesh.mesh().global_size());
    }
    writer.write(refinement);
    ++summary.refinements;
  };
  const int levels = config.mesh.max_level, change = config.mesh.block_change > 0 ? config.mesh.block_change : levels;
  if (levels > 0) refine(0, levels);
  const bool adapts = levels > 0 && !config.mesh.uniform;
  for (std::int64_t step = 1; step <= config.run.steps; ++step) {
    amr::move_objects(objects, 1.0);
    if (adapts && config.run.refine_every > 0 && step % config.run.refine_every == 0) refine(step, change);
    if (progress) progress(step);
  }
  writer.finish(config.run.steps, config.run.steps * config.run.stages_per_step);
  summary.blocks_final = mesh.mesh().global_size();
  summary.blocks_max = std::max(summary.blocks_max, summary.blocks_final);
  summary.steps = config.run.steps;
  return summary;
}

}  // namespace amrbench::loadbalance
