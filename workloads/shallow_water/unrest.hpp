#pragma once
// How much water changes from cell to cell: what decides where blocks are refined.
#include "workloads/shallow_water/problem.hpp"
#include "workloads/shallow_water/strips.hpp"

namespace amrbench::workloads::shallow_water {

struct Unrest {
  /// The largest change of surface [m] between cells beside each other, or of discharge over the speed of waves there:
  /// in a wave both are the same.
  double change = 0.0;
  bool front = false;  ///< there are wet and dry cells
};

/// In a block and two cells beyond its faces, so that it refines before a wave comes in. Of cells that are both wet.
[[nodiscard]] Unrest find_unrest(const Problem& problem, double dry_depth, const amr::Mesh<2>& mesh, std::int32_t i,
                                 const double* block, const StripSet& around);

}  // namespace amrbench::workloads::shallow_water
