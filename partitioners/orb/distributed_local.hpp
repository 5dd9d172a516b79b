#pragma once
// What orb_distributed() does with a rank's own points, on the CPU: a local in the sense of distributed_types.hpp.
//
// A cell's points are walked down by all threads (round_walk.hpp), one of the round's cells after another.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_types.hpp"
#include "partitioners/orb/round_walk.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners::detail {

/// What an OrbDistributed keeps from call to call.
template <class T, int Dim>
struct DistributedMemory {
  support::PageBuffer<OrbPoint<T, Dim>> items, spare, received;
  support::PageBuffer<std::uint8_t> codes;
  support::PageBuffer<std::uint32_t> labels, labels_back;
  OrbResult<T, Dim> solved;
};

template <class T, int Dim>
class HostPoints {
 public:
  using Point = OrbPoint<T, Dim>;
  using Cell = RoundCell<T, Dim>;
  using Search = CutSearch<T, Dim>;

  /// weights: of this rank's points by number minus the first's; nullptr: none here. threads: at least 1.
  HostPoints(InputSource<T, Dim> input, const std::uint64_t* weights, int threads, DistributedMemory<T, Dim>& memory)
      : input_(input),
        weights_{weights, input.first_id},
        threads_(threads),
        items_(memory.items),
        spare_(memory.spare),
        codes_(memory.codes) {
    fit(items_, input.count);
    codes_.grow(input.count + RoundTree<T, Dim>::kBlock);
  }

  [[nodiscard]] std::uint64_t count_points() const { return input_.count; }
  /// After all rounds: by cell.
  [[nodiscard]] const support::PageBuffer<Point>& items() const { return items_; }

  void take_all() {
#pragma omp parallel for num_threads(threads_) schedule(static) if (input_.count > kMany)
    for (std::uint64_t i = 0; i < input_.count; ++i) items_[i] = input_.point(i);
  }

  void start_round(std::span<const std::unique_ptr<Cell>> cells) {
    cells_ = cells;
    walks_.clear();
    walks_.reserve(cells.size());
    memory_.resize(cells.size());
    for (std::size_t k = 0; k < cells.size(); ++k)
      walks_.emplace_back(*cells[k], source(cells[k]->range), weights_, codes_.data() + cells[k]->range.begin,
                          memory_[k], threads_);
  }

  void sample(std::span<const SampleStretch> stretches, std::vector<SampledPoint<T, Dim>>& mine) const {
    const Source all = source({1, 0, input_.count});
    for (const SampleStretch& stretch : stretches)
      for (std::uint64_t i = 0; i < stretch.size; ++i) {
        const Point p = all.point(stretch.position(i));
        mine.push_back({p, stretch.cell, weights_[p.id]});
      }
  }

  /// From left to right: behind a cell's last code the whole block reaches into the next cell's, not walked yet.
  void classify() {
    for (Walk& walk : walks_) walk.walk_down();
  }

  void start_level(std::span<const Search> searches) {
    inside_.assign(searches.size(), {});
  }

  void count(std::span<Search* const> searches, bool weighted, std::size_t width, std::span<std::uint64_t> sums) {
    for (std::size_t s = 0; s < searches.size(); ++s) {
      const Search& search = *searches[s];
      const Window& w = search.windows.back();
      const int shift = shift_of(w);
      std::uint64_t* const counts = sums.data() + s * width;
      for_inside(search, [&](std::uint32_t, const Point& p) {
        const std::size_t bin = (key(p, w.phase, search.axis) - w.low) >> shift;
        ++counts[bin];
        if (weighted) counts[256 + bin] += weights_[p.id];
      });
    }
  }

  void keep(const Search& search, const Window& inner) {
    std::vector<std::uint32_t> kept;
    for_inside(search, [&](std::uint32_t i, const Point& p) {
      if (in_window(p, inner, search.axis)) kept.push_back(i);
    });
    inside_[search.number] = std::move(kept);
  }

