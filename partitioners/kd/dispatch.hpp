#pragma once
// Which of the instantiated builders serves a dimension. Only this folder and kd_tree.cpp include this.
#include <cstdint>
#include <span>

#include "partitioners/kd_tree.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners::kd {

/// Records of the smallest instantiated dimension that holds the points' own. Defined for each T and Index in
/// kd_records_*.cpp, so that they compile side by side.
template <class T, class Index>
void build_from_records(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                        int threads, KdTree<Index>& tree);

/// The points along a curve through the tree that build_from_records() would make; returns the most bytes held at once.
template <class T, class Index>
std::size_t order_from_records(PointView<T> points, std::span<const std::uint64_t> weights,
                               const KdTreeOptions& options, int threads, TreeCurve curve, std::span<Index> order);

/// The slice of each point's place along it; returns the most bytes held at once.
template <class T, class Index>
std::size_t slices_from_records(PointView<T> points, std::span<const std::uint64_t> weights,
                                const KdTreeOptions& options, int threads, TreeCurve curve, int slices,
                                std::span<std::int32_t> part);

/// All levels in presorted lists (presorted.cpp).
template <class T, class Index>
void build_presorted(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                     int threads, KdTree<Index>& tree);

}  // namespace amrbench::partitioners::kd
