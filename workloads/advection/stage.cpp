#include "workloads/advection/stage.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace amrbench::workloads::advection {

/// Memory and findings of a thread.
template <int Dim>
struct AdvectionStage<Dim>::Thread {
  explicit Thread(const Problem<Dim>& problem) : worker(problem) {}
  Worker<Dim> worker;
  std::vector<support::FixedPointSum> sums;
};

template <int Dim>
AdvectionStage<Dim>::AdvectionStage(const Problem<Dim>& problem, bool overlap)
    : problem_(problem), overlap_(overlap), halo_(problem) {}

template <int Dim>
AdvectionStage<Dim>::~AdvectionStage() = default;

template <int Dim>
void AdvectionStage<Dim>::mesh_changed(const amr::Mesh<Dim>& mesh) {
  halo_.rebuild(mesh);
  all_.resize(std::size_t(mesh.size()));
  std::iota(all_.begin(), all_.end(), 0);
  if (measures_) block_seconds_.assign(all_.size(), 0.0);
  while (threads_.size() < static_cast<std::size_t>(omp_get_max_threads()))
    threads_.push_back(std::make_unique<Thread>(problem_));
}

template <int Dim>
double AdvectionStage<Dim>::stable_step(const amr::Mesh<Dim>& mesh, double cfl) const {
  int deepest = 0;
  for (std::int32_t i = 0; i < mesh.size(); ++i) deepest = std::max(deepest, mesh.level(i));
  const auto size = problem_.cell_size(deepest);
  double crossed = 0.0;  // cells in a unit of time
  for (std::size_t d = 0; d < Dim; ++d) crossed += std::abs(problem_.velocity()[d]) / size[d];
  return crossed > 0.0 ? cfl / crossed : std::numeric_limits<double>::infinity();
}

template <int Dim>
double AdvectionStage<Dim>::largest_at_sides(const amr::Mesh<Dim>& mesh, const amr::FieldStore& fields) const {
  const kernels::BlockLayout& l = problem_.layout();
  double largest = 0.0;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (int face = 0; face < 2 * Dim; ++face) {
      if (mesh.links(i).kind[std::size_t(face)] != amr::FaceKind::boundary) continue;
      std::array<int, 3> low{}, high = l.cells;
      const auto axis = std::size_t(face / 2);
      (face % 2 == 0 ? high[axis] : low[axis]) = face % 2 == 0 ? 1 : l.cells[axis] - 1;
      for (int z = low[2]; z < high[2]; ++z)
        for (int y = low[1]; y < high[1]; ++y)
          for (int x = low[0]; x < high[0]; ++x)
            largest = std::max(largest, std::abs(fields.block(i)[l.offset(0, x, y, z)]));
    }
  }
  return largest;
}

template <int Dim>
void AdvectionStage<Dim>::begin_step(double time, double step, bool is_inside) {
  time_ = time;
  step_ = step;
  is_inside_ = is_inside;
}

template <int Dim>
void AdvectionStage<Dim>::advance(const amr::Mesh<Dim>& mesh, amr::Fields& base, std::int64_t stage,
                                  const support::FixedPointScale* scale, support::Metrics& metrics) {
  amr::FieldStore& fields = amr::host_fields(base);
  {
    const support::PhaseTimer timer(metrics, support::Phase::stencil);
    fields.put_in_order();
    fields.prepare_output();
    for (const auto& thread : threads_) {
      thread->sums.clear();
      if (scale != nullptr) thread->sums.assign(1, support::FixedPointSum(*scale));
    }
  }
  const Pass pass{mesh, fields, stage % 2 == 1, scale};
  amr::compute_around_exchange(halo_, fields, overlap_, all_, metrics,
                               [&](std::span<const std::int32_t> blocks) { compute(pass, blocks); });
  fields.swap_buffers();
}

template <int Dim>
void AdvectionStage<Dim>::compute(const Pass& pass, std::span<const std::int32_t> blocks) {
#pragma omp parallel
  {
    Thread& thread = *threads_[std::size_t(omp_get_thread_num())];
#pragma omp for schedule(static)
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const double begin = measures_ ? support::Metrics::steady_seconds() : 0.0;
      compute_block(pass, blocks[k], thread);
      if (measures_) block_seconds_[std::size_t(blocks[k])] += support::Metrics::steady_seconds() - begin;
    }
  }
}

template <int Dim>
void AdvectionStage<Dim>::compute_block(const Pass& pass, std::int32_t i, Thread& thread) const {
  const int level = pass.mesh.level(i);
  const auto size = problem_.cell_size(level);
  std::array<double, Dim> courant{};
  for (std::size_t d = 0; d < Dim; ++d) courant[d] = problem_.velocity()[d] * step_ / size[d];
  double* const out = pass.fields.output(i);
  thread.worker.load(pass.mesh, pass.fields, halo_, pass.second ? time_ + step_ : time_, i)
      .advance(courant, pass.second ? out : nullptr, out);
  if (pass.scale == nullptr) return;
  const double measure = std::ldexp(1.0, -Dim * level);
  support::LaneSum<1> sum(*pass.scale);
  for (std::size_t at = 0; at < problem_.layout().block_cells(); ++at) sum.accumulate(out[at] * measure);
  sum.flush_to(thread.sums.data());
}

template <int Dim>
std::vector<support::FixedPointSum> AdvectionStage<Dim>::sums() {
  std::vector<support::FixedPointSum> all = threads_.front()->sums;
  for (std::size_t k = 1; k < threads_.size(); ++k)
    for (std::size_t v = 0; v < all.size(); ++v) all[v].merge(threads_[k]->sums[v]);
  return all;
}

template <int Dim>
std::size_t AdvectionStage<Dim>::memory_bytes() const {
  return halo_.memory_bytes() + all_.capacity() * sizeof(all_[0]) + block_seconds_.capacity() * sizeof(double);
}

template class AdvectionStage<2>;
template class AdvectionStage<3>;

}  // namespace amrbench::workloads::advection
