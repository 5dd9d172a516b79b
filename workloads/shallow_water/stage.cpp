#include "workloads/shallow_water/stage.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "workloads/shallow_water/maps.hpp"
#include "workloads/shallow_water/single.hpp"

namespace amrbench::workloads::shallow_water {

/// Memory and findings of a thread.
struct ShallowWaterStage::Worker {
  Worker(int cells, bool is_single) : strips(cells), scratch(cells) {
    if (is_single) single.emplace(cells);
  }
  StripSet strips;
  swe::Scratch<double> scratch;
  std::optional<SingleBlock> single;
  double fastest = 0.0;
  std::int64_t computed = 0;
  std::vector<support::FixedPointSum> sums;
};

ShallowWaterStage::ShallowWaterStage(const Problem& problem, double cfl, bool overlap)
    : WaterStage(cfl), problem_(problem), overlap_(overlap), halo_(problem.cells()) {}

ShallowWaterStage::~ShallowWaterStage() = default;

void ShallowWaterStage::mesh_changed(const amr::Mesh<2>& mesh) {
  WaterStage::mesh_changed(mesh);
  halo_.rebuild(mesh);
  const auto n = static_cast<std::size_t>(mesh.size());
  all_.resize(n);
  std::iota(all_.begin(), all_.end(), 0);
  had_water_.assign(n, 1);
  has_water_.assign(n, 1);
  same_.assign(n, 0);
  if (measures_) block_seconds_.assign(n, 0.0);
  while (workers_.size() < static_cast<std::size_t>(omp_get_max_threads()))
    workers_.push_back(std::make_unique<Worker>(problem_.cells(), problem_.is_single()));
  is_new_ = copies_bed_ = true;
}

void ShallowWaterStage::measure_state(const amr::Mesh<2>& mesh, const amr::FieldStore& fields) {
  double fastest = 0.0;
#pragma omp parallel for schedule(static) reduction(max : fastest)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto shape = problem_.shape(mesh.level(i));
    auto& single = workers_[std::size_t(omp_get_thread_num())]->single;
    const auto found = single ? single->measure(shape, problem_.physics(), fields.block(i))
                              : swe::measure_block(shape, problem_.physics(), fields.block(i));
    had_water_[std::size_t(i)] = found.largest_depth > 0.0;
    fastest = std::max(fastest, found.fastest);
  }
  fastest_ = fastest;
}

double ShallowWaterStage::fastest(const amr::Mesh<2>& mesh, amr::Fields& fields) {
  if (is_new_) measure_state(mesh, amr::host_fields(fields));
  is_new_ = false;
  return fastest_;
}

void ShallowWaterStage::wetted(std::span<const std::int32_t> blocks) {
  for (const std::int32_t i : blocks) {
    had_water_[std::size_t(i)] = 1;
    same_[std::size_t(i)] = 0;
  }
}

void ShallowWaterStage::update_maps(const amr::Mesh<2>& mesh, amr::Fields& base, double arrival_depth, double time) {
  amr::FieldStore& fields = amr::host_fields(base);
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    if (had_water_[std::size_t(i)]) shallow_water::update_maps(problem_.cells(), arrival_depth, time, fields.block(i));
}

void ShallowWaterStage::advance(const amr::Mesh<2>& mesh, amr::Fields& base, std::int64_t stage,
                                const support::FixedPointScale* scale, support::Metrics& metrics) {
  amr::FieldStore& fields = amr::host_fields(base);
  const bool second = stage % 2 == 1;
  {
    const support::PhaseTimer timer(metrics, support::Phase::stencil);
    fields.put_in_order();
    fields.prepare_output();
    for (const auto& worker : workers_) {
      worker->fastest = 0.0;
      worker->sums.clear();
      if (scale != nullptr) worker->sums.assign(std::size_t(fields.layout().variables), support::FixedPointSum(*scale));
    }
  }
  const Pass pass{mesh, fields, second, moment(second), scale};
  amr::compute_around_exchange(halo_, fields, overlap_, all_, metrics,
                               [&](std::span<const std::int32_t> blocks) { compute(pass, blocks); });
  fastest_ = 0.0;
  for (const auto& worker : workers_) {
    fastest_ = std::max(fastest_, worker->fastest);
    computed_ += std::exchange(worker->computed, 0);
  }
  fields.swap_buffers();
  had_water_.swap(has_water_);
  copies_bed_ = false;
  count_stage(mesh.size(), second);
}

