#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "support/error.hpp"
#include "workloads/shallow_water/input/ascii_grid.hpp"
#include "workloads/shallow_water/input/input_text.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

enum GridKey { kColumns, kRows, kWestEdge, kWestCentre, kSouthEdge, kSouthCentre, kCellSize, kDx, kDy, kNoData, kKeys };

constexpr std::array<std::string_view, kKeys> kGridKeys{
    "ncols", "nrows", "xllcorner", "xllcenter", "yllcorner", "yllcenter", "cellsize", "dx", "dy", "nodata_value"};

/// Takes words off a text and knows the line it is on.
class GridText {
 public:
  GridText(std::string_view text, const std::string& path)
      : path_(path), at_(text.data()), end_(text.data() + text.size()) {}

  [[noreturn]] void fail(std::size_t line, const std::string& problem) const {
    throw support::InputError(fmt::format("{}:{}: {}", path_, line, problem));
  }
  [[noreturn]] void fail(const std::string& problem) const { fail(line_, problem); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t bytes_left() const { return static_cast<std::size_t>(end_ - at_); }

  /// To the next word, over line ends; false when there is none.
  bool to_word() {
    for (; at_ != end_ && is_blank(*at_); ++at_)
      if (*at_ == '\n') ++line_;
    return at_ != end_;
  }
  /// The word that begins here.
  [[nodiscard]] std::string_view word() const {
    return {at_, static_cast<std::size_t>(std::find_if(at_, end_, is_blank) - at_)};
  }
  /// Takes the rest of the line.
  std::string_view take_line() {
    const char* const stop = std::find(at_, end_, '\n');
    const std::string_view rest(at_, static_cast<std::size_t>(stop - at_));
    at_ = stop;
    return rest;
  }
  /// The number that begins here, which must be a word of its own.
  double take_number() {
    double value = 0;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error != std::errc{} || (stop != end_ && !is_blank(*stop)))
      fail(fmt::format("'{}' is no number; one such as -1.25 or 3e-4 is needed", shown_text(word())));
    at_ = stop;
    return value;
  }

 private:
  const std::string& path_;
  const char* at_;
  const char* end_;
  std::size_t line_ = 1;
};

/// Keys with their values and the lines they stand on; no line 0.
struct GridHeader {
  std::array<double, kKeys> value{};
  std::array<std::size_t, kKeys> line{};
  [[nodiscard]] bool has(GridKey key) const { return line[key] != 0; }
};

std::size_t key_of(const GridText& text, std::string_view word) {
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto key = static_cast<std::size_t>(std::ranges::find(kGridKeys, lower) - kGridKeys.begin());
  if (key == kKeys)
    text.fail(fmt::format("'{}' is no key of an ESRI ASCII grid; those are {}", shown_text(word),
                          fmt::join(kGridKeys, ", ")));
  return key;
}

double key_value(const GridText& text, std::size_t key, std::string_view word) {
  if (key == kColumns || key == kRows) {
    const auto whole = number_of<std::int64_t>(word);
    if (!whole || *whole < 1 || *whole > kMostCells)
      text.fail(fmt::format("{} '{}' must be a whole number from 1 to 2^31", kGridKeys[key], shown_text(word)));
    return static_cast<double>(*whole);
  }
  const auto value = number_of<double>(word);
  const bool size = key == kCellSize || key == kDx || key == kDy;
  if (key == kNoData) {
    if (!value || std::isinf(*value))
      text.fail(fmt::format("NODATA_value '{}' must be a finite number or nan", shown_text(word)));
  } else if (!value || !(std::abs(*value) <= kLargestNumber) || (size && !(*value > 0))) {
    text.fail(fmt::format("{} '{}' must be a number {}", kGridKeys[key], shown_text(word),
                          size ? "above 0, at most 1e100" : "from -1e100 to 1e100"));
  }
  return *value;
}

/// A key begins with a letter; so do the numbers nan and inf.
bool begins_numbers(std::string_view word) {
  const auto first = static_cast<unsigned char>(word.front());
  return std::isdigit(first) || first == '-' || first == '+' || first == '.' || number_of<double>(word).has_value();
}

/// Up to the first number.
GridHeader take_header(GridText& text) {
  GridHeader header;
  while (text.to_word() && !begins_numbers(text.word())) {
    const std::size_t key = key_of(text, text.word());
    if (header.line[key] != 0)
      text.fail(fmt::format("{} stands on line {} already; once is right", kGridKeys[key], header.line[key]));
    header.line[key] = text.line();
    const std::string_view value = without_blanks(text.take_line().substr(kGridKeys[key].size()));
    if (value.empty() || std::any_of(value.begin(), value.end(), is_blank))
      text.fail(fmt::format("{} needs one number on its line, and nothing else", kGridKeys[key]));
    header.value[key] = key_value(text, key, value);
  }
  return header;
}

