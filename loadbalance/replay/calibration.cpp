#include "loadbalance/replay/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace amrbench::loadbalance {

namespace {

using Member = double Machine::*;

/// A machine on which nothing takes time.
Machine idle_machine() {
  Machine m;
  m.overlap = false;
  m.ranks_per_node = 1 << 20;
  for (const Member member :
       {&Machine::update_s, &Machine::block_s, &Machine::node_latency_s, &Machine::node_byte_s, &Machine::latency_s,
        &Machine::byte_s, &Machine::migrate_byte_s, &Machine::collective_latency_s})
    m.*member = 0.0;
  return m;
}

/// Solves the least squares of rows, whose last number is what the others are to make, for the unknowns in `chosen`
/// (bits); nothing where they are not independent.
std::vector<double> solve(std::span<const std::vector<double>> rows, std::size_t unknowns, unsigned chosen) {
  std::vector<std::size_t> of;
  for (std::size_t k = 0; k < unknowns; ++k)
    if ((chosen >> k & 1U) != 0) of.push_back(k);
  const std::size_t n = of.size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1));
  for (const auto& row : rows)
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) a[i][j] += row[of[i]] * row[of[j]];
      a[i][n] += row[of[i]] * row[unknowns];
    }
  for (std::size_t i = 0; i < n; ++i) {
    const auto pivot = std::max_element(a.begin() + static_cast<std::ptrdiff_t>(i), a.end(),
                                        [&](auto& p, auto& q) { return std::abs(p[i]) < std::abs(q[i]); });
    std::swap(a[i], *pivot);
    if (std::abs(a[i][i]) <= 0.0) return {};
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = i; c <= n; ++c) a[r][c] -= factor * a[i][c];
    }
  }
  std::vector<double> x(unknowns);
  for (std::size_t i = 0; i < n; ++i) x[of[i]] = a[i][n] / a[i][i];
  return x;
}

/// Each equation relative to what was measured; those that measured nothing are left out.
std::vector<std::vector<double>> rows_of(std::span<const std::vector<double>> features,
                                         std::span<const double> measured, std::span<const double> known) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (measured[i] <= 0.0) continue;
    rows.push_back(features[i]);
    for (double& feature : rows.back()) feature /= measured[i];
    rows.back().push_back(known.empty() ? 1.0 : 1.0 - known[i] / measured[i]);
  }
  return rows;
}

double error_of(std::span<const std::vector<double>> rows, std::span<const double> x) {
  double sum = 0.0;
  for (const auto& row : rows) {
    double value = -row[x.size()];
    for (std::size_t k = 0; k < x.size(); ++k) value += row[k] * x[k];
    sum += value * value;
  }
  return sum;
}

/// What a phase takes in each run besides `known`: the numbers to fit times their features.
struct PhaseFit {
  std::vector<std::vector<double>> features;
  std::vector<double> measured, known;
  /// Sum of squares of the relative errors of x.
  [[nodiscard]] double squares(std::span<const double> x) const {
    return error_of(rows_of(features, measured, known), x);
  }
};

