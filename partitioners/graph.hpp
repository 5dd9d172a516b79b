#pragma once
// An undirected graph in compressed rows, as METIS and Scotch take it and as quality is measured on it.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace amrbench::partitioners {

/// Vertex v's neighbours are adjacent[offsets[v] .. offsets[v + 1]), ascending, without v itself; every edge stands in
/// both rows. A vertex's number is its point's.
struct Graph {
  std::vector<std::int64_t> offsets{0};  ///< vertices + 1
  std::vector<std::int32_t> adjacent;

  [[nodiscard]] std::size_t vertices() const { return offsets.size() - 1; }
  [[nodiscard]] std::size_t edges() const { return adjacent.size() / 2; }
};

}  // namespace amrbench::partitioners
