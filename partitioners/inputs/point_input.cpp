#include "partitioners/inputs/point_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "partitioners/check_together.hpp"
#include "partitioners/even_shares.hpp"
#include "partitioners/inputs/block_file.hpp"
#include "partitioners/inputs/graph_file.hpp"
#include "partitioners/inputs/memory_check.hpp"
#include "partitioners/inputs/mesh_input.hpp"
#include "partitioners/inputs/number_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using support::Communicator;
using support::InputError;
using Form = InputSpec::Form;

constexpr std::string_view kRandom = "random:", kFile = "file:";
constexpr std::uint64_t kChunk = std::uint64_t{1} << 17;  // float64 that are read at once

std::uint64_t sum_over(const Communicator& comm, std::uint64_t value) {
  return comm.size() > 1 ? support::all_sum(comm, value) : value;
}

void check_points(const std::string& path, std::uint64_t n) {
  if (n > kMostPoints) throw InputError(fmt::format("{}: {} points; at most 2^32 are possible", path, n));
}

/// Coordinates beyond have distances, or in single precision sides of boxes, that are infinite.
template <class T>
constexpr double kLargestCoordinate = 0x1p500;
template <>
constexpr double kLargestCoordinate<float> = 0x1p126;

[[noreturn]] void refuse_weight(double weight, const std::string& where) {
  throw InputError(fmt::format("{}: the weight {} must be finite and not negative", where, weight));
}
[[noreturn]] void refuse_more(const std::string& where, std::uint64_t points) {
  throw InputError(fmt::format("{}: there are only {} points; there must be one line a point", where, points));
}
bool good_weight(double weight) {
  return std::isfinite(weight) && weight >= 0;
}

/// x as a coordinate; false where it is none.
template <class T>
bool take_coordinate(double x, T& to) {
  if (!(std::abs(x) <= kLargestCoordinate<T>)) return false;
  to = static_cast<T>(x);
  return true;
}

template <class T>
std::string bad_coordinate(std::size_t axis, std::uint64_t point, double value) {
  const std::string is = fmt::format("coordinate {} of point {} is {}; coordinates must be ", axis, point, value);
  if (!std::isfinite(value)) return is + "finite";
  return is + fmt::format("from -{0:.2e} to {0:.2e}{1}", kLargestCoordinate<T>,
                          sizeof(T) < sizeof(double) ? " in single precision" : "");
}

template <class T>
void set_share(const Communicator& comm, std::uint64_t size, PointSlice<T>& slice) {
  slice.size = size;
  slice.first = share_of(size, comm.rank(), comm.size());
  const std::uint64_t here = share_of(size, comm.rank() + 1, comm.size()) - slice.first;
  const auto width = static_cast<std::size_t>(slice.dim);
  const double share = memory_share(comm);
  check_together(comm, [&] {
    check_memory(slice.name, static_cast<double>(here) * static_cast<double>(width) * sizeof(T), share);
  });
  slice.points.grow(here * width);
}

/// Takes the rows of this rank's stretch, one after another.
template <class T>
class RowTaker {
 public:
  RowTaker(const TableForm& form, double memory, PointSlice<T>& slice) : form_(form), memory_(memory), slice_(slice) {}

