#pragma once
// The series of a run record: a row a refinement, so that load, blocks and decisions can be followed over the steps.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "amr/simulation.hpp"
#include "loadbalance/balancer.hpp"
#include "support/metrics.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

struct SeriesRow {
  std::int64_t step = 0;         ///< steps done
  std::int64_t refinements = 1;  ///< that the row stands for
  std::int64_t blocks = 0;       ///< after it
  std::vector<std::int64_t> blocks_by_level;
  loadbalance::Decision decision;
  std::int64_t blocks_migrated = 0;  ///< of all ranks
  double stage_s = 0.0;              ///< stencil and halo since the row before; seconds of the slowest rank, as below
  double refine_s = 0.0;             ///< phase refine in it
  double balance_s = 0.0;            ///< phases balance and migrate
};

/// Collects rows. However long a run is, at most kMost are kept: then two neighbours become one, of which decisions and
/// imbalance are those of the worse, and counts and seconds add up.
class RunSeries {
 public:
  static constexpr std::size_t kMost = 4096;

  /// After each step, and before the first; adds a row when there was a refinement. Local.
  void observe(const amr::RunTotals& totals, const loadbalance::BalancerState& balancer,
               const support::Metrics& metrics);
  /// The rows over all ranks. Collective.
  [[nodiscard]] std::vector<SeriesRow> reduce(const support::Communicator& comm) const;

  /// For checkpoints: the rows over all ranks. Collective.
  [[nodiscard]] nlohmann::ordered_json save(const support::Communicator& comm) const;
  /// Back, before the first observe(), once `balancer` has loaded what it saved. Counts that add up over ranks are kept
  /// on the first rank. Throws std::exception for what save() never gives. Local.
  void load(const nlohmann::ordered_json& saved, const loadbalance::BalancerState& balancer, bool is_first);

 private:
  void add(SeriesRow row);
  std::vector<SeriesRow> rows_;
  std::int64_t stride_ = 1;       ///< refinements a row
  std::int64_t refinements_ = 0;  ///< seen
  std::int64_t sent_ = 0;
  double stage_s_ = 0.0, refine_s_ = 0.0, balance_s_ = 0.0;
};

}  // namespace amrbench::apps
