#pragma once
// Proof that the answer is right: digests of mesh and fields that no partition can change, and conservation.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "amr/checkpoint/run_state.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "support/field_stats.hpp"
#include "support/fixed_point_sum.hpp"

namespace amrbench::amr {

/// Digest of the set of leaves: the sum modulo 2^64 of a hash of every block's level and coordinates. Depends on
/// neither the curve nor the partition. Collective.
template <int Dim>
[[nodiscard]] std::uint64_t mesh_digest(const Mesh<Dim>& mesh);

/// Statistics of every variable over all cells of all ranks; the hash binds each value to its level and cell. Slow and
/// exact: meant for the start and the end of a run. `measure`: what a cell of a level counts for in sums, a power of 2;
/// none: 1. Collective.
using Measure = std::function<double(int level)>;
template <int Dim>
[[nodiscard]] std::vector<support::FieldStats> field_stats(const Mesh<Dim>& mesh, const Fields& fields,
                                                           const Measure& measure = {});

/// Watches the totals of the variables. The baseline is the first sum, never a later one, so a slow drift adds up; a
/// value that is no number fails.
class ConservationCheck {
 public:
  /// `first`: statistics of the initial field, all variables. Of these the first `conserved` must keep their totals
  /// within relative `tolerance`; the others must only stay finite.
  ConservationCheck(const std::vector<support::FieldStats>& first, int conserved, double tolerance);

  /// The check of a run that goes on, as it stood.
  ConservationCheck(const CheckState& state, double tolerance);
  /// As it stands; says nothing of a failure.
  [[nodiscard]] CheckState state() const { return {baseline_, conserved_, scale_.exponent(), worst_, checks_}; }

  /// The scale for the fused sums: takes every value the initial totals allow.
  [[nodiscard]] const support::FixedPointScale& scale() const { return scale_; }

  /// The stage about to run conserves only the first `conserved` variables: once a total has drifted, no later check
  /// can hold it against the first sum, so the fewest ever given stay in force. Call before every stage.
  void limit(int conserved) { conserved_ = std::min(conserved_, conserved); }
  /// Variables whose totals have been conserved by every stage so far and are checked; of the others only that they are
  /// finite.
  [[nodiscard]] int conserved() const { return conserved_; }
  /// One line for the user and the record that says what was not checked and why; empty when all variables were.
  [[nodiscard]] std::string note() const;

  /// Holds totals (of all ranks) against the baseline; the same answer on every rank. After the first failure the
  /// message stays that one.
  bool check(const std::vector<double>& totals, std::int64_t step, std::int64_t stage);

  [[nodiscard]] bool passed() const { return !failure_; }
  /// One line that says which variable failed, when, and by how much.
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
  [[nodiscard]] double worst_drift() const { return worst_; }
  [[nodiscard]] std::int64_t checks() const { return checks_; }

 private:
  std::vector<double> baseline_;
  int conserved_;
  double tolerance_;
  support::FixedPointScale scale_;
  double worst_ = 0.0;
  std::int64_t checks_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace amrbench::amr
