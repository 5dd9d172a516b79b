#include "partitioners/orb/distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "partitioners/check_together.hpp"
#include "partitioners/orb/distributed_window.hpp"
#include "partitioners/orb/tree.hpp"
#include "partitioners/orb/weights.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using detail::in_window;
using detail::key;
using detail::most_key;
using detail::ordered;
using detail::shift_of;
using detail::Window;
using support::Communicator;
using support::InputError;
__extension__ typedef unsigned __int128 Wide;  // weights below 2^63 times leaf counts

constexpr std::uint64_t kFewPoints = 512;  ///< of a window that goes to all ranks
constexpr std::size_t kBins = 256;

template <class T, int Dim>
struct Search {
  std::size_t cell = 0;
  int axis = 0;
  OrbGoal goal;
  std::vector<Window> windows;        ///< each inside the one before
  std::vector<std::uint32_t> inside;  ///< this rank's points in the last window, unless that is the whole cell
  bool listed = false;                ///< whether `inside` is that of the last window
  bool settled = false;
  OrbPoint<T, Dim> pivot{};
};

template <class T, int Dim>
class Distributed {
 public:
  using Point = OrbPoint<T, Dim>;

  Distributed(const Communicator& comm, const OrbOptions& options, OrbDistributed<T, Dim>& result,
              std::vector<Point> items, const std::uint64_t* weights, std::uint64_t first, bool weighted)
      : comm_(comm),
        options_(options),
        result_(result),
        tree_(result.tree),
        items_(std::move(items)),
        weights_(weights),
        first_(static_cast<std::uint32_t>(first)),
        weighted_(weighted) {
    begin_.assign(tree_.cells.size(), 0);
    end_.assign(tree_.cells.size(), 0);
    end_[1] = items_.size();
  }

  void run() {
    const auto start = std::chrono::steady_clock::now();
    for (int level = 0; level < orb_depth(tree_.leaves); ++level) cut_level(level);
    for (const std::uint32_t c : tree_.leaf_cell)
      for (std::size_t i = begin_[c]; i < end_[c]; ++i)
        result_.labels[items_[i].id - first_] = tree_.cells[c].first_leaf;
    const auto moving = std::chrono::steady_clock::now();
    move();
    const auto end = std::chrono::steady_clock::now();
    result_.cut_s = std::chrono::duration<double>(moving - start).count();
    result_.move_s = std::chrono::duration<double>(end - moving).count();
  }

 private:
  [[nodiscard]] std::uint64_t weight(const Point& p) const { return weights_ ? weights_[p.id - first_] : 1; }
  /// Calls f(i) for this rank's points in the last window, or in the whole cell when they are not listed.
  template <class F>
  void for_inside(const Search<T, Dim>& search, F&& f) const {
    if (search.listed) {
      for (const std::uint32_t i : search.inside) f(i);
    } else {
      for (std::size_t i = begin_[search.cell]; i < end_[search.cell]; ++i) f(static_cast<std::uint32_t>(i));
    }
  }
  void cut_level(int level) {
    std::vector<Search<T, Dim>> searches;
    const std::size_t first = std::size_t{1} << level;
    for (std::size_t i = first; i < std::min(2 * first, tree_.cells.size()); ++i) {
      const OrbCell<T, Dim>& cell = tree_.cells[i];
      if (cell.leaves == 1) continue;
      Search<T, Dim> search;
      search.cell = i;
      search.axis = cut_axis(cell.box, options_.side_tolerance);
      search.goal = goal_of(tree_, i, weighted_);
      const auto a = static_cast<std::size_t>(search.axis);
      search.windows.push_back(
          {.low = ordered(cell.box.lower[a]), .high = ordered(cell.box.upper[a]), .count = cell.count});
      searches.push_back(std::move(search));
    }
    narrow(searches);
    while (settle(searches)) {
    }
    partition(searches);
  }

