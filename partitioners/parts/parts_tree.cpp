#include "partitioners/parts/parts_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "partitioners/kd/builder.hpp"
#include "partitioners/kd/preorder.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners::kd {

namespace {

using Index = std::uint32_t;

/// Threads that go through a node together, each one stretch of it.
struct Stretches {
  std::size_t begin = 0;
  std::size_t count = 0;
  int threads = 1;

  [[nodiscard]] std::size_t start(int t) const {
    return begin + count * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads);
  }
  template <class Run>
  void each(const Run& run) const {
    if (threads == 1) return run(0);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; ++t) run(t);
  }
};

/// The least and the largest of n values, in chains of their own: a minimum takes longer than a load.
std::pair<double, double> bounds_of(const double* x, std::size_t n) {
  constexpr std::size_t kChains = 32;
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::array<double, kChains> lo, hi;
  lo.fill(kFar);
  hi.fill(-kFar);
  std::size_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (std::size_t c = 0; c < kChains; ++c) {
      lo[c] = x[i + c] < lo[c] ? x[i + c] : lo[c];
      hi[c] = x[i + c] > hi[c] ? x[i + c] : hi[c];
    }
  }
  for (; i < n; ++i) {
    lo[0] = x[i] < lo[0] ? x[i] : lo[0];
    hi[0] = x[i] > hi[0] ? x[i] : hi[0];
  }
  return {*std::min_element(lo.begin(), lo.end()), *std::max_element(hi.begin(), hi.end())};
}

/// Finds keys by rank.
class KeySearch {
 public:
  /// room: for as many keys as there are, apart from them.
  KeySearch(AxisKeys keys, double* room_value, Index* room_id, int threads)
      : all_(keys), room_value_(room_value), room_id_(room_id), threads_(threads) {}

  /// The key up to which there are `rank` keys, 1 <= rank <= n; keys differ by their numbers at least.
  AxisKey of_rank(std::size_t rank) {
    AxisKeys keys = all_;
    std::size_t used = 0;
    while (keys.n > kFew && used + keys.n <= all_.n) {
      auto [low, high] = bracket(keys, rank);
      KeyCounts counts = collect(keys, low, high, used);
      if (rank <= counts.below) {  // what the sample missed lies on the one side of it
        high = std::exchange(low, kLowestKey);
        counts = collect(keys, low, high, used);
      } else if (rank > counts.below + counts.inside) {
        low = std::exchange(high, kHighestKey);
        counts = collect(keys, low, high, used);
      }
      rank -= counts.below;
      keys = {room_value_ + used, room_id_ + used, counts.inside};
      used += counts.inside;
    }
    some_.resize(keys.n);
    for (std::size_t i = 0; i < keys.n; ++i) some_[i] = {keys.value[i], keys.id[i]};
    const auto wanted = some_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(some_.begin(), wanted, some_.end());
    return *wanted;
  }

 private:
  static constexpr std::size_t kFew = 192;
  static constexpr std::size_t kMostSamples = 1024;

  /// Two keys of a sample around the wanted one: twice the standard deviation of its rank in the sample away.
  std::pair<AxisKey, AxisKey> bracket(AxisKeys keys, std::size_t rank) {
    const double root = std::cbrt(static_cast<double>(keys.n));
    const std::size_t size = std::min(kMostSamples, static_cast<std::size_t>(root * root / 4));
    some_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = support::draw24(i, keys.n) * keys.n >> 24;  // n < 2^32
      some_[i] = {keys.value[at], keys.id[at]};
    }
    std::sort(some_.begin(), some_.end());
    const double middle = static_cast<double>(rank) / static_cast<double>(keys.n) * static_cast<double>(size);
    const double reach = std::sqrt(static_cast<double>(size));
    const auto low = static_cast<std::ptrdiff_t>(std::floor(middle - reach));
    const auto high = static_cast<std::ptrdiff_t>(std::ceil(middle + reach));
    return {low < 0 ? kLowestKey : some_[static_cast<std::size_t>(low)],
            high >= static_cast<std::ptrdiff_t>(size) ? kHighestKey : some_[static_cast<std::size_t>(high)]};
  }

  /// Keys within the bracket go to the room from `at` on.
  KeyCounts collect(AxisKeys keys, AxisKey low, AxisKey high, std::size_t at) {
    if (keys.n != all_.n || threads_ == 1) return collect_keys(keys, low, high, room_value_ + at, room_id_ + at);
    const Stretches stretches{0, keys.n, threads_};
    std::vector<KeyCounts> found(static_cast<std::size_t>(threads_));
    stretches.each([&](int t) {
      const std::size_t begin = stretches.start(t), count = stretches.start(t + 1) - begin;
      found[static_cast<std::size_t>(t)] = collect_keys({keys.value + begin, keys.id + begin, count}, low, high,
                                                        room_value_ + at + begin, room_id_ + at + begin);
    });
    KeyCounts all;
    for (int t = 0; t < threads_; ++t) {
      const KeyCounts& here = found[static_cast<std::size_t>(t)];
      const std::size_t begin = at + stretches.start(t), to = at + all.inside;
      std::copy_n(room_value_ + begin, here.inside, room_value_ + to);  // downwards, or where they are
      std::copy_n(room_id_ + begin, here.inside, room_id_ + to);
      all.below += here.below;
      all.inside += here.inside;
    }
    return all;
  }

  AxisKeys all_;
  double* room_value_;
  Index* room_id_;
  int threads_;
  std::vector<AxisKey> some_;
};

