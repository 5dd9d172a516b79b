#include "loadbalance/replay/follow_trace.hpp"

#include <fmt/format.h>

#include "loadbalance/block_graph.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

template <int Dim>
const BlockTable& Tables<Dim>::of(std::string_view name, const CostModel& model, bool centres, bool graph) {
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

namespace {

/// One walk.
template <int Dim>
class Walk {
 public:
  Walk(const std::filesystem::path& trace, std::string_view curve, TraceVisitor<Dim>& visitor)
      : reader_(trace), mesh_(reader_.header(), curve), visitor_(visitor) {
    Tables<Dim> tables(mesh_.mesh(), {});
    visitor_.roots(tables);
  }

  /// False at the end.
  bool read() { return reader_.next(refinement_); }

  void refine() {
    const bool changes = !refinement_.passes.empty(), told = changes || visitor_.measures();
    finish_segment(told);
    if (told) visitor_.begin({refinement_.step, reader_.header().steps, refinement_.stages}, changes);
    for (const TracePass& pass : refinement_.passes) {
      const std::vector<amr::Change> of_blocks = mesh_.changes(pass);
      Tables<Dim> tables(mesh_.mesh(), of_blocks);
      visitor_.ahead(tables);
      visitor_.follow(mesh_.apply(of_blocks));
    }
    visitor_.look();
    if (changes) learn_costs(refinement_.costs_after);
    if (told) {
      Tables<Dim> tables(mesh_.mesh(), {});
      visitor_.conclude(tables, changes);
    }
  }

  void end() {
    const auto costs = mesh_.mesh().weights();
    visitor_.segment(mesh_.mesh(), knows_costs_ ? costs : std::span<const double>(), reader_.stages() - stages_);
  }

 private:
  void learn_costs(const CostRuns& runs) {
    knows_costs_ = knows_costs_ || !runs.empty();
    if (knows_costs_) mesh_.set_costs(mesh_.costs(runs));
  }

  /// The stages up to this refinement.
  void finish_segment(bool told) {
    std::vector<double> costs(mesh_.mesh().weights().begin(), mesh_.mesh().weights().end());
    learn_costs(refinement_.costs);
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = 0.5 * (costs[i] + mesh_.mesh().weights()[i]);
    if (!knows_costs_) costs.clear();
    if (!told && !knows_costs_) return;  // it goes on
    if (refinement_.stages > stages_) visitor_.segment(mesh_.mesh(), costs, refinement_.stages - stages_);
    stages_ = refinement_.stages;
  }

  TraceReader reader_;
  TraceMesh<Dim> mesh_;
  TraceVisitor<Dim>& visitor_;
  TraceRefinement refinement_;
  std::int64_t stages_ = 0;   ///< up to which segments are over
  bool knows_costs_ = false;  ///< has the trace told any?
};

}  // namespace

template <int Dim>
void follow_trace(const std::filesystem::path& trace, std::string_view curve, TraceVisitor<Dim>& visitor,
                  const std::function<void(std::int64_t)>& progress) {
  Walk<Dim> walk(trace, curve, visitor);
  for (std::int64_t done = 0; walk.read();) {
    try {
      walk.refine();
    } catch (const support::InputError& error) {
      throw support::InputError(fmt::format("trace {}: refinement {}: {}", trace.string(), done, error.what()));
    }
    ++done;
    if (progress) progress(done);
  }
  walk.end();
}

template class Tables<2>;
template class Tables<3>;
template void follow_trace(const std::filesystem::path&, std::string_view, TraceVisitor<2>&,
                           const std::function<void(std::int64_t)>&);
template void follow_trace(const std::filesystem::path&, std::string_view, TraceVisitor<3>&,
                           const std::function<void(std::int64_t)>&);

}  // namespace amrbench::loadbalance
