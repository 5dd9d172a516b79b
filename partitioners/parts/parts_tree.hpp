#pragma once
// Parts-aware trees of unweighted points in two and three dimensions, for parts alone: the leaves of build_kd_tree()
// with KdTreeOptions::parts, sooner.
//
// Points lie by axes (axis_points.hpp), twice: a cut reads them from one place and writes them to the other. Which
// point is the last below a cut is known before anything moves: a sample brackets it, one pass over the axis copies the
// keys within the bracket, a few in a hundred, and the search goes on among those. So a level reads the keys of a point
// once and moves it once, and the boxes of both sides come with that. Large nodes are cut by all threads, stretch by
// stretch, the others by one thread each. What a cut leaves on either side is unique, so leaves do not depend on
// threads.
//
// Bytes a point and level: 12 of the key read, 8 d + 4 read and as many written, d the dimension; the last level moves
// numbers alone. Memory: 2 (8 d + 4) bytes a point of a tree, and nodes. Included by what makes parts.
#include <array>
#include <cstddef>
#include <cstdint>

#include "partitioners/kd_tree.hpp"
#include "partitioners/parts/axis_points.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners::kd {

/// Memory of n points by axes.
template <int D>
class AxisMemory {
 public:
  explicit AxisMemory(std::size_t n) : id_(n) {
    for (auto& column : x_) column.resize_discard(n);
  }
  /// From point `first` on.
  [[nodiscard]] AxisPoints<D> points(std::size_t first = 0) {
    AxisPoints<D> p;
    for (std::size_t d = 0; d < D; ++d) p.x[d] = x_[d].data() + first;
    p.id = id_.data() + first;
    return p;
  }
  [[nodiscard]] std::size_t size() const { return id_.size(); }
  [[nodiscard]] std::size_t bytes() const { return id_.size() * (D * sizeof(double) + sizeof(std::uint32_t)); }

 private:
  std::array<support::PageBuffer<double>, D> x_;
  support::PageBuffer<std::uint32_t> id_;
};

/// The tree of n >= 1 points for so many parts, >= 1; `split` has values, `order` is empty. points: coordinates finite;
/// what stands there is lost, but order.id then has the numbers of a leaf's points at its first .. first + count, in no
/// order. order: memory for n points. compact: KdTreeOptions::compact_parts. threads >= 1.
template <int D>
KdTree<std::uint32_t> build_parts_tree(const AxisPoints<D>& points, const AxisPoints<D>& order, std::size_t n,
                                       int parts, bool compact, int threads);

/// Writes points to `to` by axes, numbered as they are. Throws support::InputError that names the first with a
/// coordinate that is NaN or infinite. points.dim is D.
template <int D>
void points_by_axes(PointView<double> points, int threads, const AxisPoints<D>& to);

}  // namespace amrbench::partitioners::kd
