#pragma once
// Splitting and merging of variables that are densities: cells hold means, whose integral over the domain is to stay.
#include "amr/level_transfer.hpp"

namespace amrbench::workloads {

/// Of any number of variables, in any lanes. A merged cell holds the mean of 2^Dim. A split one follows its parent's
/// limited slopes: the central slope, but no child outside the range of parent and neighbours; 0 along an axis at the
/// edge of the block, whose neighbours are not seen. Children's mean is the parent but for rounding, and a merged
/// family of equal values is that value. O(cells) work; allocates a copy of the block.
template <int Dim>
class SlopeTransfer final : public amr::LevelTransfer {
 public:
  void merge(const kernels::BlockLayout& layout, std::span<const double* const> children,
             double* parent) const override;
  void split(const kernels::BlockLayout& layout, const double* parent, int octant, double* child) const override;
};

extern template class SlopeTransfer<2>;
extern template class SlopeTransfer<3>;

}  // namespace amrbench::workloads
