#include "partitioners/inputs/tetgen_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "partitioners/inputs/delaunay.hpp"
#include "partitioners/inputs/text_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using Four = std::array<std::int32_t, 4>;

/// Rows of one file: a header that counts them, then numbers.
class TetgenRows {
 public:
  explicit TetgenRows(std::string path) : path_(std::move(path)), text_(read_whole_file(path_)), lines_(text_) {
    if (!next()) throw support::InputError(fmt::format("{}: no header", path_));
    rows_ = whole("the number of rows", 0, std::numeric_limits<std::int32_t>::max());
    // A row takes a number, a blank and a line end at least: a header that asks for more is not of this file.
    if (static_cast<std::uint64_t>(rows_) > text_.size() / 3)
      fail(fmt::format("{} rows do not fit into a file of {} bytes", rows_, text_.size()));
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[noreturn]] void fail(const std::string& problem) const {
    throw support::InputError(fmt::format("{}:{}: {}", path_, lines_.number(), problem));
  }
  /// The next word of the line as a whole number.
  std::int64_t whole(std::string_view what, std::int64_t low, std::int64_t high) {
    const std::string_view word = take_word(line_);
    const auto value = parse_number<std::int64_t>(word);
    if (!value || *value < low || *value > high)
      fail(fmt::format("{} '{}' must be a whole number from {} to {}", what, shown(word), low, high));
    return *value;
  }
  double coordinate() {
    const std::string_view word = take_word(line_);
    const auto value = parse_number<double>(word);
    if (!value || !(std::abs(*value) <= 0x1p500)) fail(fmt::format("'{}' is no coordinate", shown(word)));
    return *value;
  }
  /// To the row of number `number`.
  void to_row(std::int64_t row, std::int64_t base) {
    if (!next()) throw support::InputError(fmt::format("{}: ends after {} of {} rows", path_, row, rows_));
    (void)whole("the row's number", row + base, row + base);
  }
  /// The base of the first row, 0 or 1, which is begun.
  std::int64_t first_row() {
    if (!next()) throw support::InputError(fmt::format("{}: ends after 0 of {} rows", path_, rows_));
    return whole("the first row's number", 0, 1);
  }
  void finish() {
    if (next()) fail(fmt::format("more rows than the {} of the header", rows_));
  }

 private:
  /// The next line that says something, without its comment.
  bool next() {
    while (lines_.next(line_)) {
      line_ = trimmed(line_.substr(0, line_.find('#')));
      if (!line_.empty()) return true;
    }
    return false;
  }

  std::string path_;
  std::string text_;
  Lines lines_;
  std::string_view line_;
  std::int64_t rows_ = 0;
};

struct Nodes {
  std::int64_t base = 0;
  std::vector<double> at;
};

Nodes read_nodes(const std::string& path) {
  TetgenRows rows(path);
  (void)rows.whole("the dimension", 3, 3);
  if (rows.rows() == 0) rows.fail("no points in it");
  Nodes nodes;
  nodes.at.reserve(3 * static_cast<std::size_t>(rows.rows()));
  nodes.base = rows.first_row();
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    if (i > 0) rows.to_row(i, nodes.base);
    for (int axis = 0; axis < 3; ++axis) nodes.at.push_back(rows.coordinate());
  }
  rows.finish();
  return nodes;
}

std::vector<Four> read_elements(const std::string& path, const Nodes& nodes) {
  TetgenRows rows(path);
  const std::int64_t corners = rows.whole("the corners of an element", 4, 10);
  if (corners != 4 && corners != 10) rows.fail(fmt::format("{} corners an element; must be 4 or 10", corners));
  if (rows.rows() == 0) rows.fail("no elements in it");
  const auto points = static_cast<std::int64_t>(nodes.at.size() / 3);
  std::vector<Four> elements(static_cast<std::size_t>(rows.rows()));
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    rows.to_row(i, nodes.base);
    Four& element = elements[static_cast<std::size_t>(i)];
    for (std::int32_t& v : element)
      v = static_cast<std::int32_t>(rows.whole("the corner", nodes.base, nodes.base + points - 1) - nodes.base);
    Four sorted = element;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      rows.fail(fmt::format("element {} has a corner twice", i + nodes.base));
  }
  rows.finish();
  return elements;
}

int common_corners(const Four& a, const Four& b) {
  return static_cast<int>(
      std::count_if(a.begin(), a.end(), [&](std::int32_t v) { return std::find(b.begin(), b.end(), v) != b.end(); }));
}

std::vector<Four> read_neighbours(const std::string& path, const std::vector<Four>& elements, std::int64_t base) {
  TetgenRows rows(path);
  (void)rows.whole("the neighbours of an element", 4, 4);
  const auto n = static_cast<std::int64_t>(elements.size());
  if (rows.rows() != n) rows.fail(fmt::format("{} elements, but the .ele file has {}", rows.rows(), n));
  std::vector<Four> neighbours(elements.size());
  for (std::int64_t i = 0; i < n; ++i) {
    rows.to_row(i, base);
    Four& row = neighbours[static_cast<std::size_t>(i)];
    for (std::int32_t& u : row) {
      const std::int64_t number = rows.whole("the neighbour", -1, base + n - 1);
      if (number != -1 && number < base) rows.fail("the neighbour 0 is none: elements count from 1");
      u = number == -1 ? -1 : static_cast<std::int32_t>(number - base);
      if (u >= 0 && common_corners(elements[static_cast<std::size_t>(i)], elements[static_cast<std::size_t>(u)]) != 3)
        rows.fail(fmt::format("elements {} and {} share no face", i + base, number));
    }
    Four sorted = row;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t k = 0; k < 3; ++k)
      if (sorted[k] >= 0 && sorted[k] == sorted[k + 1])
        rows.fail(fmt::format("element {} lists neighbour {} twice", i + base, sorted[k] + base));
  }
  rows.finish();
  return neighbours;
}

void check_both_ways(const std::string& path, const std::vector<Four>& neighbours, std::int64_t base) {
  for (std::size_t i = 0; i < neighbours.size(); ++i)
    for (const std::int32_t u : neighbours[i]) {
      if (u < 0) continue;
      const Four& back = neighbours[static_cast<std::size_t>(u)];
      if (std::find(back.begin(), back.end(), static_cast<std::int32_t>(i)) == back.end())
        throw support::InputError(fmt::format("{}: element {} lists {}, which does not list it back", path,
                                              static_cast<std::int64_t>(i) + base, u + base));
    }
}

}  // namespace

MeshInput read_tetgen(const std::string& path) {
  const std::string stem = path.substr(0, path.rfind('.'));
  const Nodes nodes = read_nodes(stem + ".node");
  const std::vector<Four> elements = read_elements(path, nodes);
  MeshInput input;
  {
    const std::vector<Four> neighbours = read_neighbours(stem + ".neigh", elements, nodes.base);
    check_both_ways(stem + ".neigh", neighbours, nodes.base);
    input.graph = face_graph(neighbours);
  }
  input.points.reserve(3 * elements.size());
  for (const Four& element : elements)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double sum = 0;
      for (const std::int32_t v : element) sum += nodes.at[3 * static_cast<std::size_t>(v) + axis] / 4;
      input.points.push_back(sum);
    }
  return input;
}

}  // namespace amrbench::partitioners
