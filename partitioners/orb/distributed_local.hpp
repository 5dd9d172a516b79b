#pragma once
// What orb_distributed() does with a rank's own points, on the CPU: a local in the sense of distributed_types.hpp.
//
// Each thread has a stretch of the points, with its own lists and counts.
#include <algorithm>
#include <limits>
#include <numeric>
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
  support::PageBuffer<OrbPoint<T, Dim>> items, received;
  support::PageBuffer<std::uint32_t> labels, labels_back;
  OrbResult<T, Dim> solved;
};

template <class T, int Dim>
class HostPoints {
 public:
  using Point = OrbPoint<T, Dim>;
  using Search = CutSearch<T, Dim>;
  using Candidate = CutCandidate<T, Dim>;

  /// weights: by the points' numbers. threads: at least 1.
  HostPoints(InputSource<T, Dim> input, PointWeights weights, int threads, DistributedMemory<T, Dim>& memory)
      : input_(input),
        weights_(weights),
        threads_(threads),
        items_(memory.items),
        codes_(memory.labels),
        lists_(static_cast<std::size_t>(threads)) {
    codes_.grow(input.count);
    for (int t = 0; t < threads; ++t) counts_.push_back(begin_of(t + 1) - begin_of(t));
  }

  void count(std::span<Search* const> searches, bool weighted, std::span<std::uint64_t> sums) {
    const std::vector<Probe> probes = make_probes(searches, true);
    const std::size_t width = weighted ? 2 * kBins : kBins;
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::uint64_t> mine(sums.size(), 0);
      for_inside(t, probes, [&, out = mine.data()](std::size_t s, std::uint64_t i, Key key) {
        const std::size_t bin = s * width + ((key - probes[s].low) >> probes[s].shift);
        ++out[bin];
        if (weighted) out[bin + kBins] += weights_[input_.first_id + static_cast<std::uint32_t>(i)];
      });
#pragma omp critical(orb_distributed_bins)
      std::transform(mine.begin(), mine.end(), sums.begin(), sums.begin(), std::plus<>());
    }
  }

  void keep(std::span<Search* const> searches) {
    const std::vector<Probe> probes = make_probes(searches, false);
    for (auto& lists : lists_)
      if (lists.size() <= searches.back()->number) lists.resize(searches.back()->number + 1);
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::vector<std::uint32_t>> kept(searches.size());
      for_inside(t, probes, [&](std::size_t s, std::uint64_t i, Key /*key*/) {
        kept[s].push_back(static_cast<std::uint32_t>(i));
      });
      for (std::size_t s = 0; s < searches.size(); ++s)
        lists_[static_cast<std::size_t>(t)][searches[s]->number] = std::move(kept[s]);
    }
  }

  void collect(std::span<const Search> searches, std::vector<Candidate>& all) {
    std::vector<const Search*> open;
    for (const Search& search : searches)
      if (!search.settled) open.push_back(&search);
    const std::vector<Probe> probes = make_probes(open, true);
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<Candidate> mine;
      for_inside(t, probes, [&](std::size_t s, std::uint64_t i, Key /*key*/) {
        const Point p = input_.point(i);
        mine.push_back({p, static_cast<std::uint32_t>(open[s]->number), weights_[p.id]});
      });
#pragma omp critical(orb_distributed_candidates)
      all.insert(all.end(), mine.begin(), mine.end());
    }
  }

  void part(std::span<const CellPart<T, Dim>> parts) {
    cells_ = parts.back().code + static_cast<std::size_t>(parts.back().cut) + 1;
    counts_.assign(cells_ * static_cast<std::size_t>(threads_), 0);
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::uint64_t> counts[2];  // in turn, so that equal neighbours do not wait for each other
      for (auto& some : counts) some.assign(cells_, 0);
      for (std::uint64_t i = begin_of(t), end = begin_of(t + 1); i < end; ++i) {
        const CellPart<T, Dim>& part = parts[code(i)];
        std::uint32_t next = part.code;
        if (part.cut != 0) next += orb_before(input_.point(i), part.pivot, part.axis) ? 0 : 1;
        codes_[i] = next;
        ++counts[i % 2][next];
      }
      std::transform(counts[0].begin(), counts[0].end(), counts[1].begin(), counts_of(t), std::plus<>());
    }
    parted_ = true;
  }

  /// Brings all points into the order of their codes, those of a cell in the order of numbers. Returns how many each
  /// cell has.
  std::vector<std::uint64_t> move() {
    fit(items_, input_.count);
    std::vector<std::uint64_t> all(cells_, 0), places(counts_.size());
    std::uint64_t next = 0;
    for (std::size_t cell = 0; cell < cells_; ++cell)
      for (std::size_t at = cell; at < counts_.size(); at += cells_) {
        places[at] = next;
        next += counts_[at];
        all[cell] += counts_[at];
      }
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::uint64_t* const to = places.data() + static_cast<std::size_t>(t) * cells_;
      for (std::uint64_t i = begin_of(t), end = begin_of(t + 1); i < end; ++i) items_[to[code(i)]++] = input_.point(i);
    }
    return all;
  }
  /// As moved.
  [[nodiscard]] const support::PageBuffer<Point>& items() const {
    return items_;
  }

 private:
  [[nodiscard]] bool many() const {
    return threads_ > 1 && input_.count > 1 << 14;
  }  ///< worth starting threads
  /// Where a thread's points begin.
  [[nodiscard]] std::uint64_t begin_of(int thread) const {
    return input_.count * static_cast<std::uint64_t>(thread) / static_cast<std::uint64_t>(threads_);
  }
  [[nodiscard]] std::uint32_t code(std::uint64_t i) const {
    return parted_ ? codes_[i] : 0;
  }
  /// A thread's points in each cell.
  [[nodiscard]] std::vector<std::uint64_t>::iterator counts_of(int thread) {
    return counts_.begin() + static_cast<std::ptrdiff_t>(cells_) * thread;
  }

  using Key = decltype(ordered_bits(T{}));  ///< holds numbers, too
  /// What a search asks of each point.
  struct Probe {
    const Search* search;
    const Window* window;
    Key low, span;           ///< its keys: low .. low + span
    int along, axis, shift;  ///< the axis that gives keys, Dim: numbers do; of the search; of the bins
    bool by_key;             ///< which tells whether a point is inside
  };
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  /// listed: lists are those of the windows already.
  [[nodiscard]] static std::vector<Probe> make_probes(std::span<const Search* const> searches, bool listed) {
    std::vector<Probe> probes;
    for (const Search* const search : searches) {
      const Window& w = search->window;
      const int along = w.phase == 0 ? search->axis : w.phase - 1;
      probes.push_back({search, &w, static_cast<Key>(w.low), static_cast<Key>(w.high - w.low), along, search->axis,
                        shift_of(w, kBinBits), w.phase == 0 || (listed && search->listed)});
    }
    return probes;
  }

  /// Calls f(s, i, key) for a thread's points i inside the window of search s.
  template <class F>
  void for_inside(int thread, const std::vector<Probe>& probes, F&& f) const {
    const auto look = [&f, x = input_.coordinates, this](std::size_t s, const Probe& probe, std::uint64_t i) {
      const Key key = probe.along < Dim ? ordered_bits(x[i * Dim + static_cast<unsigned>(probe.along)])
                                        : static_cast<Key>(input_.first_id + i);
      if (key - probe.low <= probe.span && (probe.by_key || in_window(input_.point(i), *probe.window, probe.axis)))
        f(s, i, key);
    };
    const std::uint64_t begin = begin_of(thread), end = begin_of(thread + 1);
    std::vector<std::uint32_t> search_of(cells_, kNone);
    std::size_t by_code = 0;
    for (std::size_t s = 0; s < probes.size(); ++s) {
      const Probe probe = probes[s];  // a copy, which stores through f cannot change
      if (probe.search->listed) {
        for (const std::uint32_t i : lists_[static_cast<std::size_t>(thread)][probe.search->number]) look(s, probe, i);
      } else if (cells_ == 1) {
        for (std::uint64_t i = begin; i < end; ++i) look(s, probe, i);
      } else {
        search_of[probe.search->code] = static_cast<std::uint32_t>(s);
        ++by_code;
      }
    }
    for (std::uint64_t i = begin; by_code > 0 && i < end; ++i)
      if (const std::uint32_t s = search_of[codes_[i]]; s != kNone) look(s, probes[s], i);
  }

  InputSource<T, Dim> input_;
  PointWeights weights_;
  int threads_;
  support::PageBuffer<Point>& items_;
  support::PageBuffer<std::uint32_t>& codes_;                   ///< in memory that has labels later
  bool parted_ = false;                                         ///< codes are set; else all are 0
  std::size_t cells_ = 1;                                       ///< reached
  std::vector<std::uint64_t> counts_;                           ///< [thread][cell]: points
  std::vector<std::vector<std::vector<std::uint32_t>>> lists_;  ///< [thread][number of the search]: points
};

}  // namespace amrbench::partitioners::detail
