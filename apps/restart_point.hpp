#pragma once
// `amrbench run --restart`: which checkpoint a run goes on from, and whether it may.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amr/checkpoint/checkpoint.hpp"
#include "apps/config.hpp"

namespace amrbench::apps {

struct RestartPoint {
  std::shared_ptr<const amr::Checkpoint> checkpoint;  ///< read once from end to end, and found whole
  Config config;                                      ///< of the run that wrote it
  std::filesystem::path result_folder;                ///< that it lies in; empty: a slot elsewhere
  std::vector<std::string> notes;                     ///< what the user is to know: slots that are damaged

  /// Is `folder` its result folder?
  [[nodiscard]] bool lies_in(const std::filesystem::path& folder) const;
};

/// `folder`: the result folder of a run, of which the newest good slot is taken, or a slot. Throws support::InputError
/// that names the folder when there is none, or it was written by another version. Collective.
[[nodiscard]] RestartPoint find_restart(const support::Communicator& comm, const std::filesystem::path& folder);
/// The same for a result folder, or nothing where there is no good slot; `notes` says why. Collective.
[[nodiscard]] std::optional<RestartPoint> find_newest(const support::Communicator& comm,
                                                      const std::filesystem::path& result_folder,
                                                      std::vector<std::string>& notes);

/// Throws support::InputError that names a key on which the answer depends and in which `config` differs from the
/// checkpoint's, or that has too few steps. Local.
void check_same_problem(const Config& config, const RestartPoint& restart);

}  // namespace amrbench::apps
