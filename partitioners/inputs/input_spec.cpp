// parse_input (point_input.hpp): what the text of --input says, before any file is opened.
#include <fmt/format.h>

#include "partitioners/inputs/mesh_input.hpp"
#include "partitioners/inputs/number_file.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/inputs/sphere_adaptive.hpp"
#include "partitioners/inputs/text_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

constexpr int kUsualDimension = 3;

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

/// The dimension that text and --dim settle; 0 where neither does. 0: not given.
int agreed_dimension(std::string_view text, int in_text, int option) {
  if (in_text != 0 && option != 0 && in_text != option)
    fail(text, fmt::format("has {} dimensions, but --dim is {}", in_text, option));
  return in_text != 0 ? in_text : option;
}

void parse_grid(std::string_view rest, int dim, InputSpec& spec) {
  constexpr std::string_view kForm = "must be grid:NXxNY[:5 or 9] or grid:NXxNYxNZ[:7 or 27]";
  const std::vector<std::string_view> fields = split(rest, ':');
  const std::vector<std::string_view> extents = split(fields[0], 'x');
  if (fields.size() > 2 || extents.size() < 2 || extents.size() > 3) fail(spec.text, kForm);
  GridShape& grid = spec.grid;
  grid.dim = static_cast<int>(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const auto extent = parse_number<std::int64_t>(extents[axis]);
    if (!extent) fail(spec.text, kForm);
    grid.extent[axis] = *extent;
  }
  const auto stencil = fields.size() == 2 ? parse_number<int>(fields[1]) : std::optional(grid.dim == 2 ? 5 : 7);
  if (!stencil) fail(spec.text, kForm);
  grid.stencil = *stencil;
  check_grid(grid);
  spec.form = InputSpec::Form::grid;
  spec.dim = agreed_dimension(spec.text, grid.dim, dim);
  spec.n = static_cast<std::uint64_t>(grid.cells());
}

void parse_generated(std::string_view name, std::string_view rest, int dim, InputSpec& spec) {
  const std::vector<std::string_view> fields = split(rest, ':');
  const auto n = parse_number<std::int64_t>(fields[0]);
  const auto in_text = fields.size() == 3 ? parse_number<int>(fields[1]) : std::optional(0);
  const auto seed = fields.size() > 1 ? parse_number<std::uint64_t>(fields.back()) : std::optional(std::uint64_t{1});
  if (fields.size() > 3 || !n || !in_text || !seed)
    fail(spec.text, fmt::format("must be {0}:N[:SEED] or {0}:N:D:SEED, whole numbers", name));
  if (*n < 0 || static_cast<std::uint64_t>(*n) > kMostPoints) fail(spec.text, "N must be from 0 to 2^32");
  spec.dim = fields.size() == 3 ? *in_text : dim != 0 ? dim : kUsualDimension;
  if (!kind_has_dimension(spec.kind, spec.dim))
    fail(spec.text, fmt::format("{} dimensions; D must be {}", spec.dim,
                                kind_has_dimension(spec.kind, 1) ? "from 1 to 16" : "2 or 3"));
  spec.dim = agreed_dimension(spec.text, spec.dim, dim);
  spec.form = InputSpec::Form::generated;
  spec.n = static_cast<std::uint64_t>(*n);
  spec.seed = *seed;
}

void parse_sphere(std::string_view name, std::string_view rest, int dim, InputSpec& spec) {
  const bool adaptive = name == "sphere-adaptive";
  const int finest = adaptive ? kFinestAdaptive : kFinestSphere;
  const auto level = parse_number<int>(rest);
  if (!level || *level < 0 || *level > finest)
    fail(spec.text, fmt::format("must be {}:K with K from 0 to {}", name, finest));
  spec.form = adaptive ? InputSpec::Form::sphere_adaptive : InputSpec::Form::sphere;
  spec.level = *level;
  spec.n = sphere_vertices(*level);
  spec.dim = agreed_dimension(spec.text, 3, dim);
}

void parse_tetrahedra(std::string_view rest, int dim, InputSpec& spec) {
  const std::vector<std::string_view> fields = split(rest, ':');
  const auto n = parse_number<std::uint64_t>(fields[0]);
  const auto seed = fields.size() == 2 ? parse_number<std::uint64_t>(fields[1]) : std::optional(std::uint64_t{1});
  if (fields.size() > 2 || !n || !seed || *n < 4 || *n > kMostTetraPoints)
    fail(spec.text, "must be tetrahedra:N[:SEED], whole numbers, N from 4 to 2^24");
  spec.form = InputSpec::Form::tetrahedra;
  spec.n = *n;
  spec.seed = *seed;
  spec.dim = agreed_dimension(spec.text, 3, dim);
}

void parse_file(std::string_view rest, int dim, InputSpec& spec) {
  const auto ends = [&](std::string_view suffix) { return spec.path.ends_with(suffix); };
  spec.path = rest;
  const std::size_t colon = rest.rfind(':');
  const auto in_text = colon == std::string_view::npos ? std::nullopt : parse_number<int>(rest.substr(colon + 1));
  if (in_text) {
    spec.path = rest.substr(0, colon);
    if (*in_text < 1 || *in_text > kMostDimensions) fail(spec.text, "D must be from 1 to 16");
  }
  if (spec.path.empty()) fail(spec.text, "the path is missing");
  spec.dim = agreed_dimension(spec.text, in_text.value_or(0), dim);
  if (ends(".ele")) {
    spec.form = InputSpec::Form::tetgen;
    spec.dim = agreed_dimension(spec.text, 3, spec.dim);
    return;
  }
  spec.form = ends(".graph") || ends("graph.info") ? InputSpec::Form::graph
              : ends(".csv")                       ? InputSpec::Form::table
                                                   : InputSpec::Form::raw;
  if (spec.form == InputSpec::Form::graph && spec.dim != 0) fail(spec.text, "a graph has no dimension; leave it out");
  if (spec.form == InputSpec::Form::raw && spec.dim == 0) spec.dim = kUsualDimension;
}

}  // namespace

InputSpec parse_input(std::string_view text, int dim) {
  InputSpec spec;
  spec.text = text;
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (const auto kind = point_kind(name)) {
    spec.kind = *kind;
    parse_generated(name, rest, dim, spec);
  } else if (name == "grid") {
    parse_grid(rest, dim, spec);
  } else if (name == "sphere" || name == "sphere-adaptive") {
    parse_sphere(name, rest, dim, spec);
  } else if (name == "tetrahedra") {
    parse_tetrahedra(rest, dim, spec);
  } else if (name == "file") {
    parse_file(rest, dim, spec);
  } else if (name == "blocks") {
    spec.form = InputSpec::Form::blocks;
    spec.path = rest;
    spec.dim = dim;
    if (rest.empty()) fail(text, "the path is missing");
  } else {
    fail(text,
         "must be grid:NXxNY[xNZ][:STENCIL], KIND:N[:SEED] or KIND:N:D:SEED of the kinds uniform, cluster, plummer, "
         "field "
         "and corner, sphere:K, sphere-adaptive:K, tetrahedra:N[:SEED], blocks:PATH, file:PATH.ele, file:PATH.csv, "
         "file:PATH.graph or file:PATH[:D] (float64)");
  }
  return spec;
}

}  // namespace amrbench::partitioners
