#pragma once
// The cells that several ranks share the leaves of, cut by multiway rounds over ranks until each belongs to one rank.
//
// A round takes all such cells up to 6 levels down: every rank samples its points of them, all ranks make the same
// guesses (round_tree.hpp) from all samples, each walks its own points down, and level by level the cuts are found from
// the points that met brackets (distributed_search.hpp). A node whose bracket misses waits for the next round; a cell's
// root then is searched among all points, so each round cuts every cell at least once. At the end of a round this
// rank's points are grouped by the cells reached.
// Collectives of a round: 2 for the samples, those of distributed_search.hpp a level.
#include <fmt/format.h>

#include <memory>
#include <string>
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

/// What depends on how fast a rank works on its points beside how fast ranks talk.
struct RoundSizes {
  std::uint64_t samples = 1 << 18;  ///< of all cells of a round; each goes to every rank
  std::uint64_t few = 1 << 14;      ///< points near the cuts of a level that go to all ranks
};

/// Local: distributed_types.hpp.
template <class T, int Dim, class Local>
class DistributedRounds {
 public:
  DistributedRounds(const support::Communicator& comm, const OrbOptions& options, OrbTree<T, Dim>& tree, Local& local,
                    bool weighted, RoundSizes sizes = {})
      : comm_(comm),
        options_(options),
        tree_(tree),
        local_(local),
        weighted_(weighted),
        sizes_(sizes),
        owners_{tree.leaves, static_cast<std::uint64_t>(comm.size())} {}

  /// Cuts until no cell is shared. Collective.
  void run() {
    ranges_.assign(1, {1, 0, local_.count_points()});
    for (;; ++rounds_) {
      std::vector<std::size_t> active;
      for (std::size_t k = 0; k < ranges_.size(); ++k)
        if (owners_.shared(tree_.cells[ranges_[k].cell])) active.push_back(k);
      if (active.empty()) break;
      if (rounds_ == kMostRounds) throw support::RunError(endless(active));
      run_round(active);
    }
    if (rounds_ == 0) local_.take_all();
  }

