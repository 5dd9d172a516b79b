#include "amr/cuda/cuda_wide_stage.hpp"

#include <algorithm>
#include <string>

#include "amr/cuda/cuda_face_stage.hpp"
#include "kernels/average27/average27_cuda.hpp"
#include "kernels/block_sums_cuda.hpp"
#include "kernels/piece_sources_cuda.hpp"
#include "kernels/wide_faces_cuda.hpp"
#include "support/order_by_key.hpp"
#include "support/thread_lists.hpp"

namespace amrbench::amr {

using kernels::PieceSource;

CudaWideStage::CudaWideStage(WideStencil stencil, CudaFields& fields, const StageOptions& options)
    : CudaStage<3>(fields),
      stencil_(stencil),
      overlap_(options.overlap),
      layout_(fields.layout()),
      device_(device_of_rank()),
      sources_(layout_),
      work_(options.work) {
  around_.steps = kernels::device_steps(layout_);
  if (stencil == WideStencil::mixed) mixed_.emplace(layout_, device_.main());
}

/// make: as of support::make_ordered(), from n.
template <class Make>
void CudaWideStage::store(Jobs& jobs, std::size_t n, const Make& make) {
  jobs.starts = support::make_ordered<kernels::kWideFaceKeys>(n, make, kernels::wide_face_key, [&](std::size_t count) {
    support::mpi_count(count, "GPU launch");
    return jobs.list.prepare(count, device_);
  });
  jobs.list.send(device_);
}

void CudaWideStage::store(Jobs& jobs, const std::vector<kernels::WideFaceJob>& list) {
  store(jobs, list.size(), [&](std::size_t begin, std::size_t end, const auto& give) {
    for (std::size_t k = begin; k < end; ++k) give(list[k]);
  });
}

void CudaWideStage::mesh_changed(const Mesh<3>& mesh) {
  sources_.rebuild(mesh);
  const auto blocks = static_cast<std::size_t>(mesh.size());
  auto* const table = static_cast<PieceSource*>(table_.reserve(27 * blocks * sizeof(PieceSource), device_.main()));
  kernels::launch_piece_sources(sources_.finder(), beside_.store(sources_.beside(), device_), mesh.size(), table,
                                device_.main());
  around_.sources = table;
  find_octets(mesh);
  halo_size_ = {};
  for (int axis = 0; axis < 3; ++axis) plan_axis(mesh, axis);
  blocks_ = mesh.size();
  rounds_.clear();
  for (const WorkRound& round : work_rounds(mesh, work_)) {
    Work& work = rounds_.emplace_back();
    work.blocks.store(round.blocks, device_);
    work.count = static_cast<int>(round.blocks.size());
    work.times = round.times;
  }
  mesh_is_new();
}

void CudaWideStage::find_octets(const Mesh<3>& mesh) {
  if (mixed_ || !kernels::average27_takes_octets(layout_)) return;
  octets_.rebuild(mesh);
  const auto places = octets_.places();
  octet_count_ = static_cast<int>(places.size());
  auto* const table =
      static_cast<PieceSource*>(octet_table_.reserve(64 * places.size() * sizeof(PieceSource), device_.main()));
  kernels::launch_octet_sources(octet_places_.store(places, device_), octet_count_, around_.sources, table,
                                device_.main());
  std::vector<std::int32_t> singles;
  support::append_by_threads(singles, places.size() + 1,
                             [&](std::size_t begin, std::size_t end, std::vector<std::int32_t>& list) {
                               for (std::size_t k = begin; k < end; ++k) {  // those between an octet and the next
                                 const std::int32_t next = k < places.size() ? places[k].first : mesh.size();
                                 for (std::int32_t i = k == 0 ? 0 : places[k - 1].first + 8; i < next; ++i)
                                   list.push_back(i);
                               }
                             });
  singles_.store(singles, device_);
  single_count_ = static_cast<int>(singles.size());
}

void CudaWideStage::plan_axis(const Mesh<3>& mesh, int axis) {
  Axis& a = axes_[axis];
  const PieceSizes sizes = tile_piece_sizes(kernels::make_tile_layout(layout_));
  const HaloPlan plan = make_halo_plan(mesh, sizes, axis, axis + 1);
  const WideMessageJobs messages = make_message_jobs(sources_, plan);
  store(a.packs, messages.packs);
  store(a.unpacks, messages.unpacks);
  store(a.local, sources_.crossings(axis).size(), [&](std::size_t begin, std::size_t end, const auto& give) {
    make_local_jobs(mesh, sources_, axis, begin, end, give);
  });
  a.sends = link_pieces(mesh, plan.sends);
  a.receives = link_pieces(mesh, plan.receives);
  add_sends(plan.sends, halo_size_);
  device_.reserve(send_, plan.sends.values);
  device_.reserve(receive_, plan.receives.values);
  const std::size_t values = sources_.crossings(axis).size() * sources_.faces(axis).values();
  device_.reserve(a.faces, values + kernels::kPadding);
  around_.faces[axis] = a.faces.data();
}

void CudaWideStage::look_around(const CudaFields& fields) {
  around_.blocks = fields.input();
  around_.slots = fields.in_order() ? nullptr : slot_list_.store(fields.slots(), device_);
}

void CudaWideStage::launch(int axis, const kernels::GhostChunks& chunks, const Jobs& jobs,
                           const support::CudaStream& stream) {
  kernels::launch_wide_faces(layout_, axis, around_, chunks, jobs.list.data(), jobs.starts, receive_.data(),
                             send_.data(), stream);
  device_.count_launches(jobs.starts.back() > 0 ? 1 : 0);
}

/// The next axis begins when this one is complete, because its faces pass on the ghosts just filled.
void CudaWideStage::fill_axis(int axis, std::int64_t stage) {
  Axis& a = axes_[axis];
  const kernels::GhostChunks chunks = mixed_ ? mixed_->ghosts(stage, axis) : kernels::GhostChunks{layout_.chunks};
  const bool sends = !a.sends.empty();
  if (sends) {
    device_.order(device_.main(), device_.side());
    launch(axis, chunks, a.packs, device_.side());
    device_.link().start(send_.data(), a.sends, receive_.data(), a.receives, device_.side());
  }
  if (overlap_ || !sends) launch(axis, chunks, a.local, device_.main());
  if (sends) {
    device_.clock().mark(DevicePart::faces, device_.main());
    device_.link().finish();
    device_.order(device_.side(), device_.main());
    device_.clock().mark(DevicePart::wait, device_.main());
    launch(axis, chunks, a.unpacks, device_.main());
    if (!overlap_) launch(axis, chunks, a.local, device_.main());
  }
  device_.clock().mark(DevicePart::faces, device_.main());
}

void CudaWideStage::compute(CudaFields& fields, std::int64_t stage, const std::int32_t* blocks, int count,
                            const kernels::DeviceSumView& sums) {
  const bool summing = sums.words != nullptr;
  if (mixed_) {
    device_.count_launches(mixed_->launch(stage, around_, blocks, count, fields.output(), device_.main()));
    if (summing) kernels::launch_block_sums(layout_, count, fields.output(), sums, device_.main());
  } else {
    kernels::launch_average27(layout_, {around_, blocks, count, fields.output(), sums}, device_.main());
  }
  device_.count_launches(!mixed_ || summing ? 1 : 0);
}

void CudaWideStage::launch_stage(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums,
                                 support::Metrics& metrics) {
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    look_around(fields);
    for (int axis = 0; axis < 3; ++axis) fill_axis(axis, stage);
  }
  support::PhaseTimer timer(metrics, support::Phase::stencil);
  for (const Work& work : rounds_)
    for (int again = 0; again < work.times; ++again) compute(fields, stage, work.blocks.data(), work.count, {});
  if (octet_count_ > 0) {
    kernels::Average27Job job{around_, nullptr, octet_count_, fields.output(), sums, true};
    job.around.sources = static_cast<const PieceSource*>(octet_table_.data());
    kernels::launch_average27(layout_, job, device_.main());
    device_.count_launches(1);
  }
  if (octet_count_ == 0 || single_count_ > 0)
    compute(fields, stage, octet_count_ > 0 ? singles_.data() : nullptr, octet_count_ > 0 ? single_count_ : blocks_,
            sums);
  device_.clock().mark(DevicePart::stencil, device_.main());
}

std::size_t CudaWideStage::memory_bytes() const {
  std::size_t bytes =
      send_.bytes() + receive_.bytes() + beside_.bytes() + table_.bytes() + slot_list_.bytes() + sums_memory_bytes();
  for (const Axis& axis : axes_)
    bytes += axis.packs.list.bytes() + axis.local.list.bytes() + axis.unpacks.list.bytes() + axis.faces.bytes();
  for (const Work& work : rounds_) bytes += work.blocks.bytes();
  bytes += octets_.memory_bytes() + octet_places_.bytes() + octet_table_.bytes() + singles_.bytes();
  return bytes + (mixed_ ? mixed_->memory_bytes() : 0);
}

}  // namespace amrbench::amr
