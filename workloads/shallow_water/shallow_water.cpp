#include "workloads/shallow_water/shallow_water.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#if defined(AMRBENCH_CUDA)
#include "workloads/shallow_water/cuda_stage.hpp"
#endif
#include "support/error.hpp"
#include "support/superaccumulator.hpp"
#include "workloads/host_copy.hpp"
#include "workloads/shallow_water/block_water.hpp"
#include "workloads/shallow_water/maps.hpp"
#include "workloads/shallow_water/single.hpp"
#include "workloads/shallow_water/stage.hpp"
#include "workloads/shallow_water/transfer.hpp"
#include "workloads/shallow_water/unrest.hpp"

namespace amrbench::workloads {

namespace water = kernels::shallow_water;

ShallowWater::ShallowWater(const amr::Config& config, const WorkloadConfig& more)
    : config_(config),
      water_(more.shallow_water),
      problem_(config, more.shallow_water, more.inflow),
      inflows_(more.inflow, problem_),
      gauges_(more.gauge, problem_, more.shallow_water.gauge_interval) {
  if (config.run.stages_per_step != 2)
    throw support::InputError("run.stages_per_step = " + std::to_string(config.run.stages_per_step) +
                              ": a step of run.workload \"shallow_water\" has 2 stages");
  if (config.run.time <= 0.0 && config.run.steps == 0)
    throw support::InputError("run.time = 0 and run.steps = 0: run.workload \"shallow_water\" needs one of them");
  const auto shape = problem_.shape(0);
  if (water_.maps && std::abs(shape.dx - shape.dy) > 1e-9 * shape.dx)
    throw support::InputError(
        fmt::format("shallow_water.maps: cells of {} m x {} m; rasters of maps want square ones, "
                    "so choose mesh.root as the domain's sides are",
                    shape.dx, shape.dy));
}

amr::Backend<2> ShallowWater::make_backend([[maybe_unused]] const support::Communicator& comm) {
  const kernels::BlockLayout layout = kernels::make_layout(
      {problem_.cells(), problem_.cells(), 1}, water_.maps ? shallow_water::kVariablesWithMaps : water::kVariables);
  auto transfer = std::make_shared<shallow_water::WaterTransfer>(water_.dry_depth, problem_.is_single());
#if defined(AMRBENCH_CUDA)
  if (config_.device.backend == "cuda") {
    auto fields =
        std::make_unique<amr::CudaFields>(layout, std::make_unique<amr::CudaDevice>(comm, config_.device.transport),
                                          std::move(transfer), problem_.is_single());
    auto stage = shallow_water::make_cuda_stage(*fields, problem_, water_.cfl, config_.run.overlap);
    return {std::move(fields), std::move(stage)};
  }
#endif
  return {std::make_unique<amr::FieldStore>(layout, std::move(transfer)),
          std::make_unique<shallow_water::ShallowWaterStage>(problem_, water_.cfl, config_.run.overlap)};
}

amr::PlotInfo ShallowWater::plot_info() const {
  std::vector<std::string> names{"depth", "discharge_x", "discharge_y", "bed", "roughness"};
  if (water_.maps) names.insert(names.end(), {"largest_depth", "arrival_time"});
  return {std::move(names), false, {problem_.extent()[0], problem_.extent()[1], 1.0}};
}

void ShallowWater::set_initial(const amr::Mesh<2>& mesh, amr::Fields& fields) {
  fields.reset(mesh.size());
  fill_initial(mesh, fields, mesh.new_blocks());
}

void ShallowWater::fill_initial(const amr::Mesh<2>& mesh, amr::Fields& fields, std::span<const std::int32_t> blocks) {
  constexpr std::size_t kBatch = 1024;
  const std::size_t values = fields.layout().block_values();
  std::vector<double> batch;
  for (; !blocks.empty(); blocks = blocks.subspan(std::min(kBatch, blocks.size()))) {
    const auto some = blocks.first(std::min(kBatch, blocks.size()));
    batch.resize(some.size() * values);
#pragma omp parallel for schedule(dynamic, 4)
    for (std::size_t k = 0; k < some.size(); ++k) {
      double* const block = batch.data() + k * values;
      problem_.fill_initial(mesh, some[k], block);
      if (water_.maps) shallow_water::start_maps(problem_.cells(), held(water_.arrival_depth), 0.0, block);
    }
    write_blocks(fields, some, batch.data());
  }
}

void ShallowWater::exchange(const amr::Mesh<2>& mesh, const amr::FieldStore& store, shallow_water::StripHalo& halo) {
  halo.rebuild(mesh);
  halo.start(store);
  halo.finish();
}

std::vector<amr::Change> ShallowWater::mark(const amr::Mesh<2>& mesh, const amr::Fields& fields,
                                            const std::vector<amr::Change>* /*before*/) {
  std::vector<amr::Change> marks(static_cast<std::size_t>(mesh.size()));
  if (config_.mesh.uniform) {
    for (std::int32_t i = 0; i < mesh.size(); ++i)
      marks[std::size_t(i)] = mesh.level(i) < config_.mesh.max_level ? amr::Change::refine : amr::Change::stay;
    return marks;
  }
  const auto refine = [&](std::int32_t i) {
    if (mesh.level(i) < config_.mesh.max_level) marks[std::size_t(i)] = amr::Change::refine;
  };
  const HostCopy copy(fields);
  const amr::FieldStore& store = copy.get();
  shallow_water::StripHalo halo(problem_.cells());
  exchange(mesh, store, halo);
#pragma omp parallel
  {
    shallow_water::StripSet set(problem_.cells());
#pragma omp for schedule(static)
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      const int least = problem_.least_level(mesh, i);
      const int named = problem_.is_mapped() ? 0 : problem_.wanted_level(mesh, i);
      if (const int wanted = std::max(named, least); named >= 0) {
        marks[std::size_t(i)] = mesh.level(i) > wanted ? amr::Change::coarsen : amr::Change::stay;
        if (mesh.level(i) < wanted) refine(i);
        continue;
      }
      halo.gather(mesh, store, problem_, {start_time_}, i, set);
      const shallow_water::Unrest unrest =
          shallow_water::find_unrest(problem_, water_.dry_depth, mesh, i, store.block(i), set);
      // Cells at a shore hold their height over the bed only as long as they are not merged.
      marks[std::size_t(i)] =
          unrest.change < water_.coarsen_below && !unrest.front ? amr::Change::coarsen : amr::Change::stay;
      if (mesh.level(i) <= least) marks[std::size_t(i)] = amr::Change::stay;
      if (mesh.level(i) < least || unrest.change > water_.refine_above || (unrest.front && water_.refine_front))
        refine(i);
    }
  }
  if (!problem_.is_mapped()) mark_inflows(mesh, marks);
  return marks;
}