/// Exactly one of `a` and `b`; true: a.
bool one_of(const GridText& text, const GridHeader& header, GridKey a, GridKey b) {
  if (header.has(a) && header.has(b))
    text.fail(std::max(header.line[a], header.line[b]),
              fmt::format("has both {} and {}; one of them is right", kGridKeys[a], kGridKeys[b]));
  if (!header.has(a) && !header.has(b))
    text.fail(fmt::format("the header ends without {} or {}", kGridKeys[a], kGridKeys[b]));
  return header.has(a);
}

Raster grid_shape(const GridText& text, const GridHeader& header) {
  Raster raster;
  raster.file = text.path();
  for (const GridKey key : {kColumns, kRows})
    if (!header.has(key)) text.fail(fmt::format("the header ends without {}", kGridKeys[key]));
  raster.columns = static_cast<std::int64_t>(header.value[kColumns]);
  raster.rows = static_cast<std::int64_t>(header.value[kRows]);
  if (header.has(kDx) != header.has(kDy))
    text.fail(fmt::format("the header has one of dx and dy; both are needed, or cellsize alone"));
  const bool square = one_of(text, header, kCellSize, kDx);
  raster.dx = header.value[square ? kCellSize : kDx];
  raster.dy = header.value[square ? kCellSize : kDy];
  raster.west = one_of(text, header, kWestEdge, kWestCentre) ? header.value[kWestEdge]
                                                             : header.value[kWestCentre] - raster.dx / 2;
  raster.south = one_of(text, header, kSouthEdge, kSouthCentre) ? header.value[kSouthEdge]
                                                                : header.value[kSouthCentre] - raster.dy / 2;
  if (header.has(kNoData)) raster.no_data = header.value[kNoData];
  if (const std::string problem = shape_problem(raster); !problem.empty())
    text.fail(std::max(header.line[kColumns], header.line[kRows]), problem);
  return raster;
}

/// Which line of numbers first holds another count of them than there are columns: where a missing or extra one is.
class OddLine {
 public:
  explicit OddLine(std::int64_t columns) : columns_(columns) {}
  /// A number on `line`, not before the last one's.
  void count(std::size_t line) {
    if (line != line_) {
      end_line();
      line_ = line;
      ++lines_;
    }
    ++here_;
  }
  /// As the end of a message; to be asked once, at the end.
  [[nodiscard]] std::string words() {
    end_line();
    if (odd_ == 0) return {};
    return fmt::format("; line {} (row {}) has {} where ncols is {}", odd_, odd_row_, odd_count_, columns_);
  }

 private:
  void end_line() {
    if (odd_ == 0 && line_ != 0 && here_ != columns_) {
      odd_ = line_;
      odd_row_ = lines_;
      odd_count_ = here_;
    }
    here_ = 0;
  }
  std::int64_t columns_;
  std::size_t line_ = 0;
  std::int64_t lines_ = 0;
  std::int64_t here_ = 0;
  std::size_t odd_ = 0;
  std::int64_t odd_row_ = 0;
  std::int64_t odd_count_ = 0;
};

void take_cells(GridText& text, Raster& raster) {
  const std::int64_t count = raster.columns * raster.rows;
  OddLine odd(raster.columns);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t line = text.line();
    if (!text.to_word())
      text.fail(line, fmt::format("ends in row {} of {} after {} of {} columns{}", i / raster.columns + 1, raster.rows,
                                  i % raster.columns, raster.columns, odd.words()));
    double value = text.take_number();
    odd.count(text.line());
    const bool none = value == raster.no_data || (std::isnan(value) && std::isnan(raster.no_data));
    if (none) value = std::numeric_limits<double>::quiet_NaN();
    if (!none && !(std::abs(value) <= kLargestNumber))
      text.fail(fmt::format("row {}, column {}: {} must be a number from -1e100 to 1e100, or NODATA_value ({})",
                            i / raster.columns + 1, i % raster.columns + 1, value, raster.no_data));
    raster.cells[static_cast<std::size_t>(i)] = value;
  }
  if (!text.to_word()) return;
  // The rest of the line belongs to what is counted of it.
  const std::size_t line = text.line();
  const std::string_view first = text.word();
  for (; text.to_word() && text.line() == line; static_cast<void>(text.take_number())) odd.count(line);
  text.fail(line, fmt::format("'{}' comes after the last of {} rows of {} columns; nothing may follow{}",
                              shown_text(first), raster.rows, raster.columns, odd.words()));
}

}  // namespace

Raster parse_ascii_grid(std::string_view text, const std::string& path) {
  GridText words(text, path);
  const GridHeader header = take_header(words);
  Raster raster = grid_shape(words, header);
  const auto count = static_cast<std::uint64_t>(raster.columns * raster.rows);
  // A number takes a character and a blank at least, the last the character alone.
  if (count > (std::uint64_t{words.bytes_left()} + 1) / 2)
    words.fail(fmt::format("{} rows of {} columns do not fit into the {} bytes after the header", raster.rows,
                           raster.columns, words.bytes_left()));
  check_memory_left(path, static_cast<double>(count) * sizeof(double));
  raster.cells.resize(count);
  take_cells(words, raster);
  return raster;
}

Raster read_ascii_grid(const std::string& path) {
  return parse_ascii_grid(read_input_text(path), path);
}

}  // namespace amrbench::workloads::shallow_water
