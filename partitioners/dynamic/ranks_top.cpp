#include "partitioners/dynamic/ranks_top.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "partitioners/curve_walk.hpp"
#include "partitioners/kd_record.hpp"
#include "partitioners/ordered_bits.hpp"

namespace amrbench::partitioners::dynamic {
namespace {

using support::Communicator;
using Bounds = std::array<double, kMaxDim>;

/// A node that is cut: its points here stand in order[begin, end).
struct Cutting {
  std::uint32_t node;
  std::size_t begin, end;
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

/// Levels of cuts over the points of all ranks, which are reordered by number.
class LevelCutter {
 public:
  LevelCutter(const Communicator& comm, PointView<double> points) : comm_(comm), points_(points) {
    order_.resize(points.size());
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  }

  [[nodiscard]] double x(std::size_t i, int axis) const { return points_[order_[i]][axis]; }

  /// Sets axes and bounds; low == high: all points coincide.
  void bound(std::vector<Cutting>& cuts) const {
    const auto dim = static_cast<std::size_t>(points_.dim);
    std::vector<double> low(cuts.size() * dim, std::numeric_limits<double>::infinity());
    std::vector<double> high(cuts.size() * dim, -std::numeric_limits<double>::infinity());
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      for (std::size_t i = cuts[c].begin; i < cuts[c].end; ++i) {
        for (std::size_t d = 0; d < dim; ++d) {
          const double v = x(i, static_cast<int>(d));
          low[c * dim + d] = std::min(low[c * dim + d], v);
          high[c * dim + d] = std::max(high[c * dim + d], v);
        }
      }
    }
    support::all_min(comm_, std::span(low));
    support::all_max(comm_, std::span(high));
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      kd::Box<double, kMaxDim> box{};
      for (std::size_t d = 0; d < dim; ++d) {
        box.lo[d] = low[c * dim + d];
        box.hi[d] = high[c * dim + d];
      }
      cuts[c].axis = kd::longest_axis(box);
      cuts[c].low = box.lo[static_cast<std::size_t>(cuts[c].axis)];
      cuts[c].high = box.hi[static_cast<std::size_t>(cuts[c].axis)];
    }
  }

