#pragma once
// The runs that `amrbench calibrate` times: those that the model is fitted to, and others, drawn at random, that check
// it. What a run is to show in a phase must take long enough to be timed: meshes change every few stages.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/config.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

struct TimedRun {
  std::string name;
  Config config;
};

/// The first `fitted` give the model, the others check it.
struct CalibrationPlan {
  std::vector<TimedRun> runs;
  std::size_t fitted = 0;
};

/// Runs with the blocks, variables, stencil and exchange of `shape`, or of several shapes without one. `checks`: how
/// many are drawn by `seed`; the same arguments give the same ones. `scratch`: a folder on rank 0. Collective.
[[nodiscard]] CalibrationPlan plan_calibration(const support::Communicator& comm, const std::optional<Config>& shape,
                                               int checks, std::uint64_t seed, const std::filesystem::path& scratch);

}  // namespace amrbench::apps