  void collect(std::span<const Search> searches, std::vector<CutCandidate<T, Dim>>& mine) {
    for (const Search& search : searches) {
      if (search.state != Search::State::open) continue;
      for_inside(search, [&](std::uint32_t, const Point& p) {
        if (search.listed || in_window(p, search.windows.back(), search.axis))
          mine.push_back({p, static_cast<std::uint32_t>(search.number), weights_[p.id]});
      });
    }
  }

  void apply(std::span<const SettledCut<T, Dim>> cuts) {
    for (const SettledCut<T, Dim>& cut : cuts) {
      Walk& walk = walks_[cut.round_cell];
      const auto left = [&](const Point& p) { return orb_before(p, cut.pivot, cut.axis); };
      if (cut.bracket) {
        walk.send_on(cut.node, walk.gather(cut.node), left);
      } else {
        walk.halve(left);
      }
    }
  }

  void group(std::span<const CellSlots> slots) {
    if (moved_) spare_.grow(input_.count);
    Point* const out = moved_ ? spare_.data() : items_.data();
    for (std::size_t k = 0; k < walks_.size(); ++k) {
      std::vector<std::uint64_t> begin;
      for (const CellRange& range : slots[k].ranges) begin.push_back(range.begin);
      const Source& from = walks_[k].source();
      walks_[k].for_places(slots[k], begin,
                           [&](std::size_t, std::uint64_t at, std::uint64_t i) { out[at] = from.point(i); });
      const CellRange& range = cells_[k]->range;
#pragma omp parallel for num_threads(threads_) schedule(static) if (range.end - range.begin > kMany)
      for (std::uint64_t i = range.begin; i < (moved_ ? range.end : range.begin); ++i) items_[i] = out[i];
    }
    moved_ = true;
  }

 private:
  static constexpr std::uint64_t kMany = 1 << 14;  ///< points for which threads are worth starting

  /// Points of a range: the first round reads the input, later ones what the ones before grouped.
  struct Source {
    InputSource<T, Dim> input;
    PointSource<T, Dim> items;

    [[nodiscard]] Point point(std::uint64_t i) const { return items.points ? items.point(i) : input.point(i); }
    void prefetch(std::uint64_t i) const { items.points ? items.prefetch(i) : input.prefetch(i); }
    void block(std::uint64_t first, T* x) const { items.points ? items.block(first, x) : input.block(first, x); }
  };
  using Walk = RoundWalk<T, Dim, Source>;

  [[nodiscard]] Source source(const CellRange& range) const {
    const std::uint64_t n = range.end - range.begin;
    if (moved_) return {{}, {items_.data() + range.begin, n}};
    return {{input_.coordinates + range.begin * Dim, n, input_.first_id + static_cast<std::uint32_t>(range.begin)}, {}};
  }

  /// Calls f(position in the cell, point) for this rank's points in the last window if listed, else in the first.
  template <class F>
  void for_inside(const Search& search, F&& f) {
    Walk& walk = walks_[search.round_cell];
    const Source& source = walk.source();
    if (search.listed) {
      for (const std::uint32_t i : inside_[search.number]) f(i, source.point(i));
    } else if (search.bracket) {
      for (const auto& entry : walk.gather(search.node)) f(entry.position, source.point(entry.position));
    } else {
      for (std::uint64_t i = 0; i < walk.count(); ++i) f(static_cast<std::uint32_t>(i), source.point(i));
    }
  }

  InputSource<T, Dim> input_;
  PointWeights weights_;
  int threads_;
  support::PageBuffer<Point>& items_;
  support::PageBuffer<Point>& spare_;
  support::PageBuffer<std::uint8_t>& codes_;
  bool moved_ = false;
  std::span<const std::unique_ptr<Cell>> cells_;
  std::vector<Walk> walks_;  ///< of the round's cells
  std::vector<RoundMemory<T, Dim>> memory_;
  std::vector<std::vector<std::uint32_t>> inside_;  ///< positions in last windows, by number of the search
};

}  // namespace amrbench::partitioners::detail
