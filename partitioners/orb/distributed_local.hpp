#pragma once
// What orb_distributed() does with a rank's own points, on the CPU: a local in the sense of distributed_types.hpp.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_types.hpp"
#include "partitioners/orb/orb.hpp"
#include "partitioners/orb/point_sources.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners::detail {

/// Exactly n elements; memory that suffices is kept, for its pages have been touched.
template <class V>
void fit(support::PageBuffer<V>& buffer, std::size_t n) {
  buffer.grow(n);
  buffer.truncate(n);
}

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

  /// weights: of this rank's points by number minus the first's; nullptr: none here.
  HostPoints(InputSource<T, Dim> input, const std::uint64_t* weights, bool weighted, DistributedMemory<T, Dim>& memory)
      : input_(input),
        weights_(weights),
        weighted_(weighted),
        items_(memory.items),
        spare_(memory.spare),
        codes_(memory.codes) {
    fit(items_, input.count);
    fit(codes_, input.count);
  }

  [[nodiscard]] std::uint64_t count_points() const { return input_.count; }
  /// After all rounds: by cell.
  [[nodiscard]] const support::PageBuffer<Point>& items() const { return items_; }

  void take_all() {
    for (std::uint64_t i = 0; i < input_.count; ++i) items_[i] = input_.point(i);
  }

  void start_round(std::span<const std::unique_ptr<Cell>> cells) {
    cells_ = cells;
    met_.clear();
    met_.resize(cells.size());
  }

  void sample(std::span<const SampleStretch> stretches, std::vector<SampledPoint<T, Dim>>& mine) const {
    with_source([&](const auto& source) {
      for (const SampleStretch& stretch : stretches)
        for (std::uint64_t i = 0; i < stretch.size; ++i) {
          const Point p = source.point(stretch.position(i));
          mine.push_back({p, stretch.cell, weight(p)});
        }
    });
  }

  void classify() {
    with_source([&](const auto& source) {
      for (std::size_t k = 0; k < cells_.size(); ++k) classify(source, *cells_[k], met_[k]);
    });
  }

  void start_level(std::span<const Search> searches) { inside_.assign(searches.size(), {}); }

  void count(std::span<Search* const> searches, bool weighted, std::size_t width, std::span<std::uint64_t> sums) const {
    for (std::size_t s = 0; s < searches.size(); ++s) {
      const Search& search = *searches[s];
      const Window& w = search.windows.back();
      const int shift = shift_of(w);
      std::uint64_t* const counts = sums.data() + s * width;
      for_inside(search, [&](std::uint32_t, const Point& p) {
        const std::size_t bin = (key(p, w.phase, search.axis) - w.low) >> shift;
        ++counts[bin];
        if (weighted) counts[256 + bin] += weight(p);
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

  void collect(std::span<const Search> searches, std::vector<CutCandidate<T, Dim>>& mine) const {
    for (const Search& search : searches) {
      if (search.state != Search::State::open) continue;
      for_inside(search, [&](std::uint32_t, const Point& p) {
        if (search.listed || in_window(p, search.windows.back(), search.axis))
          mine.push_back({p, static_cast<std::uint32_t>(search.number), weight(p)});
      });
    }
  }

  void apply(std::span<const SettledCut<T, Dim>> cuts) {
    with_source([&](const auto& source) {
      for (const SettledCut<T, Dim>& cut : cuts) apply(source, cut);
    });
  }

  void group(std::span<const CellSlots> slots) {
    with_source([&](const auto& source) {
      for (std::size_t k = 0; k < cells_.size(); ++k) group(source, *cells_[k], slots[k]);
    });
    moved_ = true;
  }

 private:
  static constexpr std::size_t kCodes = 256;
  using Met = std::array<std::vector<std::uint32_t>, kRoundNodes / 2>;

  /// The first round reads the input, later ones what the ones before grouped.
  template <class F>
  void with_source(F&& f) const {
    if (moved_) {
      f(PointSource<T, Dim>{items_.data(), input_.count});
    } else {
      f(input_);
    }
  }
  [[nodiscard]] std::uint64_t weight(const Point& p) const { return weights_ ? weights_[p.id - input_.first_id] : 1; }

  /// Calls f(position, point) for this rank's points in the last window if listed, else in the first.
  template <class F>
  void for_inside(const Search& search, F&& f) const {
    with_source([&](const auto& source) {
      if (search.listed || search.bracket) {
        for (const std::uint32_t i : search.listed ? inside_[search.number] : met_[search.round_cell][search.node])
          f(i, source.point(i));
      } else {
        const CellRange& range = cells_[search.round_cell]->range;
        for (std::uint64_t i = range.begin; i < range.end; ++i) f(static_cast<std::uint32_t>(i), source.point(i));
      }
    });
  }

  /// Walks this rank's points of a cell down.
  template <class Source>
  void classify(const Source& source, Cell& cell, Met& met) {
    constexpr std::uint64_t kBlock = RoundTree<T, Dim>::kBlock;
    alignas(64) T x[Dim * kBlock];
    std::uint8_t codes[kBlock];
    std::uint8_t stopped[kBlock];
    std::array<std::uint64_t, kCodes> counts{};
    std::array<std::uint64_t, kCodes> weights{};
    for (std::uint64_t first = cell.range.begin; first < cell.range.end; first += kBlock) {
      source.block(first, x);
      cell.guess.classify(x, codes);
      const auto n = static_cast<std::size_t>(std::min(kBlock, cell.range.end - first));
      std::copy(codes, codes + n, codes_.data() + first);
      std::size_t stops = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ++counts[codes[i]];
        stopped[stops] = static_cast<std::uint8_t>(i);
        stops += codes[i] >> 7;
      }
      for (std::size_t s = 0; s < stops; ++s)
        met[codes[stopped[s]] - kStopped].push_back(static_cast<std::uint32_t>(first + stopped[s]));
      for (std::size_t i = 0; weighted_ && i < n; ++i) weights[codes[i]] += weight(source.point(first + i));
    }
    for (std::size_t code = 0; code < kCodes; ++code)
      if (counts[code] > 0) cell.pass(cell.node_of(static_cast<std::uint8_t>(code)), 0, counts[code], weights[code]);
  }

  template <class Source>
  void apply(const Source& source, const SettledCut<T, Dim>& cut) {
    Cell& cell = *cells_[cut.round_cell];
    if (!cut.bracket) {
      for (std::uint64_t i = cell.range.begin; i < cell.range.end; ++i) {
        const std::uint8_t code = orb_before(source.point(i), cut.pivot, cut.axis) ? 0 : 1;
        codes_[i] = code;
        ++cell.passed[2U + code];
      }
      return;
    }
    Met& met = met_[cut.round_cell];
    for (const std::uint32_t position : met[cut.node]) {
      const Point p = source.point(position);
      const std::size_t child = 2 * cut.node + (orb_before(p, cut.pivot, cut.axis) ? 0 : 1);
      const std::uint8_t code = cell.guess.code_from(child, p.x);
      if (code >= kStopped) met[code - kStopped].push_back(position);
      codes_[position] = code;
      cell.pass(cell.node_of(code), cut.node, 1, weighted_ ? weight(p) : 0);
    }
  }

  template <class Source>
  void group(const Source& source, const Cell& cell, const CellSlots& slots) {
    std::array<std::uint64_t, kRoundNodes> to{};
    for (std::size_t s = 0; s < slots.ranges.size(); ++s) to[s] = slots.ranges[s].begin;
    constexpr bool kMoved = std::is_same_v<Source, PointSource<T, Dim>>;
    if constexpr (kMoved) spare_.grow(input_.count);
    Point* out = kMoved ? spare_.data() : items_.data();
    for (std::uint64_t i = cell.range.begin; i < cell.range.end; ++i)
      out[to[slots.slot_of[codes_[i]]]++] = source.point(i);
    if constexpr (kMoved) std::copy(out + cell.range.begin, out + cell.range.end, items_.data() + cell.range.begin);
  }

  InputSource<T, Dim> input_;
  const std::uint64_t* weights_;
  bool weighted_;
  support::PageBuffer<Point>& items_;
  support::PageBuffer<Point>& spare_;
  support::PageBuffer<std::uint8_t>& codes_;
  bool moved_ = false;
  std::span<const std::unique_ptr<Cell>> cells_;
  std::vector<Met> met_;                            ///< positions of points in each bracket, by the round's cells
  std::vector<std::vector<std::uint32_t>> inside_;  ///< positions in last windows, by number of the search
};

}  // namespace amrbench::partitioners::detail
