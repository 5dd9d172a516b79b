#include "amr/face_stage.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "kernels/faces.hpp"

namespace amrbench::amr {

/// What a pass over a block reads and writes.
struct FaceStage::Task {
  kernels::ChunkInput input;
  double* out = nullptr;
  std::int32_t block = 0;
  unsigned crossing = 0;  ///< a bit a face: it crosses a level, and is made when the block is computed
};

/// A thread's buffers: the chunks of a pass of six faces, the tasks of the next few blocks, and its sums while a
/// summing stage runs.
struct FaceStage::Scratch {
  Scratch(const std::array<std::size_t, 3>& face_chunk, const StagePasses& passes)
      : ring(std::bit_ceil(passes.ahead + 1)) {
    std::size_t values = 0;
    for (int face = 0; face < 6; ++face) {
      offset[face] = values;
      values += (face_chunk[face / 2] * passes.chunks + kernels::kPadding + 7) / 8 * 8;
    }
    buffer.grow(values);
  }
  support::PageBuffer<double> buffer;
  std::array<std::size_t, 6> offset{};
  std::vector<Task> ring;
  std::optional<kernels::StageSum> sum;
};

FaceStage::FaceStage(const kernels::BlockLayout& layout, const StageOptions& options)
    : layout_(layout),
      options_(options),
      kernel_(kernels::select_average7(layout)),
      passes_(layout),
      stores_(options.stores, 1) {
  for (int axis = 0; axis < 3; ++axis) face_chunk_[axis] = layout.face_cells(axis) * layout.lanes;
  for (int face = 0; face < 6; ++face) face_begin_[face] = kernels::face_offset(layout, face / 2, face % 2);
}

FaceStage::~FaceStage() = default;

void FaceStage::mesh_changed(const Mesh<3>& mesh) {
  halo_.rebuild(mesh, layout_);
  all_.resize(mesh.size());
  std::iota(all_.begin(), all_.end(), 0);
  if (options_.overlap) first_rounds_ = work_rounds(mesh, options_.work, halo_.interior());
  last_rounds_ = work_rounds(mesh, options_.work, options_.overlap ? std::span(halo_.border()) : std::span(all_));
  block_seconds_.assign(measures_ ? all_.size() : 0, 0.0);
  stores_.mesh_changed(thread_bytes(layout_, all_.size()));
}

/// A face that crosses a level is shown as the block's own first cells: they are there, and harmless to prefetch.
void FaceStage::make_task(const Mesh<3>& mesh, FieldStore& fields, std::int32_t i, std::size_t chunk,
                          Task& task) const {
  const std::size_t begin = chunk * layout_.chunk_values();
  const double* const in = fields.block(i) + begin;
  task.block = i;
  task.crossing = 0;
  task.out = fields.output(i) + begin;
  task.input.in = in;
  const auto links = mesh.settled_links(i);
  for (int face = 0; face < 6; ++face) {
    const std::int32_t j = links.index.first(face);
    kernels::FaceView& view = task.input.faces[face];
    if (links.kind[face] == FaceKind::same) {
      view = j < mesh.size() ? kernels::FaceView{fields.block(j) + begin + face_begin_[face ^ 1], false}
                             : kernels::FaceView{halo_.received(i, face, 0) + chunk * face_chunk_[face / 2], true};
    } else if (links.kind[face] == FaceKind::boundary) {  // the domain's face copies the cell inside
      view = {in + face_begin_[face], false};
    } else {
      view = {in, true};
      task.crossing |= 1U << face;
    }
  }
}

void FaceStage::make_face(const Mesh<3>& mesh, const FieldStore& fields, std::int32_t i, int face, std::size_t chunk,
                          int chunks, double* out) const {
  const auto links = mesh.settled_links(i);
  const int axis = face / 2, other = face ^ 1;
  const std::size_t quarter = chunk * (face_chunk_[axis] / 4), whole = chunk * layout_.chunk_values();
  if (links.kind[face] == FaceKind::coarse) {
    const std::int32_t j = links.index[face][0];
    if (j >= mesh.size()) {
      kernels::expand_quarter(layout_, halo_.received(i, face, 0) + quarter, axis, chunks, out);
    } else {
      const auto& c = mesh.coord(i);
      const auto qa = static_cast<int>(c[layout_.face_axis_a(axis)] & 1);
      const auto qb = static_cast<int>(c[layout_.face_axis_b(axis)] & 1);
      kernels::prolong_face(layout_, fields.block(j) + whole, other, qa, qb, chunks, out);
    }
    return;
  }
  for (int part = 0; part < 4; ++part) {
    const std::int32_t j = links.index[face][part];
    if (j >= mesh.size()) {
      kernels::insert_quarter(layout_, halo_.received(i, face, part) + quarter, axis, part & 1, part >> 1, chunks, out);
    } else {
      kernels::restrict_face(layout_, fields.block(j) + whole, other, part & 1, part >> 1, chunks, out);
    }
  }
}

void FaceStage::run_group(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks, bool summing,
                          Scratch& scratch) const {
  const auto kernel = summing ? kernel_.summing : kernel_.plain;
  kernels::StageSum* const sum = summing ? &*scratch.sum : nullptr;
  if (summing) sum->reserve(blocks.size() * layout_.block_cells());
  // Tasks from that which is computed to that which is fetched. Behind the last block of a group comes its first again,
  // one pass further.
  std::vector<Task>& ring = scratch.ring;
  std::size_t far = 0, far_block = 0, far_chunk = 0, at = 0;
  const auto chunks = static_cast<std::size_t>(layout_.chunks), mask = ring.size() - 1;
  for (std::size_t chunk = 0; chunk < chunks; chunk += passes_.chunks) {
    kernels::RawSum* const raw = summing ? sum->raw(chunk) : nullptr;
    const kernels::SumMagic magic = summing ? sum->magic() : kernels::SumMagic{};
    for (std::size_t k = 0; k < blocks.size(); ++k, ++at) {
      for (; far_chunk < chunks && far <= at + passes_.ahead; ++far) {
        make_task(mesh, fields, blocks[far_block], far_chunk, ring[far & mask]);
        if (++far_block < blocks.size()) continue;
        far_block = 0;
        far_chunk += passes_.chunks;
      }
      Task& task = ring[at & mask];
      const int count = static_cast<int>(std::min<std::size_t>(passes_.chunks, chunks - chunk));
      for (int face = 0; task.crossing != 0; ++face, task.crossing >>= 1U) {
        if ((task.crossing & 1U) == 0) continue;
        double* const out = scratch.buffer.data() + scratch.offset[face];
        make_face(mesh, fields, task.block, face, chunk, count, out);
        task.input.faces[face] = {out, true};
      }
      kernel(layout_, {&task.input, task.out, count, &ring[(far - 1) & mask].input, streaming_}, raw, magic);
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

double FaceStage::compute(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks,
                          std::span<const WorkRound> rounds, bool summing) {
  const double start = support::Metrics::steady_seconds();
  run_blocks(mesh, fields, blocks, summing);
  for (const WorkRound& round : rounds)
    for (int again = 0; again < round.times; ++again) run_blocks(mesh, fields, round.blocks, false);
  return support::Metrics::steady_seconds() - start;
}

void FaceStage::advance(const Mesh<3>& mesh, Fields& fields_of_run, std::int64_t /*stage*/,
                        const support::FixedPointScale* scale, support::Metrics& metrics) {
  FieldStore& fields = host_fields(fields_of_run);
  const bool summing = scale != nullptr;
  while (scratch_.size() < std::size_t(omp_get_max_threads()))
    scratch_.push_back(std::make_unique<Scratch>(face_chunk_, passes_));
  if (summing) {
    for (auto& scratch : scratch_) scratch->sum.emplace(layout_, kernel_.vector_length, kernel_.patterns, *scale);
  }
  fields.prepare_output();
  streaming_ = stores_.streams();
  double seconds = 0;
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    halo_.start(fields);
    if (!options_.overlap) count_wait(metrics, halo_.finish());
  }
  {
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    if (options_.overlap)
      seconds = compute(mesh, fields, halo_.interior(), first_rounds_, summing);
    else
      seconds = compute(mesh, fields, all_, last_rounds_, summing);
  }
  if (options_.overlap) {
    {
      support::PhaseTimer timer(metrics, support::Phase::halo);
      count_wait(metrics, halo_.finish());
    }
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    seconds += compute(mesh, fields, halo_.border(), last_rounds_, summing);
  }
  stores_.took(seconds);
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