/// Water is to come in on the finest level from its first drop.
void ShallowWater::mark_inflows(const amr::Mesh<2>& mesh, std::vector<amr::Change>& marks) {
  inflows_.find_cells(mesh);
  inflow_meshes_ = -1;
  const auto is_entered = [&](std::int32_t i) {
    for (int face = 0; face < 4; ++face)
      if (mesh.links(i).kind[std::size_t(face)] == amr::FaceKind::boundary && problem_.has_side_inflow(mesh, i, face))
        return true;
    return false;
  };
  std::vector<std::int32_t> entered(inflows_.blocks().begin(), inflows_.blocks().end());
  for (std::int32_t i = 0; i < mesh.size() && !problem_.side_inflows().empty(); ++i)
    if (is_entered(i)) entered.push_back(i);
  for (const std::int32_t i : entered)
    marks[std::size_t(i)] = mesh.level(i) < config_.mesh.max_level ? amr::Change::refine : amr::Change::stay;
}

void ShallowWater::adapted(const amr::Mesh<2>& mesh, amr::Fields& fields) {
  const std::vector<std::int32_t> fresh = mesh.new_blocks();
  if (auto* const store = dynamic_cast<amr::FieldStore*>(&fields)) {
#pragma omp parallel for schedule(dynamic, 4)
    for (std::size_t k = 0; k < fresh.size(); ++k)
      shallow_water::settle_bed(problem_, mesh, fresh[k], store->block(fresh[k]));
    return;
  }
  const std::size_t values = fields.layout().block_values();
  const auto reading = fields.make_reading();
  fields.read(fresh, *reading);
  std::vector<double> blocks(fresh.size() * values);
#pragma omp parallel for schedule(dynamic, 4)
  for (std::size_t k = 0; k < fresh.size(); ++k) {
    std::copy_n(reading->values(k), values, blocks.data() + k * values);
    shallow_water::settle_bed(problem_, mesh, fresh[k], blocks.data() + k * values);
  }
  write_blocks(fields, fresh, blocks.data());
}

