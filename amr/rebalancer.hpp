#pragma once
// What the time loop asks of load balancing; loadbalance/ implements it.
//
// A refinement is: begin(), learn(), set_costs(); then for each pass that changes blocks, rebalance_ahead(); then, if
// any did, rebalance().
#include <cstdint>
#include <span>
#include <vector>

#include "amr/consensus.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "support/metrics.hpp"

namespace amrbench::amr {

/// Where a run stands; the same on every rank.
struct RunPosition {
  std::int64_t step = 0;    ///< steps done
  std::int64_t steps = 0;   ///< steps there will be; 0 = not known beforehand
  std::int64_t stages = 0;  ///< stages done
};

template <int Dim>
class Rebalancer {
 public:
  virtual ~Rebalancer() = default;
  /// Called once, on the mesh of root cells with its initial fields: puts them where the method wants them, if that is
  /// not where they are, in even stretches of the curve. Collective.
  virtual void place_roots(Mesh<Dim>& /*mesh*/, Fields& /*fields*/, support::Metrics& /*metrics*/) {}
  /// Does it want to know what each block took, and to be asked after refinements that changed nothing as well?
  [[nodiscard]] virtual bool measures() const { return false; }
  /// A refinement begins. Local.
  virtual void begin(const RunPosition& /*position*/) {}
  /// Called next, where measures(): what each local block took in all stages since the mesh came up, in seconds; empty
  /// where the stage does not measure blocks. Local.
  virtual void learn(Mesh<Dim>& /*mesh*/, std::span<const double> /*block_seconds*/,
                     const support::Metrics& /*metrics*/) {}
  /// Does it want to know what blocks cost (Workload::block_costs)?
  [[nodiscard]] virtual bool wants_costs() const { return false; }
  /// That, of each local block; empty: all alike. Called next where wants_costs(), and again before rebalance() where
  /// the mesh has changed. Collective.
  virtual void set_costs(Mesh<Dim>& /*mesh*/, std::span<const double> /*costs*/) {}

  /// Called between the consensus and its application: may re-cut the mesh by the blocks there will be, so that parents
  /// move instead of their children and no rank holds more than its share meanwhile. `changes`, one a local block,
  /// travel with the blocks. True when blocks may have moved. Times as below. Collective.
  virtual bool rebalance_ahead(Mesh<Dim>& mesh, Fields& fields, std::vector<Change>& changes,
                               support::Metrics& metrics) = 0;

  /// Called after a refinement that changed blocks, and after any where measures(): decides whether to re-cut the mesh
  /// and does it. True when blocks may have moved. Times go to phases balance and migrate. Collective.
  virtual bool rebalance(Mesh<Dim>& mesh, Fields& fields, support::Metrics& metrics) = 0;
};

}  // namespace amrbench::amr
