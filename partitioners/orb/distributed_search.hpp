#pragma once
// The cuts of several cells at once, over ranks: what a level of orb_distributed() does.
//
// Each search keeps windows of the order of rule 1, each inside the one before, the last of which is believed to hold
// the cut. The first is the whole cell. A pass divides every window by 2048, one reduction of counts and weights
// for all cells, until few points are left in each; those go to all ranks, which order them.
// Collectives of a level: 1 a pass, mostly one to three; 2 to order what is left, mostly once.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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

  /// Cuts the cells of all searches, at least one, which have no windows yet and are the same on every rank.
  /// Collective. RunError on every rank where passes do not end, which is an error of the local's.
  void run(std::vector<Search>& searches) {
    few_ = std::clamp<std::uint64_t>(few_together_ / searches.size(), 64, 8192);
    for (Search& search : searches) {
      Window all{.count = search.goal.count};
      start_phase(search, all);
      search.windows.push_back(all);
    }
    do {
      narrow(searches);
    } while (settle(searches));
  }

  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] int collectives() const { return collectives_; }

 private:
  using Candidate = CutCandidate<T, Dim>;

  /// More passes than a cut can need: each of up to 5 phases narrows 64 bits by 10 a pass at least.
  static constexpr int kMostPasses = 5 * (64 / 10 + 1);

  [[nodiscard]] static std::string endless(const std::vector<Search*>& active) {
    const Search& search = *active.front();
    const Window& w = search.windows.back();
    return fmt::format(
        "orthogonal bisection over ranks: {} passes did not find the cut of {} cells; the first is cell {}, axis {}, "
        "phase {}, keys {} to {}, {} points before and {} inside",
        kMostPasses, active.size(), search.cell, search.axis, w.phase, w.low, w.high, w.before, w.count);
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

  /// Passes until every window has few points.
  void narrow(std::vector<Search>& searches) {
    const std::size_t width = weighted_ ? 2 * kBins : kBins;
    for (int passes = 0;; ++passes) {
      std::vector<Search*> active;
      for (Search& search : searches)
        if (!search.settled && !search.stepped_back && search.windows.back().count > few_) active.push_back(&search);
      if (active.empty()) return;
      if (passes == kMostPasses) throw support::RunError(endless(active));
      std::vector<std::uint64_t> sums(active.size() * width, 0);
      local_.count(active, weighted_, sums);
      support::all_sum(comm_, std::span(sums));
      ++passes_;
      ++collectives_;
      std::vector<Search*> narrowed;
      for (std::size_t s = 0; s < active.size(); ++s)
        if (choose(*active[s], std::span(sums).subspan(s * width, width))) narrowed.push_back(active[s]);
      if (narrowed.empty()) continue;
      local_.keep(narrowed);
      for (Search* const search : narrowed) search->listed = true;
    }
  }

  /// The bins around the first point of the right become the window: as many as hold few points, or the one, and its
  /// neighbour where the cut may lie between the two. Is a list of its points worth while?
  bool choose(Search& search, std::span<const std::uint64_t> sums) const {
    const auto weight_of = [&](std::size_t bin) { return weighted_ ? sums[kBins + bin] : 0; };
    const auto limit = first_search(search.goal);
    const Window& w = search.windows.back();
    Window inner = w;
    std::size_t first = 0;
    while (first + 1 < kBins &&
           (sums[first] == 0 || !limit.reached(inner.before + sums[first], inner.weight_before + weight_of(first)))) {
      inner.before += sums[first];
      inner.weight_before += weight_of(first);
      ++first;
    }
    std::size_t last = first;
    inner.count = sums[first];
    bool begins = search.goal.weight == 0 && inner.before == search.goal.unit();
    bool ends = search.goal.weight > 0 && inner.weight_before + weight_of(first) == limit.weight;
    for (bool grown = true; grown;) {
      grown = false;
      if (first > 0 && (begins || inner.count + sums[first - 1] <= few_)) {
        --first;
        inner.count += sums[first];
        inner.before -= sums[first];
        inner.weight_before -= weight_of(first);
        begins = begins && sums[first] == 0;
        grown = true;
      }
      if (last + 1 < kBins && (ends || inner.count + sums[last + 1] <= few_)) {
        inner.count += sums[++last];
        ends = ends && sums[last] == 0;
        grown = true;
      }
    }
    const int shift = shift_of(w, kBinBits);
    inner.low = w.low + (std::uint64_t{first} << shift);
    const std::uint64_t reach = (std::uint64_t{last - first + 1} << shift) - 1;  // 2^64 - 1 when all 64 bits are in use
    inner.high = reach < w.high - inner.low ? inner.low + reach : w.high;
    if (inner.count > few_) end_phases(search, inner);
    const bool fewer = search.listed ? inner.count < w.count : inner.count <= search.goal.count / 4 * 3;
    search.windows.push_back(inner);
    return fewer;
  }

  /// Orders the windows that are not settled on every rank; true when some were too narrow, and must be tried again.
  bool settle(std::vector<Search>& searches) {
    std::vector<Candidate> mine;
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

  /// Cuts in the last window, whose points are given in order; false when it must be tried again with another, which
  /// the whole cell never must.
  bool cut(Search& search, std::span<const Candidate> points) {
    std::vector<std::uint64_t> weights;
    for (std::size_t k = 0; weighted_ && k < points.size(); ++k) weights.push_back(points[k].weight);
    const Window& w = search.windows.back();
    const auto place = cut_in_window(search.goal, {w.before, w.weight_before, points.size()}, weights);
    search.settled = place.has_value();
    if (place) {
      search.pivot = points[place->left].point;
      const T plane = cut_between(points[place->left - 1].point.x[search.axis], search.pivot.x[search.axis]);
      cut_cell(tree_, search.cell, search.axis, plane, w.before + place->left, place->weight_left);
    } else {
      search.windows.pop_back();
      search.listed = false;
      search.stepped_back = true;
    }
    return search.settled;
  }

  const support::Communicator& comm_;
  OrbTree<T, Dim>& tree_;
  Local& local_;
  bool weighted_;
  std::uint64_t few_together_;
  std::uint64_t few_ = 0;
  int passes_ = 0;
  int collectives_ = 0;
};

}  // namespace amrbench::partitioners::detail
