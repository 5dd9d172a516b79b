#pragma once
// What becomes of a block's values when it splits or merges, where a workload's variables are not all extensive.
#include <span>

#include "kernels/layout.hpp"

namespace amrbench::amr {

class LevelTransfer {
 public:
  virtual ~LevelTransfer() = default;
  /// The parent of 8 children (in 2-D 4), by octant. The parent may take the place of child 0, else it overlaps none.
  /// Called by several threads at once.
  virtual void merge(const kernels::BlockLayout& layout, std::span<const double* const> children,
                     double* parent) const = 0;
  /// The child of one octant. Octant 0 comes last: its child may take the parent's place, else none overlaps it. Called
  /// by several threads at once.
  virtual void split(const kernels::BlockLayout& layout, const double* parent, int octant, double* child) const = 0;
};

}  // namespace amrbench::amr
