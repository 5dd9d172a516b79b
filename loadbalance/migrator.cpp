#include "loadbalance/migrator.hpp"

namespace amrbench::loadbalance {

template <int Dim>
Moved carry_out(const Destinations& destinations, amr::Mesh<Dim>& mesh, amr::Fields& fields,
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

template Moved carry_out(const Destinations&, amr::Mesh<2>&, amr::Fields&, std::vector<amr::Change>&,
                         support::Metrics&);
template Moved carry_out(const Destinations&, amr::Mesh<3>&, amr::Fields&, std::vector<amr::Change>&,
                         support::Metrics&);

}  // namespace amrbench::loadbalance
