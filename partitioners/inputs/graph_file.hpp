#pragma once
// Reader of graph files as METIS and its relatives take them.
//
// Text. Lines that begin with % are comments. The first other line is `n m [fmt [ncon]]`: vertices, edges, three digits
// that say whether vertex sizes, vertex weights and edge weights are given, and the number of weights a vertex (1 when
// weights are given and ncon is not). Then one line a vertex, which may be empty: [size] [weights] neighbour [weight]
// neighbour [weight] ...; vertices count from 1, every edge stands in both lines.
// Source: METIS 5.1 manual, section 4.1.
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners {

/// A graph and what its file says of vertices and edges.
struct GraphFile {
  Graph graph;
  int constraints = 0;                       ///< weights a vertex; 0: none given
  std::vector<std::int64_t> vertex_weights;  ///< constraints a vertex
  std::vector<std::int64_t> vertex_sizes;    ///< one a vertex, or empty
  std::vector<std::int64_t> edge_weights;    ///< beside graph.adjacent, or empty
};

/// Reads text in memory. `name` stands before line numbers in messages. Throws support::InputError "<name>:<line>: ..."
/// for a header that is none, a number that is none or out of range, a missing or surplus line, a loop, an edge listed
/// twice or on one side only or with two weights, or other than m edges. O(text + edges log(degree)).
GraphFile parse_graph(std::string_view text, std::string_view name);

/// Reads a file; InputError names it when it cannot be read.
GraphFile read_graph_file(const std::filesystem::path& path);

}  // namespace amrbench::partitioners
