#pragma once
// Subtrees of a dynamic tree, built from records that lie together.
//
// As kd/builder.hpp, but a cut is a plane alone: points with equal coordinates stay on one side, so that planes lead to
// each point again. The median is selected among coordinates; if others equal it, the cut below or above all of them is
// taken, whichever leaves the halves more even. The tree depends on records and their order alone.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "partitioners/kd/builder.hpp"
#include "partitioners/kd/exec.hpp"
#include "partitioners/kd/preorder.hpp"
#include "partitioners/kd/record.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners::dynamic {

/// Set in PreNode::axis where ties moved the cut.
inline constexpr std::uint32_t kTied = std::uint32_t{1} << 16;

template <class R>
struct Below {
  double value;
  int axis;
  bool operator()(const R& r) const { return r.x[axis] < value; }
};

/// A median along an axis by value.
template <class R>
class MedianCut {
 public:
  struct Result {
    std::size_t count;  ///< records below, in front
    double plane;
    bool tied;
  };

  MedianCut(R* r, std::size_t n, int axis) : r_(r), n_(n), axis_(axis) {}

  /// The records' coordinates along the axis must differ.
  template <class Exec>
  Result cut(const Exec& exec) {
    const std::size_t half = n_ / 2;  // the median has the place half - 1, the last one below
    narrow(exec, half - 1);
    const double value = value_;
    const std::size_t lower = begin_ + exec.partition(r_ + begin_, end_ - begin_, Below<R>{value, axis_});
    const std::size_t upper = lower + exec.partition(r_ + lower, end_ - lower, kd::UpTo<R>{value, axis_});
    if (upper == half) return {half, value, false};
    if (upper < n_ && (lower == 0 || upper - half <= half - lower)) return {upper, value, true};
    return {lower, std::nextafter(value, -std::numeric_limits<double>::infinity()), true};
  }

 private:
  static constexpr std::size_t kCopied = 512;
  static constexpr std::size_t kSample = 255;

  /// Finds the value at place k of the order and a stretch outside of which all is smaller in front and larger behind.
  template <class Exec>
  void narrow(const Exec& exec, std::size_t k) {
    begin_ = 0;
    end_ = n_;
    while (end_ - begin_ > kCopied) {
      const auto [low, high] = pivots(k);
      if (!keep_up_to(exec, k, high) || !keep_above(exec, k, low)) return;
    }
    double copy[kCopied];
    for (std::size_t i = begin_; i < end_; ++i) copy[i - begin_] = r_[i].x[axis_];
    std::nth_element(copy, copy + (k - begin_), copy + (end_ - begin_));
    value_ = copy[k - begin_];
  }

  /// Drops what lies above `pivot` if place k does not, else what does not. False: the value at k is known.
  template <class Exec>
  bool keep_up_to(const Exec& exec, std::size_t k, double pivot) {
    const std::size_t j = begin_ + exec.partition(r_ + begin_, end_ - begin_, kd::UpTo<R>{pivot, axis_});
    if (k >= j) {
      begin_ = j;
      return true;
    }
    if (j < end_) {
      end_ = j;
      return true;
    }
    return keep_above(exec, k, pivot);  // all are up to the pivot: only those below may be dropped
  }

  /// Drops what lies below `pivot` if place k does not, else what does not.
  template <class Exec>
  bool keep_above(const Exec& exec, std::size_t k, double pivot) {
    const std::size_t j = begin_ + exec.partition(r_ + begin_, end_ - begin_, Below<R>{pivot, axis_});
    if (k < j) {
      end_ = j;
      return true;
    }
    if (j > begin_) {
      begin_ = j;
      return true;
    }
    // None is below the pivot. Those equal to it hold place k, or are dropped.
    const std::size_t equal = begin_ + exec.partition(r_ + begin_, end_ - begin_, kd::UpTo<R>{pivot, axis_});
    if (k < equal) {
      value_ = pivot;
      return false;
    }
    begin_ = equal;
    return true;
  }