  void take(std::span<const double> values, const TablePlace& place) {
    std::size_t width = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (k != form_.weight) {
        at_[width++] = values[k];
        continue;
      }
      if (!good_weight(values[k])) refuse_weight(values[k], place.line());
      slice_.weights.push_back(values[k]);
    }
    T* to = place_for(width);
    for (std::size_t axis = 0; axis < width; ++axis)
      if (!take_coordinate(at_[axis], to[axis]))
        throw InputError(place.line() + ": " + bad_coordinate<T>(axis, place.row(), at_[axis]));
    if (slice_.blocks && !is_block_centre(*slice_.blocks, {at_.data(), width}))
      throw InputError(
          fmt::format("{}: no block has its centre there; centres are odd multiples of 2^(max_level - "
                      "level), inside 2 * root * 2^max_level",
                      place.line()));
    ++rows_;
  }
  /// Number of rows.
  std::uint64_t finish() {
    slice_.points.truncate(rows_ * form_.coordinates());
    return rows_;
  }

 private:
  T* place_for(std::size_t width) {
    const std::size_t at = rows_ * width;
    if (at + width > slice_.points.size()) {
      const std::size_t wanted = std::max(2 * at, at + kChunk);  // pages that no row touches take no memory
      check_memory(form_.path, static_cast<double>(at) * sizeof(T), memory_);
      slice_.points.grow(wanted);
    }
    return slice_.points.data() + at;
  }

  const TableForm& form_;
  double memory_;
  PointSlice<T>& slice_;
  std::array<double, kMostDimensions + 1> at_{};
  std::uint64_t rows_ = 0;
};

/// A CSV file, or the centres of blocks.
template <class T>
void load_table(const Communicator& comm, const InputSpec& spec, PointSlice<T>& slice) {
  TableForm form;
  check_together(comm, [&] {
    form = read_table_form(spec.path);
    const std::size_t width = form.coordinates();
    if (width < 1 || width > kMostDimensions)
      throw InputError(fmt::format("{}: {} coordinates; there must be 1 to {}", spec.path, width, kMostDimensions));
    if (spec.form == Form::blocks) slice.blocks = read_block_grid(form);
    if (spec.dim != 0 && static_cast<std::size_t>(spec.dim) != width)
      throw InputError(fmt::format("{}: {} coordinates a point, but {} are asked for (--dim, or behind the path)",
                                   spec.path, width, spec.dim));
    slice.dim = static_cast<int>(width);
  });
  RowTaker<T> taker(form, memory_share(comm), slice);
  check_together(comm, [&] {
    read_rows(form, comm.rank(), comm.size(),
              [&](std::span<const double> values, const TablePlace& place) { taker.take(values, place); });
  });
  const std::uint64_t rows = taker.finish();
  slice.weighted = form.weight.has_value();
  slice.size = sum_over(comm, rows);
  slice.first = comm.size() > 1 ? support::exclusive_sum(comm, rows) : 0;
  if (slice.size == 0) throw InputError(fmt::format("{}: no points in it", form.path));
  check_points(form.path, slice.size);
}

template <class T>
void load_raw(const Communicator& comm, const InputSpec& spec, PointSlice<T>& slice) {
  const auto width = static_cast<std::uint64_t>(spec.dim);
  std::uint64_t numbers = 0;
  check_together(comm, [&] {
    numbers = count_doubles(spec.path);
    if (numbers == 0) throw InputError(fmt::format("{}: no points in it", spec.path));
    if (numbers % width != 0)
      throw InputError(fmt::format("{}: {} float64 are no whole number of points of {}", spec.path, numbers, spec.dim));
    check_points(spec.path, numbers / width);
  });
  slice.dim = spec.dim;
  set_share(comm, numbers / width, slice);
  check_together(comm, [&] {
    std::vector<double> chunk;
    const std::uint64_t first = slice.first * width;
    for (std::uint64_t k = 0; k < slice.points.size(); k += chunk.size()) {
      chunk.resize(std::min<std::uint64_t>(kChunk, slice.points.size() - k));
      read_bytes(spec.path, (first + k) * sizeof(double), chunk.data(), chunk.size() * sizeof(double));
      for (std::size_t i = 0; i < chunk.size(); ++i)
        if (!take_coordinate(chunk[i], slice.points[k + i]))
          throw InputError(fmt::format("{}: {}", spec.path,
                                       bad_coordinate<T>((first + k + i) % width, (first + k + i) / width, chunk[i])));
    }
  });
}

