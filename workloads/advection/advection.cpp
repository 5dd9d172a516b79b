#include "workloads/advection/advection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "amr/field_store.hpp"
#include "support/error.hpp"
#include "support/superaccumulator.hpp"
#include "workloads/advection/stage.hpp"
#include "workloads/slope_transfer.hpp"

namespace amrbench::workloads {

template <int Dim>
Advection<Dim>::Advection(const amr::Config& config, const AdvectionConfig& advection)
    : config_(config), advection_(advection), problem_(config, advection) {
  if (config.device.backend != "cpu")
    throw support::InputError("device.backend = \"" + config.device.backend +
                              "\": run.workload \"advection\" runs on \"cpu\" only");
  if (config.run.stages_per_step != 2)
    throw support::InputError("run.stages_per_step = " + std::to_string(config.run.stages_per_step) +
                              ": a step of run.workload \"advection\" has 2 stages");
  for (std::size_t d = 0; d < Dim; ++d)
    if (config.mesh.periodic[d] && advection.width > 0.5)
      throw support::InputError(fmt::format(
          "advection.width = {}: with mesh.periodic at most 0.5, or the bump meets itself", advection.width));
  if (!(config.run.time > 0.0)) throw support::InputError("run.time = 0: run.workload \"advection\" needs one");
}

template <int Dim>
amr::Backend<Dim> Advection<Dim>::make_backend(const support::Communicator& /*comm*/) {
  return {std::make_unique<amr::FieldStore>(problem_.layout(), std::make_shared<SlopeTransfer<Dim>>()),
          std::make_unique<advection::AdvectionStage<Dim>>(problem_, config_.run.overlap)};
}

template <int Dim>
void Advection<Dim>::set_initial(const amr::Mesh<Dim>& mesh, amr::Fields& fields) {
  fields.reset(mesh.size());
  fill_initial(mesh, fields, mesh.new_blocks());
}

template <int Dim>
void Advection<Dim>::fill_initial(const amr::Mesh<Dim>& mesh, amr::Fields& fields,
                                  std::span<const std::int32_t> blocks) {
  amr::FieldStore& store = amr::host_fields(fields);
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < blocks.size(); ++k) problem_.fill(mesh, blocks[k], 0.0, store.block(blocks[k]));
}

template <int Dim>
std::vector<amr::Change> Advection<Dim>::mark(const amr::Mesh<Dim>& mesh, const amr::Fields& fields,
                                              const std::vector<amr::Change>* /*before*/) {
  const amr::FieldStore& store = amr::host_fields(fields);
  std::vector<amr::Change> marks(std::size_t(mesh.size()), amr::Change::stay);
  advection::Halo<Dim> halo(problem_);
  halo.rebuild(mesh);
  halo.start(store);
  halo.finish();
#pragma omp parallel
  {
    advection::Worker<Dim> worker(problem_);
#pragma omp for schedule(static)
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      const double change = worker.load(mesh, store, halo, time_, i).largest_change();
      const bool refines = config_.mesh.uniform || change > advection_.refine_above;
      if (refines && mesh.level(i) < config_.mesh.max_level) marks[std::size_t(i)] = amr::Change::refine;
      if (!refines && change < advection_.coarsen_below) marks[std::size_t(i)] = amr::Change::coarsen;
    }
  }
  return marks;
}

template <int Dim>
double Advection<Dim>::begin_step(const amr::Mesh<Dim>& mesh, amr::Fields& fields, amr::Stage<Dim>& stage,
                                  double longest) {
  auto& mine = dynamic_cast<advection::AdvectionStage<Dim>&>(stage);
  const double step = std::min(longest, support::all_min(mesh.comm(), mine.stable_step(mesh, advection_.cfl)));
  // The bump is 1 high: of what little stands at a side no check can tell whether it left.
  constexpr double kNothing = 1e-18;
  const double at_sides = support::all_max(mesh.comm(), mine.largest_at_sides(mesh, amr::host_fields(fields)));
  mine.begin_step(time_, step, at_sides <= kNothing);
  time_ += step;
  return step;
}

template <int Dim>
double Advection<Dim>::measure(int level) const {
  return std::ldexp(1.0, -Dim * level);
}

template <int Dim>
std::vector<amr::Finding> Advection<Dim>::findings(const amr::Mesh<Dim>& mesh, const amr::Fields& fields, double time) {
  const amr::FieldStore& store = amr::host_fields(fields);
  const std::size_t count = problem_.layout().block_cells();
  std::vector<double> wanted(count);
  support::ExactSum error;  // times a cell's share of a root block
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    problem_.fill(mesh, i, time, wanted.data());
    const double* const block = store.block(i);
    for (std::size_t at = 0; at < count; ++at) {
      error.add(std::abs(block[at] - wanted[at]) * measure(mesh.level(i)));
      smallest = std::min(smallest, block[at]);
      largest = std::max(largest, block[at]);
    }
  }
  error.allreduce(mesh.comm());
  double cells = static_cast<double>(count);
  for (std::size_t d = 0; d < Dim; ++d) cells *= config_.mesh.root[d];
  return {{"error_l1", error.to_double() / cells, ""},
          {"smallest", support::all_min(mesh.comm(), smallest), ""},
          {"largest", support::all_max(mesh.comm(), largest), ""}};
}

template class Advection<2>;
template class Advection<3>;

}  // namespace amrbench::workloads
