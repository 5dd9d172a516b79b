#include "partitioners/point_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "partitioners/graph_file.hpp"
#include "partitioners/text_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

constexpr std::size_t kMostColumns = 17;  // 16 dimensions and a weight

/// A file of float64 as numbers.
std::vector<double> read_doubles(std::string_view path) {
  const std::string bytes = read_whole_file(path);
  if (bytes.size() % sizeof(double) != 0)
    throw InputError(fmt::format("{}: {} bytes are no whole number of float64", path, bytes.size()));
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void check_weight(double weight, const std::string& where) {
  if (!std::isfinite(weight) || weight < 0)
    throw InputError(fmt::format("{}: the weight {} must be finite and not negative", where, weight));
}

/// Reads comma-separated numbers of one fixed count a line, with an optional header.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view name) : lines_(text), name_(name) {}

  PointInput read() {
    std::string_view line;
    while (lines_.next(line)) {
      line = trimmed(line);
      if (line.empty() || line.front() == '#') continue;
      split(line);
      if (columns_ == 0) {
        columns_ = cells_.size();
        if (columns_ > kMostColumns) fail(fmt::format("{} columns; at most 16 coordinates and a weight", columns_));
        if (is_header()) continue;
      }
      add_point();
    }
    const std::size_t coordinates = columns_ - (weighted_ ? 1 : 0);
    if (columns_ > 0 && (coordinates == 0 || coordinates > kMostColumns - 1))
      throw InputError(fmt::format("{}: {} coordinates; there must be 1 to 16", name_, coordinates));
    if (columns_ == 0) throw InputError(fmt::format("{}: no points in it", name_));
    input_.dim = static_cast<int>(coordinates);
    return std::move(input_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(fmt::format("{}:{}: {}", name_, lines_.number(), problem));
  }

  void split(std::string_view line) {
    cells_.clear();
    for (std::size_t end = 0; end != std::string_view::npos;) {
      end = line.find(',');
      cells_.push_back(trimmed(line.substr(0, end)));
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
  }

  /// True when the first line holds names: none of its cells is a number.
  bool is_header() {
    for (const std::string_view cell : cells_)
      if (cell.empty() || parse_number<double>(cell)) return false;
    weighted_ = cells_.back() == "weight";
    return true;
  }

  void add_point() {
    if (cells_.size() != columns_) fail(fmt::format("{} columns, but {} before", cells_.size(), columns_));
    for (std::size_t k = 0; k < columns_; ++k) {
      const auto value = parse_number<double>(cells_[k]);
      if (!value) fail(fmt::format("'{}' is no number", cells_[k]));
      if (weighted_ && k + 1 == columns_) {
        check_weight(*value, fmt::format("{}:{}", name_, lines_.number()));
        input_.weights.push_back(*value);
      } else {
        if (!std::isfinite(*value))
          fail(fmt::format("coordinate {} of point {} is {}; coordinates must be finite", k, input_.size, cells_[k]));
        input_.points.push_back(*value);
      }
    }
    ++input_.size;
  }

  Lines lines_;
  std::string_view name_;
  std::size_t columns_ = 0;
  bool weighted_ = false;
  std::vector<std::string_view> cells_;
  PointInput input_;
};

}  // namespace

PointInput csv_input(std::string_view path) {
  const std::string text = read_whole_file(path);
  return CsvReader(text, path).read();
}

PointInput raw_input(std::string_view path, int dim) {
  PointInput input;
  input.dim = dim;
  input.points = read_doubles(path);
  const auto width = static_cast<std::size_t>(dim);
  if (input.points.size() % width != 0)
    throw InputError(fmt::format("{}: {} float64 are no whole number of points of {}", path, input.points.size(), dim));
  input.size = input.points.size() / width;
  for (std::size_t k = 0; k < input.points.size(); ++k)
    if (!std::isfinite(input.points[k]))
      throw InputError(fmt::format("{}: coordinate {} of point {} is {}; coordinates must be finite", path, k % width,
                                   k / width, input.points[k]));
  return input;
}

PointInput graph_input(std::string_view path) {
  GraphFile file = read_graph_file(path);
  PointInput input;
  input.size = file.graph.vertices();
  if (file.constraints == 1) input.weights.assign(file.vertex_weights.begin(), file.vertex_weights.end());
  if (file.constraints > 1)
    input.notes.push_back(fmt::format("{}: {} weights a vertex; none is used", path, file.constraints));
  if (!file.edge_weights.empty()) input.notes.push_back(fmt::format("{}: edge weights are not used", path));
  if (!file.vertex_sizes.empty()) input.notes.push_back(fmt::format("{}: vertex sizes are not used", path));
  input.graph = std::move(file.graph);
  return input;
}

std::vector<double> weights_of_file(std::string_view path, std::size_t n) {
  std::vector<double> weights;
  if (path.ends_with(".csv") || path.ends_with(".txt")) {
    const std::string text = read_whole_file(path);
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      const auto value = parse_number<double>(trimmed(line));
      if (!value) throw InputError(fmt::format("{}:{}: '{}' is no number", path, lines.number(), line));
      check_weight(*value, fmt::format("{}:{}", path, lines.number()));
      weights.push_back(*value);
    }
  } else {
    weights = read_doubles(path);
    for (std::size_t i = 0; i < weights.size(); ++i) check_weight(weights[i], fmt::format("{}: point {}", path, i));
  }
  if (weights.size() != n)
    throw InputError(fmt::format("{}: {} weights for {} points; there must be one a point", path, weights.size(), n));
  return weights;
}

std::vector<std::int32_t> load_parts(std::string_view path, std::size_t n) {
  const std::string text = read_whole_file(path);
  std::vector<std::int32_t> parts;
  parts.reserve(n);
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    const auto part = parse_number<std::int32_t>(trimmed(line));
    if (!part || *part < 0)
      throw InputError(fmt::format("{}:{}: '{}' must be the number of a part", path, lines.number(), line));
    parts.push_back(*part);
  }
  if (parts.size() != n)
    throw InputError(fmt::format("{}: {} parts for {} points; there must be one a point", path, parts.size(), n));
  return parts;
}

}  // namespace amrbench::partitioners
