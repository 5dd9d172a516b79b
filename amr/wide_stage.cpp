#include "amr/wide_stage.hpp"

#include <omp.h>

#include <optional>

#include "kernels/average27.hpp"
#include "kernels/stage_sum.hpp"

namespace amrbench::amr {

/// A thread's work space, and its sums while a summing stage runs.
struct WideStage::Scratch {
  std::vector<double> values;
  std::vector<double> tile;  ///< for artificial work
  std::optional<kernels::StageSum> sum;
};

kernels::TileLayout wide_tile_layout(WideStencil stencil, const kernels::BlockLayout& layout) {
  return stencil == WideStencil::mixed ? kernels::make_tile_layout_by_variable(layout)
                                       : kernels::make_tile_layout(layout);
}

int wide_conserved_variables(WideStencil stencil, const kernels::BlockLayout& layout, bool mesh_is_uniform) {
  if (stencil == WideStencil::mixed) return 1;
  return mesh_is_uniform ? layout.variables : 0;
}

WideStage::WideStage(WideStencil stencil, const kernels::BlockLayout& layout, const StageOptions& options)
    : stencil_(stencil),
      overlap_(options.overlap),
      layout_(wide_tile_layout(stencil, layout)),
      constants_(kernels::mixed_constants(layout.variables)),
      halo_(layout_),
      work_(options.work) {}

WideStage::~WideStage() = default;

void WideStage::mesh_changed(const Mesh<3>& mesh) {
  halo_.rebuild(mesh);
  neighbors_ = static_cast<int>(mesh.neighbors().size());
  tiles_.grow(std::size_t(mesh.size()) * layout_.values());
  rounds_ = work_rounds(mesh, work_);
  block_seconds_.assign(measures_ ? static_cast<std::size_t>(mesh.size()) : 0, 0.0);
}

void WideStage::load_tiles(const Mesh<3>& mesh, const FieldStore& fields) {
  double* const tiles = tiles_.data();
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    kernels::load_tile(layout_, fields.block(i), tiles + i * layout_.values());
}

void WideStage::compute_block(FieldStore& fields, std::int64_t stage, std::int32_t i, double* tile, Scratch& scratch) {
  const double start = measures_ ? support::Metrics::steady_seconds() : 0.0;
  double* const out = fields.output(i);
  if (stencil_ == WideStencil::mixed) {
    kernels::advance_mixed(layout_, constants_, stage, tile, scratch.values.data());
    kernels::store_tile(layout_, tile, out);
  } else {
    kernels::average27(layout_, tile, out, scratch.values.data());
  }
  if (measures_) block_seconds_[i] += support::Metrics::steady_seconds() - start;
}

/// Artificial work, on copies of tiles, since some stencils change theirs; the stage itself then writes all results.
void WideStage::work_again(FieldStore& fields, std::int64_t stage) {
  for (const WorkRound& round : rounds_) {
    for (int again = 0; again < round.times; ++again) {
#pragma omp parallel
      {
        Scratch& scratch = *scratch_[omp_get_thread_num()];
#pragma omp for schedule(static)
        for (const std::int32_t i : round.blocks) {
          const double* const tile = tiles_.data() + i * layout_.values();
          scratch.tile.assign(tile, tile + layout_.values());
          compute_block(fields, stage, i, scratch.tile.data(), scratch);
        }
      }
    }
  }
}

void WideStage::compute(const Mesh<3>& mesh, FieldStore& fields, std::int64_t stage, bool summing) {
  work_again(fields, stage);
#pragma omp parallel
  {
    Scratch& scratch = *scratch_[omp_get_thread_num()];
#pragma omp for schedule(static)
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      compute_block(fields, stage, i, tiles_.data() + i * layout_.values(), scratch);
      if (summing) kernels::sum_block(layout_.block, fields.output(i), *scratch.sum);
    }
  }
}

void WideStage::advance(const Mesh<3>& mesh, Fields& fields_of_run, std::int64_t stage,
                        const support::FixedPointScale* scale, support::Metrics& metrics) {
  FieldStore& fields = host_fields(fields_of_run);
  const bool summing = scale != nullptr;
  while (scratch_.size() < std::size_t(omp_get_max_threads())) {
    scratch_.push_back(std::make_unique<Scratch>());
    scratch_.back()->values.resize(stencil_ == WideStencil::mixed ? kernels::mixed_scratch(layout_)
                                                                  : kernels::average27_scratch(layout_));
  }
  if (summing) {
    const int patterns = kernels::block_sum_patterns(layout_.block.lanes);
    for (auto& scratch : scratch_) scratch->sum.emplace(layout_.block, kernels::kBlockSumLength, patterns, *scale);
  }
  fields.prepare_output();
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    load_tiles(mesh, fields);
    count_wait(metrics, halo_.exchange(mesh, tiles_.data(), overlap_));
  }
  {
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    compute(mesh, fields, stage, summing);
  }
  fields.swap_buffers();
}

std::vector<support::FixedPointSum> WideStage::sums() {
  std::vector<support::FixedPointSum> totals = scratch_.at(0)->sum.value().totals();
  for (std::size_t t = 1; t < scratch_.size(); ++t) {
    const auto& more = scratch_[t]->sum->totals();
    for (std::size_t v = 0; v < totals.size(); ++v) totals[v].merge(more[v]);
  }
  return totals;
}

HaloSize WideStage::halo_size() const {
  return {halo_.bytes_sent_each(), halo_.pieces(), neighbors_};
}

std::size_t WideStage::memory_bytes() const {
  std::size_t bytes = halo_.memory_bytes() + tiles_.bytes();
  for (const auto& scratch : scratch_) bytes += scratch->values.capacity() * sizeof(double);
  return bytes;
}

}  // namespace amrbench::amr
