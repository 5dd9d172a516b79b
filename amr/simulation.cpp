#include "amr/simulation.hpp"

#include <algorithm>

#include "amr/adapt.hpp"
#include "amr/consensus.hpp"
#include "amr/initial.hpp"

namespace amrbench::amr {

namespace {

ConservationCheck first_sums(const Mesh<3>& mesh, const Config& config, Fields& fields, const Stage& stage) {
  set_initial_fields(mesh, config.fields, fields);
  return {field_stats(mesh, fields), stage.conserved_variables(true), config.run.tolerance};
}

bool is_uniform(const RunTotals& totals) {
  const auto& levels = totals.blocks_by_level;
  return std::count_if(levels.begin(), levels.end(), [](std::int64_t n) { return n > 0; }) <= 1;
}

}  // namespace

Simulation::Simulation(const support::Communicator& comm, const Config& config, const sfc::KeySpace<3>& space,
                       Rebalancer& rebalancer, support::Metrics& metrics, const Restart* restart)
    : config_(config),
      rebalancer_(rebalancer),
      metrics_(metrics),
      mesh_(comm, space),
      backend_(make_backend(config, mesh_.comm())),
      fields_(*backend_.fields),
      stage_(*backend_.stage),
      growth_(mesh_.comm(), fields_.layout()),
      objects_(make_objects(config.objects)),
      check_(restart ? ConservationCheck(restart->state.check, config.run.tolerance)
                     : first_sums(mesh_, config, fields_, stage_)) {
  if (rebalancer_.measures()) stage_.measure_blocks();
  if (restart) go_on(*restart);
  if (!restart || !restart->is_placed) rebalancer_.place_roots(mesh_, fields_, metrics_);
  stage_.mesh_changed(mesh_);
  count_blocks();
}

void Simulation::go_on(const Restart& restart) {
  is_restarted_ = true;
  objects_ = restart.state.objects;
  totals_ = restart.state.totals;
  time_ = restart.state.time;
  mesh_.set_blocks(restart.keys, restart.weights);
  fields_.reset(mesh_.size());
  restart.fill(fields_);
}

RunState Simulation::state() {
  static_cast<void>(checks_pass());
  stage_.settle(metrics_);
  return {time_, totals_, objects_, check_.state()};
}

void Simulation::count_blocks() {
  totals_.blocks_by_level.assign(config_.mesh.max_level + 1, 0);
#pragma omp parallel
  {
    std::vector<std::int64_t> mine(totals_.blocks_by_level.size(), 0);
#pragma omp for schedule(static) nowait
    for (std::int32_t i = 0; i < mesh_.size(); ++i) ++mine[mesh_.level(i)];
#pragma omp critical
    for (std::size_t level = 0; level < mine.size(); ++level) totals_.blocks_by_level[level] += mine[level];
  }
  support::all_sum(mesh_.comm(), std::span(totals_.blocks_by_level));
  totals_.blocks = mesh_.global_size();
  totals_.blocks_max = std::max(totals_.blocks_max, totals_.blocks);
}

void Simulation::refine(int passes) {
  support::PhaseTimer timer(metrics_, support::Phase::refine);
  ++totals_.refine_steps;
  rebalancer_.begin({totals_.steps, config_.run.steps, totals_.stages});
  if (rebalancer_.measures()) rebalancer_.learn(mesh_, stage_.block_seconds(), metrics_);
  bool changed = false, moved = true;  // moved: marks of the pass before are of no use
  std::vector<Change> marks;
  for (int pass = 0; pass < passes; ++pass) {
    marks = moved ? mark_blocks(mesh_, config_.mesh, objects_) : mark_new_blocks(mesh_, config_.mesh, objects_, marks);
    Consensus consensus = reach_consensus(mesh_, marks);
    totals_.consensus_rounds += consensus.rounds;
    // Objects stand still between passes: a pass without changes would repeat itself.
    if (consensus.splits + consensus.merges == 0) break;
    changed = true;
    const std::int64_t net = (mesh_.space().kChildren - 1) * (consensus.splits - consensus.merges);
    if (config_.device.backend == "cpu")
      growth_.check(mesh_.global_size() + net - std::max(totals_.blocks_max, mesh_.global_size()));
    totals_.blocks_split += consensus.splits;
    totals_.blocks_merged += consensus.merges;
    moved = rebalancer_.rebalance_ahead(mesh_, fields_, consensus.changes, metrics_);
    apply_changes(mesh_, fields_, consensus);
  }
  if (changed || rebalancer_.measures()) changed = rebalancer_.rebalance(mesh_, fields_, metrics_) || changed;
  if (changed) {
    stage_.mesh_changed(mesh_);
    count_blocks();
  }
  totals_.blocks_max = std::max(totals_.blocks_max, totals_.blocks);
}

void Simulation::advance_stage(std::int64_t step) {
  const std::int64_t number = totals_.stages++;
  const int every = config_.run.checksum_every;
  const bool check = every > 0 && totals_.stages % every == 0;
  check_.limit(stage_.conserved_variables(is_uniform(totals_)));
  stage_.advance(mesh_, fields_, number, check ? &check_.scale() : nullptr, metrics_);
  if (check) open_check_ = step;
  totals_.block_stages += totals_.blocks;
  totals_.cell_updates +=
      totals_.blocks * static_cast<std::int64_t>(fields_.layout().block_cells()) * config_.fields.variables;
}

bool Simulation::checks_pass() {
  if (!open_check_) return check_.passed();
  support::PhaseTimer timer(metrics_, support::Phase::checksum);
  std::vector<support::FixedPointSum> global = stage_.sums();
  support::FixedPointSum::allreduce(mesh_.comm(), global);
  std::vector<double> totals;
  const bool fits = std::all_of(global.begin(), global.end(), [](const auto& sum) { return sum.valid(); });
  if (fits) {
    for (const auto& sum : global) totals.push_back(sum.to_double());
  } else {
    // A refinement may have come between: it keeps totals, but for the rounding of the merges.
    for (const auto& stats : field_stats(mesh_, fields_)) totals.push_back(stats.sum().to_double());
  }
  check_.check(totals, *open_check_, totals_.stages);
  open_check_.reset();
  return check_.passed();
}

void Simulation::check_end(const std::vector<support::FieldStats>& stats) {
  std::vector<double> totals;
  for (const auto& s : stats) totals.push_back(s.sum().to_double());
  check_.check(totals, totals_.steps, totals_.stages);
}

double Simulation::time_delta() const {
  if (config_.run.time <= 0.0) return 1.0;
  if (config_.run.steps > 0) return config_.run.time / static_cast<double>(config_.run.steps);
  std::array<double, 3> cells{};
  for (int d = 0; d < 3; ++d) {
    // miniAMR's unit: twice the blocks of the deepest level times the cells of a block.
    const std::int64_t extent = std::int64_t(config_.mesh.root[d]) << (config_.mesh.max_level + 1);
    cells[d] = static_cast<double>(extent * config_.mesh.block[d]);
  }
  return time_step(objects_, cells);
}

bool Simulation::more_steps() {
  if (!checks_pass() || is_stopped_) return false;
  const std::int64_t done = totals_.steps;
  if (config_.run.time > 0.0) return time_ < config_.run.time && (config_.run.steps == 0 || done < config_.run.steps);
  return done < config_.run.steps;
}

void Simulation::run(const StepObserver& observer) {
  const int levels = config_.mesh.max_level;
  const int change = config_.mesh.block_change > 0 ? config_.mesh.block_change : levels;
  if (!is_restarted_) {
    if (levels > 0) refine(levels);
    observer(0, 0.0, totals_);
  }
  double delta = time_delta();
  for (std::int64_t step = totals_.steps + 1; more_steps(); ++step) {
    metrics_.begin_step(step);
    for (int stage = 0; stage < config_.run.stages_per_step && checks_pass(); ++stage) advance_stage(step);
    totals_.steps = step;
    if (adapts()) move_objects(objects_, delta);
    if ((adapts() || rebalancer_.measures()) && config_.run.refine_every > 0 && step % config_.run.refine_every == 0)
      refine(adapts() ? change : 0);
    time_ += delta;
    if (config_.output.plotfile > 0 && step % config_.output.plotfile == 0) stage_.settle(metrics_);
    observer(step, time_, totals_);
    delta = time_delta();
  }
  stage_.settle(metrics_);
}

}  // namespace amrbench::amr
