#pragma once
// Recording a trace: from a run, beside whatever balances it, or from the mesh and the objects alone.
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "amr/config.hpp"
#include "amr/rebalancer.hpp"
#include "loadbalance/replay/trace.hpp"

namespace amrbench::loadbalance {

[[nodiscard]] TraceHeader trace_header(const amr::Config& config);

/// Passes everything on to another Rebalancer and writes down what is changed. Rank 0 holds the file; its time goes to
/// the phase output.
class TraceRecorder final : public amr::Rebalancer<3> {
 public:
  /// Throws support::RunError on every rank where rank 0 cannot write the file. Collective.
  TraceRecorder(const support::Communicator& comm, amr::Rebalancer<3>& inner, const std::filesystem::path& file,
                const amr::Config& config);

  void place_roots(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) override {
    inner_.place_roots(mesh, fields, metrics);
  }
  [[nodiscard]] bool measures() const override { return inner_.measures(); }
  void begin(const amr::RunPosition& position) override;
  void learn(amr::Mesh<3>& mesh, std::span<const double> block_seconds, const support::Metrics& metrics) override {
    inner_.learn(mesh, block_seconds, metrics);
  }
  [[nodiscard]] bool wants_costs() const override { return inner_.wants_costs(); }
  void set_costs(amr::Mesh<3>& mesh, std::span<const double> costs) override { inner_.set_costs(mesh, costs); }
  /// One gather of the blocks that change besides what the other does.
  bool rebalance_ahead(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                       support::Metrics& metrics) override;
  bool rebalance(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) override {
    return inner_.rebalance(mesh, fields, metrics);
  }
  /// The run is over: the file gets its name. Throws as the constructor does. Collective.
  void finish(const support::Communicator& comm, std::int64_t steps, std::int64_t stages);

 private:
  void write_open();
  amr::Rebalancer<3>& inner_;
  std::unique_ptr<TraceWriter> writer_;  ///< on rank 0
  TraceRefinement refinement_;           ///< under way; without passes before the first
  bool is_open_ = false;
};

/// Refines the mesh of a configuration as a run would, without fields, stencil or balancing, and writes the trace. One
/// process, threads. `progress` is told the steps done. Throws support::InputError for a
/// configuration whose steps depend on nothing that moves, RunError where the file cannot be written.
struct TraceSummary {
  std::int64_t refinements = 0, blocks_final = 0, blocks_max = 0, steps = 0;
};
TraceSummary record_mesh(const amr::Config& config, const std::filesystem::path& file,
                         const std::function<void(std::int64_t)>& progress = {});

}  // namespace amrbench::loadbalance