  /// Passes until every window has few points.
  void narrow(std::vector<Search<T, Dim>>& searches) {
    for (;;) {
      std::vector<Search<T, Dim>*> active;
      for (auto& search : searches)
        if (search.windows.back().count > kFewPoints) active.push_back(&search);
      if (active.empty()) return;
      ++result_.passes;
      const std::size_t width = weighted_ ? 2 * kBins : kBins;
      std::vector<std::uint64_t> sums(active.size() * width, 0);
      for (std::size_t s = 0; s < active.size(); ++s) {
        const Search<T, Dim>& search = *active[s];
        const Window& w = search.windows.back();
        const int shift = shift_of(w);
        std::uint64_t* counts = &sums[s * width];
        for_inside(search, [&](std::uint32_t i) {
          const std::size_t bin = (key(items_[i], w.phase, search.axis) - w.low) >> shift;
          ++counts[bin];
          if (weighted_) counts[kBins + bin] += weight(items_[i]);
        });
      }
      support::all_sum(comm_, std::span(sums));
      for (std::size_t s = 0; s < active.size(); ++s) choose(*active[s], std::span(sums).subspan(s * width, width));
    }
  }

  /// The bin that holds the first point of the right becomes the window.
  void choose(Search<T, Dim>& search, std::span<const std::uint64_t> sums) {
    const Window& w = search.windows.back();
    Window inner = w;
    const int shift = shift_of(w);
    const Wide target = Wide{search.goal.weight} * search.goal.leaves_left;
    std::size_t bin = 0;
    for (;; ++bin) {
      const std::uint64_t count = sums[bin];
      const std::uint64_t after = inner.before + count;
      bool here = !weighted_ && search.goal.unit() < after;
      if (weighted_) {
        const Wide reached = Wide{inner.weight_before + sums[kBins + bin]} * search.goal.leaves;
        here = count > 0 && after >= search.goal.least() && (reached >= target || after >= search.goal.most());
      }
      if (here || bin + 1 == kBins) break;
      inner.before = after;
      if (weighted_) inner.weight_before += sums[kBins + bin];
    }
    inner.count = sums[bin];
    inner.low = w.low + (std::uint64_t{bin} << shift);
    inner.high = std::min(w.high, inner.low + ((std::uint64_t{1} << shift) - 1));
    if (shift == 0) {  // one key left: order by the next one
      inner.fixed[inner.phase] = inner.low;
      ++inner.phase;
      if (inner.phase == search.axis + 1) inner.fixed[inner.phase] = inner.fixed[0], ++inner.phase;
      inner.low = 0;
      inner.high = most_key<T, Dim>(inner.phase);
    }
    std::vector<std::uint32_t> kept;
    for_inside(search, [&](std::uint32_t i) {
      if (in_window(items_[i], inner, search.axis)) kept.push_back(i);
    });
    search.windows.push_back(inner);
    search.inside = std::move(kept);
    search.listed = true;
  }

