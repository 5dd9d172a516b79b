#pragma once
// A guess at up to 6 levels of the tree below a cell, made from a sample: for every inner node the axis and a bracket
// that very likely holds the cut. A point walks down from the root; one that meets a bracket stops there, for where it
// belongs is known only when the cut is. And RoundCell, what a round knows of the cell that it cuts so.
//
// Where many points have one coordinate a bracket is a stretch of the order of rule 1, between two sampled points, and
// as narrow as elsewhere. Coordinates alone are compared first, in vectors; the order decides for points on its ends.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "partitioners/orb/rules.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners {

constexpr int kRoundLevels = 6;
constexpr int kRoundNodes = 2 << kRoundLevels;  ///< heap of the round: nodes 1 .. 127
/// Codes below kStopped: the number of the node reached at the round's last level. kStopped + node: stopped there.
constexpr std::uint8_t kStopped = 0x80;
/// Half-width of a bracket in standard deviations of the sample's rank: about 1 cut in 370 is missed and costs a round
/// of its own for its cell.
constexpr double kBracketSigmas = 3.0;
/// Samples below which a node is not guessed.
constexpr std::size_t kLeastSample = 64;

template <class T, int Dim>
struct RoundNode {
  bool inner = false;
  int axis = 0;
  T low = 0;   ///< coordinates below go left
  T high = 0;  ///< coordinates above go right
  /// Points that have these go left if they stand before the first, right if behind the last.
  OrbPoint<T, Dim> first{}, last{};
};

/// Levels a round takes off a cell with d leaves: as many as the other rounds of that cell.
inline int round_levels(std::uint32_t d) {
  const int depth = orb_depth(d);
  const int rounds = (depth + kRoundLevels - 1) / kRoundLevels;
  return rounds == 0 ? 0 : (depth + rounds - 1) / rounds;
}

/// What the points of a sample weigh, by their ids, and how they were drawn: each as likely as any other, or (even > 0)
/// in proportion to weight + even. One that was likelier stands for less.
struct SampleWeights {
  const std::uint64_t* units = nullptr;  ///< nullptr: all the same
  double even = 0;
  [[nodiscard]] double operator[](std::uint32_t id) const {
    const auto weight = static_cast<double>(units[id]);
    return even > 0 ? weight / (weight + even) : weight;
  }
};

template <class T, int Dim>
class RoundTree {
 public:
  using Point = OrbPoint<T, Dim>;

