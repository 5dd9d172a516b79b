#include "partitioners/dynamic/row_cutter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "partitioners/kd_tree.hpp"
#include "partitioners/ordered_bits.hpp"

namespace amrbench::partitioners::dynamic {
namespace {

using support::Communicator;

/// A node that is cut.
struct Cutting {
  std::uint32_t node;
  int axis = 0;
  double low = 0, high = 0;
  std::uint64_t below = 0, up_to = 0;  ///< all ranks' points below the median's value, and up to it
};

/// The median of a node: an interval of ordered integers that holds it, and the points below that.
struct Window {
  std::uint64_t low, high, before = 0, place = 0, inside = 0;

  [[nodiscard]] int shift() const {
    int bits = 0;
    while ((high - low) >> bits > 255) ++bits;
    return bits;
  }
};

class RowCutter {
 public:
  RowCutter(const Communicator& comm, std::span<std::uint64_t> rows, const RowForm& form, const CutRule& rule)
      : comm_(comm), rows_(rows), form_(form), rule_(rule) {}

  std::vector<CutNode> cut(std::span<const std::size_t> ends) {
    std::vector<std::uint64_t> counts;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      nodes_.push_back({});
      nodes_.back().begin = begin;
      nodes_.back().end = end;
      counts.push_back(end - begin);
      begin = end;
    }
    support::all_sum(comm_, std::span(counts));
    for (std::size_t i = 0; i < counts.size(); ++i) nodes_[i].count = counts[i];
    for (std::size_t first = 0; first < nodes_.size();) {
      const std::size_t last = nodes_.size();
      std::vector<Cutting> level;
      for (std::size_t i = first; i < last; ++i)
        if (nodes_[i].count > rule_.most) level.push_back({static_cast<std::uint32_t>(i)});
      if (!level.empty()) cut_level(level);
      first = last;
    }
    return std::move(nodes_);
  }

 private:
  [[nodiscard]] double x(std::size_t row, std::size_t axis) const {
    return std::bit_cast<double>(rows_[row * form_.words() + form_.head + axis]);
  }

  void cut_level(std::vector<Cutting>& level) {
    bound(level);
    std::erase_if(level, [](const Cutting& c) { return !(c.low < c.high); });  // all coincide
    if (level.empty()) return;
    if (!rule_.tree.midpoint) medians(level);
    std::vector<std::uint64_t> lower(level.size());
    std::vector<std::size_t> middle(level.size());
    for (std::size_t c = 0; c < level.size(); ++c) {
      CutNode& node = nodes_[level[c].node];
      node.axis = static_cast<std::uint32_t>(level[c].axis);
      node.plane = rule_.tree.midpoint ? kd::middle(level[c].low, level[c].high) : median_plane(level[c], node);
    }
#pragma omp parallel for num_threads(rule_.threads) schedule(dynamic)
    for (std::size_t c = 0; c < level.size(); ++c) {
      middle[c] = part(nodes_[level[c].node]);
      lower[c] = middle[c] - nodes_[level[c].node].begin;
    }
    support::all_sum(comm_, std::span(lower));
    for (std::size_t c = 0; c < level.size(); ++c) {
      const auto child = static_cast<std::uint32_t>(nodes_.size());
      CutNode& node = nodes_[level[c].node];
      node.child = child;
      const auto larger = static_cast<double>(std::max(lower[c], node.count - lower[c]));
      node.tied = node.tied && larger > rule_.tree.balance * static_cast<double>(node.count);
      CutNode below, above;
      below.begin = node.begin;
      below.end = above.begin = middle[c];
      above.end = node.end;
      below.count = lower[c];
      above.count = node.count - lower[c];
      nodes_.push_back(below);  // node is no longer valid
      nodes_.push_back(above);
    }
  }

