#pragma once
// What `amrbench partition` reports: a row a method and part count, as JSON and CSV (docs/partition-command.md).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitioners/partitioner.hpp"
#include "partitioners/quality.hpp"
#include "partitioners/refine/refine.hpp"
#include "support/provenance.hpp"

namespace amrbench::apps {

/// What refinement did after the method, and how long it took: one time a repetition.
struct RefinedRow {
  partitioners::RefineResult result;
  bool volumes = false;  ///< result has volumes too
  std::vector<double> times_s;
};

struct PartitionRow {
  std::string method;
  partitioners::PartitionQuality quality;
  std::optional<partitioners::NodeQuality> nodes;
  std::optional<RefinedRow> refined;
  std::optional<partitioners::ModelledCost> model;
  std::optional<double> moved_weight;
  std::vector<double> times_s;  ///< one a repetition
  /// Over ranks: the slowest rank of each stage, one a repetition; empty or unknown where the method does not tell.
  std::vector<partitioners::RankStages> stages;
  std::size_t memory_bytes = 0;           ///< as the method counts it: most held besides input and result
  std::size_t resident_growth_bytes = 0;  ///< rise of the process's resident memory during the first call
  /// Along the method's order: sum of the distances between successive points, and steps longer than 1.5 times the
  /// shortest spacing of a grid. Empty where there is no order.
  std::optional<double> curve_length;
  std::optional<std::int64_t> curve_jumps;  ///< grids only: successive cells that do not share a face
};

/// Names and values of a row; metrics that do not apply are null.
[[nodiscard]] support::Json to_json(const PartitionRow& row);

/// A header line and a line a row, the same columns as the JSON rows; null is an empty cell.
[[nodiscard]] std::string to_csv(std::span<const PartitionRow> rows);

/// A table for the terminal, lines ended by line feeds.
[[nodiscard]] std::string to_table(std::span<const PartitionRow> rows);

}  // namespace amrbench::apps