double ShallowWater::begin_step(const amr::Mesh<2>& mesh, amr::Fields& fields, amr::Stage<2>& stage, double longest) {
  auto& mine = dynamic_cast<shallow_water::WaterStage&>(stage);
  if (!is_started_) mine.set_time(start_time_);
  stage_ = &mine;
  if (!inflows_.empty() && inflow_meshes_ != mine.meshes()) {
    inflows_.find_cells(mesh);
    inflow_meshes_ = mine.meshes();
  }
  // Nothing may move yet, and water come in the next moment.
  if (problem_.has_inflows()) {
    longest = problem_.stable_side_step(mesh, mine.time(), longest, mine.cfl());
    longest = support::all_min(mesh.comm(), inflows_.stable_step(mesh, fields, mine.time(), longest, mine.cfl()));
  }
  const double step = mine.choose_step(mesh, fields, longest);
  if (!inflows_.empty()) {
    inflows_.add(mesh, fields, mine.time(), mine.time() + step);
    mine.wetted(inflows_.blocks());
  }
  shortest_step_ = is_started_ ? std::min(shortest_step_, step) : step;
  longest_step_ = std::max(longest_step_, step);
  is_started_ = true;
  return step;
}

std::vector<double> ShallowWater::block_costs(const amr::Mesh<2>& mesh, const amr::Fields& fields) {
  return shallow_water::costs_by_water(mesh, problem_, shallow_water::find_water(fields, problem_));
}

double ShallowWater::held(double x) const {
  return problem_.is_single() ? shallow_water::rounded_to_single(x) : x;
}

double ShallowWater::measure(int level) const {
  return std::ldexp(1.0, -2 * level);
}

void ShallowWater::observe(const amr::Mesh<2>& mesh, amr::Fields& fields, double time) {
  if (time == 0.0 && problem_.has_inflows()) first_volume_ = volume(mesh, HostCopy(fields).get());
  if (water_.maps && stage_ != nullptr) stage_->update_maps(mesh, fields, held(water_.arrival_depth), held(time));
  gauges_.observe(mesh, fields, last_time_, time);
  last_time_ = time;
}

void ShallowWater::save(amr::RunState& state) const {
  state.workload = gauges_.samples();
  state.workload.insert(state.workload.begin(), first_volume_);
}

void ShallowWater::load(const amr::RunState& state) {
  start_time_ = last_time_ = state.time;
  if (state.workload.empty()) return;
  first_volume_ = state.workload.front();
  gauges_.set_samples(std::span(state.workload).subspan(1));
}

double ShallowWater::volume(const amr::Mesh<2>& mesh, const amr::FieldStore& store) const {
  support::ExactSum sum;
  const std::size_t plane = std::size_t(problem_.cells()) * std::size_t(problem_.cells());
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    for (std::size_t at = 0; at < plane; ++at) sum.add(store.block(i)[at] * measure(mesh.level(i)));
  sum.allreduce(mesh.comm());
  const auto shape = problem_.shape(0);
  return sum.to_double() * (shape.dx * shape.dy);
}