  /// Sets axes and bounds; low == high: all points coincide.
  void bound(std::vector<Cutting>& cuts) const {
    const std::size_t dim = form_.dim;
    std::vector<double> low(cuts.size() * dim, std::numeric_limits<double>::infinity());
    std::vector<double> high(cuts.size() * dim, -std::numeric_limits<double>::infinity());
#pragma omp parallel for num_threads(rule_.threads) schedule(dynamic)
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      const CutNode& node = nodes_[cuts[c].node];
      std::array<double, kMaxDim> least{}, most{};
      least.fill(std::numeric_limits<double>::infinity());
      most.fill(-std::numeric_limits<double>::infinity());
      for (std::size_t i = node.begin; i < node.end; ++i) {
        for (std::size_t d = 0; d < dim; ++d) {
          const double v = x(i, d);
          least[d] = v < least[d] ? v : least[d];
          most[d] = v > most[d] ? v : most[d];
        }
      }
      std::copy_n(least.begin(), dim, low.begin() + static_cast<std::ptrdiff_t>(c * dim));
      std::copy_n(most.begin(), dim, high.begin() + static_cast<std::ptrdiff_t>(c * dim));
    }
    support::all_min(comm_, std::span(low));
    support::all_max(comm_, std::span(high));
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      kd::Box<double, kMaxDim> box{};
      std::copy_n(low.begin() + static_cast<std::ptrdiff_t>(c * dim), dim, box.lo.begin());
      std::copy_n(high.begin() + static_cast<std::ptrdiff_t>(c * dim), dim, box.hi.begin());
      cuts[c].axis = kd::longest_axis(box);
      cuts[c].low = box.lo[static_cast<std::size_t>(cuts[c].axis)];
      cuts[c].high = box.hi[static_cast<std::size_t>(cuts[c].axis)];
    }
  }

  /// The values at the middle places, in `low`, with the points below and up to them.
  void medians(std::vector<Cutting>& cuts) const {
    std::vector<Window> windows;
    std::vector<std::vector<std::uint64_t>> keys(cuts.size());
    for (const Cutting& c : cuts) {
      const std::uint64_t count = nodes_[c.node].count;
      windows.push_back({ordered_bits(c.low), ordered_bits(c.high), 0, count / 2 - 1, count});
    }
#pragma omp parallel for num_threads(rule_.threads) schedule(dynamic)
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      const CutNode& node = nodes_[cuts[c].node];
      keys[c].resize(node.end - node.begin);
      for (std::size_t i = node.begin; i < node.end; ++i)
        keys[c][i - node.begin] = ordered_bits(x(i, static_cast<std::size_t>(cuts[c].axis)));
    }
    const auto open = [](const Window& w) { return w.low < w.high; };
    while (std::any_of(windows.begin(), windows.end(), open)) narrow(keys, windows);
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      const std::uint64_t bits = windows[c].low;
      constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;
      cuts[c].low = std::bit_cast<double>(bits ^ ((bits & kSign) != 0 ? kSign : ~std::uint64_t{0}));
      cuts[c].below = windows[c].before;
      cuts[c].up_to = windows[c].before + windows[c].inside;
    }
  }

  /// One reduction: each window becomes the one of its bins that has the median's place. keys: this rank's in each
  /// window.
  void narrow(std::vector<std::vector<std::uint64_t>>& keys, std::vector<Window>& windows) const {
    std::vector<std::uint64_t> bins(256 * keys.size());
#pragma omp parallel for num_threads(rule_.threads) schedule(dynamic)
    for (std::size_t c = 0; c < keys.size(); ++c) {
      const Window& w = windows[c];
      const int shift = w.shift();
      for (const std::uint64_t key : keys[c]) ++bins[256 * c + ((key - w.low) >> shift)];
    }
    support::all_sum(comm_, std::span(bins));
    for (std::size_t c = 0; c < keys.size(); ++c) {
      Window& w = windows[c];
      const int shift = w.shift();
      std::uint64_t bin = 0;
      while (w.before + bins[256 * c + bin] <= w.place) w.before += bins[256 * c + bin++];
      w.inside = bins[256 * c + bin];
      w.low += bin << shift;
      w.high = std::min(w.high, w.low + ((std::uint64_t{1} << shift) - 1));
    }
#pragma omp parallel for num_threads(rule_.threads) schedule(dynamic)
    for (std::size_t c = 0; c < keys.size(); ++c) {
      const Window& w = windows[c];
      std::erase_if(keys[c], [&](std::uint64_t key) { return key < w.low || key > w.high; });
    }
  }

  /// The plane of a median by the rule of subtree.hpp: others that equal it stay together.
  static double median_plane(const Cutting& cut, CutNode& node) {
    const std::uint64_t half = node.count / 2;
    if (cut.up_to == half) return cut.low;
    node.tied = true;
    if (cut.up_to < node.count && (cut.below == 0 || cut.up_to - half <= half - cut.below)) return cut.low;
    return std::nextafter(cut.low, -std::numeric_limits<double>::infinity());
  }

  /// Rows up to the plane first; returns where the others begin.
  std::size_t part(const CutNode& node) {
    std::size_t front = node.begin, back = node.end;
    const std::size_t axis = node.axis, words = form_.words();
    while (true) {
      while (front < back && x(front, axis) <= node.plane) ++front;
      while (front < back && x(back - 1, axis) > node.plane) --back;
      if (front == back) return front;
      --back;
      std::swap_ranges(rows_.begin() + static_cast<std::ptrdiff_t>(front * words),
                       rows_.begin() + static_cast<std::ptrdiff_t>((front + 1) * words),
                       rows_.begin() + static_cast<std::ptrdiff_t>(back * words));
      ++front;
    }
  }

  const Communicator& comm_;
  std::span<std::uint64_t> rows_;
  RowForm form_;
  CutRule rule_;
  std::vector<CutNode> nodes_;
};

}  // namespace

std::vector<CutNode> cut_rows(const Communicator& comm, std::span<std::uint64_t> rows,
                              std::span<const std::size_t> ends, const RowForm& form, const CutRule& rule) {
  CutRule own = rule;
  if (rows.size() < 4096 * form.words()) own.threads = 1;  // starting others would take longer
  return RowCutter(comm, rows, form, own).cut(ends);
}

}  // namespace amrbench::partitioners::dynamic