  /// Orders the windows of all cells that are not settled on every rank; true when a window was too narrow and the one
  /// around it must be tried.
  bool settle(std::vector<Search<T, Dim>>& searches) {
    struct Candidate {
      Point point;
      std::uint32_t search;
      std::uint64_t weight;
    };
    std::vector<Candidate> mine;
    for (std::size_t s = 0; s < searches.size(); ++s) {
      const Search<T, Dim>& search = searches[s];
      if (search.settled) continue;
      for_inside(search, [&](std::uint32_t i) {
        if (search.listed || in_window(items_[i], search.windows.back(), search.axis))
          mine.push_back({items_[i], static_cast<std::uint32_t>(s), weight(items_[i])});
      });
    }
    std::vector<Candidate> all = support::all_gather_v<Candidate>(comm_, mine);
    std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
      if (a.search != b.search) return a.search < b.search;
      return orb_before(a.point, b.point, searches[a.search].axis);
    });
    bool again = false;
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      while (last < all.size() && all[last].search == all[first].search) ++last;
      Search<T, Dim>& search = searches[all[first].search];
      std::vector<std::uint64_t> weights;
      for (std::size_t k = first; weighted_ && k < last; ++k) weights.push_back(all[k].weight);
      const Window& w = search.windows.back();
      const auto left = cut_in_window(search.goal, {w.before, w.weight_before, last - first}, weights);
      if (left) {
        std::uint64_t weight_left = w.before + *left;
        if (weighted_)
          weight_left =
              std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(*left), w.weight_before);
        search.pivot = all[first + *left].point;
        const T plane = cut_between(all[first + *left - 1].point.x[search.axis], search.pivot.x[search.axis]);
        cut_cell(tree_, search.cell, search.axis, plane, w.before + *left, weight_left);
        search.settled = true;
      } else {
        search.windows.pop_back();
        search.listed = false;
        search.inside.clear();
        again = true;
      }
      first = last;
    }
    return again;
  }

  void partition(const std::vector<Search<T, Dim>>& searches) {
    for (const Search<T, Dim>& search : searches) {
      const std::size_t c = search.cell;
      // Stable: the left part closes up in place, the right part waits aside; both targets written, one kept, no
      // branch.
      right_.resize(std::max(right_.size(), end_[c] - begin_[c] + 1));
      Point* left = items_.data() + begin_[c];
      Point* right = right_.data();
      for (std::size_t i = begin_[c]; i < end_[c]; ++i) {
        const Point p = items_[i];
        const bool goes_left = orb_before(p, search.pivot, search.axis);
        *left = p;
        *right = p;
        left += goes_left ? 1 : 0;
        right += goes_left ? 0 : 1;
      }
      const auto middle = static_cast<std::size_t>(left - items_.data());
      std::copy(right_.data(), right, left);
      begin_[2 * c] = begin_[c];
      end_[2 * c] = begin_[2 * c + 1] = middle;
      end_[2 * c + 1] = end_[c];
    }
  }

  /// Leaves go to ranks in even stretches; one message a pair of ranks.
  void move() {
    const auto ranks = static_cast<std::uint64_t>(comm_.size());
    const auto first_leaf = [&](std::uint64_t rank) { return static_cast<std::uint32_t>(tree_.leaves * rank / ranks); };
    std::vector<Point> send;
    send.reserve(items_.size());
    std::vector<int> counts, offsets, from_counts(ranks), from_offsets;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const std::size_t before = send.size();
      for (std::uint32_t leaf = first_leaf(rank); leaf < first_leaf(rank + 1); ++leaf) {
        const std::uint32_t c = tree_.leaf_cell[leaf];
        for (std::size_t i = begin_[c]; i < end_[c]; ++i) send.push_back(items_[i]);
      }
      offsets.push_back(support::mpi_count(before, "points to move"));
      counts.push_back(support::mpi_count(send.size() - before, "points to move"));
    }
    support::mpi_check(MPI_Alltoall(counts.data(), 1, MPI_INT, from_counts.data(), 1, MPI_INT, comm_.get()),
                       "MPI_Alltoall");
    std::size_t total = 0;
    for (const int n : from_counts) {
      from_offsets.push_back(support::mpi_count(total, "points to move"));
      total += static_cast<std::size_t>(n);
    }
    std::vector<Point> received(total);
    const support::BytesType type(sizeof(Point));
    support::mpi_check(MPI_Alltoallv(send.data(), counts.data(), offsets.data(), type.get(), received.data(),
                                     from_counts.data(), from_offsets.data(), type.get(), comm_.get()),
                       "MPI_Alltoallv");
    result_.first_leaf = first_leaf(static_cast<std::uint64_t>(comm_.rank()));
    result_.end_leaf = first_leaf(static_cast<std::uint64_t>(comm_.rank()) + 1);
    merge(received, from_offsets, counts_by_leaf());
  }

  /// counts[rank][leaf]: how many points of each of this rank's leaves came from each rank.
  std::vector<std::vector<std::size_t>> counts_by_leaf() {
    std::vector<std::uint64_t> mine;
    for (const std::uint32_t c : tree_.leaf_cell) mine.push_back(end_[c] - begin_[c]);
    const auto ranks = static_cast<std::size_t>(comm_.size());
    std::vector<int> send, send_at, receive, receive_at;
    const std::uint64_t here = result_.end_leaf - result_.first_leaf;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const std::uint64_t first = tree_.leaves * rank / ranks;
      send_at.push_back(static_cast<int>(first));
      send.push_back(static_cast<int>(tree_.leaves * (rank + 1) / ranks - first));
      receive_at.push_back(static_cast<int>(rank * here));
      receive.push_back(static_cast<int>(here));
    }
    std::vector<std::uint64_t> all(ranks * here);
    support::mpi_check(MPI_Alltoallv(mine.data(), send.data(), send_at.data(), MPI_UINT64_T, all.data(), receive.data(),
                                     receive_at.data(), MPI_UINT64_T, comm_.get()),
                       "MPI_Alltoallv");
    std::vector<std::vector<std::size_t>> counts(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      counts[rank].assign(all.begin() + static_cast<std::ptrdiff_t>(rank * here),
                          all.begin() + static_cast<std::ptrdiff_t>((rank + 1) * here));
    return counts;
  }

  /// Ranks stand in order of ids, so a leaf's points are those of rank 0, then of rank 1, and so on.
  void merge(const std::vector<Point>& received, const std::vector<int>& offsets,
             const std::vector<std::vector<std::size_t>>& counts) {
    std::vector<std::size_t> at(offsets.begin(), offsets.end());
    result_.points.reserve(received.size());
    for (std::uint32_t leaf = 0; leaf < result_.end_leaf - result_.first_leaf; ++leaf)
      for (std::size_t rank = 0; rank < at.size(); ++rank) {
        const auto from = received.begin() + static_cast<std::ptrdiff_t>(at[rank]);
        result_.points.insert(result_.points.end(), from, from + static_cast<std::ptrdiff_t>(counts[rank][leaf]));
        at[rank] += counts[rank][leaf];
      }
  }

  const Communicator& comm_;
  const OrbOptions& options_;
  OrbDistributed<T, Dim>& result_;
  OrbTree<T, Dim>& tree_;
  std::vector<Point> items_;
  std::vector<Point> right_;
  const std::uint64_t* weights_;  ///< by place in this rank's input; nullptr: none
  std::uint32_t first_;           ///< number of this rank's first point
  bool weighted_;
  std::vector<std::size_t> begin_, end_;  ///< of each cell among items_
};

}  // namespace

