#pragma once
// Fitting a Machine to runs: every phase of a replay is linear in a few of the model's numbers, so what runs took gives
// them by least squares of relative errors.
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "loadbalance/replay/machine.hpp"
#include "loadbalance/replay/replay.hpp"

namespace amrbench::loadbalance {

/// A run that was measured. Seconds as in its record: the most of any rank.
struct MeasuredRun {
  std::string name;
  std::filesystem::path trace;
  Strategy strategy;
  double stencil_s = 0.0, halo_s = 0.0, refine_s = 0.0, balance_s = 0.0, migrate_s = 0.0;
};

/// The five phases of a run, in its order of members.
using Phases = std::array<double, 5>;
[[nodiscard]] Phases measured_phases(const MeasuredRun& run);
/// The same of its replay on a machine.
[[nodiscard]] Phases replayed_phases(const MeasuredRun& run, const Machine& machine);

/// The numbers >= 0 for which the relative errors of known[i] + sum over k of features[i][k] * x[k] against measured[i]
/// have the least sum of squares; measured values that are 0 do not count. At most 4 numbers: all sets of those that
/// are 0 are tried. known: none where it is empty.
[[nodiscard]] std::vector<double> fit(std::span<const std::vector<double>> features, std::span<const double> measured,
                                      std::span<const double> known = {});

/// The machine on which replays of these runs take what the runs took, all ranks on one node, communication not hidden.
/// Throws as replay() does.
[[nodiscard]] Machine calibrate(std::span<const MeasuredRun> runs);

}  // namespace amrbench::loadbalance
