#include "amr/simulation.hpp"

#include <algorithm>
#include <limits>

#include "amr/adapt.hpp"
#include "amr/consensus.hpp"

namespace amrbench::amr {

namespace {

bool is_uniform(const RunTotals& totals) {
  const auto& levels = totals.blocks_by_level;
  return std::count_if(levels.begin(), levels.end(), [](std::int64_t n) { return n > 0; }) <= 1;
}

}  // namespace

template <int Dim>
Simulation<Dim>::Simulation(const support::Communicator& comm, const Config& config, const sfc::KeySpace<Dim>& space,
                            Workload<Dim>& workload, Rebalancer<Dim>& rebalancer, support::Metrics& metrics,
                            const Restart* restart)
    : SimulationBase(config, metrics),
      workload_(workload),
      rebalancer_(rebalancer),
      mesh_(comm, space),
      backend_(workload.make_backend(mesh_.comm())),
      fields_(*backend_.fields),
      stage_(*backend_.stage),
      growth_(mesh_.comm(), fields_.layout()),
      measure_([&workload](int level) { return workload.measure(level); }) {
  if (rebalancer_.measures()) stage_.measure_blocks();
  if (restart) {
    go_on(*restart);
  } else {
    workload_.set_initial(mesh_, fields_);
    check_.emplace(statistics(), stage_.conserved_variables(true), tolerance());
  }
  if (!restart || !restart->is_placed) rebalancer_.place_roots(mesh_, fields_, metrics_);
  stage_.mesh_changed(mesh_);
  fields_.make_ready(std::max<std::int64_t>(mesh_.size(), config.device.preallocated_blocks));
  count_blocks();
}

template <int Dim>
void Simulation<Dim>::go_on(const Restart& restart) {
  is_restarted_ = true;
  check_.emplace(restart.state.check, tolerance());
  workload_.load(restart.state);
  totals_ = restart.state.totals;
  time_ = restart.state.time;
  mesh_.set_blocks(restart.keys, restart.weights);
  fields_.reset(mesh_.size());
  restart.fill(fields_);
}

template <int Dim>
RunState Simulation<Dim>::state() {
  static_cast<void>(checks_pass());
  stage_.settle(metrics_);
  RunState state{time_, totals_, {}, check_->state(), {}};
  workload_.save(state);
  return state;
}

template <int Dim>
void Simulation<Dim>::count_blocks() {
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

template <int Dim>
void Simulation<Dim>::refine(int passes, bool is_first) {
  support::PhaseTimer timer(metrics_, support::Phase::refine);
  ++totals_.refine_steps;
  rebalancer_.begin({totals_.steps, config_.run.steps, totals_.stages});
  if (rebalancer_.measures()) rebalancer_.learn(mesh_, stage_.block_seconds(), metrics_);
  const auto set_costs = [&] {
    if (rebalancer_.wants_costs()) rebalancer_.set_costs(mesh_, workload_.block_costs(mesh_, fields_));
  };
  set_costs();
  bool changed = false, moved = true;  // moved: marks of the pass before are of no use
  std::vector<Change> marks;
  for (int pass = 0; pass < passes; ++pass) {
    marks = workload_.mark(mesh_, fields_, moved ? nullptr : &marks);
    Consensus consensus = reach_consensus(mesh_, marks);
    totals_.consensus_rounds += consensus.rounds;
    // Nothing moves between passes: a pass without changes would repeat itself.
    if (consensus.splits + consensus.merges == 0) break;
    changed = true;
    const std::int64_t net = (mesh_.space().kChildren - 1) * (consensus.splits - consensus.merges);
    if (config_.device.backend == "cpu")
      growth_.check(mesh_.global_size() + net - std::max(totals_.blocks_max, mesh_.global_size()));
    totals_.blocks_split += consensus.splits;
    totals_.blocks_merged += consensus.merges;
    moved = rebalancer_.rebalance_ahead(mesh_, fields_, consensus.changes, metrics_);
    apply_changes(mesh_, fields_, consensus, Settle::later);
    if (is_first && workload_.knows_initial_state()) {
      workload_.fill_initial(mesh_, fields_, mesh_.new_blocks());
    } else {
      workload_.adapted(mesh_, fields_);
    }
  }
  if (changed) set_costs();
  if (changed || rebalancer_.measures()) changed = rebalancer_.rebalance(mesh_, fields_, metrics_) || changed;
  if (changed) {
    mesh_.settle();
    stage_.mesh_changed(mesh_);
    count_blocks();
  }
  totals_.blocks_max = std::max(totals_.blocks_max, totals_.blocks);
}

template <int Dim>
void Simulation<Dim>::advance_stage(std::int64_t step) {
  const std::int64_t number = totals_.stages++;
  const int every = config_.run.checksum_every;
  const bool check = every > 0 && totals_.stages % every == 0;
  check_->limit(stage_.conserved_variables(is_uniform(totals_)));
  stage_.advance(mesh_, fields_, number, check ? &check_->scale() : nullptr, metrics_);
  if (check) open_check_ = step;
  totals_.block_stages += totals_.blocks;
  totals_.cell_updates +=
      totals_.blocks * static_cast<std::int64_t>(fields_.layout().block_cells()) * config_.fields.variables;
}

template <int Dim>
bool Simulation<Dim>::checks_pass() {
  if (!open_check_) return check_->passed();
  support::PhaseTimer timer(metrics_, support::Phase::checksum);
  std::vector<support::FixedPointSum> global = stage_.sums();
  support::FixedPointSum::allreduce(mesh_.comm(), global);
  std::vector<double> totals;
  const bool fits = std::all_of(global.begin(), global.end(), [](const auto& sum) { return sum.valid(); });
  if (fits) {
    for (const auto& sum : global) totals.push_back(sum.to_double());
  } else {
    // A refinement may have come between: it keeps totals, but for the rounding of the merges.
    for (const auto& stats : statistics()) totals.push_back(stats.sum().to_double());
  }
  check_->check(totals, *open_check_, totals_.stages);
  open_check_.reset();
  return check_->passed();
}

void SimulationBase::check_end(const std::vector<support::FieldStats>& stats) {
  std::vector<double> totals;
  for (const auto& s : stats) totals.push_back(s.sum().to_double());
  check_->check(totals, totals_.steps, totals_.stages);
}

/// Steps of a given number share the time; else it bounds them.
template <int Dim>
double Simulation<Dim>::longest_step() const {
  return config_.run.time > 0.0 ? config_.run.time - time_ : std::numeric_limits<double>::infinity();
}

template <int Dim>
bool Simulation<Dim>::more_steps() {
  if (!checks_pass() || is_stopped_) return false;
  const std::int64_t done = totals_.steps;
  if (config_.run.time > 0.0) return time_ < config_.run.time && (config_.run.steps == 0 || done < config_.run.steps);
  return done < config_.run.steps;
}

template <int Dim>
void Simulation<Dim>::run(const StepObserver& observer) {
  const int levels = config_.mesh.max_level;
  const int change = config_.mesh.block_change > 0 ? config_.mesh.block_change : levels;
  if (!is_restarted_) {
    if (levels > 0) refine(levels, true);
    if (levels > 0 && workload_.knows_initial_state())
      check_.emplace(statistics(), stage_.conserved_variables(is_uniform(totals_)), tolerance());
    workload_.observe(mesh_, fields_, 0.0);
    observer(0, 0.0, totals_);
  }
  for (std::int64_t step = totals_.steps + 1; more_steps(); ++step) {
    metrics_.begin_step(step);
    const double longest = longest_step(), delta = workload_.begin_step(mesh_, fields_, stage_, longest);
    for (int stage = 0; stage < config_.run.stages_per_step && checks_pass(); ++stage) advance_stage(step);
    totals_.steps = step;
    if (adapts()) workload_.end_step(delta);
    if ((adapts() || rebalancer_.measures()) && config_.run.refine_every > 0 && step % config_.run.refine_every == 0)
      refine(adapts() ? change : 0);
    time_ = delta == longest ? config_.run.time : time_ + delta;
    workload_.observe(mesh_, fields_, time_);
    if (config_.output.plotfile > 0 && step % config_.output.plotfile == 0) stage_.settle(metrics_);
    observer(step, time_, totals_);
  }
  stage_.settle(metrics_);
}

template class Simulation<2>;
template class Simulation<3>;

}  // namespace amrbench::amr
