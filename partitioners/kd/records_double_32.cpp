#include "partitioners/kd/records_impl.hpp"

namespace amrbench::partitioners::kd {

template void build_from_records(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                                 KdTree<std::uint32_t>&);
template std::size_t order_from_records(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                                        TreeCurve, std::span<std::uint32_t>);
template std::size_t slices_from_records<double, std::uint32_t>(PointView<double>, std::span<const std::uint64_t>,
                                                                const KdTreeOptions&, int, TreeCurve, int,
                                                                std::span<std::int32_t>);

}  // namespace amrbench::partitioners::kd