/// Mean distances from the closed form over the domain.
void ShallowWater::add_errors(const amr::Mesh<2>& mesh, const amr::FieldStore& store, double time,
                              std::vector<amr::Finding>& all) const {
  const std::size_t plane = std::size_t(problem_.cells()) * std::size_t(problem_.cells());
  std::array<support::ExactSum, 3> errors;  // of depth and discharges, times a cell's share of a root block
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const double* const block = store.block(i);
    for (std::size_t at = 0; at < plane; ++at) {
      const auto cell = static_cast<int>(at);
      const auto wanted = problem_.exact(mesh, i, cell % problem_.cells(), cell / problem_.cells(), time);
      for (std::size_t v = 0; v < 3; ++v)
        errors[v].add(std::abs(block[v * plane + at] - wanted[v]) * measure(mesh.level(i)));
    }
  }
  const auto cells = static_cast<double>(plane) * config_.mesh.root[0] * config_.mesh.root[1];
  constexpr std::array names{"error_depth_l1", "error_discharge_x_l1", "error_discharge_y_l1"};
  for (std::size_t v = 0; v < 3; ++v) {
    errors[v].allreduce(mesh.comm());
    all.push_back({names[v], errors[v].to_double() / cells, v == 0 ? "m" : "m^2/s"});
  }
}

std::vector<amr::Finding> ShallowWater::findings(const amr::Mesh<2>& mesh, const amr::Fields& fields, double time) {
  const HostCopy copy(fields);
  const amr::FieldStore& store = copy.get();
  std::vector<amr::Finding> all;
  if (problem_.is_known() && !problem_.has_inflows()) add_errors(mesh, store, time, all);
  const std::size_t plane = std::size_t(problem_.cells()) * std::size_t(problem_.cells());
  double smallest = std::numeric_limits<double>::infinity();
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    smallest = std::min(smallest, *std::min_element(store.block(i), store.block(i) + plane));
  const double water = volume(mesh, store);
  all.push_back({"volume", water, "m^3"});
  if (problem_.has_inflows()) {
    const double come = inflows_.volume(0.0, time) + problem_.side_inflows().volume(0.0, time),
                 wanted = first_volume_ + come;
    all.push_back({"inflow", come, "m^3"});
    if (problem_.has_walls())
      all.push_back({"volume_drift", wanted > 0.0 ? std::abs(water - wanted) / wanted : 0.0, ""});
  }
  all.push_back({"smallest_depth", support::all_min(mesh.comm(), smallest), "m"});
  all.push_back({"shortest_step", shortest_step_, "s"});
  all.push_back({"longest_step", longest_step_, "s"});
  all.push_back({"end_time", time, "s"});
  if (stage_ != nullptr) {
    const auto computed = static_cast<double>(support::all_sum(mesh.comm(), stage_->computed()));
    const auto made = static_cast<double>(support::all_sum(mesh.comm(), stage_->computed() + stage_->left_out()));
    const auto busiest = static_cast<double>(support::all_max(mesh.comm(), stage_->computed())) * mesh.comm().size();
    all.push_back({"computed_share", made > 0.0 ? computed / made : 0.0, ""});
    all.push_back({"computed_imbalance", computed > 0.0 ? busiest / computed - 1.0 : 0.0, ""});
  }
  return all;
}

void ShallowWater::write_files(const amr::Mesh<2>& mesh, const amr::Fields& fields, const std::filesystem::path& folder,
                               support::Existing existing) {
  if (!gauges_.empty())
    support::run_on_root(mesh.comm(),
                         [&] { support::write_file_atomically(folder / "gauges.csv", gauges_.csv(), existing); });
  if (water_.maps) shallow_water::write_rasters(folder, mesh, fields, problem_, config_.mesh.max_level, existing);
}

}  // namespace amrbench::workloads
