#include "loadbalance/migrator.hpp"

namespace amrbench::loadbalance {

Moved carry_out(const Destinations& destinations, amr::Mesh<3>& mesh, amr::Fields& fields,
                std::vector<amr::Change>& changes, support::Metrics& metrics) {
  const double before = metrics.seconds(support::Phase::migrate);
  amr::MigrationCount count;
  {
    const support::PhaseTimer timer(metrics, support::Phase::migrate);
    count = destinations.cuts.empty() ? amr::migrate_to(mesh, fields, changes, destinations.ranks)
                                      : amr::migrate(mesh, fields, changes, destinations.cuts);
  }
  return {count, metrics.seconds(support::Phase::migrate) - before};
}

}  // namespace amrbench::loadbalance
