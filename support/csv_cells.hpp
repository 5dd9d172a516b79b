#pragma once
// JSON as one line of CSV.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/provenance.hpp"

namespace amrbench::support {

/// One name and one value.
struct CsvCell {
  std::string name;
  std::string value;
};

/// A plain value as a cell: strings bare, doubles as short as they read back equal; empty for null and for numbers that
/// are not finite.
[[nodiscard]] std::string cell_text(const Json& value);

/// Appends `value` as cells. Objects are flattened with dots; an array of plain values becomes one cell with semicolons
/// between them; an array of objects becomes `<name>.count`. of_objects: arrays that hold objects even when they are
/// empty, so that columns do not depend on values.
void flatten(const std::string& name, const Json& value, std::span<const std::string_view> of_objects,
             std::vector<CsvCell>& cells);

/// Quoted after RFC 4180 where it has to be.
[[nodiscard]] std::string csv_text(const std::string& text);

/// A header line with the names of the first row, and a line a row; null is an empty cell. Rows: objects of plain
/// values with the same names.
[[nodiscard]] std::string rows_to_csv(std::span<const Json> rows);

/// A header line and a row, each ended by a line feed.
[[nodiscard]] std::string to_csv(std::span<const CsvCell> cells);

}  // namespace amrbench::support
