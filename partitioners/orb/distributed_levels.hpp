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
        weighted_(weighted),
        owners_{tree.leaves, static_cast<std::uint64_t>(comm.size())},
        searcher_(comm, tree, local, weighted, few) {}

  /// Collective; collectives as of CutSearcher a level.
  void run() {
    for (;;) {
      std::vector<CutSearch<T, Dim>> searches;
      std::vector<std::uint32_t> next;  // codes
      std::vector<std::size_t> below;   // cells that were cut give way to their children
      for (const std::size_t c : cells_) {
        const OrbCell<T, Dim>& cell = tree_.cells[c];
        next.push_back(static_cast<std::uint32_t>(below.size()));
        if (!owners_.shared(cell)) {
          below.push_back(c);
          continue;
        }
        below.insert(below.end(), {2 * c, 2 * c + 1});
        CutSearch<T, Dim> search;
        search.number = searches.size();
        search.cell = c;
        search.code = static_cast<std::uint32_t>(next.size() - 1);
        search.axis = cut_axis(cell.box, options_.side_tolerance);
        search.goal = goal_of(tree_, c, weighted_);
        searches.push_back(std::move(search));
      }
      if (searches.empty()) return;
      next.push_back(static_cast<std::uint32_t>(below.size()));
      searcher_.run(searches, std::move(next));
      cells_ = std::move(below);
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
  const OrbOptions& options_;
  OrbTree<T, Dim>& tree_;
  bool weighted_;
  LeafOwners owners_;
  CutSearcher<T, Dim, Local> searcher_;
  std::vector<std::size_t> cells_{1};
};

}  // namespace amrbench::partitioners::detail