  /// Two coordinates that probably enclose that of place k.
  [[nodiscard]] std::pair<double, double> pivots(std::size_t k) const {
    const std::size_t n = end_ - begin_;
    double sample[kSample];
    for (std::size_t i = 0; i < kSample; ++i)
      sample[i] = r_[begin_ + static_cast<std::size_t>(support::draw24(i, n) * n >> 24)].x[axis_];
    std::sort(sample, sample + kSample);
    const double rank = static_cast<double>(k - begin_) / static_cast<double>(n) * static_cast<double>(kSample);
    const double margin = 12;  // 1.5 times the deviation of a median of so many
    const auto place = [](double at) {
      return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(kSample - 1)));
    };
    return {sample[place(rank - margin)], sample[place(rank + margin)]};
  }

  R* r_;
  std::size_t n_;
  int axis_;
  std::size_t begin_ = 0, end_ = 0;
  double value_ = 0;
};

/// What a subtree is built by.
struct SubtreeRule {
  bool midpoint;
  std::size_t bucket;
  double balance;
};

using PreNodes = std::vector<kd::PreNode<std::uint32_t>>;

template <class R>
class SubtreeBuilder {
 public:
  SubtreeBuilder(R* records, const SubtreeRule& rule) : r_(records), rule_(rule) {}

  /// By one thread.
  void build(std::size_t first, std::size_t count, PreNodes& out) const {
    std::vector<Work> stack{{first, count}};
    while (!stack.empty()) {
      const Work w = stack.back();
      stack.pop_back();
      split(kd::Single{}, w, out, stack);
    }
  }

  /// By all threads: large nodes one after another, then what is below by one thread each.
  [[nodiscard]] PreNodes build_together(std::size_t count, int threads) const {
    const std::size_t small = kd::subtree_size(count);
    std::vector<PreNodes> pieces;
    std::vector<Work> below;
    std::vector<Work> stack{{0, count}};
    while (!stack.empty()) {
      const Work w = stack.back();
      stack.pop_back();
      pieces.emplace_back();
      below.push_back(w);
      if (w.count <= small) continue;
      below.back().count = 0;
      split(kd::Team{threads}, w, pieces.back(), stack);
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (pieces[p].empty()) build(below[p].first, below[p].count, pieces[p]);
    }
    PreNodes all;
    for (const PreNodes& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
    return all;
  }

 private:
  struct Work {
    std::size_t first, count;
  };

  /// Emits a node and pushes its children, the lower one on top.
  template <class Exec>
  void split(const Exec& exec, const Work& w, PreNodes& out, std::vector<Work>& stack) const {
    const auto count = static_cast<std::uint32_t>(w.count);
    R* r = r_ + w.first;
    if (w.count <= rule_.bucket) return out.push_back({0, count, kd::kLeaf});
    const auto box = exec.box(r, w.count);
    const int axis = kd::longest_axis(box);
    const double lo = box.lo[static_cast<std::size_t>(axis)], hi = box.hi[static_cast<std::size_t>(axis)];
    if (!(lo < hi)) return out.push_back({0, count, kd::kLeaf});  // all coincide
    typename MedianCut<R>::Result cut{};
    if (rule_.midpoint) {
      cut.plane = kd::middle(lo, hi);
      cut.count = exec.partition(r, w.count, kd::UpTo<R>{cut.plane, axis});
    } else {
      cut = MedianCut<R>(r, w.count, axis).cut(exec);
    }
    const auto larger = static_cast<double>(std::max(cut.count, w.count - cut.count));
    const bool uneven = cut.tied && larger > rule_.balance * static_cast<double>(w.count);
    out.push_back({cut.plane, count, static_cast<std::uint32_t>(axis) | (uneven ? kTied : 0)});
    stack.push_back({w.first + cut.count, w.count - cut.count});
    stack.push_back({w.first, cut.count});
  }

  R* r_;
  SubtreeRule rule_;
};

}  // namespace amrbench::partitioners::dynamic
