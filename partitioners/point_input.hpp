#pragma once
// Inputs of a partitioner by name: grids, random points, files. The same text gives the same points on every machine.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioners/graph.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/stencil_graph.hpp"

namespace amrbench::partitioners {

/// Points, weights and graph of one input; owns them. What an input has not is empty.
struct PointInput {
  std::string name;            ///< as given
  std::size_t size = 0;        ///< points, or vertices where there are no points
  int dim = 0;                 ///< 0: no coordinates
  std::vector<double> points;  ///< dim a point
  std::vector<double> weights;
  std::optional<GridShape> grid;
  std::optional<Graph> graph;
  std::vector<std::string> notes;  ///< what of a file was left out

  /// Views into this object, which must outlive it.
  [[nodiscard]] Problem problem() const {
    return {.points = {points, dim > 0 ? dim : 1}, .weights = weights, .graph = graph ? &*graph : nullptr};
  }
};

/// Forms of `text`:
///   grid:768x1152[:9]      the cell centres of a grid, in cell widths, x fastest; a stencil of 5 or 9 points in two
///   grid:200x100x150[:7]   dimensions, 7 or 27 in three, default 5 and 7; the stencil's graph
///   uniform:N:D:SEED       N points uniform in the unit cube of D dimensions, 1 to 16
///   cluster:N:D:SEED       the same, but about half of them crowd into the corner at the origin: every coordinate is
///                          0.1 times the product of three uniform ones
///   file:PATH.csv          a point a line, comma between coordinates; the first line may hold names, of which the last
///                          may be `weight`; empty lines and lines that begin with # are skipped
///   file:PATH.graph        a graph (graph_file.hpp) and its vertex weights; no points
///   file:PATH:D            any other file: float64 of this machine, D a point, nothing else
/// Coordinates and weights must be finite, weights >= 0. Throws support::InputError with one line: what is wrong with
/// the text, the file, the line or the point. O(size) time, `threads` threads (0: all) for what is generated.
PointInput load_input(std::string_view text, int threads = 0);

/// Weights for n points: `random:SEED`, uniform in [0.5, 1.5), or a file: PATH.csv or PATH.txt holds one number a line,
/// any other file float64. Throws support::InputError; a file must hold exactly n.
std::vector<double> load_weights(std::string_view text, std::size_t n);

/// A part a line, as METIS and this program write them; exactly n. Throws support::InputError with the line.
std::vector<std::int32_t> load_parts(std::string_view path, std::size_t n);

/// Uniform in [0, 1) with 53 random bits: number `index` of the stream `seed`. Any machine gives the same bits.
double counter_uniform(std::uint64_t seed, std::uint64_t index);

}  // namespace amrbench::partitioners