/// A graph lies on rank 0, with the weights of its vertices.
template <class T>
void load_graph(const Communicator& comm, const InputSpec& spec, PointSlice<T>& slice) {
  int constraints = 0;
  check_together(comm, [&] {
    if (!comm.is_root()) return;
    GraphFile file = read_graph_file(spec.path);
    if (file.graph.vertices() == 0) throw InputError(fmt::format("{}: no vertices in it", spec.path));
    constraints = file.constraints;
    if (constraints == 1) slice.weights.assign(file.vertex_weights.begin(), file.vertex_weights.end());
    if (constraints > 1)
      slice.notes.push_back(fmt::format("{}: {} weights a vertex; none is used", spec.path, constraints));
    if (!file.edge_weights.empty()) slice.notes.push_back(fmt::format("{}: edge weights are not used", spec.path));
    if (!file.vertex_sizes.empty()) slice.notes.push_back(fmt::format("{}: vertex sizes are not used", spec.path));
    slice.size = file.graph.vertices();
    slice.graph = std::move(file.graph);
  });
  slice.weighted = sum_over(comm, constraints == 1 ? 1 : 0) > 0;
  slice.size = sum_over(comm, slice.size);
  slice.first = comm.is_root() ? 0 : slice.size;
}

/// A mesh is made or read as a whole by every rank, which keeps its stretch; rank 0 keeps the graph.
template <class T>
void take_mesh(const Communicator& comm, const InputSpec& spec, int threads, PointSlice<T>& slice) {
  const double share = memory_share(comm);
  MeshInput mesh;
  check_together(comm, [&] {
    check_memory(spec.text, mesh_bytes(spec), share);
    mesh = load_mesh(spec, threads);
  });
  set_share(comm, mesh.points.size() / 3, slice);
  const double* from = mesh.points.data() + 3 * slice.first;
  check_together(comm, [&] {
    for (std::size_t k = 0; k < slice.points.size(); ++k)
      if (!take_coordinate(from[k], slice.points[k]))
        throw InputError(fmt::format("{}: {}", spec.text, bad_coordinate<T>(k % 3, slice.first + k / 3, from[k])));
  });
  if (comm.is_root()) slice.graph = std::move(mesh.graph);
}

std::vector<double> weights_by_line(const Communicator& comm, const std::string& path, std::uint64_t size,
                                    std::uint64_t here) {
  std::vector<double> weights;
  check_together(comm, [&] {
    const TableForm form = read_table_form(path);
    if (form.columns != 1)
      throw InputError(fmt::format("{}: {} columns; a weight a line is needed", path, form.columns));
    read_rows(form, comm.rank(), comm.size(), [&](std::span<const double> values, const TablePlace& place) {
      if (!good_weight(values[0])) refuse_weight(values[0], place.line());
      if (weights.size() == size) refuse_more(place.line(), size);
      weights.push_back(values[0]);
    });
  });
  const std::uint64_t all = sum_over(comm, weights.size());
  if (all != size)
    throw InputError(fmt::format("{}: {} weights for {} points; there must be one a point", path, all, size));
  return cut_anew(comm, std::move(weights), here);
}

std::vector<double> weights_by_number(const Communicator& comm, const std::string& path, std::uint64_t size,
                                      std::uint64_t first, std::uint64_t here) {
  std::vector<double> weights;
  check_together(comm, [&] {
    const std::uint64_t all = count_doubles(path);
    if (all != size)
      throw InputError(fmt::format("{}: {} weights for {} points; there must be one a point", path, all, size));
    weights.resize(here);
    read_bytes(path, first * sizeof(double), weights.data(), weights.size() * sizeof(double));
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (!good_weight(weights[i])) refuse_weight(weights[i], fmt::format("{}: point {}", path, first + i));
  });
  return weights;
}

}  // namespace

