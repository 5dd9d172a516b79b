// The reference: every cell sorted in the order of rule 1, cut by rule 5 read off the sorted points.
#include <algorithm>
#include <chrono>
#include <vector>

#include "partitioners/orb/tree.hpp"

namespace amrbench::partitioners {

template <class T, int Dim>
void orb_by_sort(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result) {
  using Point = OrbPoint<T, Dim>;
  std::vector<Point> points(input.count);
  for (std::uint64_t i = 0; i < input.count; ++i) points[i] = input.point(i);
  OrbTree<T, Dim>& tree = result.tree;
  std::vector<std::uint64_t> weights;
  for (std::size_t i = 1; i < tree.cells.size(); ++i) {
    const OrbCell<T, Dim> cell = tree.cells[i];
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(cell.begin);
    const auto end = begin + static_cast<std::ptrdiff_t>(cell.count);
    if (cell.leaves == 1) {
      std::sort(begin, end, [](const Point& p, const Point& q) { return p.id < q.id; });
      continue;
    }
    const int axis = cut_axis(cell.box, input.options.side_tolerance);
    std::sort(begin, end, [axis](const Point& p, const Point& q) { return orb_before(p, q, axis); });
    weights.clear();
    if (input.weighted())
      for (auto p = begin; p != end; ++p) weights.push_back(input.weight(p->id));
    const CutPlace cut = cut_in_window(goal_of(tree, i, input.weighted()), {.size = cell.count}, weights).value();
    const auto right = begin + static_cast<std::ptrdiff_t>(cut.left);
    cut_cell(tree, i, axis, cut_between((right - 1)->x[axis], right->x[axis]), cut.left, cut.weight_left);
  }
  for (const std::uint32_t c : tree.leaf_cell) {
    const OrbCell<T, Dim>& cell = tree.cells[c];
    for (std::uint64_t k = cell.begin; k < cell.begin + cell.count; ++k) {
      const Point& p = points[k];
      if (input.options.labels) result.labels[p.id] = cell.first_leaf;
      if (input.options.permutation) result.permutation[k] = p.id;
      if (input.options.points) std::copy_n(p.x, Dim, result.points.data() + k * Dim);
    }
  }
}

template void orb_by_sort<float, 2>(const OrbInput<float, 2>&, OrbResult<float, 2>&);
template void orb_by_sort<float, 3>(const OrbInput<float, 3>&, OrbResult<float, 3>&);
template void orb_by_sort<double, 2>(const OrbInput<double, 2>&, OrbResult<double, 2>&);
template void orb_by_sort<double, 3>(const OrbInput<double, 3>&, OrbResult<double, 3>&);

}  // namespace amrbench::partitioners
