#pragma once
// Bodies of build_from_records, order_from_records and slices_from_records; each records_*.cpp instantiates it for
// one T and Index.
#include "partitioners/kd/curve.hpp"
#include "partitioners/kd/dispatch.hpp"

namespace amrbench::partitioners::kd {

/// Calls run<D, Weighted>() with the record that serves.
template <class T, class Index, class Run>
void with_record(PointView<T> points, std::span<const std::uint64_t> weights, Run run) {
  // The common cases have records of their own; the others carry a weight always and zeros up to the next dimension.
  constexpr bool kSmall = sizeof(Index) == 4;
  if (kSmall && weights.empty() && points.dim <= 3) {
    if constexpr (kSmall)
      return points.dim == 2 ? run.template operator()<2, false>() : run.template operator()<3, false>();
  }
  if (points.dim == 2) return run.template operator()<2, true>();
  if (points.dim == 3) return run.template operator()<3, true>();
  if constexpr (kSmall) {
    if (points.dim == 4) return run.template operator()<4, true>();
    if (points.dim > 6 && points.dim <= 8) return run.template operator()<8, true>();
    if (points.dim > 8 && points.dim <= 12) return run.template operator()<12, true>();
  }
  if (points.dim <= 6) return run.template operator()<6, true>();
  return run.template operator()<16, true>();
}

template <class T, class Index>
void build_from_records(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                        int threads, KdTree<Index>& tree) {
  with_record<T, Index>(points, weights, [&]<int D, bool Weighted>() {
    Builder<Record<T, D, Index, Weighted>>(points, weights, options, threads).build(tree);
  });
}

template <class T, class Index>
std::size_t order_from_records(PointView<T> points, std::span<const std::uint64_t> weights,
                               const KdTreeOptions& options, int threads, TreeCurve curve, std::span<Index> order) {
  std::size_t bytes = 0;
  with_record<T, Index>(points, weights, [&]<int D, bool Weighted>() {
    bytes = CurveBuilder<Record<T, D, Index, Weighted>>(points, weights, options, threads).order_along(curve, order);
  });
  return bytes;
}

template <class T, class Index>
std::size_t slices_from_records(PointView<T> points, std::span<const std::uint64_t> weights,
                                const KdTreeOptions& options, int threads, TreeCurve curve, int slices,
                                std::span<std::int32_t> part) {
  std::size_t bytes = 0;
  with_record<T, Index>(points, weights, [&]<int D, bool Weighted>() {
    bytes =
        CurveBuilder<Record<T, D, Index, Weighted>>(points, weights, options, threads).slice_along(curve, slices, part);
  });
  return bytes;
}

}  // namespace amrbench::partitioners::kd
