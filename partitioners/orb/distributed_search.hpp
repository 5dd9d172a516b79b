#pragma once
// The cuts of several cells at once, over ranks: what a level of orb_distributed() does.
//
// Each search keeps windows of the order of rule 1, each inside the one before, the last of which is believed to hold
// the cut. The first is a sampled bracket or the whole cell. A pass divides every window by 256, one reduction of
// counts and weights for all cells, until few points are left in each; those go to all ranks, which order them.
// Collectives of a level: 1 a pass, mostly one or two; 2 to order what is left, mostly once.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
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
  using Point = OrbPoint<T, Dim>;

  CutSearcher(const support::Communicator& comm, OrbTree<T, Dim>& tree, Local& local, bool weighted, std::uint64_t few)
      : comm_(comm), tree_(tree), local_(local), weighted_(weighted), few_together_(few) {}

  /// Cuts the cells of all searches that do not miss. The searches are the same on every rank but for positions, and
  /// for `before` of brackets that are not known, which is this rank's share. Collective.
  /// RunError on every rank where passes do not end, which is an error of the local's.
  void run(std::vector<Search>& searches) {
    run_passes_ = 0;
    few_ = std::clamp<std::uint64_t>(few_together_ / std::max<std::size_t>(1, searches.size()), 64, 8192);
    local_.start_level(searches);
    do {
      narrow(searches);
    } while (settle(searches));
  }

  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] int collectives() const { return collectives_; }

 private:
  static constexpr std::size_t kBins = 256;

  using Candidate = CutCandidate<T, Dim>;

  /// More passes than a cut can need: each of up to 5 phases narrows 64 bits by 8 a pass, within a bracket and then in
  /// the whole cell.
  static constexpr int kMostPasses = 2 * 5 * (64 / 8 + 1);

  [[nodiscard]] static std::string endless(const std::vector<Search*>& active) {
    const Search& search = *active.front();
    const Window& w = search.windows.back();
    return fmt::format(
        "orthogonal bisection over ranks: {} passes did not find the cut of {} cells; the first is cell {}, axis {}, "
        "phase {}, keys {} to {}, {} points before and {} inside",
        kMostPasses, active.size(), search.cell, search.axis, w.phase, w.low, w.high, w.before, w.count);
  }

  /// Passes until every window has few points.
  void narrow(std::vector<Search>& searches) {
    const std::size_t bins = weighted_ ? 2 * kBins : kBins;
    const std::size_t width = bins + 3;
    for (;;) {
      std::vector<Search*> active;
      for (auto& search : searches)
        if (search.state == Search::State::open && !search.stepped_back &&
            (!search.known || search.windows.back().count > few_))
          active.push_back(&search);
      if (active.empty()) return;
      ++passes_;
      if (++run_passes_ > kMostPasses) throw support::RunError(endless(active));
      std::vector<std::uint64_t> sums(active.size() * width, 0);
      local_.count(active, weighted_, width, sums);
      for (std::size_t s = 0; s < active.size(); ++s) {
        if (active[s]->known) continue;
        std::uint64_t* const last = sums.data() + (s + 1) * width - 3;
        last[0] = active[s]->windows.back().before;
        last[1] = active[s]->windows.back().weight_before;
        last[2] = active[s]->lost ? 1 : 0;
      }
      support::all_sum(comm_, std::span(sums));
      ++collectives_;
      for (std::size_t s = 0; s < active.size(); ++s) choose(*active[s], std::span(sums).subspan(s * width, width));
    }
  }

  /// The bins around the first point of the right become the window: as many as hold few points, or the one.
  void choose(Search& search, std::span<const std::uint64_t> sums) {
    const auto weight_of = [&](std::size_t bin) { return weighted_ ? sums[kBins + bin] : 0; };
    const auto limit = first_search(search.goal);
    if (!search.known) learn(search, sums);
    const Window& w = search.windows.back();
    if (search.lost) return miss(search);
    if (search.bracket && search.windows.size() == 1) {
      std::uint64_t weight = w.weight_before;
      const bool before = w.before > 0 && limit.reached(w.before, weight);
      for (std::size_t bin = 0; bin < kBins; ++bin) weight += weight_of(bin);
      if (before || !limit.reached(w.before + w.count, weight)) return miss(search);
    }
    if (w.count <= few_) return;
    Window inner = w;
    const int shift = shift_of(w);
    std::size_t first = 0;
    while (first + 1 < kBins &&
           (sums[first] == 0 || !limit.reached(inner.before + sums[first], inner.weight_before + weight_of(first)))) {
      inner.before += sums[first];
      inner.weight_before += weight_of(first);
      ++first;
    }
    std::size_t last = first;
    inner.count = sums[first];
    for (bool grown = true; grown;) {
      grown = false;
      if (first > 0 && inner.count + sums[first - 1] <= few_) {
        --first;
        inner.count += sums[first];
        inner.before -= sums[first];
        inner.weight_before -= weight_of(first);
        grown = true;
      }
      if (last + 1 < kBins && inner.count + sums[last + 1] <= few_) {
        inner.count += sums[++last];
        grown = true;
      }
    }
    shrink(search, inner, first, last, shift);
  }

  /// All ranks' share of what stands before a bracket, and inside.
  static void learn(Search& search, std::span<const std::uint64_t> sums) {
    Window& w = search.windows.back();
    w.before = sums[sums.size() - 3];
    w.weight_before = sums[sums.size() - 2];
    search.lost = sums[sums.size() - 1] > 0;
    w.count = std::accumulate(sums.begin(), sums.begin() + kBins, std::uint64_t{0});
    search.known = true;
  }

  /// Appends `inner`, of bins first .. last of the last window.
  void shrink(Search& search, Window inner, std::size_t first, std::size_t last, int shift) {
    const Window& w = search.windows.back();
    inner.low = w.low + (std::uint64_t{first} << shift);
    const std::uint64_t reach = (std::uint64_t{last - first + 1} << shift) - 1;  // 2^64 - 1 when all 64 bits are in use
    inner.high = reach < w.high - inner.low ? inner.low + reach : w.high;
    if (inner.low == inner.high && inner.count > few_) {  // one key left: order by the next one
      inner.fixed[inner.phase] = inner.low;
      ++inner.phase;
      if (inner.phase == search.axis + 1) inner.fixed[inner.phase] = inner.fixed[0], ++inner.phase;
      inner.low = 0;
      inner.high = most_key<T, Dim>(inner.phase);
    }
    local_.keep(search, inner);
    search.windows.push_back(inner);
    search.listed = true;
  }

  void miss(Search& search) {
    if (search.bracket && search.fallback) {
      search.search_all(tree_.cells[search.cell].box);
    } else {
      search.state = Search::State::missed;
    }
  }

  /// Orders the windows that are not settled on every rank; true when some were too narrow, and must be tried again.
  bool settle(std::vector<Search>& searches) {
    std::vector<Candidate> mine;
    if (std::none_of(searches.begin(), searches.end(), [](const Search& s) { return s.state == Search::State::open; }))
      return false;
    local_.collect(searches, mine);
    std::vector<Candidate> all = support::all_gather_v<Candidate>(comm_, mine);
    collectives_ += 2;
    std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
      if (a.search != b.search) return a.search < b.search;
      return orb_before(a.point, b.point, searches[a.search].axis);
    });
    bool again = false;
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      while (last < all.size() && all[last].search == all[first].search) ++last;
      again |= !cut(searches[all[first].search], std::span(all).subspan(first, last - first));
      first = last;
    }
    return again;
  }

  /// Cuts in the last window, whose points are given in order; false when it must be tried again with another.
  bool cut(Search& search, std::span<const Candidate> points) {
    std::vector<std::uint64_t> weights;
    for (std::size_t k = 0; weighted_ && k < points.size(); ++k) weights.push_back(points[k].weight);
    const Window& w = search.windows.back();
    if (const auto place = cut_in_window(search.goal, {w.before, w.weight_before, points.size()}, weights)) {
      search.pivot = points[place->left].point;
      const T plane = cut_between(points[place->left - 1].point.x[search.axis], search.pivot.x[search.axis]);
      cut_cell(tree_, search.cell, search.axis, plane, w.before + place->left, place->weight_left);
      search.state = Search::State::settled;
      return true;
    }
    search.windows.pop_back();
    search.listed = false;
    search.stepped_back = true;
    if (search.windows.empty()) miss(search);
    return search.state != Search::State::open;
  }

  const support::Communicator& comm_;
  OrbTree<T, Dim>& tree_;
  Local& local_;
  bool weighted_;
  std::uint64_t few_together_;
  std::uint64_t few_ = 0;
  int passes_ = 0;
  int run_passes_ = 0;
  int collectives_ = 0;
};

}  // namespace amrbench::partitioners::detail