  /// The cells reached, from left to right, the same on every rank but for places; the local has this rank's points in
  /// that order, by number within a cell.
  [[nodiscard]] const std::vector<CellRange>& ranges() const { return ranges_; }
  [[nodiscard]] const LeafOwners& owners() const { return owners_; }
  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] int collectives() const { return collectives_; }

 private:
  using Cell = RoundCell<T, Dim>;
  using Sampled = SampledPoint<T, Dim>;

  /// A round cuts each of its cells once at least, and a tree has at most 32 levels.
  static constexpr int kMostRounds = 40;

  [[nodiscard]] std::string endless(const std::vector<std::size_t>& active) const {
    const std::size_t cell = ranges_[active.front()].cell;
    return fmt::format(
        "orthogonal bisection over ranks: {} rounds left {} cells uncut; the first is cell {} of {} points", rounds_,
        active.size(), cell, tree_.cells[cell].count);
  }

  void run_round(const std::vector<std::size_t>& active) {
    cells_.clear();
    for (const std::size_t k : active) {
      cells_.push_back(std::make_unique<Cell>());
      cells_.back()->range = ranges_[k];
    }
    local_.start_round(cells_);
    sample_and_guess();
    local_.classify();
    CutSearcher<T, Dim, Local> searcher(comm_, tree_, local_, weighted_, sizes_.few);
    for (int level = 0; level < kRoundLevels; ++level) cut_level(level, searcher);
    passes_ += searcher.passes();
    collectives_ += searcher.collectives();
    group(active);
  }

  /// Levels below cell i until no cell is shared.
  [[nodiscard]] int levels_needed(std::size_t i) const {
    const OrbCell<T, Dim>& cell = tree_.cells[i];
    return owners_.shared(cell) ? 1 + std::max(levels_needed(2 * i), levels_needed(2 * i + 1)) : 0;
  }

  /// This rank's part of the sample of cell k, in proportion to its points.
  [[nodiscard]] SampleStretch stretch(std::size_t k, std::uint64_t all_points) const {
    const CellRange& range = cells_[k]->range;
    const std::uint64_t count = tree_.cells[range.cell].count;
    const std::uint64_t here = range.end - range.begin;
    const auto share = static_cast<std::uint64_t>(static_cast<double>(sizes_.samples) * static_cast<double>(count) /
                                                  static_cast<double>(all_points));
    const std::uint64_t wanted = std::min<std::uint64_t>(sample_size(count), share + 1);
    return {static_cast<std::uint32_t>(k), range.begin, here, std::min(here, (wanted * here + count - 1) / count)};
  }

  void sample_and_guess() {
    std::uint64_t all_points = 0;
    for (const auto& cell : cells_) all_points += tree_.cells[cell->range.cell].count;
    std::vector<SampleStretch> stretches;
    for (std::size_t k = 0; k < cells_.size(); ++k) stretches.push_back(stretch(k, all_points));
    std::vector<Sampled> mine;
    local_.sample(stretches, mine);
    std::vector<Sampled> all = support::all_gather_v<Sampled>(comm_, mine);
    collectives_ += 2;
    // By cell, in the order of ranks, and so of numbers; a point's number now is its place, for its weight.
    if (cells_.size() > 1)
      std::stable_sort(all.begin(), all.end(), [](const Sampled& a, const Sampled& b) { return a.cell < b.cell; });
    std::vector<OrbPoint<T, Dim>> points;
    std::vector<std::uint64_t> weights;
    std::vector<std::size_t> counts(cells_.size(), 0);
    for (const Sampled& s : all) {
      points.push_back(s.point);
      points.back().id = static_cast<std::uint32_t>(weights.size());
      weights.push_back(s.weight);
      ++counts[s.cell];
    }
    std::size_t begin = 0;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      const std::size_t i = cells_[k]->range.cell;
      const OrbCell<T, Dim>& cell = tree_.cells[i];
      cells_[k]->guess.guess(std::span(points).subspan(begin, counts[k]),
                             SampleWeights{weighted_ ? weights.data() : nullptr}, cell.leaves, cell.box,
                             options_.side_tolerance, 1, levels_needed(i));
      cells_[k]->guess.rename([&](std::uint32_t place) { return all[place].point.id; });
      begin += counts[k];
      for (std::size_t v = 1; v < std::size_t{1} << cells_[k]->guess.levels(); ++v)
        cells_[k]->wanted[v] = owners_.shared(tree_.cells[cells_[k]->heap(v)]);
    }
  }

  /// Cuts the shared cells of one level below the round's cells.
  void cut_level(int level, CutSearcher<T, Dim, Local>& searcher) {
    std::vector<CutSearch<T, Dim>> searches;
    const std::size_t first = std::size_t{1} << level;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      const Cell& cell = *cells_[k];
      if (level >= cell.guess.levels()) continue;
      for (std::size_t v = first; v < 2 * first; ++v)
        if ((v == 1 || cell.resolved[v / 2]) && cell.wanted[v]) add_search(k, v, searches);
    }
    if (searches.empty()) return;
    searcher.run(searches);
    std::vector<SettledCut<T, Dim>> settled;
    for (const CutSearch<T, Dim>& search : searches) {
      if (search.state != CutSearch<T, Dim>::State::settled) continue;
      Cell& cell = *cells_[search.round_cell];
      cell.resolved[search.node] = true;
      if (!search.bracket) cell.make_single_level();
      settled.push_back({search.round_cell, search.node, search.number, search.bracket, search.axis, search.pivot});
    }
    local_.apply(settled);
  }

  /// Without anything to go by the node waits for the next round.
  void add_search(std::size_t k, std::size_t v, std::vector<CutSearch<T, Dim>>& searches) const {
    const Cell& cell = *cells_[k];
    const std::size_t i = cell.heap(v);
    const OrbBox<T, Dim>& box = tree_.cells[i].box;
    const RoundNode<T, Dim>& node = cell.guess.node(v);
    CutSearch<T, Dim> search;
    search.number = searches.size();
    search.cell = i;
    search.round_cell = k;
    search.node = v;
    search.axis = cut_axis(box, options_.side_tolerance);
    search.goal = goal_of(tree_, i, weighted_);
    search.fallback = v == 1;
    if (node.inner && node.axis == search.axis) {
      const auto a = static_cast<std::size_t>(search.axis);
      search.bracket = true;
      search.windows.push_back({.low = ordered_bits(std::max(node.low, box.lower[a])),
                                .high = ordered_bits(std::min(node.high, box.upper[a])),
                                .before = cell.passed[2 * v],
                                .weight_before = cell.passed_weight[2 * v]});
    } else if (v == 1) {
      search.search_all(box);
    } else {
      return;
    }
    searches.push_back(std::move(search));
  }

  /// The ranges of the cells reached replace those of the round's cells.
  void group(const std::vector<std::size_t>& active) {
    std::vector<CellSlots> slots(cells_.size());
    std::vector<CellRange> ranges;
    std::size_t next = 0;
    for (std::size_t k = 0; k < ranges_.size(); ++k) {
      if (next < active.size() && active[next] == k) {
        slots[next] = cells_[next]->slots();
        ranges.insert(ranges.end(), slots[next].ranges.begin(), slots[next].ranges.end());
        ++next;
      } else {
        ranges.push_back(ranges_[k]);
      }
    }
    ranges_ = std::move(ranges);
    local_.group(slots);
  }

  const support::Communicator& comm_;
  const OrbOptions& options_;
  OrbTree<T, Dim>& tree_;
  Local& local_;
  bool weighted_;
  RoundSizes sizes_;
  LeafOwners owners_;
  std::vector<CellRange> ranges_;
  std::vector<std::unique_ptr<Cell>> cells_;  ///< of the round
  int rounds_ = 0;
  int passes_ = 0;
  int collectives_ = 0;
};

}  // namespace amrbench::partitioners::detail
