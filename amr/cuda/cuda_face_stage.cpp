#include "amr/cuda/cuda_face_stage.hpp"

#include "kernels/faces_cuda.hpp"
#include "kernels/remap_cuda.hpp"

namespace amrbench::amr {

namespace {

constexpr std::size_t kPieceMultiple = 4;  ///< doubles, kernels/face_jobs.hpp

}  // namespace

CudaFaceStage::CudaFaceStage(CudaFields& fields, const StageOptions& options)
    : CudaStage<3>(fields), layout_(fields.layout()), options_(options), device_(device_of_rank()) {}

template <class T>
std::span<T> CudaFaceStage::prepare(Table<T>& table, std::size_t n) {
  table.count = support::mpi_count(n, "GPU launch");
  return table.in_order.prepare(n, device_);
}

template <class T>
void CudaFaceStage::remap(Table<T>& table, const std::int32_t* slots) {
  auto* const now = static_cast<T*>(table.now.reserve(table.count * sizeof(T), device_.main()));
  kernels::launch_remap(table.in_order.data(), table.count, slots, now, device_.main());
  device_.count_launches(1);
}

void CudaFaceStage::mesh_changed(const Mesh<3>& mesh) {
  const HaloPlan plan = make_halo_plan(mesh, face_piece_sizes(layout_, kPieceMultiple));
  const DeviceTables tables(mesh, layout_, plan);
  mesh_is_new();
  interior_ = tables.interior();
  blocks_ = tables.blocks();
  sends_ = link_pieces(mesh, plan.sends);
  receives_ = link_pieces(mesh, plan.receives);
  halo_size_ = {};
  add_sends(plan.sends, halo_size_);
  packs_.starts = tables.write_packs(prepare(packs_.table, tables.packs()));
  local_.starts = tables.local();
  arrived_.starts = tables.arrived();
  const std::span<kernels::BlockEntry> entries = prepare(entries_, tables.blocks());
  const auto jobs = [&](Jobs& list) { return prepare(list.table, static_cast<std::size_t>(list.starts.back())); };
  tables.write(entries, jobs(local_), jobs(arrived_));
  work_.clear();
  if (options_.overlap) plan_work(mesh, entries, 0, interior_);
  plan_work(mesh, entries, options_.overlap ? interior_ : 0, blocks_);
  packs_.table.in_order.send(device_);
  entries_.in_order.send(device_);
  local_.table.in_order.send(device_);
  arrived_.table.in_order.send(device_);
  device_.reserve(send_, tables.send_values());
  device_.reserve(packed_, tables.packed_values() + kernels::kPadding);
}

void CudaFaceStage::plan_work(const Mesh<3>& mesh, std::span<const kernels::BlockEntry> entries, std::size_t begin,
                              std::size_t end) {
  if (options_.work.empty()) return;
  std::vector<std::int32_t> blocks;
  std::vector<std::size_t> place(entries.size());
  for (std::size_t k = begin; k < end; ++k) {
    blocks.push_back(entries[k].out);
    place[static_cast<std::size_t>(entries[k].out)] = k;
  }
  for (const WorkRound& round : work_rounds(mesh, options_.work, blocks)) {
    Work& work = work_.emplace_back();
    work.end = end;
    work.times = round.times;
    const std::span<kernels::BlockEntry> again = prepare(work.entries, round.blocks.size());
    for (std::size_t k = 0; k < again.size(); ++k) again[k] = entries[place[static_cast<std::size_t>(round.blocks[k])]];
    work.entries.in_order.send(device_);
  }
}

void CudaFaceStage::follow_slots(const CudaFields& fields) {
  ordered_ = fields.in_order();
  if (ordered_) return;
  const std::int32_t* const list = slot_list_.store(fields.slots(), device_);
  remap(entries_, list);
  remap(packs_.table, list);
  remap(local_.table, list);
  for (Work& work : work_) remap(work.entries, list);
}

void CudaFaceStage::start_exchange(const CudaFields& fields) {
  const support::DeviceSlots blocks = fields.input();
  // The side stream goes on once the stage before is done, which may still read what is received into.
  device_.order(device_.main(), device_.side());
  if (sends_.empty()) return;
  kernels::launch_faces(layout_, packs_.table.get(ordered_), packs_.starts, blocks, nullptr, send_.data(),
                        device_.side());
  device_.count_launches(1);
  device_.link().start(send_.data(), sends_, packed_.data(), receives_, device_.side());
}

void CudaFaceStage::finish_exchange() {
  if (!sends_.empty()) device_.link().finish();
  device_.order(device_.side(), device_.main());
  device_.clock().mark(DevicePart::wait, device_.main());
}

void CudaFaceStage::make_faces(const Jobs& jobs, const CudaFields& fields) {
  const bool from_blocks = &jobs != &arrived_;
  kernels::launch_faces(layout_, from_blocks ? jobs.table.get(ordered_) : jobs.table.in_order.data(), jobs.starts,
                        fields.input(), packed_.data(), packed_.data(), device_.main());
  device_.count_launches(jobs.table.count > 0 ? 1 : 0);
  device_.clock().mark(DevicePart::faces, device_.main());
}

void CudaFaceStage::compute(CudaFields& fields, std::size_t begin, std::size_t end,
                            const kernels::DeviceSumView& sums) {
  run_blocks(fields, entries_.get(ordered_) + begin, end - begin, sums);
  for (const Work& work : work_)
    for (int again = 0; work.end == end && again < work.times; ++again)
      run_blocks(fields, work.entries.get(ordered_), static_cast<std::size_t>(work.entries.count), {});
}

void CudaFaceStage::run_blocks(CudaFields& fields, const kernels::BlockEntry* entries, std::size_t count,
                               const kernels::DeviceSumView& sums) {
  kernels::Average7Job job;
  job.blocks = entries;
  job.count = static_cast<int>(count);
  job.in = fields.input();
  job.out = fields.output();
  job.packed = packed_.data();
  job.sums = sums;
  kernels::launch_average7(layout_, job, device_.main());
  device_.count_launches(job.count > 0 ? 1 : 0);
  device_.clock().mark(DevicePart::stencil, device_.main());
}

void CudaFaceStage::launch_stage(CudaFields& fields, std::int64_t /*stage*/, const kernels::DeviceSumView& sums,
                                 support::Metrics& metrics) {
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    follow_slots(fields);
    start_exchange(fields);
    if (!options_.overlap) finish_exchange();
    make_faces(local_, fields);
  }
  if (options_.overlap) {
    {
      support::PhaseTimer timer(metrics, support::Phase::stencil);
      compute(fields, 0, interior_, sums);
    }
    support::PhaseTimer timer(metrics, support::Phase::halo);
    finish_exchange();
  }
  support::PhaseTimer timer(metrics, support::Phase::stencil);
  make_faces(arrived_, fields);
  compute(fields, options_.overlap ? interior_ : 0, blocks_, sums);
}

std::size_t CudaFaceStage::memory_bytes() const {
  std::size_t bytes = sums_memory_bytes();
  for (const Work& work : work_) bytes += work.entries.bytes();
  return bytes + entries_.bytes() + packs_.table.bytes() + local_.table.bytes() + arrived_.table.bytes() +
         slot_list_.bytes() + send_.bytes() + packed_.bytes();
}

}  // namespace amrbench::amr
