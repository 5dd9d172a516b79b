#include "loadbalance/replay/follow_trace.hpp"

#include <fmt/format.h>

#include "loadbalance/block_graph.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

const BlockTable& Tables::of(std::string_view name, const CostModel& model, bool centres, bool graph) {
  auto found = tables_.find(name);
  if (found == tables_.end()) {
    found = tables_.emplace(std::string(name), BlockTable{}).first;
    fill_block_table(mesh_, changes_, found->second);
    if (model.needs_centres()) fill_centres(mesh_, found->second);
    model.weigh(found->second);
  }
  if (centres) fill_centres(mesh_, found->second);
  if (graph) {
    if (!graph_) graph_ = std::make_shared<const partitioners::Graph>(gather_block_graph(mesh_));
    found->second.graph = graph_;
  }
  return found->second;
}

void follow_trace(const std::filesystem::path& trace, std::string_view curve, TraceVisitor& visitor,
                  const std::function<void(std::int64_t)>& progress) {
  TraceReader reader(trace);
  TraceMesh mesh(reader.header(), curve);
  {
    Tables tables(mesh.mesh(), {});
    visitor.roots(tables);
  }
  TraceRefinement refinement;
  std::int64_t done = 0, stages = 0;  // stages: up to which segments are over
  const std::int64_t steps = reader.header().steps;
  while (reader.next(refinement)) {
    const bool changes = !refinement.passes.empty(), told = changes || visitor.measures();
    if (told) {
      if (refinement.stages > stages) visitor.segment(mesh.mesh(), refinement.stages - stages);
      stages = refinement.stages;
      visitor.begin({refinement.step, steps, refinement.stages}, changes);
    }
    for (const TracePass& pass : refinement.passes) {
      try {
        const std::vector<amr::Change> of_blocks = mesh.changes(pass);
        Tables tables(mesh.mesh(), of_blocks);
        visitor.ahead(tables);
        visitor.follow(mesh.apply(of_blocks));
      } catch (const support::InputError& error) {
        throw support::InputError(fmt::format("trace {}: refinement {}: {}", trace.string(), done, error.what()));
      }
    }
    visitor.look();
    if (told) {
      Tables tables(mesh.mesh(), {});
      visitor.conclude(tables, changes);
    }
    ++done;
    if (progress) progress(done);
  }
  visitor.segment(mesh.mesh(), reader.stages() - stages);
}

}  // namespace amrbench::loadbalance
