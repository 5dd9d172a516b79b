#pragma once
// Graphs of regular grids: a vertex a cell, an edge between cells that a stencil couples.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners {

/// A grid of cells. Cells are numbered with x fastest: cell (x, y, z) is x + extent[0] * (y + extent[1] * z).
struct GridShape {
  int dim = 3;                                  ///< 2 or 3
  std::array<std::int64_t, 3> extent{1, 1, 1};  ///< cells along x, y, z; 1 beyond dim
  int stencil = 7;                              ///< points: 5 or 9 in two dimensions, 7 or 27 in three

  [[nodiscard]] std::int64_t cells() const { return extent[0] * extent[1] * extent[2]; }
};

/// Throws support::InputError unless the shape is as described: every extent at least 1, a stencil of its dimension, at
/// most 2^31 - 1 cells (vertex numbers have 31 bits).
void check_grid(const GridShape& grid);

/// The graph of the grid; the boundary is not periodic. 5 and 7 points: face neighbours; 9 and 27 points: edge and
/// corner neighbours too. Throws as check_grid. O(edges), on `threads` threads (0: all that OpenMP offers).
Graph stencil_graph(const GridShape& grid, int threads = 0);

/// Coordinates of the centres of cells first .. first + centres.size() / dim - 1, dim a cell, in cell widths: 0.5, 1.5,
/// ... T: float or double. Throws as check_grid.
template <class T>
void fill_cell_centres(const GridShape& grid, std::uint64_t first, std::span<T> centres, int threads = 0);

/// Those of all cells. Throws as check_grid.
std::vector<double> cell_centres(const GridShape& grid, int threads = 0);

}  // namespace amrbench::partitioners
