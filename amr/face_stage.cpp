#include "amr/face_stage.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "kernels/faces.hpp"

namespace amrbench::amr {

/// What is known of a block before its chunks are computed: pointers at chunk 0, and which faces must be made.
struct FaceStage::Task {
  std::int32_t block = 0;
  const double* in = nullptr;
  double* out = nullptr;
  std::array<kernels::FaceView, 6> faces;  ///< values null: crosses a level, made pass by pass
};

/// A thread's buffers: the chunks of a pass of six faces, the tasks of a group, and its sums while a summing stage
/// runs.
struct FaceStage::Scratch {
  Scratch(const std::array<std::size_t, 3>& face_chunk, int chunks) {
    std::size_t values = 0;
    for (int face = 0; face < 6; ++face) {
      offset[face] = values;
      values += (face_chunk[face / 2] * chunks + kernels::kPadding + 7) / 8 * 8;
    }
    buffer.grow(values);
  }
  support::PageBuffer<double> buffer;
  std::array<std::size_t, 6> offset{};
  std::vector<Task> tasks;
  std::optional<kernels::StageSum> sum;
};

FaceStage::FaceStage(const kernels::BlockLayout& layout, const StageOptions& options)
    : layout_(layout), options_(options), rows_(layout), kernel_(kernels::select_average7(layout)), passes_(layout) {
  for (int axis = 0; axis < 3; ++axis) face_chunk_[axis] = layout.face_cells(axis) * layout.lanes;
}

FaceStage::~FaceStage() = default;

void FaceStage::mesh_changed(const Mesh<3>& mesh) {
  halo_.rebuild(mesh, layout_);
  all_.resize(mesh.size());
  std::iota(all_.begin(), all_.end(), 0);
  if (options_.overlap) first_rounds_ = work_rounds(mesh, options_.work, halo_.interior());
  last_rounds_ = work_rounds(mesh, options_.work, options_.overlap ? std::span(halo_.border()) : std::span(all_));
  block_seconds_.assign(measures_ ? all_.size() : 0, 0.0);
  streaming_ = streams_results(std::size_t(mesh.size()) * layout_.block_values() * sizeof(double), options_.stores);
}

FaceStage::Task FaceStage::make_task(const Mesh<3>& mesh, FieldStore& fields, std::int32_t i) const {
  Task task;
  task.block = i;
  task.in = fields.block(i);
  task.out = fields.output(i);
  const auto& links = mesh.settled_links(i);
  for (int face = 0; face < 6; ++face) {
    const std::int32_t j = links.index[face][0];
    if (links.kind[face] == FaceKind::boundary) {  // the domain's face copies the cell inside
      task.faces[face] = kernels::in_place_face(layout_, task.in, face / 2, face % 2);
    } else if (links.kind[face] == FaceKind::same) {
      task.faces[face] = j < mesh.size() ? kernels::in_place_face(layout_, fields.block(j), face / 2, 1 - face % 2)
                                         : kernels::FaceView{halo_.received(i, face, 0), true};
    }
  }
  return task;
}

void FaceStage::make_face(const Mesh<3>& mesh, const FieldStore& fields, const Task& task, int face, int chunk,
                          int chunks, double* out) const {
  const auto& links = mesh.settled_links(task.block);
  const int axis = face / 2, other = face ^ 1;
  const std::size_t quarter = chunk * (face_chunk_[axis] / 4), whole = chunk * layout_.chunk_values();
  if (links.kind[face] == FaceKind::coarse) {
    const std::int32_t j = links.index[face][0];
    if (j >= mesh.size()) {
      kernels::expand_quarter(layout_, halo_.received(task.block, face, 0) + quarter, axis, chunks, out);
    } else {
      const auto& c = mesh.coord(task.block);
      const auto qa = static_cast<int>(c[layout_.face_axis_a(axis)] & 1);
      const auto qb = static_cast<int>(c[layout_.face_axis_b(axis)] & 1);
      kernels::prolong_face(layout_, fields.block(j) + whole, other, qa, qb, chunks, out);
    }
    return;
  }
  for (int part = 0; part < 4; ++part) {
    const std::int32_t j = links.index[face][part];
    if (j >= mesh.size()) {
      kernels::insert_quarter(layout_, halo_.received(task.block, face, part) + quarter, axis, part & 1, part >> 1,
                              chunks, out);
    } else {
      kernels::restrict_face(layout_, fields.block(j) + whole, other, part & 1, part >> 1, chunks, out);
    }
  }
}

/// A face that crosses a level is shown as the block's own first cells: they are there, and harmless to prefetch.
kernels::ChunkInput FaceStage::chunk_input(const Task& task, int chunk) const {
  kernels::ChunkInput input;
  input.in = task.in + chunk * layout_.chunk_values();
  for (int face = 0; face < 6; ++face) {
    const kernels::FaceView& view = task.faces[face];
    const std::size_t step = view.packed ? face_chunk_[face / 2] : layout_.chunk_values();
    input.faces[face] = view.values == nullptr ? kernels::FaceView{input.in, true}
                                               : kernels::FaceView{view.values + chunk * step, view.packed};
  }
  return input;
}

void FaceStage::run_group(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks, bool summing,
                          Scratch& scratch) const {
  const auto kernel = (summing ? kernel_.summing : kernel_.plain)[streaming_ ? 1 : 0];
  kernels::StageSum* const sum = summing ? &*scratch.sum : nullptr;
  if (summing) sum->reserve(blocks.size() * layout_.block_cells());
  scratch.tasks.clear();
  for (const std::int32_t i : blocks) scratch.tasks.push_back(make_task(mesh, fields, i));
  const std::size_t chunk_values = layout_.chunk_values();
  for (int chunk = 0; chunk < layout_.chunks; chunk += passes_.chunks) {
    kernels::RawSum* const raw = summing ? sum->raw(chunk) : nullptr;
    const kernels::SumMagic magic = summing ? sum->magic() : kernels::SumMagic{};
    kernels::ChunkArgs args;
    args.chunks = std::min(passes_.chunks, layout_.chunks - chunk);
    // Behind the last block of a group comes its first again, one pass further.
    const bool more = chunk + 2 * passes_.chunks <= layout_.chunks;
    for (std::size_t k = 0; k < scratch.tasks.size(); ++k) {
      const Task& task = scratch.tasks[k];
      args.input = chunk_input(task, chunk);
      args.out = task.out + chunk * chunk_values;
      for (int face = 0; face < 6; ++face) {
        if (task.faces[face].values != nullptr) continue;
        double* const out = scratch.buffer.data() + scratch.offset[face];
        make_face(mesh, fields, task, face, chunk, args.chunks, out);
        args.input.faces[face] = {out, true};
      }
      const std::size_t ahead = k + passes_.ahead;
      if (ahead < scratch.tasks.size())
        args.next = chunk_input(scratch.tasks[ahead], chunk);
      else
        args.next =
            more ? chunk_input(scratch.tasks[ahead % scratch.tasks.size()], chunk + passes_.chunks) : args.input;
      kernel(rows_, args, raw, magic);
    }
  }
}

void FaceStage::run_blocks(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks,
                           bool summing) {
#pragma omp parallel
  {
    const std::size_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    const std::size_t begin = blocks.size() * me / threads, end = blocks.size() * (me + 1) / threads;
    for (std::size_t k = begin; k < end; k += passes_.blocks) {
      const auto group = blocks.subspan(k, std::min(passes_.blocks, end - k));
      const double start = measures_ ? support::Metrics::steady_seconds() : 0.0;
      run_group(mesh, fields, group, summing, *scratch_[me]);
      if (!measures_) continue;
      const double each = (support::Metrics::steady_seconds() - start) / static_cast<double>(group.size());
      for (const std::int32_t i : group) block_seconds_[i] += each;
    }
    if (streaming_) kernels::stream_fence();
  }
}

void FaceStage::compute(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks,
                        std::span<const WorkRound> rounds, bool summing) {
  run_blocks(mesh, fields, blocks, summing);
  for (const WorkRound& round : rounds)
    for (int again = 0; again < round.times; ++again) run_blocks(mesh, fields, round.blocks, false);
}

void FaceStage::advance(const Mesh<3>& mesh, Fields& fields_of_run, std::int64_t /*stage*/,
                        const support::FixedPointScale* scale, support::Metrics& metrics) {
  FieldStore& fields = host_fields(fields_of_run);
  const bool summing = scale != nullptr;
  while (scratch_.size() < std::size_t(omp_get_max_threads()))
    scratch_.push_back(std::make_unique<Scratch>(face_chunk_, passes_.chunks));
  if (summing) {
    for (auto& scratch : scratch_) scratch->sum.emplace(layout_, kernel_.vector_length, kernel_.patterns, *scale);
  }
  fields.prepare_output();
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    halo_.start(fields);
    if (!options_.overlap) count_wait(metrics, halo_.finish());
  }
  {
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    if (options_.overlap)
      compute(mesh, fields, halo_.interior(), first_rounds_, summing);
    else
      compute(mesh, fields, all_, last_rounds_, summing);
  }
  if (options_.overlap) {
    {
      support::PhaseTimer timer(metrics, support::Phase::halo);
      count_wait(metrics, halo_.finish());
    }
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    compute(mesh, fields, halo_.border(), last_rounds_, summing);
  }
  fields.swap_buffers();
}

std::vector<support::FixedPointSum> FaceStage::sums() {
  std::vector<support::FixedPointSum> totals = scratch_.at(0)->sum.value().totals();
  for (std::size_t t = 1; t < scratch_.size(); ++t) {
    const auto& more = scratch_[t]->sum->totals();
    for (std::size_t v = 0; v < totals.size(); ++v) totals[v].merge(more[v]);
  }
  return totals;
}

HaloSize FaceStage::halo_size() const {
  return halo_.size();
}

std::size_t FaceStage::memory_bytes() const {
  std::size_t bytes = halo_.memory_bytes() + all_.capacity() * sizeof(std::int32_t);
  for (const auto& scratch : scratch_) bytes += scratch->buffer.bytes();
  return bytes;
}

}  // namespace amrbench::amr
