#include "amr/face_stage.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "kernels/faces.hpp"
#include "support/bandwidth.hpp"

namespace amrbench::amr {

/// A thread's buffers: six whole faces, one quarter, and its sums while a summing stage runs.
struct FaceStage::Scratch {
  explicit Scratch(const kernels::BlockLayout& layout) {
    std::size_t values = kernels::kPadding;
    for (int face = 0; face < 6; ++face) {
      offset[face] = values;
      values += (layout.face_values(face / 2) + 7) / 8 * 8;
    }
    quarter = values;
    buffer.grow(values + std::max({layout.quarter_values(0), layout.quarter_values(1), layout.quarter_values(2)}) +
                kernels::kPadding);
  }
  support::PageBuffer<double> buffer;
  std::array<std::size_t, 6> offset{};
  std::size_t quarter = 0;
  std::optional<kernels::StageSum> sum;
};

FaceStage::FaceStage(const kernels::BlockLayout& layout, bool overlap)
    : layout_(layout), overlap_(overlap), kernel_(kernels::select_average7(layout)) {}

FaceStage::~FaceStage() = default;

void FaceStage::mesh_changed(const Mesh<3>& mesh) {
  halo_.rebuild(mesh, layout_);
  neighbors_ = static_cast<int>(mesh.neighbors().size());
  all_.resize(mesh.size());
  std::iota(all_.begin(), all_.end(), 0);
  // Results that will have left the caches before they are read again need not pass through them. Both buffers count,
  // on every rank as if all ranks of the job shared one cache.
  const double bytes = 2.0 * static_cast<double>(mesh.global_size()) * static_cast<double>(layout_.block_values() * 8);
  streaming_ = bytes > static_cast<double>(support::last_level_cache_bytes());
}

kernels::FaceView FaceStage::coarse_face(const Mesh<3>& mesh, const FieldStore& fields, std::int32_t i, int face,
                                         double* out, double* quarter) const {
  const std::int32_t j = mesh.links(i).index[face][0];
  const int axis = face / 2, a = layout_.face_axis_a(axis), b = layout_.face_axis_b(axis);
  const double* values = quarter;
  if (j >= mesh.size()) {
    values = halo_.received(i, face, 0);
  } else {
    const auto& c = mesh.coord(i);
    kernels::pack_quarter(layout_, fields.block(j), face ^ 1, c[a] & 1, c[b] & 1, quarter);
  }
  kernels::expand_quarter(layout_, values, axis, out);
  return {out, true};
}

kernels::FaceView FaceStage::fine_face(const Mesh<3>& mesh, const FieldStore& fields, std::int32_t i, int face,
                                       double* out, double* quarter) const {
  for (int part = 0; part < 4; ++part) {
    const std::int32_t j = mesh.links(i).index[face][part];
    const double* values = quarter;
    if (j >= mesh.size()) {
      values = halo_.received(i, face, part);
    } else {
      kernels::pack_restricted(layout_, fields.block(j), face ^ 1, quarter);
    }
    kernels::insert_quarter(layout_, values, face / 2, part & 1, part >> 1, out);
  }
  return {out, true};
}

kernels::BlockArgs FaceStage::block_args(const Mesh<3>& mesh, FieldStore& fields, std::int32_t i,
                                         Scratch& scratch) const {
  kernels::BlockArgs args;
  args.in = fields.block(i);
  args.out = fields.output(i);
  const auto& links = mesh.links(i);
  double* const quarter = scratch.buffer.data() + scratch.quarter;
  for (int face = 0; face < 6; ++face) {
    double* const out = scratch.buffer.data() + scratch.offset[face];
    const std::int32_t j = links.index[face][0];
    switch (links.kind[face]) {
      case FaceKind::boundary:  // the domain's face copies the cell inside
        args.faces[face] = kernels::in_place_face(layout_, args.in, face / 2, face % 2);
        break;
      case FaceKind::same:
        if (j >= mesh.size()) {
          args.faces[face] = {halo_.received(i, face, 0), true};
        } else {
          args.faces[face] = kernels::in_place_face(layout_, fields.block(j), face / 2, 1 - face % 2);
        }
        break;
      case FaceKind::coarse:
        args.faces[face] = coarse_face(mesh, fields, i, face, out, quarter);
        break;
      case FaceKind::fine:
        args.faces[face] = fine_face(mesh, fields, i, face, out, quarter);
        break;
    }
  }
  return args;
}

void FaceStage::run_blocks(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks,
                           bool summing) {
  const auto kernel = (summing ? kernel_.summing : kernel_.plain)[streaming_ ? 1 : 0];
#pragma omp parallel
  {
    Scratch& scratch = *scratch_[omp_get_thread_num()];
    kernels::StageSum* const sum = summing ? &*scratch.sum : nullptr;
#pragma omp for schedule(static) nowait
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const kernels::BlockArgs args = block_args(mesh, fields, blocks[k], scratch);
      if (summing) sum->reserve(layout_.block_cells());
      kernel(layout_, args, sum);
    }
    if (streaming_) kernels::stream_fence();
  }
}

std::vector<support::FixedPointSum> FaceStage::advance(const Mesh<3>& mesh, FieldStore& fields, std::int64_t /*stage*/,
                                                       const support::FixedPointScale* scale,
                                                       support::Metrics& metrics) {
  const bool summing = scale != nullptr;
  while (scratch_.size() < std::size_t(omp_get_max_threads())) scratch_.push_back(std::make_unique<Scratch>(layout_));
  if (summing) {
    for (auto& scratch : scratch_) scratch->sum.emplace(layout_, kernel_.vector_length, kernel_.patterns, *scale);
  }
  fields.prepare_output();
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    halo_.start(fields);
    if (!overlap_) halo_.finish();
  }
  {
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    run_blocks(mesh, fields, overlap_ ? std::span(halo_.interior()) : std::span(all_), summing);
  }
  if (overlap_) {
    {
      support::PhaseTimer timer(metrics, support::Phase::halo);
      halo_.finish();
    }
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    run_blocks(mesh, fields, halo_.border(), summing);
  }
  fields.swap_buffers();
  std::vector<support::FixedPointSum> totals;
  if (summing) {
    totals = scratch_[0]->sum->totals();
    for (std::size_t t = 1; t < scratch_.size(); ++t) {
      for (int v = 0; v < layout_.variables; ++v) totals[v].merge(scratch_[t]->sum->totals()[v]);
    }
  }
  return totals;
}

HaloSize FaceStage::halo_size() const {
  return {halo_.bytes_sent_each(), halo_.pieces(), neighbors_};
}

std::size_t FaceStage::memory_bytes() const {
  std::size_t bytes = halo_.memory_bytes() + all_.capacity() * sizeof(std::int32_t);
  for (const auto& scratch : scratch_) bytes += scratch->buffer.bytes();
  return bytes;
}

}  // namespace amrbench::amr
