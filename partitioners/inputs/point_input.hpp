#pragma once
// Inputs of a partitioner by name: grids, random points, blocks of a mesh, files. The same text gives the same points
// on every machine and on any number of ranks, each of which makes or reads its own stretch.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitioners/graph.hpp"
#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/inputs/stencil_graph.hpp"
#include "partitioners/partitioner.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners {

inline constexpr std::uint64_t kMostPoints = std::uint64_t{1} << 32;

/// What --input names, taken apart.
struct InputSpec {
  enum class Form { generated, grid, table, raw, graph, blocks, sphere, sphere_adaptive, tetrahedra, tetgen };
  Form form = Form::generated;
  std::string text;  ///< as given
  PointKind kind = PointKind::uniform;
  std::uint64_t n = 0, seed = 1;
  int level = 0;  ///< of a sphere's bisection
  int dim = 0;    ///< 0: the file tells
  GridShape grid;
  std::string path;

  /// Whether it is a mesh that brings its own graph with it (mesh_input.hpp).
  [[nodiscard]] bool mesh() const { return form >= Form::sphere; }
};

/// Forms of `text`; D is --dim where the text has none, and 3 without either:
///   grid:768x1152[:9]         the cell centres of a grid, in cell widths, x fastest; a stencil of 5 or 9 points in two
///   grid:200x100x150[:7]      dimensions, 7 or 27 in three, default 5 and 7; the stencil's graph
///   KIND:N[:SEED]             N <= 2^32 points of a kind (generated_points.hpp): uniform, cluster, plummer, field,
///   KIND:N:D:SEED             corner; SEED is 1 unless given
///   sphere:K                  vertices of the icosahedron bisected K times, K to 10 (triangle_mesh.hpp); its graph
///   sphere-adaptive:K         the same with a cap refined, K to 9 (sphere_adaptive.hpp); its graph
///   tetrahedra:N[:SEED]       centroids of the Delaunay tetrahedra of N random points in the unit cube, 4 <= N <= 2^24
///                             (delaunay.hpp); the graph of common faces
///   blocks:PATH               block centres of a mesh, as write_blocks() writes them; weights
///   file:PATH.csv             a point a line (number_file.hpp), weights where a column is called so
///   file:PATH.ele             elements of TetGen, with PATH.node and PATH.neigh (tetgen_file.hpp): as tetrahedra
///   file:PATH.graph, file:PATHgraph.info
///                             a graph (graph_file.hpp) and its vertex weights; no points
///   file:PATH[:D]             any other file: float64 of this machine, D a point, nothing else
/// dim: --dim, 0 where it is not given. Throws support::InputError with one line; opens no file.
InputSpec parse_input(std::string_view text, int dim = 0);

/// A rank's own stretch of an input: points first .. first + here() - 1 of `size`. Owns what it has.
template <class T>
struct PointSlice {
  std::string name;         ///< as given
  std::uint64_t size = 0;   ///< points over all ranks, or vertices where there are no points
  std::uint64_t first = 0;  ///< number of the first one here
  int dim = 0;              ///< 0: no coordinates; the same on every rank, as are:
  bool weighted = false;
  std::optional<GridShape> grid;
  std::optional<BlockGrid> blocks;
  std::vector<std::string> notes;  ///< what of a file was left out

  support::PageBuffer<T> points;  ///< dim a point
  std::vector<double> weights;    ///< one a point here, where weighted
  std::optional<Graph> graph;     ///< the whole, on rank 0 alone

  /// Points here; on rank 0 all vertices where there are no points.
  [[nodiscard]] std::uint64_t here() const {
    return dim > 0 ? points.size() / static_cast<std::size_t>(dim) : (graph ? graph->vertices() : 0);
  }
  /// Views into this object, which must outlive it.
  [[nodiscard]] Problem problem() const requires std::same_as<T, double> {
    return {.points = {points.span(), dim > 0 ? dim : 1},
            .weights = weights,
            .graph = graph ? &*graph : nullptr,
            .blocks = blocks ? &*blocks : nullptr};
  }
};

using PointInput = PointSlice<double>;

/// This rank's stretch: an even share of what is generated and of float64, the lines that begin in an even share of a
/// text's bytes. Graphs of files and meshes are loaded, that of a grid is not (input_graph()).
/// A mesh is made or read by every rank as a whole. Coordinates must be
/// finite and at most 2^500 (float: 2^126) large, weights finite and >= 0; a file must hold a point. Throws
/// support::InputError, the same on every rank: what is wrong with the file, line or point, or what memory it takes
/// where the node has not so much. T: float or double. `threads`: 0 for all. Collective over `comm`; a default
/// Communicator is this process alone.
template <class T>
PointSlice<T> load_slice(const support::Communicator& comm, const InputSpec& spec, int threads = 0);

/// The whole input on this process alone, with the graph of a grid.
PointInput load_input(std::string_view text, int threads = 0);

/// The graph that comes with an input: a grid's. Nothing for others. Of one rank: not collective.
std::optional<Graph> input_graph(const InputSpec& spec, int threads = 0);

/// The file that the text of --weights names; empty for random ones.
std::string weights_path(const std::string& text);

/// This rank's weights of points first .. first + here - 1 of `size`: `random:SEED` (make_weights()), or a file, `PATH`
/// or `file:PATH`: .csv and .txt have a number a line (number_file.hpp), any other float64. Exactly `size`, finite, >=
/// 0: else support::InputError, the same on every rank. Collective.
std::vector<double> load_weights(const support::Communicator& comm, const std::string& text, std::uint64_t size,
                                 std::uint64_t first, std::uint64_t here);

/// This rank's part numbers of a file with a part a line, as METIS and this program write them; exactly `size`. Errors
/// as above, with the line. Collective.
std::vector<std::int32_t> load_parts(const support::Communicator& comm, const std::string& path, std::uint64_t size,
                                     std::uint64_t here);

/// Writes block centres for `blocks:PATH`, atomically: "# root 2 2 2 max_level 4", a header x,y,z,weight (x,y,weight in
/// two dimensions), and a line a block. centres: grid.dim a block, in half cells of the deepest level (BlockGrid);
/// weights: one a block, or empty for 1 each. RunError when it cannot be written. Of one rank: not collective.
void write_blocks(const std::string& path, const BlockGrid& grid, std::span<const double> centres,
                  std::span<const double> weights);

}  // namespace amrbench::partitioners
