#pragma once
// Rule 5 for points listed in no order: those that met a bracket, or all of a cell. Used by multiway.cpp.
//
// By weights a list is not sorted: a sample of it makes bins, sums over these tell in which one a search ends
// (weight_search.hpp), and only the points around that are sorted. O(n log bins), for any weights: where points of
// weight zero reach from one bin to another the bins serve a second search.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "partitioners/orb/round_walk.hpp"
#include "partitioners/orb/rules.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::detail {

template <class T, int Dim>
struct EntryCut {
  OrbPoint<T, Dim> pivot;     ///< the first point of the right
  T last;                     ///< the coordinate of the last one of the left, on the axis
  std::uint64_t left;         ///< of the cell's points, how many go left
  std::uint64_t weight_left;  ///< and their weight, without weights 0
};

/// Source: as RoundWalk's. threads: that may share a long list's work.
template <class T, int Dim, class Source>
class EntryCutter {
 public:
  using Entries = std::vector<Entry<T>>;

  EntryCutter(const Source& source, PointWeights weights, int axis, int threads)
      : source_(source), weights_(weights), axis_(axis), threads_(threads) {}

  /// The cut among the listed points, before which stand `before` of the cell's, of weight `weight_before`. Nothing
  /// where they do not tell. The list may be reordered.
  std::optional<EntryCut<T, Dim>> cut(const OrbGoal& goal, std::uint64_t before, std::uint64_t weight_before,
                                      Entries& entries) {
    if (entries.empty()) return {};
    if (weights_ && goal.weight > 0) return by_weight(goal, before, weight_before, entries);
    const std::uint64_t unit = goal.unit();
    if (unit <= before || unit >= before + entries.size()) return {};
    const auto right = entries.begin() + static_cast<std::ptrdiff_t>(unit - before);
    std::nth_element(entries.begin(), right, entries.end(), order());
    T last = entries[0].key;
    for (auto entry = entries.begin(); entry != right; ++entry) last = std::max(last, entry->key);
    return EntryCut<T, Dim>{source_.point(right->position), last, unit, 0};
  }

 private:
  static constexpr std::size_t kBins = 256;
  static constexpr std::size_t kSampledABin = 8;
  static constexpr std::size_t kSortedWhole = 8192;  ///< a list of no more entries is one bin
  static constexpr std::size_t kStretch = 1 << 14;   ///< entries that a thread takes at a time

  [[nodiscard]] auto order() const {
    return [this](const Entry<T>& a, const Entry<T>& b) {
      if (a.key != b.key) return a.key < b.key;
      return orb_before(source_.point(a.position), source_.point(b.position), axis_);
    };
  }

  /// A list in bins that follow one another in the order.
  struct Bins {
    std::size_t size = 1;
    std::vector<std::uint8_t> of;  ///< each entry
    std::array<std::uint64_t, kBins> count{}, weight{};
  };

  [[nodiscard]] Bins make_bins(const Entries& entries) const {
    Bins bins;
    std::vector<Entry<T>> ends;  // the first entry of each bin but the first
    if (entries.size() > kSortedWhole) {
      std::vector<Entry<T>> sample;
      const std::size_t step = entries.size() / (kBins * kSampledABin);
      for (std::size_t k = 0; k < entries.size(); k += step) sample.push_back(entries[k]);
      std::sort(sample.begin(), sample.end(), order());
      for (std::size_t bin = 1; bin < kBins; ++bin) ends.push_back(sample[bin * sample.size() / kBins]);
      bins.size = kBins;
    }
    bins.of.resize(entries.size());
    const std::size_t stretches = (entries.size() + kStretch - 1) / kStretch;
#pragma omp parallel for num_threads(threads_) schedule(dynamic) if (threads_ > 1 && stretches > 1)
    for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
      std::array<std::uint64_t, kBins> count{}, weight{};
      for (std::size_t k = stretch * kStretch; k < std::min(entries.size(), (stretch + 1) * kStretch); ++k) {
        const auto bin =
            static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), entries[k], order()) - ends.begin());
        bins.of[k] = static_cast<std::uint8_t>(bin);
        ++count[bin];
        weight[bin] += weights_[source_.point(entries[k].position).id];
      }
#pragma omp critical(orb_entry_bins)
      for (std::size_t bin = 0; bin < bins.size; ++bin) {
        bins.count[bin] += count[bin];
        bins.weight[bin] += weight[bin];
      }
    }
    return bins;
  }

  std::optional<EntryCut<T, Dim>> by_weight(const OrbGoal& goal, std::uint64_t before, std::uint64_t weight_before,
                                            const Entries& entries) const {
    const Bins bins = make_bins(entries);
    auto search = first_search(goal);
    for (std::size_t reach = 1;;) {  // bins taken in around that in which the search ends: as many as needed
      std::size_t end = 0;
      std::uint64_t k = before, weight = weight_before;
      for (; end < bins.size; ++end) {
        k += bins.count[end];
        weight += bins.weight[end];
        if (search.reached(k, weight)) break;
      }
      if (end == bins.size) return {};
      const std::size_t first = end - std::min(end, reach), last = std::min(end + reach + 1, bins.size);
      for (std::size_t bin = first; bin <= end; ++bin) {
        k -= bins.count[bin];
        weight -= bins.weight[bin];
      }
      const Entries window = sorted(entries, bins, first, last);
      std::vector<std::uint64_t> weights;
      weights.reserve(window.size());
      for (const Entry<T>& entry : window) weights.push_back(weights_[source_.point(entry.position).id]);
      const std::uint64_t size = window.size();
      const auto verdict = decide_cut(goal, search, k, weight, size, weights.data());
      if (verdict.kind == VerdictKind::again) {
        search = verdict.search;
        reach = 1;
        continue;
      }
      if (verdict.kind == VerdictKind::cut && verdict.left > 0 && verdict.left < size)
        return EntryCut<T, Dim>{source_.point(window[verdict.left].position), window[verdict.left - 1].key,
                                k + verdict.left, verdict.weight_left};
      if (first == 0 && last == bins.size) return {};
      reach *= 2;
    }
  }

  /// The entries of bins [first, last).
  [[nodiscard]] Entries sorted(const Entries& entries, const Bins& bins, std::size_t first, std::size_t last) const {
    Entries window;
    for (std::size_t k = 0; k < entries.size(); ++k)
      if (bins.of[k] >= first && bins.of[k] < last) window.push_back(entries[k]);
    std::sort(window.begin(), window.end(), order());
    return window;
  }

  const Source& source_;
  PointWeights weights_;
  int axis_;
  int threads_;
};

}  // namespace amrbench::partitioners::detail
