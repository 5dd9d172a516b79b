#include "partitioners/inputs/number_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "partitioners/even_shares.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

constexpr std::string_view kBlanks = " \t";

/// Cells of a line without blanks at their ends.
void split(std::string_view line, char separator, std::vector<std::string_view>& cells) {
  cells.clear();
  if (separator == ' ') {
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) cells.push_back(word);
    return;
  }
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = line.find(separator);
    cells.push_back(trimmed(line.substr(0, end)));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
}

bool is_skipped(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.empty() || text.front() == '#';
}

char separator_of(std::string_view line, const std::string& where) {
  const bool comma = line.find(',') != std::string_view::npos;
  const bool semicolon = line.find(';') != std::string_view::npos;
  if (comma && semicolon)
    throw InputError(
        fmt::format("{}: commas and semicolons; one of them must separate, and decimals take a point", where));
  if (comma || semicolon) return comma ? ',' : ';';
  return line.find_first_of(kBlanks) == std::string_view::npos ? ',' : ' ';
}

/// A name without quotes around it, in small letters.
std::string plain_name(std::string_view cell) {
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = trimmed(cell.substr(1, cell.size() - 2));
  std::string name(cell);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// Takes the names of a header; false when the line is none.
bool take_header(std::span<const std::string_view> cells, const std::string& where, TableForm& form) {
  // What begins like a number is meant as one, and refused as a row where it is none that can be read.
  const auto is_number = [](std::string_view cell) {
    return parse_number<double>(cell) ||
           (!cell.empty() && std::string_view("+-.0123456789").find(cell.front()) != std::string_view::npos);
  };
  if (std::any_of(cells.begin(), cells.end(), is_number)) return false;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const std::string name = plain_name(cells[k]);
    if (name.empty()) throw InputError(fmt::format("{}: column {} of the header has no name", where, k + 1));
    if (name == "weights")  // would be taken for a coordinate
      throw InputError(
          fmt::format("{}: column {} is called weights; a column of weights must be called weight", where, k + 1));
    if (name != "weight") continue;
    if (form.weight) throw InputError(fmt::format("{}: two columns are called weight", where));
    form.weight = k;
  }
  return true;
}

}  // namespace

TableForm read_table_form(const std::string& path) {
  TableForm form;
  form.path = path;
  form.bytes = regular_file_size(path);
  FileLines lines(path, 0, form.bytes);
  bool first = true;
  for (std::string_view line; lines.next(line); first = false) {
    const std::string_view text = trimmed(line);
    if (first && text.starts_with('#')) form.comment = trimmed(text.substr(1));
    if (is_skipped(line)) continue;
    const TablePlace place(form, lines.offset());
    form.separator = separator_of(text, place.line());
    std::vector<std::string_view> cells;
    split(text, form.separator, cells);
    form.columns = cells.size();
    if (form.columns > kMostDimensions + 1)
      throw InputError(fmt::format("{}: {} columns; at most {} coordinates and a weight", place.line(), form.columns,
                                   kMostDimensions));
    if (take_header(cells, place.line(), form)) form.header_offset = lines.offset();
    return form;
  }
  throw InputError(fmt::format("{}: no points in it", path));
}

std::string TablePlace::line() const {
  return fmt::format("{}:{}", form_.path, line_number(form_.path, offset_));
}

std::uint64_t TablePlace::row() const {
  FileLines lines(form_.path, 0, offset_);
  std::uint64_t rows = 0;
  for (std::string_view line; lines.next(line);)
    if (!is_skipped(line) && lines.offset() != form_.header_offset) ++rows;
  return rows;
}

void read_rows(const TableForm& form, int rank, int ranks,
               const std::function<void(std::span<const double>, const TablePlace&)>& row) {
  FileLines lines(form.path, share_of(form.bytes, rank, ranks), share_of(form.bytes, rank + 1, ranks));
  std::vector<std::string_view> cells;
  std::vector<double> values(form.columns);
  for (std::string_view line; lines.next(line);) {
    if (is_skipped(line) || lines.offset() == form.header_offset) continue;
    const TablePlace place(form, lines.offset());
    split(trimmed(line), form.separator, cells);
    if (cells.size() != form.columns)
      throw InputError(fmt::format("{}: {} columns, but {} before", place.line(), cells.size(), form.columns));
    for (std::size_t k = 0; k < form.columns; ++k) {
      const auto value = parse_number<double>(cells[k]);
      if (!value) throw InputError(fmt::format("{}: '{}' is no number", place.line(), shown(cells[k])));
      values[k] = *value;
    }
    row(values, place);
  }
}

std::uint64_t count_doubles(const std::string& path) {
  const std::uint64_t bytes = regular_file_size(path);
  if (bytes % sizeof(double) != 0)
    throw InputError(fmt::format("{}: {} bytes are no whole number of float64", path, bytes));
  return bytes / sizeof(double);
}

}  // namespace amrbench::partitioners
