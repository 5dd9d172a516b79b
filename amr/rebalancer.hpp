#pragma once
// What the time loop asks of load balancing; loadbalance/ implements it.
#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "support/metrics.hpp"

namespace amrbench::amr {

class Rebalancer {
 public:
  virtual ~Rebalancer() = default;
  /// Called after each refinement: decides whether to re-cut the mesh and does it. True when blocks may have moved.
  /// Times go to phases balance and migrate. Collective.
  virtual bool rebalance(Mesh<3>& mesh, FieldStore& fields, support::Metrics& metrics) = 0;
};

}  // namespace amrbench::amr
