#pragma once
// A balancer for tests: every block goes to a rank drawn anew at each refinement, so that blocks of one rank are
// neighbours by chance alone.
#include <cstdint>
#include <vector>

#include "amr/migrate.hpp"
#include "amr/rebalancer.hpp"
#include "support/field_stats.hpp"

namespace amrbench::amr::checks {

class Scatter final : public Rebalancer<3> {
 public:
  explicit Scatter(std::uint64_t seed) : draw_(seed) {}
  bool rebalance_ahead(Mesh<3>& mesh, Fields& fields, std::vector<Change>& changes, support::Metrics&) override {
    scatter(mesh, fields, changes);
    return true;
  }
  bool rebalance(Mesh<3>& mesh, Fields& fields, support::Metrics&) override {
    std::vector<Change> none(mesh.size(), Change::stay);
    scatter(mesh, fields, none);
    return true;
  }

 private:
  void scatter(Mesh<3>& mesh, Fields& fields, std::vector<Change>& changes) {
    ++draw_;
    std::vector<std::int32_t> to;
    for (const Key key : mesh.keys()) to.push_back(std::int32_t(support::mix64(draw_, key) % mesh.comm().size()));
    migrate_to(mesh, fields, changes, to);
  }
  std::uint64_t draw_;
};

}  // namespace amrbench::amr::checks