template <class T, int Dim>
OrbDistributed<T, Dim> orb_distributed(const Communicator& comm, PointView<T> points, std::span<const double> weights,
                                       const OrbOptions& options) {
  const std::uint64_t here = points.data.size() / Dim;
  const std::uint64_t n = support::all_sum(comm, here);
  const std::uint64_t first = support::exclusive_sum(comm, here);
  const bool weighted = support::all_max(comm, weights.empty() ? 0 : 1) != 0;
  OrbBox<T, Dim> box;
  double largest = 0;
  check_together(comm, [&] {
    if (options.leaves == 0) throw InputError("leaves is 0; at least 1 is needed");
    if (options.leaves > n)
      throw InputError(
          fmt::format("leaves is {}, but there are only {} points; a leaf needs a point", options.leaves, n));
    if (n > kOrbMaxPoints) throw InputError(fmt::format("{} points; at most 2^32 are possible", n));
    if (weighted && weights.size() != here)
      throw InputError(
          fmt::format("rank {}: {} weights for {} points; one a point is needed", comm.rank(), weights.size(), here));
    if (!(options.side_tolerance >= 0 && options.side_tolerance < 1))
      throw InputError(fmt::format("side tolerance is {}; it must be in [0, 1)", options.side_tolerance));
    box = checked_bounding_box<T, Dim>(points.data.data(), here, first, 1);
    largest = checked_largest_weight(weights, first, 1);
  });
  support::all_min(comm, std::span<T>(box.lower));
  support::all_max(comm, std::span<T>(box.upper));
  support::PageBuffer<std::uint64_t> units;
  const int exponent = weighted ? orb_weight_exponent(n, support::all_max(comm, largest)) : 0;
  if (weighted) to_weight_units(weights, exponent, 1, units);
  std::vector<OrbPoint<T, Dim>> items(here);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < here; ++i) {
    for (int a = 0; a < Dim; ++a) items[i].x[a] = points[i][a];
    items[i].id = static_cast<std::uint32_t>(first + i);
    total += weighted ? units[i] : 1;
  }
  OrbDistributed<T, Dim> result;
  result.tree = make_orb_tree<T, Dim>(options.leaves, box, n, support::all_sum(comm, total),
                                      weighted ? std::ldexp(1.0, -exponent) : 1.0);
  result.labels.grow(here);
  Distributed<T, Dim>(comm, options, result, std::move(items), weighted ? units.data() : nullptr, first, weighted)
      .run();
  return result;
}

template OrbDistributed<float, 2> orb_distributed(const Communicator&, PointView<float>, std::span<const double>,
                                                  const OrbOptions&);
template OrbDistributed<float, 3> orb_distributed(const Communicator&, PointView<float>, std::span<const double>,
                                                  const OrbOptions&);
template OrbDistributed<double, 2> orb_distributed(const Communicator&, PointView<double>, std::span<const double>,
                                                   const OrbOptions&);
template OrbDistributed<double, 3> orb_distributed(const Communicator&, PointView<double>, std::span<const double>,
                                                   const OrbOptions&);

}  // namespace amrbench::partitioners
