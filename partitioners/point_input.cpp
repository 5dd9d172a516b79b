#include "partitioners/point_input.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <limits>

#include "partitioners/point_file.hpp"
#include "partitioners/text_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

constexpr std::int64_t kMostPoints = std::numeric_limits<std::uint32_t>::max();  // an order's entries have 32 bits
constexpr int kMostDimensions = 16;

/// The mixing function of splitmix64 (Steele, Lea, Flood 2014): a bijection whose output looks random.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

[[noreturn]] void fail(std::string_view text, std::string_view problem) {
  throw InputError(fmt::format("--input {}: {}", text, problem));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

GridShape parse_grid(std::string_view text, std::string_view rest) {
  constexpr std::string_view kForm = "must be grid:NXxNY[:5 or 9] or grid:NXxNYxNZ[:7 or 27]";
  const std::vector<std::string_view> fields = split(rest, ':');
  const std::vector<std::string_view> extents = split(fields[0], 'x');
  if (fields.size() > 2 || extents.size() < 2 || extents.size() > 3) fail(text, kForm);
  GridShape grid;
  grid.dim = static_cast<int>(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const auto extent = parse_number<std::int64_t>(extents[axis]);
    if (!extent) fail(text, kForm);
    grid.extent[axis] = *extent;
  }
  const auto stencil = fields.size() == 2 ? parse_number<int>(fields[1]) : std::optional(grid.dim == 2 ? 5 : 7);
  if (!stencil) fail(text, kForm);
  grid.stencil = *stencil;
  check_grid(grid);
  return grid;
}

PointInput load_grid(std::string_view text, std::string_view rest, int threads) {
  PointInput input;
  input.grid = parse_grid(text, rest);
  input.dim = input.grid->dim;
  input.size = static_cast<std::size_t>(input.grid->cells());
  input.points = cell_centres(*input.grid, threads);
  input.graph = stencil_graph(*input.grid, threads);
  return input;
}

/// Point i of dimension dim takes numbers i * stride .. of the stream, so no point depends on another.
void fill_random(PointInput& input, std::uint64_t seed, bool cluster, int threads) {
  const auto dim = static_cast<std::uint64_t>(input.dim);
  const std::uint64_t stride = cluster ? 3 * dim + 1 : dim;
  const auto n = static_cast<std::int64_t>(input.size);
#pragma omp parallel for schedule(static) num_threads(threads > 0 ? threads : omp_get_max_threads())
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t next = static_cast<std::uint64_t>(i) * stride;
    const bool crowded = cluster && counter_uniform(seed, next++) < 0.5;
    double* point = input.points.data() + static_cast<std::size_t>(i) * dim;
    for (std::uint64_t d = 0; d < dim; ++d) {
      point[d] = counter_uniform(seed, next++);
      // Products of uniforms crowd towards 0 and need nothing but multiplications, which round alike everywhere.
      if (crowded) point[d] = 0.1 * (point[d] * counter_uniform(seed, next) * counter_uniform(seed, next + 1));
      if (crowded) next += 2;
    }
  }
}

PointInput load_random(std::string_view text, std::string_view rest, bool cluster, int threads) {
  const std::string_view kind = cluster ? "cluster" : "uniform";
  const std::vector<std::string_view> fields = split(rest, ':');
  const auto n = parse_number<std::int64_t>(fields[0]);
  const auto dim = fields.size() == 3 ? parse_number<int>(fields[1]) : std::nullopt;
  const auto seed = fields.size() == 3 ? parse_number<std::uint64_t>(fields[2]) : std::nullopt;
  if (!n || !dim || !seed) fail(text, fmt::format("must be {}:N:D:SEED, three whole numbers", kind));
  if (*n < 0 || *n > kMostPoints) fail(text, fmt::format("N must be from 0 to {}", kMostPoints));
  if (*dim < 1 || *dim > kMostDimensions) fail(text, fmt::format("D must be from 1 to {}", kMostDimensions));
  PointInput input;
  input.dim = *dim;
  input.size = static_cast<std::size_t>(*n);
  input.points.resize(input.size * static_cast<std::size_t>(*dim));
  fill_random(input, *seed, cluster, threads);
  return input;
}

PointInput load_file(std::string_view text, std::string_view rest) {
  if (rest.ends_with(".graph")) return graph_input(rest);
  if (rest.ends_with(".csv")) return csv_input(rest);
  const std::size_t colon = rest.rfind(':');
  const auto dim = colon == std::string_view::npos ? std::nullopt : parse_number<int>(rest.substr(colon + 1));
  if (!dim) fail(text, "a file of float64 needs its dimension, file:PATH:D; text files end in .csv, graphs in .graph");
  if (*dim < 1 || *dim > kMostDimensions) fail(text, fmt::format("D must be from 1 to {}", kMostDimensions));
  return raw_input(rest.substr(0, colon), *dim);
}

}  // namespace

double counter_uniform(std::uint64_t seed, std::uint64_t index) {
  constexpr double kUnit = 0x1p-53;
  return static_cast<double>(mix(mix(seed) ^ index) >> 11) * kUnit;
}

PointInput load_input(std::string_view text, int threads) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  PointInput input;
  if (kind == "grid") {
    input = load_grid(text, rest, threads);
  } else if (kind == "uniform" || kind == "cluster") {
    input = load_random(text, rest, kind == "cluster", threads);
  } else if (kind == "file") {
    input = load_file(text, rest);
  } else {
    fail(text,
         "must be grid:NXxNY[xNZ][:STENCIL], uniform:N:D:SEED, cluster:N:D:SEED, file:PATH.csv, file:PATH.graph or "
         "file:PATH:D (float64)");
  }
  input.name = text;
  return input;
}

std::vector<double> load_weights(std::string_view text, std::size_t n) {
  constexpr std::string_view kRandom = "random:";
  if (!text.starts_with(kRandom)) return weights_of_file(text, n);
  const auto seed = parse_number<std::uint64_t>(text.substr(kRandom.size()));
  if (!seed) throw InputError(fmt::format("--weights {}: must be random:SEED or a file", text));
  std::vector<double> weights(n);
  for (std::size_t i = 0; i < n; ++i) weights[i] = 0.5 + counter_uniform(*seed, i);
  return weights;
}

}  // namespace amrbench::partitioners
