#include "support/csv_cells.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace amrbench::support {

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string cell_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_float()) {
    const auto x = value.get<double>();
    return std::isfinite(x) ? fmt::format("{}", x) : "";
  }
  if (value.is_null()) return "";
  return value.dump();
}

void flatten(const std::string& name, const Json& value, std::span<const std::string_view> of_objects,
             std::vector<CsvCell>& cells) {
  if (value.is_object()) {
    for (const auto& item : value.items()) {
      flatten(name.empty() ? item.key() : name + "." + item.key(), item.value(), of_objects, cells);
    }
    return;
  }
  if (!value.is_array()) {
    cells.push_back({name, cell_text(value)});
    return;
  }
  const bool known = std::find(of_objects.begin(), of_objects.end(), name) != of_objects.end();
  if (known || (!value.empty() && value.front().is_object())) {
    cells.push_back({name + ".count", std::to_string(value.size())});
    return;
  }
  std::string joined;
  for (std::size_t k = 0; k < value.size(); ++k) joined += (k > 0 ? ";" : "") + cell_text(value[k]);
  cells.push_back({name, joined});
}

std::string rows_to_csv(std::span<const Json> rows) {
  std::string text;
  const auto add_line = [&](const Json& row, bool names) {
    bool first = true;
    for (const auto& [name, value] : row.items()) {
      if (!first) text += ',';
      text += names ? name : csv_text(value.is_number() ? value.dump() : cell_text(value));
      first = false;
    }
    text += '\n';
  };
  for (const Json& row : rows) {
    if (text.empty()) add_line(row, true);
    add_line(row, false);
  }
  return text;
}

std::string to_csv(std::span<const CsvCell> cells) {
  std::string header;
  std::string row;
  for (const CsvCell& cell : cells) {
    if (!header.empty()) {
      header += ',';
      row += ',';
    }
    header += csv_text(cell.name);
    row += csv_text(cell.value);
  }
  return header + '\n' + row + '\n';
}

}  // namespace amrbench::support
