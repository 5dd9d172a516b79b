#pragma once
// Migrator: carries destinations out and says what moved and what that took. It decides nothing.
#include <cstdint>
#include <vector>

#include "amr/migrate.hpp"
#include "loadbalance/placement.hpp"
#include "support/metrics.hpp"

namespace amrbench::loadbalance {

struct Moved {
  std::int64_t blocks = 0;  ///< sent by this rank
  std::int64_t bytes = 0;   ///< of the messages it sent
  double seconds = 0.0;     ///< that this rank took for it
};

/// Moves blocks, their weights and values to their destinations; `changes`, one a local block, go along. Time goes to
/// the phase migrate. Collective.
Moved carry_out(const Destinations& destinations, amr::Mesh<3>& mesh, amr::Fields& fields,
                std::vector<amr::Change>& changes, support::Metrics& metrics);

}  // namespace amrbench::loadbalance
