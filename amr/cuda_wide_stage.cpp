#include "amr/cuda_wide_stage.hpp"

#include <algorithm>
#include <string>

#include "amr/cuda_face_stage.hpp"
#include "kernels/tile_cuda.hpp"

namespace amrbench::amr {

CudaWideStage::CudaWideStage(WideStencil stencil, CudaFields& fields, const StageOptions& options)
    : CudaStage(fields),
      stencil_(stencil),
      overlap_(options.overlap),
      layout_(wide_tile_layout(stencil, fields.layout())),
      device_(device_of_rank()),
      work_(options.work) {
  if (stencil == WideStencil::mixed) mixed_.emplace(layout_, device_.main());
}

void CudaWideStage::store(Jobs& jobs, const std::vector<kernels::TileJob>& list) {
  jobs.list.store(list, device_);
  jobs.count = support::mpi_count(list.size(), "GPU launch");
}

void CudaWideStage::mesh_changed(const Mesh<3>& mesh) {
  const PieceSizes sizes = tile_piece_sizes(layout_);
  std::size_t sent = 0, received = 0, all_sent = 0, pieces = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const HaloPlan plan = make_halo_plan(mesh, layout_.block, sizes, axis, axis + 1);
    const TileTables tables = make_tile_tables(mesh, layout_.block, plan, axis);
    store(axes_[axis].packs, tables.packs);
    store(axes_[axis].local, tables.local);
    store(axes_[axis].unpacks, tables.unpacks);
    axes_[axis].sends = link_pieces(mesh, plan.sends);
    axes_[axis].receives = link_pieces(mesh, plan.receives);
    sent = std::max(sent, plan.sends.values);
    received = std::max(received, plan.receives.values);
    all_sent += plan.sends.values;
    pieces += plan.sends.pieces.size();
  }
  halo_size_ = {static_cast<std::int64_t>(all_sent * sizeof(double)), static_cast<std::int64_t>(pieces),
                static_cast<int>(mesh.neighbors().size())};
  device_.reserve(send_, sent);
  device_.reserve(receive_, received);
  const std::size_t values = std::size_t(mesh.size()) * layout_.values();
  if (values * sizeof(double) > tiles_.bytes()) {
    device_.main().synchronize();
    tiles_ = {};
    support::require_device_memory(values * sizeof(double), "the tiles of " + std::to_string(mesh.size()) + " blocks");
  }
  tiles_.resize_discard(values);
  blocks_ = mesh.size();
  rounds_ = work_rounds(mesh, work_);
  std::size_t again = 0;
  for (const WorkRound& round : rounds_) again = std::max(again, round.blocks.size());
  device_.reserve(spare_tiles_, again * layout_.values());
  mesh_is_new();
  list_in_order_ = false;
}

void CudaWideStage::launch(const Jobs& jobs, const support::CudaStream& stream) {
  kernels::launch_tile_faces(layout_, jobs.list.data(), jobs.count, tiles_.data(), receive_.data(), send_.data(),
                             stream);
  device_.count_launches(jobs.count > 0 ? 1 : 0);
}

void CudaWideStage::load_tiles(const CudaFields& fields) {
  if (!list_in_order_) {
    slot_list_.store(fields.slots(), device_);
    list_in_order_ = fields.in_order();
  }
  kernels::launch_load_tiles(layout_, slot_list_.data(), blocks_, fields.input(), tiles_.data(), device_.main());
  device_.count_launches(1);
}

/// The next axis begins when this one is complete, because its faces pass on the ghosts just filled.
void CudaWideStage::fill_axis(Axis& axis) {
  device_.order(device_.main(), device_.side());
  if (!axis.sends.empty()) {
    launch(axis.packs, device_.side());
    device_.link().start(send_.data(), axis.sends, receive_.data(), axis.receives, device_.side());
  }
  if (overlap_) launch(axis.local, device_.main());
  device_.clock().mark(DevicePart::faces, device_.main());
  if (!axis.sends.empty()) device_.link().finish();
  device_.order(device_.side(), device_.main());
  device_.clock().mark(DevicePart::wait, device_.main());
  launch(axis.unpacks, device_.main());
  if (!overlap_) launch(axis.local, device_.main());
  device_.clock().mark(DevicePart::faces, device_.main());
}

void CudaWideStage::compute_tiles(CudaFields& fields, std::int64_t stage, double* tiles, int count) {
  if (mixed_)
    mixed_->launch(stage, tiles, count, fields.output(), device_.main());
  else
    kernels::launch_average27(layout_, tiles, count, fields.output(), device_.main());
  device_.count_launches(1);
}

/// Artificial work, on tiles of its own whose ghosts are zeros; the stage then writes all results anew.
void CudaWideStage::work_again(CudaFields& fields, std::int64_t stage) {
  for (const WorkRound& round : rounds_) {
    std::vector<std::int32_t> slots;
    for (const std::int32_t i : round.blocks) slots.push_back(static_cast<std::int32_t>(fields.slot(i)));
    const auto count = static_cast<int>(slots.size());
    spare_slots_.store(slots, device_);
    const std::size_t bytes = slots.size() * layout_.values() * sizeof(double);
    support::cuda_check(cudaMemsetAsync(spare_tiles_.data(), 0, bytes, device_.main().get()), "cudaMemsetAsync");
    kernels::launch_load_tiles(layout_, spare_slots_.data(), count, fields.input(), spare_tiles_.data(),
                               device_.main());
    for (int again = 0; again < round.times; ++again) compute_tiles(fields, stage, spare_tiles_.data(), count);
  }
}

void CudaWideStage::compute(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums) {
  work_again(fields, stage);
  compute_tiles(fields, stage, tiles_.data(), blocks_);
  device_.clock().mark(DevicePart::stencil, device_.main());
  if (sums.words == nullptr) return;
  kernels::launch_block_sums(layout_.block, blocks_, fields.output(), sums, device_.main());
  device_.count_launches(1);
}

void CudaWideStage::launch_stage(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums,
                                 support::Metrics& metrics) {
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    load_tiles(fields);
    for (Axis& axis : axes_) fill_axis(axis);
  }
  support::PhaseTimer timer(metrics, support::Phase::stencil);
  compute(fields, stage, sums);
}

std::size_t CudaWideStage::memory_bytes() const {
  std::size_t bytes = spare_tiles_.bytes() + spare_slots_.bytes() + tiles_.bytes() + send_.bytes() + receive_.bytes() +
                      slot_list_.bytes() + sums_memory_bytes();
  for (const Axis& axis : axes_) bytes += axis.packs.list.bytes() + axis.local.list.bytes() + axis.unpacks.list.bytes();
  return bytes + (mixed_ ? mixed_->memory_bytes() : 0);
}

}  // namespace amrbench::amr