void ShallowWaterStage::compute(const Pass& pass, std::span<const std::int32_t> blocks) {
#pragma omp parallel
  {
    Worker& worker = *workers_[std::size_t(omp_get_thread_num())];
#pragma omp for schedule(static)
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const double begin = measures_ ? support::Metrics::steady_seconds() : 0.0;
      compute_block(pass, blocks[k], worker);
      if (measures_) block_seconds_[std::size_t(blocks[k])] += support::Metrics::steady_seconds() - begin;
    }
  }
}

/// Do block i and all around it hold no water, as far as is known without looking at their cells?
bool ShallowWaterStage::is_dry_around(const amr::Mesh<2>& mesh, std::int32_t i) const {
  if (had_water_[std::size_t(i)]) return false;
  const auto& links = mesh.links(i);
  for (std::size_t face = 0; face < 4; ++face) {
    if (links.kind[face] == amr::FaceKind::boundary) return false;
    for (const std::int32_t j : links.index[face])
      if (j >= mesh.size() || (j >= 0 && had_water_[std::size_t(j)])) return false;
  }
  return true;
}

void ShallowWaterStage::compute_block(const Pass& pass, std::int32_t i, Worker& worker) {
  const double* const in = pass.fields.block(i);
  double* const out = pass.fields.output(i);
  const auto shape = problem_.shape(pass.mesh.level(i));
  const std::size_t plane = shape.plane();
  char& same = same_[std::size_t(i)];
  bool is_dry = is_dry_around(pass.mesh, i);
  if (!is_dry) {
    halo_.gather(pass.mesh, pass.fields, problem_, pass.moment, i, worker.strips);
    is_dry = !had_water_[std::size_t(i)] && worker.strips.is_dry;
  }
  if (is_dry) {
    has_water_[std::size_t(i)] = 0;
    if (!same) std::copy_n(in, shape.values(), out);
    same = 1;
  } else {
    if (copies_bed_) std::copy_n(in + swe::kBed * plane, 2 * plane, out + swe::kBed * plane);
    const double* const old = pass.second ? out : nullptr;
    const auto& strips = worker.strips.strips;
    const auto found =
        worker.single ? worker.single->advance(shape, problem_.physics(), in, strips, old, step(), out)
                      : swe::advance_block(shape, problem_.physics(), in, strips, old, step(), out, worker.scratch);
    has_water_[std::size_t(i)] = found.largest_depth > 0.0;
    same = 0;
    worker.fastest = std::max(worker.fastest, found.fastest);
    ++worker.computed;
  }
  if (pass.scale != nullptr) add_up(pass, i, worker);
}

/// Every variable by the cells' areas.
void ShallowWaterStage::add_up(const Pass& pass, std::int32_t i, Worker& worker) const {
  const double measure = std::ldexp(1.0, -2 * pass.mesh.level(i));
  const double* const values = pass.fields.output(i);
  const std::size_t plane = problem_.shape(0).plane();
  for (std::size_t v = 0; v < worker.sums.size(); ++v) {
    support::LaneSum<1> sum(*pass.scale);
    for (std::size_t at = 0; at < plane; ++at) sum.accumulate(values[v * plane + at] * measure);
    sum.flush_to(&worker.sums[v]);
  }
}

std::vector<support::FixedPointSum> ShallowWaterStage::sums() {
  std::vector<support::FixedPointSum> all;
  for (const auto& worker : workers_) {
    if (all.empty()) {
      all = worker->sums;
      continue;
    }
    for (std::size_t v = 0; v < worker->sums.size(); ++v) all[v].merge(worker->sums[v]);
  }
  return all;
}

std::size_t ShallowWaterStage::memory_bytes() const {
  return halo_.memory_bytes() + all_.capacity() * sizeof(all_[0]) + has_water_.capacity() + same_.capacity() +
         block_seconds_.capacity() * sizeof(double);
}

}  // namespace amrbench::workloads::shallow_water
