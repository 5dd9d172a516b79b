#pragma once
// The cells that several ranks share the leaves of, cut level by level until each belongs to one rank.
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_search.hpp"

namespace amrbench::partitioners::detail {

/// Leaves in even stretches: rank r owns leaves * r / ranks up to, not including, leaves * (r + 1) / ranks.
struct LeafOwners {
  std::uint64_t leaves = 1;
  std::uint64_t ranks = 1;

  [[nodiscard]] std::uint32_t first_leaf(std::uint64_t rank) const {
    return static_cast<std::uint32_t>(leaves * rank / ranks);
  }
  [[nodiscard]] std::uint64_t owner(std::uint64_t leaf) const { return ((leaf + 1) * ranks - 1) / leaves; }
  /// Do several ranks own leaves of this cell?
  template <class T, int Dim>
  [[nodiscard]] bool shared(const OrbCell<T, Dim>& cell) const {
    return owner(cell.first_leaf) != owner(cell.first_leaf + std::uint64_t{cell.leaves} - 1);
  }
};

/// A cell of the tree, and where this rank's points of it stand.
struct CellRange {
  std::size_t cell = 1;
  std::uint64_t begin = 0, end = 0;
};

/// Local: distributed_types.hpp.
template <class T, int Dim, class Local>
class SharedLevels {
 public:
  /// few: as of CutSearcher.
  SharedLevels(const support::Communicator& comm, const OrbOptions& options, OrbTree<T, Dim>& tree, Local& local,
               bool weighted, std::uint64_t few)
      : options_(options),
        tree_(tree),
        local_(local),
        weighted_(weighted),
        owners_{tree.leaves, static_cast<std::uint64_t>(comm.size())},
        searcher_(comm, tree, local, weighted, few) {}

  /// Collective; collectives as of CutSearcher a level.
  void run() {
    for (std::vector<Search> searches = start_level(); !searches.empty(); searches = start_level()) {
      searcher_.run(searches);
      end_level(searches);
    }
  }

  /// The cells reached, from left to right, the same on every rank, with this rank's points one cell after another.
  /// counts: of its points in each.
  [[nodiscard]] std::vector<CellRange> ranges(std::span<const std::uint64_t> counts) const {
    std::vector<CellRange> ranges;
    std::uint64_t begin = 0;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      ranges.push_back({cells_[k], begin, begin + counts[k]});
      begin += counts[k];
    }
    return ranges;
  }
  [[nodiscard]] const LeafOwners& owners() const { return owners_; }
  [[nodiscard]] int passes() const { return searcher_.passes(); }
  [[nodiscard]] int collectives() const { return searcher_.collectives(); }

 private:
  using Search = CutSearch<T, Dim>;

  [[nodiscard]] std::vector<Search> start_level() const {
    std::vector<Search> searches;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      const OrbCell<T, Dim>& cell = tree_.cells[cells_[k]];
      if (!owners_.shared(cell)) continue;
      Search search;
      search.number = searches.size();
      search.cell = cells_[k];
      search.code = static_cast<std::uint32_t>(k);
      search.axis = cut_axis(cell.box, options_.side_tolerance);
      search.goal = goal_of(tree_, cells_[k], weighted_);
      searches.push_back(std::move(search));
    }
    return searches;
  }

  /// Cells that were cut give way to their children.
  void end_level(std::span<const Search> searches) {
    std::vector<CellPart<T, Dim>> parts;
    std::vector<std::size_t> below;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      const auto code = static_cast<std::uint32_t>(below.size());
      if (searches.empty() || searches.front().code != k) {
        parts.push_back({code, 0, 0, {}});
        below.push_back(cells_[k]);
        continue;
      }
      parts.push_back({code, 1, searches.front().axis, *searches.front().first_right});
      below.push_back(2 * cells_[k]);
      below.push_back(2 * cells_[k] + 1);
      searches = searches.subspan(1);
    }
    cells_ = std::move(below);
    local_.part(parts);
  }

  const OrbOptions& options_;
  OrbTree<T, Dim>& tree_;
  Local& local_;
  bool weighted_;
  LeafOwners owners_;
  CutSearcher<T, Dim, Local> searcher_;
  std::vector<std::size_t> cells_{1};
};

}  // namespace amrbench::partitioners::detail
