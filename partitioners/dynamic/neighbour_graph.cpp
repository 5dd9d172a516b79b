#include "partitioners/dynamic/neighbour_graph.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "partitioners/kd_tree.hpp"
#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

/// Squared distance and number.
using Near = std::pair<double, std::uint32_t>;

/// The k nearest of one point after another.
class NearestSearch {
 public:
  NearestSearch(PointView<double> points, const KdTree<std::uint32_t>& tree, std::size_t k)
      : points_(points), tree_(tree), k_(k) {}

  /// The k nearest others of `self`, in no order; all others where there are fewer.
  const std::vector<Near>& find(std::uint32_t self) {
    self_ = self;
    heap_.clear();
    away_.fill(0);
    descend(0, 0);
    return heap_;
  }

 private:
  [[nodiscard]] bool hopeless(double distance) const { return heap_.size() == k_ && distance > heap_.front().first; }

  /// distance: the square of that to the node's cell; away_: its shares along the axes.
  void descend(std::uint32_t at, double distance) {
    const auto& node = tree_.nodes[at];
    if (node.leaf()) {
      for (std::uint32_t i = node.first; i < node.first + node.count; ++i) offer(tree_.order[i]);
      return;
    }
    const double step = points_[self_][node.axis] - tree_.split[at];
    const std::uint32_t near = node.child + (step > 0 ? 1 : 0);
    descend(near, distance);
    const double before = away_[node.axis];
    const double beyond = distance - before * before + step * step;
    // Rounded sums may lie above the true distance by some units in the last place.
    if (hopeless(beyond * (1 - 1e-12))) return;
    away_[node.axis] = step;
    descend(near == node.child ? near + 1 : node.child, beyond);
    away_[node.axis] = before;
  }

  void offer(std::uint32_t other) {
    if (other == self_) return;
    double square = 0;
    for (int d = 0; d < points_.dim; ++d) {
      const double step = points_[self_][d] - points_[other][d];
      square += step * step;
    }
    const Near found{square, other};
    if (heap_.size() == k_) {
      if (!(found < heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.back() = found;
    } else {
      heap_.push_back(found);
    }
    std::push_heap(heap_.begin(), heap_.end());
  }

  PointView<double> points_;
  const KdTree<std::uint32_t>& tree_;
  std::size_t k_;
  std::uint32_t self_ = 0;
  std::vector<Near> heap_;
  std::array<double, kMaxDim> away_{};
};

/// k numbers a point; those missing are the point's own.
std::vector<std::uint32_t> nearest(PointView<double> points, std::size_t k, int threads) {
  KdTreeOptions options;
  options.rule.below = Splitter::selection;
  options.bucket = 8;
  options.threads = threads;
  const KdTree<std::uint32_t> tree = build_kd_tree(points, {}, options);
  const std::size_t n = points.size();
  std::vector<std::uint32_t> all(n * k);
#pragma omp parallel num_threads(threads)
  {
    NearestSearch search(points, tree, k);
#pragma omp for schedule(dynamic, 1024)
    for (std::size_t i = 0; i < n; ++i) {  // in the tree's order: what one search reads the next one reads again
      const std::uint32_t self = tree.order[i];
      const auto& found = search.find(self);
      for (std::size_t j = 0; j < k; ++j) all[self * k + j] = j < found.size() ? found[j].second : self;
    }
  }
  return all;
}

}  // namespace

Graph neighbour_graph(PointView<double> points, int k, int threads) {
  const std::size_t n = points.size();
  if (k < 1) throw support::InputError("neighbours is " + std::to_string(k) + ": must be at least 1");
  if (n >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw support::InputError(std::to_string(n) + " points are too many for a graph of neighbours");
  Graph graph;
  graph.offsets.assign(n + 1, 0);
  if (n == 0) return graph;
  const int team = team_size(threads);
  const auto width = static_cast<std::size_t>(k);
  const std::vector<std::uint32_t> near = nearest(points, width, team);
  // Every edge from both sides, then rows sorted and what stands twice taken out.
  std::vector<std::int64_t> next(n + 1, 0);
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (near[i] == i / width) continue;
    ++next[i / width + 1];
    ++next[near[i] + 1];
  }
  for (std::size_t i = 0; i < n; ++i) next[i + 1] += next[i];
  const std::vector<std::int64_t> start = next;
  std::vector<std::int32_t> both(static_cast<std::size_t>(start[n]));
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (near[i] == i / width) continue;
    both[static_cast<std::size_t>(next[i / width]++)] = static_cast<std::int32_t>(near[i]);
    both[static_cast<std::size_t>(next[near[i]]++)] = static_cast<std::int32_t>(i / width);
  }
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = both.begin() + start[i];
    const auto last = both.begin() + start[i + 1];
    std::sort(first, last);
    graph.offsets[i + 1] = std::unique(first, last) - first;
  }
  for (std::size_t i = 0; i < n; ++i) graph.offsets[i + 1] += graph.offsets[i];
  graph.adjacent.resize(static_cast<std::size_t>(graph.offsets[n]));
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(both.begin() + start[i], graph.offsets[i + 1] - graph.offsets[i],
                graph.adjacent.begin() + graph.offsets[i]);
  }
  return graph;
}

}  // namespace amrbench::partitioners
