#pragma once
// What splitting and merging blocks make of water: volume and momentum stay, a still surface stays still.
#include "amr/level_transfer.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

/// Values alone; the bed of finer cells comes after (settle_bed). A merged cell holds the means of four. Split ones
/// follow limited slopes of surface and discharges inside their parent, over the parent's bed; where a cell or one
/// beside it is dry they are even.
class WaterTransfer final : public amr::LevelTransfer {
 public:
  WaterTransfer(double dry_depth, bool single) : dry_depth_(dry_depth), is_single_(single) {}
  void merge(const kernels::BlockLayout& layout, std::span<const double* const> children,
             double* parent) const override;
  void split(const kernels::BlockLayout& layout, const double* parent, int octant, double* child) const override;

 private:
  double dry_depth_;
  bool is_single_;  ///< results are rounded (single.hpp)
};

/// Puts the bed of the problem under a block that was split off, whose cells hold the bed of their parents. Each four
/// cells of one parent keep their volume and, where all stay wet, their surface but for its height: water that would
/// stand below the new bed goes to the other cells. Discharges stay where depths hardly change, else the four share
/// one velocity.
void settle_bed(const Problem& problem, const amr::Mesh<2>& mesh, std::int32_t i, double* block);

}  // namespace amrbench::workloads::shallow_water
