#pragma once
// Selection by (coordinate, index) on records: the exact median without sorting.
//
// Rounds of sampling: two pivots from a sorted sample enclose the wanted position with high probability, and the node
// is partitioned by the lower one, what is left by the upper one. So a node's records are moved about 1.5 times.
// Positions of samples come from a hash, so no order of the input is known to be slow. What is returned is unique; how
// records stand within the two sides is not part of the contract.
// Source: document 001, section 2.3.1, splitter 4; Floyd and Rivest, CACM 18 (1975).
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "partitioners/kd/exec.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners::kd {

/// Where a node is cut: its first `count` records stay below; `value` is their largest coordinate along the axis.
struct Cut {
  std::size_t count;
  double value;
};

/// num / den of n points of like weight, rounded, halves down; at least `least` and at most n - least_above.
inline std::size_t even_share(std::size_t n, std::uint64_t num, std::uint64_t den, std::size_t least,
                              std::size_t least_above) {
  const auto target = static_cast<Mass>(n) * num;  // of den * m
  const auto m = static_cast<std::size_t>((2 * target + den - 1) / (2 * static_cast<Mass>(den)));
  return std::clamp(m, least, n - least_above);
}

template <class R>
class Selector {
  using Scalar = typename R::Scalar;
  using Key = UpToKey<R>;

 public:
  Selector(R* r, std::size_t n, int axis) : r_(r), n_(n), axis_(axis) {}

  /// The m smallest first, 1 <= m < n.
  template <class Exec>
  Cut prefix(const Exec& exec, std::size_t m) {
    return search(
        exec, [m](Mass, std::size_t below) { return below >= m; },
        [m](const R*, std::size_t begin, std::size_t, Mass) { return m - begin; },
        [m](std::size_t below) { return below == m; }, static_cast<double>(m), false);
  }

  /// The prefix whose mass comes closest to num / den of the node's (the smaller of two equally close), of at least
  /// `least` and at most n - least_above records; least, least_above >= 1.
  template <class Exec>
  Cut share(const Exec& exec, std::uint64_t num, std::uint64_t den, std::size_t least, std::size_t least_above) {
    if constexpr (!R::kWeighted) {
      return prefix(exec, even_share(n_, num, den, least, least_above));
    } else {
      const Mass target = exec.mass(r_, n_) * static_cast<Mass>(num);
      const Mass scale = static_cast<Mass>(den);
      const Cut cut = search(
          exec, [=](Mass below, std::size_t) { return below * scale >= target; },
          [=](const R* r, std::size_t begin, std::size_t end, Mass below) {
            std::size_t k = begin;
            Mass with = below;
            while (k < end && with * scale < target) {
              below = with;
              with += point_mass(r[k++].weight);
            }
            return (with * scale - target < target - below * scale ? k : k - 1) - begin;
          },
          [](std::size_t) { return false; }, static_cast<double>(target) / static_cast<double>(den), true);
      const std::size_t m = std::clamp(cut.count, least, n_ - least_above);
      return m == cut.count ? cut : prefix(exec, m);
    }
  }

 private:
  static constexpr std::size_t kSorted = 24;    ///< so few are sorted
  static constexpr std::size_t kSampled = 512;  ///< fewer take the median of three as pivot
  static constexpr std::size_t kMaxSample = 1024;

  /// Narrows [begin, end), which holds the record that makes `reached(mass, count of records)` true of the prefix that
  /// ends with it, until it can be sorted; `place` then says how many records of the sorted rest belong below.
  template <class Exec, class Reached, class Place, class Exact>
  Cut search(const Exec& exec, Reached reached, Place place, Exact exact, double target, bool weighted) {
    std::size_t begin = 0, end = n_;
    Mass below = 0;    // of records in front of begin
    double value = 0;  // their largest coordinate
    std::array<Key, 2> pivots{};
    while (end - begin > kSorted) {
      const int count =
          choose_pivots(begin, end, target - static_cast<double>(weighted ? below : static_cast<Mass>(begin)), weighted,
                        exec, pivots);
      for (int p = 0; p < count && end - begin > kSorted; ++p) {
        const std::size_t j = exec.partition(r_ + begin, end - begin, pivots[p]);
        if (exact(begin + j)) return {begin + j, static_cast<double>(pivots[p].value)};
        const Mass with = below + exec.mass(r_ + begin, j);
        if (reached(with, begin + j)) {
          end = begin + j;
          break;
        }
        begin += j;
        below = with;
        value = static_cast<double>(pivots[p].value);
      }
    }
    std::sort(r_ + begin, r_ + end, KeyLess<R>{axis_});
    const std::size_t m = begin + place(r_, begin, end, below);
    return {m, m > begin ? static_cast<double>(r_[m - 1].x[axis_]) : value};
  }

  /// One or two pivots, ascending, none of them the largest key of the range.
  template <class Exec>
  int choose_pivots(std::size_t begin, std::size_t end, double target, bool weighted, const Exec& exec,
                    std::array<Key, 2>& pivots) {
    const std::size_t n = end - begin;
    const auto sample_at = [&](std::size_t i) -> const R& {
      return r_[begin + static_cast<std::size_t>(support::draw24(i, n) * n >> 24)];  // n < 2^40
    };
    const KeyLess<R> less{axis_};
    if (n < kSampled) {
      const R* a = r_ + begin + n / 4;
      const R* b = r_ + begin + n / 2;
      const R* c = r_ + begin + n / 4 * 3;
      const R* low = less(*a, *b) ? a : b;
      const R* high = low == a ? b : a;
      const R* median = less(*c, *low) ? low : less(*c, *high) ? c : high;
      pivots[0] = up_to(*median, axis_);
      return 1;
    }
    std::array<R, kMaxSample> sample;
    const auto wanted = static_cast<std::size_t>(std::pow(static_cast<double>(n), 2.0 / 3.0) / 2);
    const std::size_t k = std::min(kMaxSample, wanted);
    for (std::size_t i = 0; i < k; ++i) sample[i] = sample_at(i);
    std::sort(sample.begin(), sample.begin() + k, less);

    // Rank of the target in the sample, by count or by mass.
    double rank = target / static_cast<double>(n) * static_cast<double>(k);
    if (weighted) {
      rank = 0;
      const double share =
          target / static_cast<double>(exec.mass(r_ + begin, n)) * static_cast<double>(mass_of(sample.data(), k));
      for (double sum = 0; rank < static_cast<double>(k); rank += 1) {
        sum += static_cast<double>(mass_of(sample.data() + static_cast<std::size_t>(rank), 1));
        if (sum >= share) break;
      }
    }
    const double delta = std::sqrt(static_cast<double>(k));
    const auto low = static_cast<std::ptrdiff_t>(std::floor(rank - delta));
    const auto high = static_cast<std::ptrdiff_t>(std::ceil(rank + delta));
    // A pivot must have a larger key in the sample; samples may repeat.
    int count = 0;
    for (const std::ptrdiff_t i : {low, high}) {
      if (i < 0 || i >= static_cast<std::ptrdiff_t>(k) || !less(sample[i], sample[k - 1])) continue;
      pivots[count++] = up_to(sample[i], axis_);
    }
    if (count == 0) {
      const R* smaller = &*std::min_element(r_ + begin, r_ + begin + 3, less);
      pivots[count++] = up_to(*smaller, axis_);
    }
    return count;
  }

  R* r_;
  std::size_t n_;
  int axis_;
};

}  // namespace amrbench::partitioners::kd
