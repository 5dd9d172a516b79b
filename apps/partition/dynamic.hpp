#pragma once
// `amrbench partition --dynamic ROUNDS`: points that come, go and move, kept in a dynamic tree
// (partitioners/dynamic/dynamic_tree.hpp) and cut into parts every round, beside a new tree every round.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/partition/command.hpp"
#include "partitioners/dynamic/dynamic_tree.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "support/csv_cells.hpp"

namespace amrbench::apps {

/// The points of a study: point i is at[i * dim ...] and keeps that identity; who leaves is replaced under the same
/// one.
///
/// Each round a share of the points leaves, as many come, and as many of the others take a short step. Newcomers appear
/// beside a random point of the input, displaced by what the input has drifted so far. All is a function of the input
/// and the round.
class ChangingPoints {
 public:
  struct Change {
    std::vector<std::uint64_t> replaced, moved;      ///< identities, each at most once
    std::vector<double> replaced_from, replaced_to;  ///< dim a point
    std::vector<double> moved_from, moved_to;
  };

  /// share: of the points a round, in (0, 1 / 2]; shift: drift a round along the diagonal, in longest sides of the
  /// input's box.
  ChangingPoints(std::vector<double> input, int dim, double share, double shift);

  /// Draws the changes of the next round and carries them out.
  Change advance();

  [[nodiscard]] partitioners::PointView<double> points() const { return {at_, dim_}; }
  [[nodiscard]] std::size_t size() const { return at_.size() / static_cast<std::size_t>(dim_); }

 private:
  void write(std::uint64_t point, const double* x, std::vector<double>& from, std::vector<double>& to);

  std::vector<double> input_, at_;
  int dim_;
  std::size_t changes_;
  double drift_, step_;  ///< a round, in coordinates; the longest step along an axis
  std::uint64_t round_ = 0;
};

/// Runs the study, prints a line a round and writes --csv. Throws support::InputError for what does not go with
/// --dynamic. Times are those of the slowest rank; rank 0 prints and writes. Every rank holds all points of the study.
/// Collective over the job. Returns the exit status.
int dynamic_command(const PartitionArguments& arguments);

}  // namespace amrbench::apps
