#include "partitioners/kd/records_impl.hpp"

namespace amrbench::partitioners::kd {

template void build_from_records(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                                 KdTree<std::uint64_t>&);
template std::size_t order_from_records(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                                        TreeCurve, std::span<std::uint64_t>);
template std::size_t slices_from_records<float, std::uint64_t>(PointView<float>, std::span<const std::uint64_t>,
                                                               const KdTreeOptions&, int, TreeCurve, int,
                                                               std::span<std::int32_t>);

}  // namespace amrbench::partitioners::kd
