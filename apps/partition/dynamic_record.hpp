#pragma once
// What `amrbench partition --dynamic` records: a row a round, as CSV and as JSON (docs/partition-command.md,
// docs/schema/dynamic.json).
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/partition/command.hpp"
#include "partitioners/dynamic/dynamic_tree.hpp"
#include "partitioners/quality.hpp"
#include "support/csv_cells.hpp"

namespace amrbench::support {
class Communicator;
}

namespace amrbench::apps {

/// One round; seconds are those of the slowest rank.
struct DynamicRow {
  int round = 0;
  std::size_t erased = 0, inserted = 0, moved = 0;
  double erase_s = 0, insert_s = 0, move_s = 0, adjust_s = 0, rebuild_s = 0, cut_s = 0;
  partitioners::Adjustments adjusted;
  int depth = 0, depth_bound = 0;
  std::size_t leaves = 0, memory_bytes = 0;
  partitioners::PartitionQuality quality;
  std::size_t moved_weight = 0;
  /// Of a tree that is built anew; empty where it was not.
  std::optional<double> new_tree_s;
  partitioners::PartitionQuality new_quality;
  std::size_t new_moved_weight = 0;

  [[nodiscard]] double update_s() const { return erase_s + insert_s + move_s + adjust_s; }
  [[nodiscard]] double all_s() const { return update_s() + rebuild_s + cut_s; }
  [[nodiscard]] double updates() const { return static_cast<double>(erased + inserted + moved); }
  [[nodiscard]] double updates_per_s() const { return update_s() > 0 ? updates() / update_s() : 0; }
};

/// What the study began with.
struct DynamicInput {
  std::string name;
  std::size_t points = 0;
  int dim = 0;
  std::vector<std::string> notes;
};

std::string dynamic_csv(std::span<const DynamicRow> rows);

/// Collective; of use on rank 0.
support::Json dynamic_record(const support::Communicator& comm, const PartitionArguments& arguments,
                             const DynamicInput& input, std::span<const DynamicRow> rows);

}  // namespace amrbench::apps
