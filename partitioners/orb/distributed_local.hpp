#pragma once
// What orb_distributed() does with a rank's own points, on the CPU: a local in the sense of distributed_types.hpp.
//
// Each thread has a stretch of the points, with its own lists and counts.
#include <algorithm>
#include <limits>
#include <span>
#include <utility>
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
  }

  void count(std::span<Search* const> searches, bool weighted, std::span<std::uint64_t> sums) {
    const Probes probes = probes_of(searches);
    const std::size_t width = weighted ? 2 * kBins : kBins;
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::uint64_t> mine(sums.size(), 0);
      for_all(t, probes, [&, out = mine.data()](const Probe& probe, std::uint64_t i) {
        const std::size_t bin = bin_of(probe, i);
        if (bin == kBins) return;
        ++out[probe.s * width + bin];
        if (weighted) out[probe.s * width + kBins + bin] += weights_[input_.first_id + static_cast<std::uint32_t>(i)];
      });
#pragma omp critical(orb_distributed_bins)
      std::transform(mine.begin(), mine.end(), sums.begin(), sums.begin(), std::plus<>());
    }
  }

  void split(std::span<Search* const> searches, std::span<const std::uint32_t> next) {
    const Probes probes = probes_of(searches, next);
    for (auto& lists : lists_)
      if (lists.size() <= searches.back()->number) lists.resize(searches.back()->number + 1);
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::vector<std::uint32_t>> kept(searches.size());
      for_all(t, probes, [&, codes = codes_.data()](const Probe& probe, std::uint64_t i) {
        const int side = side_of(probe, i);
        codes[i] = probe.next + (side < 0 ? 0 : 1);
        if (side == 0) kept[probe.s].push_back(static_cast<std::uint32_t>(i));
      });
      for (std::size_t s = 0; s < searches.size(); ++s)
        lists_[static_cast<std::size_t>(t)][searches[s]->number] = std::move(kept[s]);
    }
    if (!probes.by_code.empty()) cells_ = next.back();
  }

  void collect(std::span<const Search> searches, std::vector<Candidate>& all) {
    std::vector<const Search*> open;
    for (const Search& search : searches)
      if (!search.settled) open.push_back(&search);
    const Probes probes = probes_of(open);
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<Candidate> mine;
      for_all(t, probes, [&](const Probe& probe, std::uint64_t i) {
        if (side_of(probe, i) != 0) return;
        const Point p = input_.point(i);
        mine.push_back({p, static_cast<std::uint32_t>(probe.search->number), weights_[p.id]});
      });
#pragma omp critical(orb_distributed_candidates)
      all.insert(all.end(), mine.begin(), mine.end());
    }
  }

  /// Brings all points into the order of their codes, those of a cell in the order of numbers. Returns how many each
  /// cell has.
  std::vector<std::uint64_t> move() {
    fit(items_, input_.count);
    std::vector<std::uint64_t> all(cells_, 0), places(cells_ * static_cast<std::size_t>(threads_));  // [thread][cell]
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::uint64_t> counts[2];  // in turn, so that equal neighbours do not wait for each other
      for (auto& some : counts) some.assign(cells_, 0);
      for (std::uint64_t i = begin_of(t), end = begin_of(t + 1); i < end; ++i) ++counts[i % 2][code(i)];
      std::transform(counts[0].begin(), counts[0].end(), counts[1].begin(),
                     places.begin() + static_cast<std::ptrdiff_t>(cells_) * t, std::plus<>());
    }
    std::uint64_t next = 0;
    for (std::size_t cell = 0; cell < cells_; ++cell)
      for (std::size_t at = cell; at < places.size(); at += cells_) {
        const std::uint64_t count = std::exchange(places[at], next);
        next += count;
        all[cell] += count;
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
    return cells_ > 1 ? codes_[i] : 0;
  }

  using Key = decltype(ordered_bits(T{}));
  static constexpr Key kNoKey = std::numeric_limits<Key>::max();
  /// What a search asks of each point; as it is here, all points stand before its window.
  struct Probe {
    const Search* search = nullptr;
    std::size_t s = 0;  ///< of the searches at hand
    int along = 0;      ///< the axis that alone tells a side; -1: all of the window does
    Key low = kNoKey, high = kNoKey;
    int shift = 0;  ///< of the bins
    T lower = 0, scale = 0;
    std::uint32_t next = 0;  ///< code of points before the window
  };
  /// Of searches that have lists, and of each code where one has none.
  struct Probes {
    std::vector<Probe> listed, by_code;
  };
  [[nodiscard]] Probes probes_of(std::span<const Search* const> searches,
                                 std::span<const std::uint32_t> next = {}) const {
    Probes made;
    for (std::size_t s = 0; s < searches.size(); ++s) {
      const Search& search = *searches[s];
      const Window& w = search.window;
      Probe probe{&search,
                  s,
                  w.phase == 0 ? search.axis : -1,
                  static_cast<Key>(w.low),
                  static_cast<Key>(w.high),
                  shift_of(w, kBinBits),
                  search.lower,
                  search.scale,
                  search.code};
      if (search.listed) {
        made.listed.push_back(probe);
        continue;
      }
      if (made.by_code.empty()) made.by_code.resize(cells_);
      std::fill_n(made.by_code.begin() + search.code, search.codes, probe);
    }
    for (std::size_t c = 0; c < made.by_code.size() && !next.empty(); ++c)
      made.by_code[c].next = next[made.by_code[c].search != nullptr ? made.by_code[c].next : c];
    return made;
  }

  [[nodiscard]] int side_of(const Probe& probe, std::uint64_t i) const {
    if (probe.along < 0) return side(input_.point(i), probe.search->window, probe.search->axis);
    const Key key = ordered_bits(input_.coordinates[i * Dim + static_cast<unsigned>(probe.along)]);
    return key < probe.low ? -1 : key > probe.high ? 1 : 0;
  }
  /// Of the window; kBins: the point is not inside.
  [[nodiscard]] std::size_t bin_of(const Probe& probe, std::uint64_t i) const {
    if (probe.along < 0) {
      const Window& w = probe.search->window;
      const Point p = input_.point(i);
      const int axis = probe.search->axis;
      return side(p, w, axis) == 0 ? (key(p, w.phase, axis) - w.low) >> probe.shift : kBins;
    }
    const T x = input_.coordinates[i * Dim + static_cast<unsigned>(probe.along)];
    if (probe.scale > 0) return value_bin(x, probe.lower, probe.scale);
    const Key key = ordered_bits(x) - probe.low;
    return key <= probe.high - probe.low ? key >> probe.shift : kBins;
  }

  /// Calls f(probe, i) for a thread's points i in lists and, where a search goes by codes, for all.
  template <class F>
  void for_all(int thread, const Probes& probes, F&& f) const {
    for (const Probe& probe : probes.listed)
      for (const std::uint32_t i : lists_[static_cast<std::size_t>(thread)][probe.search->number]) f(probe, i);
    const std::uint64_t begin = begin_of(thread), end = begin_of(thread + 1);
    if (probes.by_code.size() == 1) {
      const Probe probe = probes.by_code[0];  // a copy, which stores through f cannot change
      for (std::uint64_t i = begin; i < end; ++i) f(probe, i);
    } else if (!probes.by_code.empty()) {
      for (std::uint64_t i = begin; i < end; ++i) f(probes.by_code[codes_[i]], i);
    }
  }

  InputSource<T, Dim> input_;
  PointWeights weights_;
  int threads_;
  support::PageBuffer<Point>& items_;
  support::PageBuffer<std::uint32_t>& codes_;                   ///< in memory that has labels later
  std::size_t cells_ = 1;                                       ///< reached; while it is 1, codes are not set
  std::vector<std::vector<std::vector<std::uint32_t>>> lists_;  ///< [thread][number of the search]: points
};

}  // namespace amrbench::partitioners::detail
