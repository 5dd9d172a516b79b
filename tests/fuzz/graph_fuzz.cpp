// Graphs in METIS's format.
#include "partitioners/inputs/graph_file.hpp"
#include "tests/fuzz/targets.hpp"

namespace amrbench::fuzz {

void graph(std::string_view bytes) {
  partitioners::GraphFile file;
  if (!accepts([&] { file = partitioners::parse_graph(bytes, "fuzz.graph"); })) return;
  const partitioners::Graph& g = file.graph;
  const auto vertices = static_cast<std::int64_t>(g.vertices());
  promise(g.offsets.front() == 0 && g.offsets.back() == static_cast<std::int64_t>(g.adjacent.size()),
          "rows do not cover the edges");
  for (std::size_t v = 0; v < g.vertices(); ++v)
    promise(g.offsets[v] <= g.offsets[v + 1], "a row ends before it begins");
  for (const std::int32_t w : g.adjacent) promise(w >= 0 && w < vertices, "a neighbour is no vertex");
  promise(file.vertex_weights.size() == g.vertices() * static_cast<std::size_t>(file.constraints),
          "weights are missing");
}

}  // namespace amrbench::fuzz
