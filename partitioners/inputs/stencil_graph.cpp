#include "partitioners/inputs/stencil_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

/// The offsets of a stencil's points in ascending order of the neighbour's number, the centre left out.
struct Stencil {
  std::vector<std::array<int, 3>> steps;
  bool box = false;  ///< edge and corner neighbours too
};

Stencil make_stencil(const GridShape& grid) {
  Stencil stencil;
  stencil.box = grid.stencil == 9 || grid.stencil == 27;
  const int depth = grid.dim == 3 ? 1 : 0;
  for (int z = -depth; z <= depth; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        const int length = x * x + y * y + z * z;
        if (length == 1 || (stencil.box && length > 0)) stencil.steps.push_back({x, y, z});
      }
  return stencil;
}

/// A cell's neighbours along an axis, itself included, are 3 inside, 2 at an end, 1 where the extent is 1.
std::int64_t reach(std::int64_t position, std::int64_t extent) {
  return 1 + (position > 0 ? 1 : 0) + (position + 1 < extent ? 1 : 0);
}

/// Neighbours of all cells (x, y, z) with 0 <= x < nx together.
std::int64_t row_degree(const GridShape& grid, bool box, std::int64_t y, std::int64_t z) {
  const std::int64_t nx = grid.extent[0];
  const std::int64_t along_x = 3 * nx - 2;  // the sum of reach() over x
  const std::int64_t ry = reach(y, grid.extent[1]);
  const std::int64_t rz = reach(z, grid.extent[2]);
  if (box) return along_x * ry * rz - nx;
  return (along_x - nx) + nx * (ry - 1) + nx * (rz - 1);
}

bool inside(const GridShape& grid, std::int64_t x, std::int64_t y, std::int64_t z) {
  return x >= 0 && x < grid.extent[0] && y >= 0 && y < grid.extent[1] && z >= 0 && z < grid.extent[2];
}

/// Fills the rows of the cells (0 .. nx - 1, y, z), whose first entry is at offsets[first cell].
void fill_row(const GridShape& grid, const Stencil& stencil, std::int64_t y, std::int64_t z, Graph& graph) {
  const std::int64_t nx = grid.extent[0];
  const std::int64_t ny = grid.extent[1];
  const std::int64_t first = nx * (y + ny * z);
  std::int64_t at = graph.offsets[static_cast<std::size_t>(first)];
  for (std::int64_t x = 0; x < nx; ++x) {
    graph.offsets[static_cast<std::size_t>(first + x)] = at;
    for (const auto& step : stencil.steps) {
      if (!inside(grid, x + step[0], y + step[1], z + step[2])) continue;
      graph.adjacent[static_cast<std::size_t>(at++)] =
          static_cast<std::int32_t>(first + x + step[0] + nx * (step[1] + ny * step[2]));
    }
  }
}

}  // namespace

void check_grid(const GridShape& grid) {
  const bool flat = grid.dim == 2;
  if (!flat && grid.dim != 3) throw InputError(fmt::format("grid: {} dimensions; must be 2 or 3", grid.dim));
  const int small = flat ? 5 : 7;
  const int large = flat ? 9 : 27;
  if (grid.stencil != small && grid.stencil != large)
    throw InputError(fmt::format("grid: a stencil of {} points; in {} dimensions it must be {} or {}", grid.stencil,
                                 grid.dim, small, large));
  constexpr std::int64_t kMostCells = std::numeric_limits<std::int32_t>::max();
  std::int64_t cells = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t extent = grid.extent[static_cast<std::size_t>(axis)];
    if (extent < 1 || (axis >= grid.dim && extent != 1))
      throw InputError(fmt::format("grid: extent {} along axis {}; must be at least 1", extent, axis));
    if (extent > kMostCells / cells)
      throw InputError(fmt::format("grid: more than {} cells; vertices are numbered in 31 bits", kMostCells));
    cells *= extent;
  }
}

Graph stencil_graph(const GridShape& grid, int threads) {
  check_grid(grid);
  const Stencil stencil = make_stencil(grid);
  const std::int64_t nx = grid.extent[0];
  const std::int64_t ny = grid.extent[1];
  const std::int64_t rows = ny * grid.extent[2];
  Graph graph;
  graph.offsets.resize(static_cast<std::size_t>(grid.cells()) + 1);
  // First the entry where each row of cells begins, then rows fill themselves independently.
  std::int64_t entries = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    graph.offsets[static_cast<std::size_t>(row * nx)] = entries;
    entries += row_degree(grid, stencil.box, row % ny, row / ny);
  }
  graph.offsets.back() = entries;
  graph.adjacent.resize(static_cast<std::size_t>(entries));
#pragma omp parallel for schedule(static) num_threads(team_size(threads))
  for (std::int64_t row = 0; row < rows; ++row) fill_row(grid, stencil, row % ny, row / ny, graph);
  return graph;
}

template <class T>
void fill_cell_centres(const GridShape& grid, std::uint64_t first, std::span<T> centres, int threads) {
  check_grid(grid);
  const auto nx = static_cast<std::uint64_t>(grid.extent[0]);
  const auto ny = static_cast<std::uint64_t>(grid.extent[1]);
  const auto dim = static_cast<std::size_t>(grid.dim);
  const std::uint64_t end = first + centres.size() / dim;
#pragma omp parallel for schedule(static) num_threads(team_size(threads))
  for (std::uint64_t row = first / nx; row < (end + nx - 1) / nx; ++row) {
    const std::uint64_t y = row % ny, z = row / ny;
    for (std::uint64_t cell = std::max(first, row * nx); cell < std::min(end, (row + 1) * nx); ++cell) {
      T* out = centres.data() + (cell - first) * dim;
      out[0] = static_cast<T>(static_cast<double>(cell - row * nx) + 0.5);
      out[1] = static_cast<T>(static_cast<double>(y) + 0.5);
      if (dim == 3) out[2] = static_cast<T>(static_cast<double>(z) + 0.5);
    }
  }
}

std::vector<double> cell_centres(const GridShape& grid, int threads) {
  check_grid(grid);
  std::vector<double> centres(static_cast<std::size_t>(grid.cells()) * static_cast<std::size_t>(grid.dim));
  fill_cell_centres<double>(grid, 0, centres, threads);
  return centres;
}

template void fill_cell_centres<float>(const GridShape&, std::uint64_t, std::span<float>, int);
template void fill_cell_centres<double>(const GridShape&, std::uint64_t, std::span<double>, int);

}  // namespace amrbench::partitioners
