#pragma once
// A partition under refinement: loads, cuts and volumes of its parts, exact after every move. Included by refine/ only.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/refine/move_change.hpp"
#include "partitioners/refine/refine.hpp"

namespace amrbench::partitioners::refine {

class PartState {
 public:
  /// Counts everything once, with threads, and notes the border. graph and part are borrowed; weights: as of
  /// weights.hpp, or empty.
  PartState(const Graph& graph, std::vector<std::uint64_t> weights, int parts, RefineGoal goal, int threads,
            std::span<std::int32_t> part);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  /// Vertices with an edge to another part as they were at first, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& first_border() const { return first_border_; }
  [[nodiscard]] RefineGoal goal() const { return goal_; }
  [[nodiscard]] std::size_t parts() const { return load_.size(); }
  [[nodiscard]] std::int32_t part_of(std::int32_t v) const { return part_[static_cast<std::size_t>(v)]; }
  /// Asks for memory: part_of(v) is called soon.
  void fetch_part(std::int32_t v) const { __builtin_prefetch(&part_[static_cast<std::size_t>(v)]); }
  [[nodiscard]] std::uint64_t weight(std::int32_t v) const {
    return weights_.empty() ? 1 : weights_[static_cast<std::size_t>(v)];
  }
  [[nodiscard]] std::uint64_t heaviest_vertex() const { return heaviest_vertex_; }
  [[nodiscard]] std::uint64_t total_load() const { return total_load_; }
  [[nodiscard]] std::uint64_t load(std::int32_t p) const { return load_[static_cast<std::size_t>(p)]; }
  [[nodiscard]] std::int64_t count(std::int32_t p) const { return count_[static_cast<std::size_t>(p)]; }
  [[nodiscard]] std::int64_t cut(std::int32_t p) const { return cut_[static_cast<std::size_t>(p)]; }
  /// Of goal volume only.
  [[nodiscard]] std::int64_t volume(std::int32_t p) const { return volume_[static_cast<std::size_t>(p)]; }
  /// What the goal counts of a part.
  [[nodiscard]] std::int64_t goal_of(std::int32_t p) const { return goal_ == RefineGoal::cut ? cut(p) : volume(p); }
  /// Sums over parts: every cut edge counts twice.
  [[nodiscard]] std::int64_t cut_sum() const { return cut_sum_; }
  [[nodiscard]] std::int64_t volume_sum() const { return volume_sum_; }
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] std::uint64_t heaviest_part() const;
  [[nodiscard]] BoundaryMeasures measures() const;

  /// Moves a vertex that is in move.from. O(degree), of goal volume O(sum of the neighbours' degrees).
  void apply(const VertexMove& move);

  /// From now on above_watch() tells whether a part's goal or cut is above these; none is now.
  void watch(std::int64_t goal_most, std::int64_t cut_most);
  [[nodiscard]] bool above_watch() const { return above_ != 0; }

 private:
  void count_all(int threads);
  void change(std::vector<std::int64_t>& measure, std::int32_t p, std::int64_t by, std::int64_t most);

  const Graph& graph_;
  std::vector<std::uint64_t> weights_;
  RefineGoal goal_;
  std::span<std::int32_t> part_;
  std::vector<std::int32_t> first_border_;
  std::vector<std::uint64_t> load_;
  std::vector<std::int64_t> count_;
  std::vector<std::int64_t> cut_;
  std::vector<std::int64_t> volume_;
  std::int64_t cut_sum_ = 0;  ///< every cut edge twice
  std::int64_t volume_sum_ = 0;
  std::uint64_t total_load_ = 0;
  std::uint64_t heaviest_vertex_ = 1;
  std::int64_t volume_watch_ = 0;
  std::int64_t cut_watch_ = 0;
  std::int64_t above_ = 0;  ///< measures above what is watched
  FewParts few_;
};

}  // namespace amrbench::partitioners::refine