  /// Guesses below a cell of `leaves` leaves in `box`. The sample is reordered.
  void guess(std::span<Point> sample, const SampleWeights& weights, std::uint32_t leaves, const OrbBox<T, Dim>& box,
             double side_tolerance, int threads) {
    levels_ = round_levels(leaves);
    weights_ = weights;
    side_tolerance_ = side_tolerance;
    for (auto& node : nodes_) node = {};
    // Level by level, where each node's cell is known once the one above it is cut. Not by OpenMP tasks:
    // ThreadSanitizer reports the memory of their arguments, which the OpenMP library uses again without telling it.
    std::vector<Cell> cells(std::size_t{1} << levels_);
    std::vector<Cell> below(cells.size());
    cells[0] = {sample, leaves, box};
    for (int level = 0; level < levels_; ++level) {
      const std::size_t first = std::size_t{1} << level;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1 && level > 0)
      for (std::size_t i = 0; i < first; ++i) guess_node(first + i, cells[i], below[2 * i], below[2 * i + 1]);
      cells.swap(below);
    }
    make_tables();
  }

  /// Makes it a tree of one level, whose codes are 0 and 1.
  void make_single_level() {
    levels_ = 1;
  }

  [[nodiscard]] int levels() const {
    return levels_;
  }
  [[nodiscard]] const RoundNode<T, Dim>& node(std::size_t v) const {
    return nodes_[v];
  }

  static constexpr int kBlock = 256;
  /// Codes of kBlock points by coordinates alone, a of point i at x[a * kBlock + i] (on_end()).
  void classify(const T* x, std::uint8_t* codes) const {
    std::int32_t at[kBlock];
    std::int32_t stop[kBlock];
    for (int i = 0; i < kBlock; ++i) {
      at[i] = 1;
      stop[i] = 0;
    }
    for (int level = 0; level < levels_; ++level) {
      if (common_axis_[level] >= 0) {
        step<false>(x + common_axis_[level] * kBlock, at, stop);
      } else {
        step<true>(x, at, stop);
      }
    }
    const std::int32_t first = 1 << levels_;
    for (int i = 0; i < kBlock; ++i) codes[i] = static_cast<std::uint8_t>(stop[i] ? kStopped + stop[i] : at[i] - first);
  }

  /// May a point that classify() stopped at node v, with this coordinate on the node's axis, go on after all?
  [[nodiscard]] bool on_end(std::size_t v, T c) const {
    return c == nodes_[v].low || c == nodes_[v].high;
  }
  /// Code of one point that is known to be in node v's cell.
  [[nodiscard]] std::uint8_t code_from(std::size_t v, const Point& p) const {
    const std::size_t first = std::size_t{1} << levels_;
    while (v < first) {
      const RoundNode<T, Dim>& node = nodes_[v];
      if (!node.inner) {
        v = 2 * v;
        continue;
      }
      const T c = p.x[node.axis];
      const bool left = c < node.low || (c == node.low && orb_before(p, node.first, node.axis));
      const bool right = c > node.high || (c == node.high && orb_before(node.last, p, node.axis));
      if (!left && !right) return static_cast<std::uint8_t>(kStopped + v);
      v = 2 * v + (left ? 0 : 1);
    }
    return static_cast<std::uint8_t>(v - first);
  }

 private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  /// One level down for all points of a block; Mixed: its nodes have several axes, and x is the first one's. Written
  /// for the vectoriser: no branches, local pointers, whole words.
  template <bool Mixed>
  void step(const T* __restrict x, std::int32_t* __restrict at, std::int32_t* __restrict stop) const {
    const T* __restrict low = low_;
    const T* __restrict high = high_;
    const std::int32_t* __restrict axis = axis_;
#pragma omp simd
    for (int i = 0; i < kBlock; ++i) {
      const std::int32_t v = at[i];
      const T c = x[Mixed ? axis[v] + i : i];
      const std::int32_t right = c >= low[v] ? 1 : 0;
      const std::int32_t inside = c <= high[v] ? right : 0;
      const std::int32_t stopped = stop[i];
      const std::int32_t here = inside * v;
      stop[i] = stopped != 0 ? stopped : here;
      at[i] = 2 * v + right;
    }
  }

  /// A node's part of the sample, its leaves and its box; without leaves: nothing is guessed there.
  struct Cell {
    std::span<Point> sample;
    std::uint32_t leaves = 0;
    OrbBox<T, Dim> box;
  };

  /// Guesses node v, and hands its cell's two parts to the nodes below.
  void guess_node(std::size_t v, const Cell& cell, Cell& left, Cell& right) {
    left = right = {};
    if (cell.leaves < 2 || cell.sample.size() < kLeastSample) return;
    const int axis = cut_axis(cell.box, side_tolerance_);
    const std::uint32_t leaves = left_leaves(cell.leaves);
    const double share = static_cast<double>(leaves) / cell.leaves;
    const std::size_t cut = bracket(v, axis, cell.sample, share);
    left = {cell.sample.first(cut), leaves, cell.box};
    right = {cell.sample.subspan(cut), cell.leaves - leaves, cell.box};
    const auto along = static_cast<std::size_t>(axis);
    left.box.upper[along] = right.box.lower[along] = cell.sample[cut].x[axis];
  }

  /// Places in a sample in order: of the cut, and of the points that a bracket around it begins and ends with.
  struct Ranks {
    std::size_t low = kNone, cut = 0, high = kNone;
    static constexpr auto kNone = std::numeric_limits<std::size_t>::max();
  };

  /// Sets node v from the sample's ranks around `share` of it; the sample is partitioned at the result.
  std::size_t bracket(std::size_t v, int axis, std::span<Point> sample, double share) {
    const Ranks r = weights_.units ? weighted_ranks(axis, sample, share) : ranks_by_count(axis, sample, share);
    RoundNode<T, Dim>& node = nodes_[v];
    node = {true, axis, -kInfinity, kInfinity, {}, {}};
    if (r.low != Ranks::kNone) {
      node.first = sample[r.low];
      node.low = node.first.x[axis];
    }
    if (r.high != Ranks::kNone) {
      node.last = sample[r.high];
      node.high = node.last.x[axis];
    }
    return r.cut;
  }

  [[nodiscard]] static auto order(int axis) {
    return [axis](const Point& p, const Point& q) { return orb_before(p, q, axis); };
  }

  /// Every point weighs the same. Afterwards the sample's points at these places are those of the order.
  static Ranks ranks_by_count(int axis, std::span<Point> sample, double share) {
    const auto before = order(axis);
    const auto size = static_cast<double>(sample.size());
    const auto reach = static_cast<std::size_t>(kBracketSigmas * std::sqrt(size * share * (1 - share))) + 2;
    Ranks r;
    r.cut = std::clamp<std::size_t>(static_cast<std::size_t>(size * share), 1, sample.size() - 1);
    const auto at = [&](std::size_t rank) { return sample.begin() + static_cast<std::ptrdiff_t>(rank); };
    // Outwards in: each selection works on what the one before left.
    auto first = sample.begin(), last = sample.end();
    if (r.cut >= reach) {
      r.low = r.cut - reach;
      std::nth_element(first, at(r.low), last, before);
      first = at(r.low + 1);
    }
    if (r.cut + reach < sample.size()) {
      r.high = r.cut + reach;
      std::nth_element(first, at(r.high), last, before);
      last = at(r.high);
    }
    std::nth_element(first, at(r.cut), last, before);
    return r;
  }

  /// By the sample's weights, whose spread is that of a sum of independent draws. Sorts the sample.
  Ranks weighted_ranks(int axis, std::span<Point> sample, double share) const {
    std::sort(sample.begin(), sample.end(), order(axis));
    double sum = 0;
    double squares = 0;
    for (const Point& p : sample) {
      const double w = weights_[p.id];
      sum += w;
      squares += w * w;
    }
    if (sum == 0) return ranks_by_count(axis, sample, share);
    const double reach = kBracketSigmas * std::sqrt(squares * share * (1 - share));
    const double goal = sum * share;
    Ranks r;
    double weight = 0, left = 0;  // left: of the cut
    for (std::size_t i = 0; i < sample.size(); ++i) {
      if (weight < goal - reach && i > 1) r.low = i - 1;
      if (weight < goal) r.cut = i, left = weight;
      weight += weights_[sample[i].id];
      if (r.high == Ranks::kNone && weight > goal + reach && i + 2 < sample.size()) r.high = i + 1;
    }
    keep_whole(sample, goal - left, r);
    reach_number(sample, share, r);
    r.cut = std::clamp<std::size_t>(r.cut, 1, sample.size() - 1);
    return r;
  }

  /// A heavy point may have been drawn several times. It goes to one side as a whole, and the bracket ends beside it.
  /// missing: of the weight that is to go left.
  void keep_whole(std::span<const Point> sample, double missing, Ranks& r) const {
    std::size_t first = r.cut, last = r.cut;
    const std::uint32_t id = sample[r.cut].id;
    while (first > 0 && sample[first - 1].id == id) --first;
    while (last + 1 < sample.size() && sample[last + 1].id == id) ++last;
    if (first == last) return;
    if (r.low != Ranks::kNone && r.low >= first) r.low = first > 0 ? first - 1 : Ranks::kNone;
    if (r.high != Ranks::kNone && r.high <= last) r.high = last + 1 < sample.size() ? last + 1 : Ranks::kNone;
    const double each = weights_[id], before = static_cast<double>(r.cut - first) * each + missing;
    r.cut = 2 * before < static_cast<double>(last + 1 - first) * each ? first : last + 1;
  }

  /// Where points beside the cut weigh nothing, rule 5 puts it as near to the cut by number as they allow: the bracket
  /// reaches there. Those points are all drawn alike, so that ranks among them are those of all points.
  void reach_number(std::span<const Point> sample, double share, Ranks& r) const {
    const auto weighs = [&](std::size_t i) { return weights_.units[sample[i].id] != 0; };
    std::size_t first = r.cut, last = r.cut;
    while (first > 0 && !weighs(first - 1)) --first;
    while (last < sample.size() && !weighs(last)) ++last;
    if (first == last) return;
    double before = 0;  // of those points, how many belong on the left
    for (std::size_t i = 0; i < sample.size(); ++i) before += weighs(i) ? 0 : share;
    const auto reach = static_cast<std::size_t>(kBracketSigmas * std::sqrt(before * (1 - share))) + 2;
    std::size_t wanted = 0;
    for (; wanted < sample.size() && before > 0; ++wanted) before -= weighs(wanted) ? 0 : 1;
    const std::size_t cut = std::clamp(wanted, first, last);
    if (r.low != Ranks::kNone && cut < r.low + reach) r.low = cut > reach ? cut - reach : Ranks::kNone;
    if (r.high != Ranks::kNone && cut + reach > r.high)
      r.high = cut + reach < sample.size() ? cut + reach : Ranks::kNone;
    r.cut = cut;
  }

  void make_tables() {
    for (int level = 0; level < levels_; ++level) {
      int common = -2;
      for (std::size_t v = std::size_t{1} << level; v < std::size_t{2} << level; ++v) {
        const RoundNode<T, Dim>& node = nodes_[v];
        low_[v] = node.inner ? node.low : kInfinity;  // an outer node passes its points on to the left
        high_[v] = node.inner ? node.high : kInfinity;
        axis_[v] = node.axis * kBlock;
        if (!node.inner) continue;
        common = common == -2 || common == node.axis ? node.axis : -1;
      }
      common_axis_[level] = common == -2 ? 0 : common;
    }
  }

  std::array<RoundNode<T, Dim>, kRoundNodes> nodes_{};
  T low_[kRoundNodes / 2] = {};
  T high_[kRoundNodes / 2] = {};
  std::int32_t axis_[kRoundNodes / 2] = {};
  int common_axis_[kRoundLevels] = {};
  int levels_ = 0;
  SampleWeights weights_;
  double side_tolerance_ = 0;
};

