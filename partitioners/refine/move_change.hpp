#pragma once
// What the move of one vertex changes in the measures of parts. Included by refine/ only.
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners::refine {

inline std::span<const std::int32_t> neighbours(const Graph& graph, std::int32_t v) {
  const auto at = static_cast<std::size_t>(v);
  const auto begin = static_cast<std::size_t>(graph.offsets[at]);
  return {graph.adjacent.data() + begin, static_cast<std::size_t>(graph.offsets[at + 1]) - begin};
}

/// A vertex that goes from one part to another.
struct VertexMove {
  std::int32_t vertex = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
};

/// Parts seen at one vertex: few.
class FewParts {
 public:
  void clear() { seen_.clear(); }
  /// True the first time.
  bool insert(std::int32_t part) {
    for (const std::int32_t p : seen_)
      if (p == part) return false;
    seen_.push_back(part);
    return true;
  }
  [[nodiscard]] std::span<const std::int32_t> all() const { return seen_; }

 private:
  std::vector<std::int32_t> seen_;
};

/// Edge cuts of both parts when a vertex leaves one of them: of its `degree` edges, `stays` go to the part that it
/// leaves and `joins` to the one that it enters. No other part's cut changes, for an edge to a third part is cut before
/// and after.
struct CutChange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  [[nodiscard]] std::int64_t total() const { return (from + to) / 2; }
};
inline CutChange cut_change(std::int64_t degree, std::int64_t stays, std::int64_t joins) {
  return {2 * stays - degree, degree - 2 * joins};
}

/// Calls emit(part, change) for the communication volumes that a move changes, a part perhaps several times. The move
/// is still to be made in part_of(vertex). O(sum of the neighbours' degrees).
template <class PartOf, class Emit>
void volume_change(const Graph& graph, const VertexMove& move, const PartOf& part_of, FewParts& few, const Emit& emit) {
  few.clear();
  std::int64_t others_before = 0, others_after = 0;  // distinct parts beside the vertex's own
  for (const std::int32_t w : neighbours(graph, move.vertex)) {
    const std::int32_t q = part_of(w);
    if (!few.insert(q)) continue;
    if (q != move.from) ++others_before;
    if (q != move.to) ++others_after;
  }
  emit(move.from, -others_before);
  emit(move.to, others_after);
  // A neighbour loses sight of `from` when the vertex was all it saw of it, and sees `to` from now on.
  for (const std::int32_t w : neighbours(graph, move.vertex)) {
    const std::int32_t own = part_of(w);
    bool sees_from = own == move.from, sees_to = own == move.to;
    for (const std::int32_t x : neighbours(graph, w)) {
      if (sees_from && sees_to) break;
      if (x == move.vertex) continue;
      const std::int32_t q = part_of(x);
      sees_from = sees_from || q == move.from;
      sees_to = sees_to || q == move.to;
    }
    if (!sees_from) emit(own, std::int64_t{-1});
    if (!sees_to) emit(own, std::int64_t{1});
  }
}

}  // namespace amrbench::partitioners::refine
