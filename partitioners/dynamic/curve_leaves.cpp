#include "partitioners/dynamic/curve_leaves.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "partitioners/curve_walk.hpp"

namespace amrbench::partitioners::dynamic {
namespace {

using State = CurveState<std::uint32_t>;

class PoolWalker {
 public:
  PoolWalker(const NodePool& pool, int dim, TreeCurve curve)
      : pool_(pool),
        dim_(dim),
        levels_(curve == TreeCurve::morton ? 1
                : dim == 2                 ? 2
                                           : 3),
        curve_(curve) {}

  /// Pushes the cells of an inner node, the first one on top.
  void push_cells(const State& s, std::vector<State>& stack) const {
    if (curve_ == TreeCurve::morton) {
      stack.push_back({pool_.nodes[s.node].child + 1, 0, 0});
      stack.push_back({pool_.nodes[s.node].child, 0, 0});
      return;
    }
    std::array<KdNode<std::uint32_t>, 15> near;
    std::array<std::uint32_t, 15> number;
    number[0] = s.node;
    std::uint32_t size = 1;
    for (std::uint32_t i = 0, level_end = 1, level = 0; i < size; ++i) {
      if (i == level_end) {
        ++level;
        level_end = size;
      }
      const Node& node = pool_.nodes[number[i]];
      const bool inner = !node.leaf() && static_cast<int>(level) < levels_;
      near[i] = {0, 1, inner ? size : 0, node.leaf() ? 0 : node.axis};
      if (!inner) continue;
      number[size] = node.child;
      number[size + 1] = node.child + 1;
      size += 2;
    }
    const CurveWalker<std::uint32_t> walker(std::span(near.data(), size), dim_, curve_);
    const auto cells = walker.cells({0, s.entry, s.travel});
    for (int c = cells.count; c-- > 0;) {
      const State& cell = cells.state[static_cast<std::size_t>(c)];
      stack.push_back({number[cell.node], cell.entry, cell.travel});
    }
  }

  void walk(const State& root, std::vector<std::uint32_t>& leaves) const {
    std::vector<State> stack{root};
    while (!stack.empty()) {
      const State s = stack.back();
      stack.pop_back();
      if (pool_.nodes[s.node].leaf()) {
        leaves.push_back(pool_.nodes[s.node].leaf_number());
      } else {
        push_cells(s, stack);
      }
    }
  }

  /// Cells of at most `most` points where they can be, in curve order.
  [[nodiscard]] std::vector<State> pieces(std::uint32_t most, const CurveEntrance& entrance) const {
    const auto axis = static_cast<std::uint8_t>(pool_.nodes[0].axis);
    std::vector<State> done, stack{{0, entrance.corner, entrance.travel.value_or(axis)}};
    while (!stack.empty()) {
      const State s = stack.back();
      stack.pop_back();
      if (pool_.nodes[s.node].leaf() || pool_.info[s.node].count <= most) {
        done.push_back(s);
      } else {
        push_cells(s, stack);
      }
    }
    return done;
  }

 private:
  const NodePool& pool_;
  int dim_;
  int levels_;  ///< below a node that are looked at
  TreeCurve curve_;
};

}  // namespace

std::vector<std::uint32_t> leaves_along(const NodePool& pool, int dim, TreeCurve curve, int threads,
                                        const CurveEntrance& entrance) {
  check_curve(dim, curve);
  const PoolWalker walker(pool, dim, curve);
  const auto pieces = walker.pieces(std::max<std::uint32_t>(pool.info[0].count / 64, 4096), entrance);
  std::vector<std::vector<std::uint32_t>> found(pieces.size());
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::size_t p = 0; p < pieces.size(); ++p) walker.walk(pieces[p], found[p]);
  std::vector<std::uint32_t> all;
  for (const auto& leaves : found) all.insert(all.end(), leaves.begin(), leaves.end());
  return all;
}

}  // namespace amrbench::partitioners::dynamic
