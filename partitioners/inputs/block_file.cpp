#include "partitioners/inputs/block_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "partitioners/inputs/point_input.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

constexpr int kDeepest = 40;

/// Half cells of the deepest level along an axis. A double, for a file may ask for more than 64 bits hold.
double half_cells(const BlockGrid& grid, int axis) {
  return std::ldexp(2.0 * grid.root[static_cast<std::size_t>(axis)], grid.max_level);
}

}  // namespace

BlockGrid read_block_grid(const TableForm& form) {
  const auto fail = [&](const std::string& problem) {
    throw InputError(fmt::format("{}: {}; its first line must be: # root NX NY [NZ] max_level L", form.path, problem));
  };
  std::string_view rest = form.comment;
  if (take_word(rest) != "root") fail("the first line does not tell the mesh");
  BlockGrid grid;
  grid.dim = 0;
  std::string_view word = take_word(rest);
  for (; word != "max_level" && !word.empty(); word = take_word(rest)) {
    const auto extent = parse_number<std::uint32_t>(word);
    if (!extent || *extent == 0 || grid.dim == 3) fail(fmt::format("root has '{}'", word));
    grid.root[static_cast<std::size_t>(grid.dim++)] = *extent;
  }
  if (grid.dim < 2) fail(fmt::format("root has {} extents", grid.dim));
  const std::string_view level = take_word(rest);
  const auto deepest = parse_number<int>(level);
  if (!deepest || *deepest < 0 || *deepest > kDeepest || !trimmed(rest).empty())
    fail(fmt::format("max_level is '{}', must be 0 to {}", level, kDeepest));
  grid.max_level = *deepest;
  for (int a = 0; a < grid.dim; ++a)
    if (half_cells(grid, a) > 0x1p53)
      fail(fmt::format("root {} with max_level {} is beyond what a double counts",
                       grid.root[static_cast<std::size_t>(a)], grid.max_level));
  if (form.coordinates() != static_cast<std::size_t>(grid.dim))
    throw InputError(
        fmt::format("{}: {} coordinates a block, but the root grid has {} extents; the columns must be "
                    "x,y{},weight",
                    form.path, form.coordinates(), grid.dim, grid.dim == 3 ? ",z" : ""));
  return grid;
}

bool is_block_centre(const BlockGrid& grid, std::span<const double> centre) {
  std::uint64_t half = 0;  // of an edge: the lowest bit of every coordinate
  for (std::size_t a = 0; a < centre.size(); ++a) {
    const double x = centre[a];
    if (!(x >= 1 && x < half_cells(grid, static_cast<int>(a)) && x == std::floor(x))) return false;
    const auto whole = static_cast<std::uint64_t>(x);
    const std::uint64_t lowest = whole & (~whole + 1);
    if (a > 0 && lowest != half) return false;
    half = lowest;
  }
  return half <= std::uint64_t{1} << grid.max_level;
}

void write_blocks(const std::string& path, const BlockGrid& grid, std::span<const double> centres,
                  std::span<const double> weights) {
  const auto dim = static_cast<std::size_t>(grid.dim);
  std::string text = "# root";
  for (std::size_t a = 0; a < dim; ++a) text += fmt::format(" {}", grid.root[a]);
  text += fmt::format(" max_level {}\n{}\n", grid.max_level, dim == 3 ? "x,y,z,weight" : "x,y,weight");
  for (std::size_t i = 0; i < centres.size() / dim; ++i) {
    for (std::size_t a = 0; a < dim; ++a) text += fmt::format("{:.0f},", centres[i * dim + a]);
    text += fmt::format("{}\n", weights.empty() ? 1.0 : weights[i]);
  }
  support::write_file_atomically(path, text, support::Existing::replace);
}

}  // namespace amrbench::partitioners
