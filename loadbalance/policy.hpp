#pragma once
// Policy: when blocks move (balance.policy). It decides from numbers that are the same on every rank, and moves
// nothing.
//
// A refinement has one decision. decide() may be asked several times while the refinement unfolds: with the loads that
// are predicted, before each pass of changes is applied, and with the loads there are, after the last. Its first answer
// other than `leave` is the refinement's decision; whether blocks then moved ahead of the changes, after them, or both,
// is that decision's outcome. decide() is const, so asking changes nothing; observe() is told once a refinement.
// A policy is one file and one line in policies.cpp.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loadbalance/config.hpp"

namespace amrbench::loadbalance {

/// leave: blocks stay where they are. incremental: the order in which ranks hold them is sliced anew, so that blocks go
/// to ranks nearby. full: the partitioner places all of them anew; along the keys of a curve that is the same.
enum class Action : std::uint8_t { leave, incremental, full };
std::string_view action_name(Action action);

/// What an action would give, known without moving any block.
struct Outlook {
  double max = 0.0;         ///< load of the fullest rank then
  std::int64_t blocks = 0;  ///< that would move, on all ranks
};

/// Loads of the ranks at the moment of a question. A load is the sum of a rank's weights; where all blocks weigh the
/// same it is a count of whole blocks.
struct Load {
  double min = 0.0;                ///< of a rank
  double max = 0.0;                ///< of a rank
  double mean = 0.0;               ///< over ranks
  double heaviest = 1.0;           ///< weight of the heaviest block of all
  bool predicted = false;          ///< by the changes agreed on, which are not applied yet
  int cuts = 0;                    ///< how often this refinement has moved blocks so far
  std::optional<Outlook> outlook;  ///< for policies that want it
  std::optional<Outlook> sliced;   ///< the same of Action::incremental, where it is another than that of `full`

  /// (max - min) / mean, miniAMR's measure; 0 for an empty mesh.
  [[nodiscard]] double spread() const { return mean > 0.0 ? (max - min) / mean : 0.0; }
  /// max / mean - 1.
  [[nodiscard]] double imbalance() const { return mean > 0.0 ? max / mean - 1.0 : 0.0; }
  /// Are ranks as even as whole blocks allow? Slices of unequal weights may be up to twice the heaviest block apart.
  [[nodiscard]] bool is_even() const { return max <= min + heaviest; }
  /// How far the fullest rank is above what placing anew would give; 0 where that is not known.
  [[nodiscard]] double curable() const { return outlook ? std::max(0.0, max - outlook->max) : 0.0; }
};
/// The load of each rank, in a Load. shares: what of all loads each rank is to have (Policy::rank_shares): a load then
/// counts beside its rank's share, so that all are 1 where each has just that.
[[nodiscard]] Load measure(std::span<const double> loads, std::span<const double> shares = {});

/// What was measured between two decisions, over ranks.
struct Segment {
  std::int64_t step = 0;      ///< steps done at its end
  std::int64_t stages = 0;    ///< stages in it
  double seconds_max = 0.0;   ///< that the ranks worked (work_seconds), not counting waits: of the slowest
  double seconds_mean = 0.0;  ///< mean over ranks
};

/// What became of a refinement's decision, over ranks.
struct Outcome {
  Action action = Action::leave;  ///< the decision
  int cuts_ahead = 0;             ///< how often blocks moved before changes were applied
  int cuts_after = 0;             ///< and after the last: 0 or 1
  std::int64_t blocks = 0;        ///< that moved
  std::int64_t bytes = 0;         ///< of their messages
  double seconds = 0.0;           ///< that placing anew and moving took the slowest rank; 0 where blocks stayed
  double load_mean = 0.0;         ///< over ranks, when it was over; 0: in another unit than loads have now
  double curable_before = 0.0;    ///< Load::curable(), the most that was asked about
  double curable_after = 0.0;     ///< and what was left when it was over

  [[nodiscard]] bool has_cut() const { return cuts_ahead + cuts_after > 0; }
};

/// All that policies may know of the run so far; the same on every rank.
struct History {
  std::vector<Segment> segments;  ///< the last one ends at this refinement
  std::vector<Outcome> outcomes;  ///< of the refinements before this one that changed the mesh; i led to segment i + 1
  std::vector<double> rank_seconds;  ///< the last segment's, of each rank; empty before the first
  std::int64_t step = 0;             ///< steps done
  std::int64_t steps = 0;            ///< steps there will be; 0 = not known
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// Pure: the same arguments and observations give the same answer on every rank. Local.
  [[nodiscard]] virtual Action decide(const History& history, const Load& load) const = 0;
  /// Must loads tell what placing anew would give? It is then computed at every question.
  [[nodiscard]] virtual bool wants_outlook() const { return false; }
  /// Does it look at seconds alone, so that it is to be asked after refinements that changed nothing as well?
  [[nodiscard]] virtual bool measures() const { return false; }
  /// What of all loads each rank is to have, in all 1; empty: as much as any other. It then decides `leave` or
  /// `incremental` only.
  [[nodiscard]] virtual std::span<const double> rank_shares() const { return {}; }
  /// A segment is over, the last of history.segments. Once a refinement, before decide(). Local.
  virtual void learn(const History& /*history*/) {}
  /// A refinement is over and this is what it came to. Told at the latest before the next decide(). Local.
  virtual void observe(const Outcome& /*outcome*/) {}

  /// For checkpoints: what it keeps besides the history, and back, on as many ranks and cores of the same kind. save()
  /// gives null where there is nothing; load() throws std::exception for what save() never gives. Local.
  [[nodiscard]] virtual nlohmann::ordered_json save() const;
  virtual void load(const nlohmann::ordered_json& /*saved*/) {}
};

struct PolicyEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Policy> (*make)(const BalanceConfig& config);
};
/// All policies, the default first.
std::span<const PolicyEntry> policy_registry();
/// The policy called config.policy. Throws support::InputError that lists the names when there is none.
std::unique_ptr<Policy> make_policy(const BalanceConfig& config);

}  // namespace amrbench::loadbalance
