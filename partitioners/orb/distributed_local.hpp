#pragma once
// What orb_distributed() does with a rank's own points, on the CPU: a local in the sense of distributed_types.hpp.
//
// Each thread has a stretch of the points, with its own lists and counts.
#include <algorithm>
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
    const std::vector<Entry> table = table_of<Entry>(searches, cells_);
    const std::size_t width = weighted ? 2 * kBins : kBins;
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::uint64_t> mine(sums.size(), 0);
      for_all(t, searches, table, [&, out = mine.data()](const Entry& entry, std::uint64_t i) {
        const unsigned bin = bin_of(input_.point(i), entry.test, entry.window);
        if (bin == kBins) return;
        std::uint64_t* const sum = out + entry.test.s * width + bin;
        ++*sum;
        if (weighted) sum[kBins] += weights_[input_.first_id + static_cast<std::uint32_t>(i)];
      });
#pragma omp critical(orb_distributed_bins)
      std::transform(mine.begin(), mine.end(), sums.begin(), sums.begin(), std::plus<>());
    }
  }

  void split(std::span<Search* const> searches, std::span<const std::uint32_t> next) {
    const std::vector<Entry> table = table_of<Entry>(searches, cells_, next);
    for (auto& lists : lists_) lists.resize(std::max(lists.size(), next.size()));  // no fewer than searches
#pragma omp parallel for num_threads(threads_) schedule(static) if (many())
    for (int t = 0; t < threads_; ++t) {
      std::vector<std::vector<std::uint32_t>> kept(searches.size());
      for_all(t, searches, table, [&, codes = codes_.data()](const Entry& entry, std::uint64_t i) {
        const int side = side_of(input_.point(i), entry.test, entry.window);
        codes[i] = entry.test.next + (side < 0 ? 0 : 1);
        if (side == 0) kept[entry.test.s].push_back(static_cast<std::uint32_t>(i));
      });
      for (std::size_t s = 0; s < searches.size(); ++s)
        lists_[static_cast<std::size_t>(t)][searches[s]->number] = std::move(kept[s]);
    }
    if (!table.empty()) cells_ = next.back();
  }

  void collect(std::span<const Search> searches, std::vector<Candidate>& all) const {
    for (const Search& search : searches)
      for (std::size_t t = 0; t < lists_.size() && !search.settled; ++t)
        for (const std::uint32_t i : lists_[t][search.number]) {
          const Point p = input_.point(i);
          all.push_back({p, static_cast<std::uint32_t>(search.number), weights_[p.id]});
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

  using Entry = CodeEntry<T, Dim>;

  /// Calls f(entry, i) for a thread's points i in lists and, where a search goes by codes, for all.
  template <class F>
  [[gnu::flatten]] void for_all(int t, std::span<Search* const> searches, std::span<const Entry> table, F&& f) const {
    for (std::size_t s = 0; s < searches.size(); ++s) {
      if (!searches[s]->listed) continue;
      const Entry entry(*searches[s], s, searches[s]->code);
      for (const std::uint32_t i : lists_[static_cast<std::size_t>(t)][searches[s]->number]) f(entry, i);
    }
    const std::uint64_t begin = begin_of(t), end = begin_of(t + 1);
    if (table.size() == 1) {
      const Entry entry = table[0];  // a copy, which stores through f cannot change
      for (std::uint64_t i = begin; i < end; ++i) f(entry, i);
    } else if (!table.empty()) {
      for (std::uint64_t i = begin; i < end; ++i) f(table[codes_[i]], i);
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