/// Fits some of a machine's numbers to one phase: `done` has those that are known already. Returns the sum of squares
/// of relative errors that is left.
double fit_phase(std::span<const MeasuredRun> runs, std::size_t phase, std::span<const Member> members, Machine& done) {
  PhaseFit all{std::vector<std::vector<double>>(runs.size()), {}, {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    all.known.push_back(replayed_phases(runs[i], done)[phase]);
    all.measured.push_back(measured_phases(runs[i])[phase]);
    for (const Member member : members) {
      Machine with = done;
      with.*member += 1.0;
      all.features[i].push_back(replayed_phases(runs[i], with)[phase] - all.known[i]);
    }
  }
  const std::vector<double> x = fit(all.features, all.measured, all.known);
  for (std::size_t k = 0; k < members.size(); ++k) done.*members[k] += x[k];
  return all.squares(x);
}

/// The same from numbers that are near: a phase is the most of any rank, and which rank that is may depend on them, so
/// that it is linear only around them.
double polish(std::span<const MeasuredRun> runs, std::size_t phase, std::span<const Member> members, Machine& machine) {
  constexpr double kStep = 1e-6, kLeast = 1e-12;
  PhaseFit all{std::vector<std::vector<double>>(runs.size()), {}, {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double here = replayed_phases(runs[i], machine)[phase];
    all.known.push_back(here);
    all.measured.push_back(measured_phases(runs[i])[phase]);
    for (const Member member : members) {
      Machine with = machine;
      const double step = kStep * (machine.*member > 0.0 ? machine.*member : std::max(kLeast, machine.update_s));
      with.*member += step;
      all.features[i].push_back((replayed_phases(runs[i], with)[phase] - here) / step);
      all.known[i] -= all.features[i].back() * machine.*member;
    }
  }
  const std::vector<double> x = fit(all.features, all.measured, all.known);
  for (std::size_t k = 0; k < members.size(); ++k) machine.*members[k] = x[k];
  return all.squares(x);
}

/// Computation. Whether fields outgrow the caches, and where, is no linear number: sizes are tried, and one is taken
/// only where it explains most of what a machine without caches leaves.
void fit_computation(std::span<const MeasuredRun> runs, Machine& machine) {
  constexpr double kLeast = 1 << 18, kMost = 1 << 30, kStep = 2.0, kMostLeft = 0.5, kNothing = 1e-12;
  const Machine idle = machine;
  std::vector<Member> members{&Machine::update_s, &Machine::block_s, &Machine::jump_cell_s};
  fit_phase(runs, 0, members, machine);
  double least = kMostLeft * polish(runs, 0, members, machine);
  members.push_back(&Machine::memory_update_s);
  for (double bytes = kLeast; bytes <= kMost && least > kNothing; bytes *= kStep) {
    Machine with = idle;
    with.cache_bytes = bytes;
    const double left = fit_phase(runs, 0, members, with);
    if (left >= least || with.memory_update_s <= 0.0) continue;
    least = left;
    machine = with;
  }
  if (machine.cache_bytes > 0.0) polish(runs, 0, members, machine);
}

}  // namespace

Phases measured_phases(const MeasuredRun& run) {
  return {run.stencil_s, run.halo_s, run.refine_s, run.balance_s, run.migrate_s};
}

Phases replayed_phases(const MeasuredRun& run, const Machine& machine) {
  ReplayRequest request;
  request.strategies = {run.strategy};
  request.machine = machine;
  request.optimum = false;
  const ReplayRow row = replay(run.trace, request).at(0);
  return {row.stencil_max_s, row.halo_max_s, row.times.refine_s, row.times.balance_s, row.times.migrate_s};
}

std::vector<double> fit(std::span<const std::vector<double>> features, std::span<const double> measured,
                        std::span<const double> known) {
  const std::size_t unknowns = features.empty() ? 0 : features[0].size();
  const std::vector<std::vector<double>> rows = rows_of(features, measured, known);
  std::vector<double> best(unknowns);
  double least = error_of(rows, best);
  for (unsigned chosen = 1; chosen < 1U << unknowns; ++chosen) {
    const std::vector<double> x = solve(rows, unknowns, chosen);
    if (x.empty() || std::any_of(x.begin(), x.end(), [](double v) { return v < 0.0 || !std::isfinite(v); })) continue;
    const double error = error_of(rows, x);
    if (error >= least) continue;
    least = error;
    best = x;
  }
  return best;
}

Machine calibrate(std::span<const MeasuredRun> runs) {
  Machine machine = idle_machine();
  const auto fit_to = [&](std::size_t phase, std::vector<Member> members) { fit_phase(runs, phase, members, machine); };
  fit_computation(runs, machine);
  // Waiting for ranks with more to do follows from computation; what is left of the halo is communication, and the
  // unevenness of the machine.
  fit_to(1, {&Machine::node_byte_s, &Machine::node_latency_s, &Machine::face_cell_s, &Machine::wait_fraction});
  fit_to(3, {&Machine::collective_latency_s, &Machine::cut_block_s});
  fit_to(2, {&Machine::refine_block_s, &Machine::refine_pass_s, &Machine::change_byte_s});
  fit_to(4, {&Machine::migrate_byte_s, &Machine::migrate_block_s, &Machine::migrate_s});
  // Nothing is known of the way between nodes: as within one.
  machine.latency_s = machine.node_latency_s;
  machine.byte_s = machine.node_byte_s;
  return machine;
}

}  // namespace amrbench::loadbalance
