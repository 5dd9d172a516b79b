#pragma once
// The cells that several ranks share the leaves of, cut level by level until each belongs to one rank; of a level all
// cuts at once.
//
// Each search looks for one point of its cell by the order of rule 1: the last of the first k that a limit asks for
// (weight_search.hpp). Its window, at first the whole cell, holds that point. A pass divides every window by 2048, one
// reduction of counts and weights for all cells, until few points are left in each; those go to all ranks, which order
// them. Mostly they hold the cut, and the points on both sides of it. Else another search looks for what is missing.
// A level reads all points twice: to count them, and to give those beside the windows their next codes. The rest goes
// by lists of those inside. Collectives of a level: 1 a pass, mostly one to three; 2 to order what is left, mostly
// once.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_types.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners::detail {

/// Local: what works on this rank's points (distributed_types.hpp). few: points in all windows together that go to all
/// ranks to be ordered.
template <class T, int Dim, class Local>
class CutSearcher {
 public:
  using Search = CutSearch<T, Dim>;

  CutSearcher(const support::Communicator& comm, OrbTree<T, Dim>& tree, Local& local, bool weighted, std::uint64_t few)
      : comm_(comm), tree_(tree), local_(local), weighted_(weighted), few_together_(few) {}

  /// Cuts the cells of all searches, at least one, new and the same on every rank, and gives all points their next
  /// codes. Collective. RunError on every rank where passes do not end, which is an error of the local's.
  void run(std::vector<Search>& searches, std::vector<std::uint32_t> next) {
    next_ = std::move(next);
    few_ = std::clamp<std::uint64_t>(few_together_ / searches.size(), 64, 8192);
    for (Search& search : searches) {
      if (search.goal.weight == 0) search.place = CutPlace{search.goal.unit(), weighted_ ? 0 : search.goal.unit()};
      start(search, first_search(search.goal));
    }
    for (int round = 0;; ++round) {
      narrow(searches);
      const Search* const open = settle(searches);
      if (open == nullptr) break;
      if (round == kMostSearches) throw endless(*open);
    }
    std::vector<Search*> all;
    for (Search& search : searches) {
      search.window = window_of(*search.first_right, search.axis);
      all.push_back(&search);
    }
    split(all, searches);
  }

  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] int collectives() const { return collectives_; }

 private:
  using Candidate = CutCandidate<T, Dim>;

  /// More passes than a cut can need: each of up to 5 phases narrows 64 bits by 10 a pass at least.
  static constexpr int kMostPasses = 5 * (64 / 10 + 1);
  /// By weight twice, then for a point on either side.
  static constexpr int kMostSearches = 4;

  [[nodiscard]] static support::RunError endless(const Search& search) {
    const Window& w = search.window;
    return support::RunError(
        fmt::format("bisection over ranks does not find the cut of cell {}: phase {}, keys {} to {}", search.cell,
                    w.phase, w.low, w.high));
  }

  /// Looks for a point, in the whole cell.
  void start(Search& search, const LimitSearch<std::uint64_t>& limit) const {
    search.limit = limit;
    search.listed = false;
    search.window = {.count = search.goal.count};
    start_phase(search, search.window);
    const OrbBox<T, Dim>& box = tree_.cells[search.cell].box;
    const auto a = static_cast<std::size_t>(search.axis);
    search.scale = value_scale(box.lower[a], box.upper[a]);
  }

  /// The keys that a cell's points can have in the window's phase.
  void start_phase(const Search& search, Window& w) const {
    if (w.phase > Dim) {
      w.low = 0;
      w.high = tree_.cells[1].count - 1;
    } else {
      const OrbBox<T, Dim>& box = tree_.cells[search.cell].box;
      const auto a = static_cast<std::size_t>(w.phase == 0 ? search.axis : w.phase - 1);
      w.low = ordered_bits(box.lower[a]);
      w.high = ordered_bits(box.upper[a]);
    }
    end_phases(search, w);
  }
  /// While one key is left: orders by the next one.
  void end_phases(const Search& search, Window& w) const {
    if (w.low != w.high || w.phase > Dim) return;
    w.fixed[w.phase] = w.low;
    ++w.phase;
    if (w.phase == search.axis + 1) w.fixed[w.phase] = w.fixed[0], ++w.phase;
    start_phase(search, w);
  }

  /// Passes until every window has few points, which are in lists then.
  void narrow(std::vector<Search>& searches) {
    const std::size_t width = weighted_ ? 2 * kBins : kBins;
    const auto many = [&](const Search& search) { return search.window.count > few_; };
    std::vector<Search*> active = unsettled(searches, many);
    for (int passes = 0; !active.empty(); active = unsettled(searches, many), ++passes) {
      if (passes == kMostPasses) throw endless(*active.front());
      std::vector<std::uint64_t> sums(active.size() * width, 0);
      local_.count(active, weighted_, sums);
      support::all_sum(comm_, std::span(sums));
      ++passes_;
      ++collectives_;
      std::vector<Search*> narrowed;
      for (std::size_t s = 0; s < active.size(); ++s)
        if (choose(*active[s], std::span(sums).subspan(s * width, width))) narrowed.push_back(active[s]);
      split(narrowed, searches);
    }
    split(unsettled(searches, [](const Search& search) { return !search.listed; }), searches);
  }

  /// Searches that are not settled and wanted, in the order that the local wants.
  template <class Wanted>
  [[nodiscard]] static std::vector<Search*> unsettled(std::vector<Search>& searches, Wanted&& wanted) {
    std::vector<Search*> some;
    for (const bool listed : {false, true})
      for (Search& search : searches)
        if (!search.settled && search.listed == listed && wanted(search)) some.push_back(&search);
    return some;
  }

  /// At the windows of some of a level's searches.
  void split(std::span<Search* const> some, std::vector<Search>& all) {
    if (some.empty()) return;
    local_.split(some, next_);
    for (Search* const search : some) search->listed = true;
    for (Search& search : all) {
      search.code = next_[search.code];
      search.codes = 2;
    }
    next_.resize(std::size_t{next_.back()} + 1);
    std::iota(next_.begin(), next_.end(), 0U);
  }

  /// The bin of the point becomes the window, and those around it as far as they hold few points together. Is a list of
  /// its points worth while?
  bool choose(Search& search, std::span<const std::uint64_t> sums) const {
    const auto weight_of = [&](std::size_t bin) { return weighted_ ? sums[kBins + bin] : 0; };
    const Window w = search.window;
    Window inner = w;
    std::size_t first = 0;
    while (first + 1 < kBins &&
           !search.limit.reached(inner.before + sums[first], inner.weight_before + weight_of(first))) {
      inner.before += sums[first];
      inner.weight_before += weight_of(first);
      ++first;
    }
    std::size_t last = first;
    inner.count = sums[first];
    for (; first > 0 && inner.count + sums[first - 1] <= few_; inner.count += sums[first]) {
      --first;
      inner.before -= sums[first];
      inner.weight_before -= weight_of(first);
    }
    while (last + 1 < kBins && inner.count + sums[last + 1] <= few_) inner.count += sums[++last];
    const KeyBins<T, std::uint64_t> bins(w.low, w.high, search.scale);
    inner.low = bins.first(first);
    inner.high = bins.first(last + 1) - 1;
    search.scale = 0;
    if (inner.count > few_) end_phases(search, inner);
    search.window = inner;
    return search.listed ? inner.count < w.count : inner.count <= search.goal.count / 4 * 3;
  }

  /// Orders the windows that are not settled on every rank; a search that goes on, if one does.
  const Search* settle(std::vector<Search>& searches) {
    std::vector<Candidate> mine;
    local_.collect(searches, mine);
    std::vector<Candidate> all = support::all_gather_v<Candidate>(comm_, mine);
    collectives_ += 2;
    std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
      if (a.search != b.search) return a.search < b.search;
      return orb_before(a.point, b.point, searches[a.search].axis);
    });
    const Search* open = nullptr;
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      while (last < all.size() && all[last].search == all[first].search) ++last;
      Search& search = searches[all[first].search];
      if (!cut(search, std::span(all).subspan(first, last - first))) open = &search;
      first = last;
    }
    return open;
  }

  /// Reads from the window, whose points are given in order, where the cut lies and what stands beside it; false when
  /// it does not tell all, and another search has started.
  bool cut(Search& search, std::span<const Candidate> points) {
    const Window& w = search.window;
    if (!search.place) {
      std::vector<std::uint64_t> weights;
      for (const Candidate& candidate : points) weights.push_back(candidate.weight);
      const auto verdict = decide_cut<std::uint64_t>(search.goal, search.limit, w.before, w.weight_before,
                                                     points.size(), weights.data());
      if (verdict.kind != VerdictKind::cut) {  // never `outside`: the window holds the point
        start(search, verdict.search);
        return false;
      }
      search.place = CutPlace{w.before + verdict.left, verdict.weight_left};
    }
    const std::uint64_t left = search.place->left - w.before;
    if (left < points.size()) search.first_right = points[left].point;
    if (left > 0) search.last_left = points[left - 1].point.x[search.axis];
    search.settled = search.first_right && search.last_left;
    if (search.settled)
      cut_cell(tree_, search.cell, search.axis, cut_between(*search.last_left, search.first_right->x[search.axis]),
               search.place->left, search.place->weight_left);
    else
      start(search, by_number(search.place->left - (search.first_right ? 1 : 0)));
    return search.settled;
  }

  /// Asks for the point that so many stand before.
  [[nodiscard]] static LimitSearch<std::uint64_t> by_number(std::uint64_t before) {
    return {SearchPhase::right, 0, before + 1, std::numeric_limits<std::uint64_t>::max()};
  }

  const support::Communicator& comm_;
  OrbTree<T, Dim>& tree_;
  Local& local_;
  bool weighted_;
  std::uint64_t few_together_;
  std::uint64_t few_ = 0;
  std::vector<std::uint32_t> next_;  ///< of the local's split()
  int passes_ = 0;
  int collectives_ = 0;
};

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