namespace detail {

/// Sampled points of a round: the more there are, the fewer points meet brackets; both cost about the same at this
/// size.
inline std::size_t sample_size(std::uint64_t n) {
  constexpr double kShare = 1.3;
  const auto balanced = static_cast<std::uint64_t>(kShare * std::pow(static_cast<double>(n), 0.75));
  return static_cast<std::size_t>(std::min(n, balanced));
}

/// The i-th of a sample of `size` of n points: one at random out of each of equal parts. Both at most 2^32.
inline std::uint64_t sample_position(std::uint64_t i, std::uint64_t n, std::uint64_t size) {
  const std::uint64_t first = n * i / size, end = n * (i + 1) / size;
  return first + support::splitmix64(i) % (end - first);
}

/// Where a round's cell goes: its codes' slots, and the slots' cells of the tree, from left to right.
struct CellSlots {
  std::array<std::uint8_t, 256> slot_of{};
  std::vector<std::size_t> cells;
};

/// A cell in a round.
template <class T, int Dim>
struct RoundCell {
  std::size_t cell = 1;  ///< of the tree
  RoundTree<T, Dim> guess;
  std::array<std::uint64_t, kRoundNodes> passed{};  ///< points that are known to be in a node's cell
  std::array<std::uint64_t, kRoundNodes> passed_weight{};
  std::array<bool, kRoundNodes> resolved{};

