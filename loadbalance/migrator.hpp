#pragma once
// Migrator: carries destinations out and says what moved and what that took. It decides nothing.
#include <vector>

#include "amr/migrate.hpp"
#include "loadbalance/placement.hpp"
#include "support/metrics.hpp"

namespace amrbench::loadbalance {

struct Moved {
  amr::MigrationCount count;
  double seconds = 0.0;  ///< that this rank took for it
};

/// Moves blocks, their weights and values to their destinations; `changes`, one a local block, go along. Time goes to
/// the phase migrate. Collective.
template <int Dim>
Moved carry_out(const Destinations& destinations, amr::Mesh<Dim>& mesh, amr::Fields& fields,
                std::vector<amr::Change>& changes, support::Metrics& metrics);

}  // namespace amrbench::loadbalance
