#include "support/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/error.hpp"

namespace amrbench::support {

namespace {

/// Least number of characters to change, leave out or put in that makes a of b (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

void throw_unknown(std::string_view what, std::string_view name, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::size_t distance = std::min<std::size_t>(3, (name.size() + 1) / 2);  // from there on it is another word
  for (const std::string_view known : names) {
    const std::size_t d = edit_distance(name, known);
    if (d < distance) {
      distance = d;
      nearest = known;
    }
  }
  std::string text = fmt::format("{} {}: unknown; there are {}", what, name, fmt::join(names, ", "));
  if (!nearest.empty()) text += fmt::format(" (did you mean {}?)", nearest);
  throw InputError(text);
}

}  // namespace amrbench::support