  [[nodiscard]] std::size_t heap(std::size_t v) const {
    const int level = std::bit_width(v) - 1;
    return (cell << level) + (v - (std::size_t{1} << level));
  }
  [[nodiscard]] std::size_t node_of(std::size_t code) const {
    return code < kStopped ? (std::size_t{1} << guess.levels()) + code : code - kStopped;
  }
  /// Points more at a node, and so in all cells above it up to, not including, `top`.
  void pass(std::size_t node, std::size_t top, std::uint64_t count, std::uint64_t weight) {
    for (std::size_t u = node; u > top; u /= 2) {
      passed[u] += count;
      passed_weight[u] += weight;
    }
  }
  /// No bracket served: the cell is cut once, by all of its points, whose codes become 0 and 1.
  void make_single_level() {
    guess.make_single_level();
    passed.fill(0);
    passed_weight.fill(0);
  }
  /// A slot for each cell at the end of the round, from left to right; all codes of its subtree lead to it.
  [[nodiscard]] CellSlots slots() const {
    CellSlots slots;
    add_slots(1, slots);
    return slots;
  }

 private:
  /// Those below node v.
  void add_slots(std::size_t v, CellSlots& slots) const {
    const std::size_t bottom = std::size_t{1} << guess.levels();
    if (v < bottom && resolved[v]) {
      add_slots(2 * v, slots);
      add_slots(2 * v + 1, slots);
      return;
    }
    const auto slot = static_cast<std::uint8_t>(slots.cells.size());
    slots.cells.push_back(heap(v));
    for (std::size_t from = v, end = v + 1; from < 2 * bottom; from *= 2, end *= 2)
      for (std::size_t u = from; u < end; ++u) slots.slot_of[u >= bottom ? u - bottom : kStopped + u] = slot;
  }
};

}  // namespace detail

}  // namespace amrbench::partitioners
