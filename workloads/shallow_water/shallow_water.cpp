#include "workloads/shallow_water/shallow_water.hpp"

#include <algorithm>
#include <cmath>

#if defined(AMRBENCH_CUDA)
#include "workloads/shallow_water/cuda_stage.hpp"
#endif
#include "support/error.hpp"
#include "support/superaccumulator.hpp"
#include "workloads/host_copy.hpp"
#include "workloads/shallow_water/stage.hpp"
#include "workloads/shallow_water/transfer.hpp"
#include "workloads/shallow_water/unrest.hpp"

namespace amrbench::workloads {

namespace water = kernels::shallow_water;

ShallowWater::ShallowWater(const amr::Config& config, const ShallowWaterConfig& water)
    : config_(config), water_(water), problem_(config, water) {
  if (config.run.stages_per_step != 2)
    throw support::InputError("run.stages_per_step = " + std::to_string(config.run.stages_per_step) +
                              ": a step of run.workload \"shallow_water\" has 2 stages");
  if (config.run.time <= 0.0 && config.run.steps == 0)
    throw support::InputError("run.time = 0 and run.steps = 0: run.workload \"shallow_water\" needs one of them");
}

amr::Backend<2> ShallowWater::make_backend([[maybe_unused]] const support::Communicator& comm) {
  const kernels::BlockLayout layout = kernels::make_layout({problem_.cells(), problem_.cells(), 1}, water::kVariables);
  auto transfer = std::make_shared<shallow_water::WaterTransfer>(water_.dry_depth);
#if defined(AMRBENCH_CUDA)
  if (config_.device.backend == "cuda") {
    auto fields = std::make_unique<amr::CudaFields>(
        layout, std::make_unique<amr::CudaDevice>(comm, config_.device.transport), std::move(transfer));
    auto stage =
        std::make_unique<shallow_water::CudaShallowWaterStage>(*fields, problem_, water_.cfl, config_.run.overlap);
    return {std::move(fields), std::move(stage)};
  }
#endif
  return {std::make_unique<amr::FieldStore>(layout, std::move(transfer)),
          std::make_unique<shallow_water::ShallowWaterStage>(problem_, water_.cfl, config_.run.overlap)};
}

amr::PlotInfo ShallowWater::plot_info() const {
  return {{"depth", "discharge_x", "discharge_y", "bed", "roughness"},
          false,
          {problem_.extent()[0], problem_.extent()[1], 1.0}};
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
    for (std::size_t k = 0; k < some.size(); ++k) problem_.fill_initial(mesh, some[k], batch.data() + k * values);
    write_blocks(fields, some, batch.data());
  }
}

std::vector<amr::Change> ShallowWater::mark(const amr::Mesh<2>& mesh, const amr::Fields& fields,
                                            const std::vector<amr::Change>* /*before*/) {
  std::vector<amr::Change> marks(static_cast<std::size_t>(mesh.size()));
  if (config_.mesh.uniform) {
    for (std::int32_t i = 0; i < mesh.size(); ++i)
      marks[std::size_t(i)] = mesh.level(i) < config_.mesh.max_level ? amr::Change::refine : amr::Change::stay;
    return marks;
  }
  const HostCopy copy(fields);
  const amr::FieldStore& store = copy.get();
  shallow_water::StripHalo halo(problem_.cells());
  halo.rebuild(mesh);
  halo.start(store);
  halo.finish();
#pragma omp parallel
  {
    shallow_water::StripSet set(problem_.cells());
#pragma omp for schedule(static)
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      halo.gather(mesh, store, problem_, start_time_, i, set);
      const shallow_water::Unrest unrest =
          shallow_water::find_unrest(problem_, water_.dry_depth, mesh, i, store.block(i), set);
      const bool deeper = mesh.level(i) < config_.mesh.max_level;
      // Cells at a shore hold their height over the bed only as long as they are not merged.
      amr::Change change =
          unrest.change < water_.coarsen_below && !unrest.front ? amr::Change::coarsen : amr::Change::stay;
      if (deeper && (unrest.change > water_.refine_above || (unrest.front && water_.refine_front)))
        change = amr::Change::refine;
      marks[std::size_t(i)] = change;
    }
  }
  return marks;
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
  const double step = mine.choose_step(mesh, fields, longest);
  shortest_step_ = is_started_ ? std::min(shortest_step_, step) : step;
  longest_step_ = std::max(longest_step_, step);
  is_started_ = true;
  return step;
}

double ShallowWater::measure(int level) const {
  return std::ldexp(1.0, -2 * level);
}

std::vector<amr::Finding> ShallowWater::findings(const amr::Mesh<2>& mesh, const amr::Fields& fields, double time) {
  const HostCopy copy(fields);
  const amr::FieldStore& store = copy.get();
  const std::size_t plane = std::size_t(problem_.cells()) * std::size_t(problem_.cells());
  std::array<support::ExactSum, 3> errors;  // of depth and discharges, times a cell's share of a root block
  double smallest = std::numeric_limits<double>::infinity();
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const double* const block = store.block(i);
    for (std::size_t at = 0; at < plane; ++at) {
      const auto cell = static_cast<int>(at);
      const auto wanted = problem_.exact(mesh, i, cell % problem_.cells(), cell / problem_.cells(), time);
      for (std::size_t v = 0; v < 3; ++v)
        errors[v].add(std::abs(block[v * plane + at] - wanted[v]) * measure(mesh.level(i)));
      smallest = std::min(smallest, block[at]);
    }
  }
  const auto cells = static_cast<double>(plane) * config_.mesh.root[0] * config_.mesh.root[1];
  std::vector<amr::Finding> all;
  constexpr std::array names{"error_depth_l1", "error_discharge_x_l1", "error_discharge_y_l1"};
  for (std::size_t v = 0; v < 3; ++v) {
    errors[v].allreduce(mesh.comm());
    all.push_back({names[v], errors[v].to_double() / cells, v == 0 ? "m" : "m^2/s"});
  }
  all.push_back({"smallest_depth", support::all_min(mesh.comm(), smallest), "m"});
  all.push_back({"shortest_step", shortest_step_, "s"});
  all.push_back({"longest_step", longest_step_, "s"});
  all.push_back({"end_time", time, "s"});
  if (stage_ != nullptr) {
    const auto computed = static_cast<double>(support::all_sum(mesh.comm(), stage_->computed()));
    const auto made = static_cast<double>(support::all_sum(mesh.comm(), stage_->computed() + stage_->left_out()));
    all.push_back({"computed_share", made > 0.0 ? computed / made : 0.0, ""});
  }
  return all;
}

}  // namespace amrbench::workloads
