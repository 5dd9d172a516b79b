#pragma once
// What orb_distributed() does with a rank's own points, on the CPU: a local in the sense of distributed_types.hpp.
//
// Threads share stretches of at most 2^14 points of the round's cells; what they find is joined in the order of
// stretches, so that no result depends on their number.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
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

  /// weights: of this rank's points by number minus the first's; nullptr: none here. threads: at least 1.
  HostPoints(InputSource<T, Dim> input, const std::uint64_t* weights, bool weighted, int threads,
             DistributedMemory<T, Dim>& memory)
      : input_(input),
        weights_(weights),
        weighted_(weighted),
        threads_(threads),
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
#pragma omp parallel for num_threads(threads_) schedule(static) if (input_.count > kStretch)
    for (std::uint64_t i = 0; i < input_.count; ++i) items_[i] = input_.point(i);
  }

  void start_round(std::span<const std::unique_ptr<Cell>> cells) {
    cells_ = cells;
    met_.clear();
    met_.resize(cells.size());
    stretches_.clear();
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const CellRange& range = cells[k]->range;
      for (std::uint64_t first = range.begin; first < range.end; first += kStretch)
        stretches_.push_back({k, first, std::min(first + kStretch, range.end)});
    }
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
    std::vector<Walked> walked(stretches_.size());
    with_source([&](const auto& source) {
#pragma omp parallel for num_threads(threads_) schedule(dynamic) if (stretches_.size() > 1)
      for (std::size_t s = 0; s < stretches_.size(); ++s) classify(source, stretches_[s], walked[s]);
    });
    for (std::size_t s = 0; s < stretches_.size(); ++s) {
      Cell& cell = *cells_[stretches_[s].cell];
      for (std::size_t code = 0; code < kCodes; ++code)
        if (walked[s].counts[code] > 0)
          cell.pass(cell.node_of(static_cast<std::uint8_t>(code)), 0, walked[s].counts[code], walked[s].weights[code]);
      Met& met = met_[stretches_[s].cell];
      for (std::size_t v = 0; v < met.size(); ++v)
        met[v].insert(met[v].end(), walked[s].met[v].begin(), walked[s].met[v].end());
    }
  }

  void start_level(std::span<const Search> searches) {
    inside_.assign(searches.size(), {});
  }

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
    with_source([&](const auto& source) { group(source, slots); });
    moved_ = true;
  }

 private:
  static constexpr std::size_t kCodes = 256;
  static constexpr std::uint64_t kStretch = 1 << 14;  ///< a multiple of RoundTree::kBlock
  using Met = std::array<std::vector<std::uint32_t>, kRoundNodes / 2>;

  /// Points begin .. end - 1 of a round's cell.
  struct Stretch {
    std::size_t cell;
    std::uint64_t begin, end;
  };
  /// What a walk down found in a stretch: points and weight by code, positions of those in brackets.
  struct Walked {
    std::array<std::uint64_t, kCodes> counts{};
    std::array<std::uint64_t, kCodes> weights{};
    Met met;
  };

  /// The first round reads the input, later ones what the ones before grouped.
  template <class F>
  void with_source(F&& f) const {
    if (moved_) {
      f(PointSource<T, Dim>{items_.data(), input_.count});
    } else {
      f(input_);
    }
  }
  [[nodiscard]] std::uint64_t weight(const Point& p) const {
    return weights_ ? weights_[p.id - input_.first_id] : 1;
  }

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

  /// Walks a stretch's points down.
  template <class Source>
  void classify(const Source& source, const Stretch& stretch, Walked& walked) {
    constexpr std::uint64_t kBlock = RoundTree<T, Dim>::kBlock;
    static_assert(kStretch % kBlock == 0);
    alignas(64) T x[Dim * kBlock];
    std::uint8_t codes[kBlock];
    std::uint8_t stopped[kBlock];
    for (std::uint64_t first = stretch.begin; first < stretch.end; first += kBlock) {
      source.block(first, x);
      cells_[stretch.cell]->guess.classify(x, codes);
      const auto n = static_cast<std::size_t>(std::min(kBlock, stretch.end - first));
      std::copy(codes, codes + n, codes_.data() + first);
      std::size_t stops = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ++walked.counts[codes[i]];
        stopped[stops] = static_cast<std::uint8_t>(i);
        stops += codes[i] >> 7;
      }
      for (std::size_t s = 0; s < stops; ++s)
        walked.met[codes[stopped[s]] - kStopped].push_back(static_cast<std::uint32_t>(first + stopped[s]));
      for (std::size_t i = 0; weighted_ && i < n; ++i) walked.weights[codes[i]] += weight(source.point(first + i));
    }
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

  /// Each stretch's points go behind those of the stretches before it that reached the same cell.
  template <class Source>
  void group(const Source& source, std::span<const CellSlots> slots) {
    using Places = std::array<std::uint64_t, kRoundNodes>;
    constexpr bool kMoved = std::is_same_v<Source, PointSource<T, Dim>>;
    if constexpr (kMoved) spare_.grow(input_.count);
    Point* out = kMoved ? spare_.data() : items_.data();
    std::vector<Places> places(stretches_.size());
#pragma omp parallel num_threads(threads_) if (stretches_.size() > 1)
    {
#pragma omp for schedule(dynamic)
      for (std::size_t s = 0; s < stretches_.size(); ++s)
        for (std::uint64_t i = stretches_[s].begin; i < stretches_[s].end; ++i)
          ++places[s][slots[stretches_[s].cell].slot_of[codes_[i]]];
#pragma omp single
      {
        Places next{};
        for (std::size_t s = 0; s < stretches_.size(); ++s) {
          const std::size_t k = stretches_[s].cell;
          if (s == 0 || stretches_[s - 1].cell != k)
            for (std::size_t slot = 0; slot < slots[k].ranges.size(); ++slot) next[slot] = slots[k].ranges[slot].begin;
          for (std::size_t slot = 0; slot < slots[k].ranges.size(); ++slot)
            next[slot] += std::exchange(places[s][slot], next[slot]);
        }
      }
#pragma omp for schedule(dynamic)
      for (std::size_t s = 0; s < stretches_.size(); ++s)
        for (std::uint64_t i = stretches_[s].begin; i < stretches_[s].end; ++i)
          out[places[s][slots[stretches_[s].cell].slot_of[codes_[i]]]++] = source.point(i);
      if constexpr (kMoved) {
#pragma omp for schedule(dynamic)
        for (std::size_t s = 0; s < stretches_.size(); ++s)
          std::copy(out + stretches_[s].begin, out + stretches_[s].end, items_.data() + stretches_[s].begin);
      }
    }
  }

  InputSource<T, Dim> input_;
  const std::uint64_t* weights_;
  bool weighted_;
  int threads_;
  support::PageBuffer<Point>& items_;
  support::PageBuffer<Point>& spare_;
  support::PageBuffer<std::uint8_t>& codes_;
  bool moved_ = false;
  std::span<const std::unique_ptr<Cell>> cells_;
  std::vector<Stretch> stretches_;                  ///< of the round's cells, in order
  std::vector<Met> met_;                            ///< positions of points in each bracket, by the round's cells
  std::vector<std::vector<std::uint32_t>> inside_;  ///< positions in last windows, by number of the search
};

}  // namespace amrbench::partitioners::detail
