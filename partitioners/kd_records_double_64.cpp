#include "partitioners/kd_records_impl.hpp"

namespace amrbench::partitioners::kd {

template void build_from_records(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                                 KdTree<std::uint64_t>&);

}  // namespace amrbench::partitioners::kd