template <int D>
class PartsTreeBuilder {
 public:
  PartsTreeBuilder(const AxisPoints<D>& points, const AxisPoints<D>& order, bool compact, int threads)
      : side_{points, order}, compact_(compact), threads_(threads) {}

  KdTree<Index> build(std::size_t n, int parts) {
    // One thread has no need of others; a few pieces a thread are of even length, points being even in number.
    const std::size_t small = threads_ == 1 ? n : std::max(n / (4 * static_cast<std::size_t>(threads_)), kSmall);
    std::vector<Piece<Index>> pieces;
    build_top({0, n, 0, parts, box_of(n)}, small, pieces);
    std::sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
      return a.node.count != b.node.count ? a.node.count > b.node.count : a.node.first < b.node.first;
    });
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t k = 0; k < tasks_.size(); ++k) build_below(tasks_[k].node, pieces[tasks_[k].piece]);
    KdTree<Index> tree;
    tree.dim = D;
    assemble(std::move(pieces), threads_, tree);
    return tree;
  }

 private:
  static constexpr std::size_t kSmall = 16384;

  struct Node {
    std::size_t first;
    std::size_t count;
    int level;  ///< of its tree: nodes of odd levels lie in side_[1], the others in side_[0]
    int parts;
    Box<double, D> box;
  };
  struct Task {
    Node node;
    std::size_t piece;
  };
  struct Split {
    int axis;
    double value;
    Node lower, upper;
  };

  static bool is_leaf(const Node& node) {
    return node.parts == 1 || node.count == 1;
  }

  void build_top(const Node& root, std::size_t small, std::vector<Piece<Index>>& pieces) {
    std::vector<Node> stack{root};
    while (!stack.empty()) {
      const Node node = stack.back();
      stack.pop_back();
      pieces.push_back({node.level, node.first, {}});
      if (node.count <= small || is_leaf(node)) {
        tasks_.push_back({node, pieces.size() - 1});
        continue;
      }
      const Split s = split(node, threads_);
      pieces.back().nodes.add(0, node.count, static_cast<std::uint32_t>(s.axis), s.value);
      stack.push_back(s.upper);
      stack.push_back(s.lower);
    }
  }

  void build_below(const Node& root, Piece<Index>& piece) {
    Preorder<Index> nodes;
    std::vector<Node> stack{root};
    while (!stack.empty()) {
      const Node node = stack.back();
      stack.pop_back();
      if (is_leaf(node)) {
        if (node.level % 2 == 0) std::copy_n(side_[0].id + node.first, node.count, side_[1].id + node.first);
        nodes.add(node.level - root.level, node.count, kLeaf, 0);
        continue;
      }
      const Split s = split(node, 1);
      nodes.add(node.level - root.level, node.count, static_cast<std::uint32_t>(s.axis), s.value);
      stack.push_back(s.upper);
      stack.push_back(s.lower);
    }
    piece.nodes = std::move(nodes);
  }

  Split split(const Node& node, int threads) {
    const int parts = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(node.parts), node.count));
    const PartsCut cut = parts_cut(node.box, parts, compact_);
    const auto below = static_cast<std::size_t>(cut.lower), above = static_cast<std::size_t>(parts - cut.lower);
    const std::size_t m = even_share(node.count, below, static_cast<std::size_t>(parts), below, above);
    const AxisPoints<D>&from = side_[node.level % 2 == 0 ? 0 : 1], &to = side_[node.level % 2 == 0 ? 1 : 0];
    const auto axis = static_cast<std::size_t>(cut.axis);
    const AxisKeys keys{from.x[axis] + node.first, from.id + node.first, node.count};
    const AxisKey pivot = KeySearch(keys, to.x[axis] + node.first, to.id + node.first, threads).of_rank(m);
    Split s{cut.axis,
            pivot.value,
            {node.first, m, node.level + 1, static_cast<int>(below), Box<double, D>::empty()},
            {node.first + m, node.count - m, node.level + 1, static_cast<int>(above), Box<double, D>::empty()}};
    const Stretches stretches{node.first, node.count, threads};
    std::vector<std::size_t> lower(static_cast<std::size_t>(threads) + 1, node.first);
    if (threads > 1) {
      stretches.each([&](int t) {
        const std::size_t begin = stretches.start(t);
        lower[static_cast<std::size_t>(t) + 1] =
            count_up_to({from.x[axis] + begin, from.id + begin, stretches.start(t + 1) - begin}, pivot);
      });
      std::partial_sum(lower.begin(), lower.end(), lower.begin());
    }
    const bool boxes = !is_leaf(s.lower) || !is_leaf(s.upper);
    std::vector<std::array<Box<double, D>, 2>> found(static_cast<std::size_t>(threads));
    stretches.each([&](int t) {
      const std::size_t begin = stretches.start(t), end = stretches.start(t + 1);
      const std::size_t low = lower[static_cast<std::size_t>(t)];
      const std::size_t high = node.first + m + (begin - node.first) - (low - node.first);
      if (boxes)
        found[static_cast<std::size_t>(t)] = distribute<D>(from, begin, end, cut.axis, pivot, to, low, high);
      else
        distribute_numbers<D>(from, begin, end, cut.axis, pivot, to.id, low, high);
    });
    if (boxes) {
      for (const auto& box : found) {
        s.lower.box.merge(box[0]);
        s.upper.box.merge(box[1]);
      }
    }
    return s;
  }

  [[nodiscard]] Box<double, D> box_of(std::size_t n) const {
    const Stretches stretches{0, n, threads_};
    std::vector<Box<double, D>> found(static_cast<std::size_t>(threads_), Box<double, D>::empty());
    stretches.each([&](int t) {
      const std::size_t begin = stretches.start(t), count = stretches.start(t + 1) - begin;
      Box<double, D>& box = found[static_cast<std::size_t>(t)];
      for (std::size_t d = 0; d < D; ++d) std::tie(box.lo[d], box.hi[d]) = bounds_of(side_[0].x[d] + begin, count);
    });
    for (const auto& box : found) found[0].merge(box);
    return found[0];
  }

  std::array<AxisPoints<D>, 2> side_;
  bool compact_;
  int threads_;
  std::vector<Task> tasks_;
};

}  // namespace

template <int D>
KdTree<Index> build_parts_tree(const AxisPoints<D>& points, const AxisPoints<D>& order, std::size_t n, int parts,
                               bool compact, int threads) {
  return PartsTreeBuilder<D>(points, order, compact, threads).build(n, parts);
}

template <int D>
void points_by_axes(PointView<double> points, int threads, const AxisPoints<D>& to) {
  const std::size_t n = points.size();
  const double* const from = points.data.data();
  bool finite = true;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : finite)
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t d = 0; d < D; ++d) {
      const double x = from[i * D + d];
      to.x[d][i] = x;
      finite = finite && std::isfinite(x);
    }
    to.id[i] = static_cast<Index>(i);
  }
  if (!finite) refuse_first(points);
}

template KdTree<Index> build_parts_tree(const AxisPoints<2>&, const AxisPoints<2>&, std::size_t, int, bool, int);
template KdTree<Index> build_parts_tree(const AxisPoints<3>&, const AxisPoints<3>&, std::size_t, int, bool, int);
template void points_by_axes(PointView<double>, int, const AxisPoints<2>&);
template void points_by_axes(PointView<double>, int, const AxisPoints<3>&);

}  // namespace amrbench::partitioners::kd