  /// The values at the middle places, in `low`, with the points below and up to them.
  void medians(std::vector<Cutting>& cuts, std::span<const std::uint64_t> counts) const {
    std::vector<Window> windows;
    for (std::size_t c = 0; c < cuts.size(); ++c)
      windows.push_back({ordered_bits(cuts[c].low), ordered_bits(cuts[c].high), 0, counts[c] / 2 - 1, counts[c]});
    std::vector<std::vector<std::uint64_t>> keys(cuts.size());
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      keys[c].resize(cuts[c].end - cuts[c].begin);
      for (std::size_t i = 0; i < keys[c].size(); ++i) keys[c][i] = ordered_bits(x(cuts[c].begin + i, cuts[c].axis));
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

  /// Points up to the plane first; returns where the others begin.
  std::size_t part(const Cutting& cut, double plane) {
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(cut.begin);
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(cut.end);
    const auto middle = std::partition(first, last, [&](std::uint32_t i) { return points_[i][cut.axis] <= plane; });
    return static_cast<std::size_t>(middle - order_.begin());
  }

 private:
  /// One reduction: each window becomes the one of its bins that has the median's place. keys: this rank's in each
  /// window.
  void narrow(std::vector<std::vector<std::uint64_t>>& keys, std::vector<Window>& windows) const {
    std::vector<std::uint64_t> bins(256 * keys.size());
    for (std::size_t c = 0; c < keys.size(); ++c) {
      const Window& w = windows[c];
      const int shift = w.shift();
      for (const std::uint64_t key : keys[c]) ++bins[256 * c + ((key - w.low) >> shift)];
    }
    support::all_sum(comm_, std::span(bins));
    for (std::size_t c = 0; c < keys.size(); ++c) {
      Window& w = windows[c];
      if (w.low == w.high) continue;
      const int shift = w.shift();
      std::uint64_t bin = 0;
      while (w.before + bins[256 * c + bin] <= w.place) w.before += bins[256 * c + bin++];
      w.inside = bins[256 * c + bin];
      w.low += bin << shift;
      w.high = std::min(w.high, w.low + ((std::uint64_t{1} << shift) - 1));
      std::erase_if(keys[c], [&](std::uint64_t key) { return key < w.low || key > w.high; });
    }
  }

  const Communicator& comm_;
  PointView<double> points_;
  std::vector<std::uint32_t> order_;
};

/// The plane of a median by the rule of subtree.hpp: others that equal it stay together.
double median_plane(const Cutting& cut, std::uint64_t n, bool& tied) {
  const std::uint64_t half = n / 2;
  if (cut.up_to == half) return cut.low;
  tied = true;
  if (cut.up_to < n && (cut.below == 0 || cut.up_to - half <= half - cut.below)) return cut.low;
  return std::nextafter(cut.low, -std::numeric_limits<double>::infinity());
}

}  // namespace

RanksTop::RanksTop()
    : nodes_{{0, 1, 0, 0}}, plane_{0}, node_level_{0}, domain_{0}, level_{0}, entrance_(1), built_{0} {}

void RanksTop::build(const Communicator& comm, PointView<double> points, const RanksTopRule& rule, TreeCurve curve) {
  const std::uint64_t n = support::all_sum(comm, static_cast<std::uint64_t>(points.size()));
  nodes_.assign(1, {0, static_cast<std::uint32_t>(n), 0, 0});
  plane_.assign(1, 0);
  node_level_.assign(1, 0);
  tied_ = false;
  LevelCutter cutter(comm, points);
  std::vector<Cutting> level{{0, 0, points.size()}};
  for (std::size_t leaves = 1; leaves < rule.domains && !level.empty(); leaves *= 2) {
    std::erase_if(level, [&](const Cutting& c) { return nodes_[c.node].count <= rule.bucket; });
    cutter.bound(level);
    if (std::erase_if(level, [](const Cutting& c) { return !(c.low < c.high); }) > 0) tied_ = true;
    if (level.empty()) break;
    std::vector<std::uint64_t> counts, lower;
    for (const Cutting& c : level) counts.push_back(nodes_[c.node].count);
    if (!rule.midpoint) cutter.medians(level, counts);
    std::vector<std::size_t> cut;
    for (std::size_t c = 0; c < level.size(); ++c) {
      const double plane =
          rule.midpoint ? kd::middle(level[c].low, level[c].high) : median_plane(level[c], counts[c], tied_);
      cut.push_back(cutter.part(level[c], plane));
      lower.push_back(cut.back() - level[c].begin);
      plane_[level[c].node] = plane;
    }
    support::all_sum(comm, std::span(lower));
    std::vector<Cutting> next;
    for (std::size_t c = 0; c < level.size(); ++c) {
      const std::uint32_t at = level[c].node, child = static_cast<std::uint32_t>(nodes_.size());
      nodes_[at].child = child;
      nodes_[at].axis = static_cast<std::uint32_t>(level[c].axis);
      nodes_.push_back({0, static_cast<std::uint32_t>(lower[c]), 0, 0});
      nodes_.push_back({0, static_cast<std::uint32_t>(counts[c] - lower[c]), 0, 0});
      plane_.insert(plane_.end(), 2, 0);
      node_level_.insert(node_level_.end(), 2, node_level_[at] + 1);
      next.push_back({child, level[c].begin, cut[c]});
      next.push_back({child + 1, cut[c], level[c].end});
    }
    level = std::move(next);
  }
  number_domains(points.dim, curve);
}

void RanksTop::number_domains(int dim, TreeCurve curve) {
  const std::span<const KdNode<std::uint32_t>> nodes(nodes_);
  domain_.assign(nodes_.size(), 0);
  level_.clear();
  entrance_.clear();
  built_.clear();
  depth_ = *std::max_element(node_level_.begin(), node_level_.end());
  for (const auto& s : CurveWalker<std::uint32_t>(nodes, dim, curve).pieces(curve_start(nodes), 0)) {
    domain_[s.node] = static_cast<std::uint32_t>(entrance_.size());
    // A curve that is alone in space travels along its own tree's first split.
    CurveEntrance entrance;
    if (nodes_.size() > 1) {
      entrance.corner = s.entry;
      entrance.travel = s.travel;
    }
    entrance_.push_back(entrance);
    level_.push_back(node_level_[s.node]);
    built_.push_back(nodes_[s.node].count);
  }
}

}  // namespace amrbench::partitioners::dynamic
