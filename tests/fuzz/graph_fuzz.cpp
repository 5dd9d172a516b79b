// Graphs in METIS's format; TetGen's meshes.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "partitioners/inputs/graph_file.hpp"
#include "partitioners/inputs/tetgen_file.hpp"
#include "tests/fuzz/targets.hpp"

namespace amrbench::fuzz {

namespace {

void promise_rows(const partitioners::Graph& g) {
  const auto vertices = static_cast<std::int64_t>(g.vertices());
  promise(g.offsets.front() == 0 && g.offsets.back() == static_cast<std::int64_t>(g.adjacent.size()),
          "rows do not cover the edges");
  for (std::size_t v = 0; v < g.vertices(); ++v)
    promise(g.offsets[v] <= g.offsets[v + 1], "a row ends before it begins");
  for (const std::int32_t w : g.adjacent) promise(w >= 0 && w < vertices, "a neighbour is no vertex");
}

}  // namespace

void graph(std::string_view bytes) {
  partitioners::GraphFile file;
  if (!accepts([&] { file = partitioners::parse_graph(bytes, "fuzz.graph"); })) return;
  promise_rows(file.graph);
  promise(file.vertex_weights.size() == file.graph.vertices() * static_cast<std::size_t>(file.constraints),
          "weights are missing");
}

/// Three files, with a line of % between them: .node, .ele, .neigh.
void tetgen(std::string_view bytes) {
  const ScratchFile elements("mesh.ele", "");
  const std::string stem = elements.path().substr(0, elements.path().size() - 4);
  const auto part = [&bytes] {
    const std::string_view head = bytes.substr(0, bytes.find("%\n"));
    bytes.remove_prefix(std::min(bytes.size(), head.size() + 2));
    return head;
  };
  const ScratchFile nodes("mesh.node", part()), same("mesh.ele", part()), neighbours("mesh.neigh", part());
  partitioners::MeshInput mesh;
  if (!accepts([&] { mesh = partitioners::read_tetgen(stem + ".ele"); })) return;
  promise_rows(mesh.graph);
  promise(mesh.points.size() == 3 * mesh.graph.vertices(), "an element has no centroid");
  promise(std::all_of(mesh.points.begin(), mesh.points.end(), [](double x) { return std::isfinite(x); }),
          "a centroid is not finite");
}

}  // namespace amrbench::fuzz