template <class T>
PointSlice<T> load_slice(const Communicator& comm, const InputSpec& spec, int threads) {
  PointSlice<T> slice;
  slice.name = spec.text;
  slice.dim = spec.dim;
  switch (spec.form) {
    case Form::generated:
      set_share(comm, spec.n, slice);
      make_points<T>(spec.kind, spec.dim, spec.seed, slice.first, slice.points.span(), threads);
      break;
    case Form::grid:
      slice.grid = spec.grid;
      set_share(comm, spec.n, slice);
      fill_cell_centres<T>(spec.grid, slice.first, slice.points.span(), threads);
      break;
    case Form::table:
    case Form::blocks:
      load_table(comm, spec, slice);
      break;
    case Form::raw:
      load_raw(comm, spec, slice);
      break;
    case Form::graph:
      load_graph(comm, spec, slice);
      break;
    default:
      take_mesh(comm, spec, threads, slice);
      break;
  }
  return slice;
}

PointInput load_input(std::string_view text, int threads) {
  const InputSpec spec = parse_input(text);
  auto slice = load_slice<double>(Communicator(), spec, threads);
  if (!slice.graph) slice.graph = input_graph(spec, threads);
  return slice;
}

std::optional<Graph> input_graph(const InputSpec& spec, int threads) {
  if (spec.form != Form::grid) return std::nullopt;
  const auto cells = static_cast<double>(spec.n);
  check_memory(spec.text + ", its graph", cells * (8.0 + 4.0 * (spec.grid.stencil - 1)), memory_share(Communicator()));
  return stencil_graph(spec.grid, threads);
}

std::string weights_path(const std::string& text) {
  if (text.starts_with(kRandom)) return {};
  return text.starts_with(kFile) ? text.substr(kFile.size()) : text;
}

std::vector<double> load_weights(const Communicator& comm, const std::string& text, std::uint64_t size,
                                 std::uint64_t first, std::uint64_t here) {
  const double share = memory_share(comm);
  check_together(comm, [&] { check_memory("--weights " + text, static_cast<double>(here) * sizeof(double), share); });
  if (text.starts_with(kRandom)) {
    const auto seed = parse_number<std::uint64_t>(std::string_view(text).substr(kRandom.size()));
    if (!seed)
      throw InputError(
          fmt::format("--weights {}: must be random:SEED or a file; the seed must be a whole number", text));
    std::vector<double> weights(here);
    make_weights(*seed, first, weights);
    return weights;
  }
  const std::string path = weights_path(text);
  const bool by_line = path.ends_with(".csv") || path.ends_with(".txt");
  return by_line ? weights_by_line(comm, path, size, here) : weights_by_number(comm, path, size, first, here);
}

std::vector<std::int32_t> load_parts(const Communicator& comm, const std::string& path, std::uint64_t size,
                                     std::uint64_t here) {
  std::vector<std::int32_t> parts;
  check_together(comm, [&] {
    const std::uint64_t bytes = regular_file_size(path);
    FileLines lines(path, share_of(bytes, comm.rank(), comm.size()), share_of(bytes, comm.rank() + 1, comm.size()));
    for (std::string_view line; lines.next(line);) {
      const auto part = parse_number<std::int32_t>(trimmed(line));
      if (!part || *part < 0)
        throw InputError(fmt::format("{}:{}: '{}' must be the number of a part", path,
                                     line_number(path, lines.offset()), shown(line)));
      if (parts.size() == size) refuse_more(fmt::format("{}:{}", path, line_number(path, lines.offset())), size);
      parts.push_back(*part);
    }
  });
  const std::uint64_t all = sum_over(comm, parts.size());
  if (all != size)
    throw InputError(fmt::format("{}: {} parts for {} points; there must be one a point", path, all, size));
  return cut_anew(comm, std::move(parts), here);
}

template PointSlice<float> load_slice<float>(const Communicator&, const InputSpec&, int);
template PointSlice<double> load_slice<double>(const Communicator&, const InputSpec&, int);

}  // namespace amrbench::partitioners
