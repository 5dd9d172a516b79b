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

/// halo: what the workload's stages exchange (amr::Workload::halo_shape).
[[nodiscard]] TraceHeader trace_header(const amr::Config& config, amr::HaloShape halo = {});

/// Passes everything on to another Rebalancer and writes down what is changed, and what blocks cost where the workload
/// tells it. Rank 0 holds the file; its time goes to the phase output.
template <int Dim = 3>
class TraceRecorder final : public amr::Rebalancer<Dim> {
 public:
  /// Throws support::RunError on every rank where rank 0 cannot write the file. Collective.
  TraceRecorder(const support::Communicator& comm, amr::Rebalancer<Dim>& inner, const std::filesystem::path& file,
                const amr::Config& config, amr::HaloShape halo = {});

  void place_roots(amr::Mesh<Dim>& mesh, amr::Fields& fields, support::Metrics& metrics) override {
    inner_.place_roots(mesh, fields, metrics);
  }
  [[nodiscard]] bool measures() const override { return inner_.measures(); }
  void begin(const amr::RunPosition& position) override;
  void learn(amr::Mesh<Dim>& mesh, std::span<const double> block_seconds, const support::Metrics& metrics) override {
    inner_.learn(mesh, block_seconds, metrics);
  }
  /// Always, so that the trace does not depend on how the run balances.
  [[nodiscard]] bool wants_costs() const override { return true; }
  /// One gather of the costs where there are any, in the phase refine.
  void set_costs(amr::Mesh<Dim>& mesh, std::span<const double> costs) override;
  /// One gather of the blocks that change besides what the other does.
  bool rebalance_ahead(amr::Mesh<Dim>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                       support::Metrics& metrics) override;
  bool rebalance(amr::Mesh<Dim>& mesh, amr::Fields& fields, support::Metrics& metrics) override {
    return inner_.rebalance(mesh, fields, metrics);
  }
  /// The run is over: the file gets its name. Throws as the constructor does. Collective.
  void finish(const support::Communicator& comm, std::int64_t steps, std::int64_t stages);

 private:
  void write_open();
  amr::Rebalancer<Dim>& inner_;
  std::unique_ptr<TraceWriter> writer_;  ///< on rank 0
  TraceRefinement refinement_;           ///< under way; without passes before the first
  bool is_open_ = false;
};

extern template class TraceRecorder<2>;
extern template class TraceRecorder<3>;

/// Refines the mesh of a configuration as a run would, without fields, stencil or balancing, and writes the trace. One
/// process, threads. `progress` is told the steps done. Throws support::InputError for a configuration whose mesh
/// follows values, or whose steps depend on nothing that moves; RunError where the file cannot be written.
struct TraceSummary {
  std::int64_t refinements = 0, blocks_final = 0, blocks_max = 0, steps = 0;
};
TraceSummary record_mesh(const amr::Config& config, const std::filesystem::path& file,
                         const std::function<void(std::int64_t)>& progress = {});

}  // namespace amrbench::loadbalance
