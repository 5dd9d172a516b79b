#pragma once
// All workloads by name: a new one is a folder here and a line in registry.cpp (docs/adding-a-workload.md).
#include <memory>
#include <span>
#include <string_view>

#include "amr/config.hpp"
#include "amr/workload.hpp"
#include "workloads/config.hpp"

namespace amrbench::workloads {

/// A workload of one dimension or of both.
struct WorkloadEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<amr::Workload<2>> (*make_2d)(const amr::Config& config, const WorkloadConfig& more);
  std::unique_ptr<amr::Workload<3>> (*make_3d)(const amr::Config& config, const WorkloadConfig& more);
};
[[nodiscard]] std::span<const WorkloadEntry> workload_registry();

/// The workload called `name`; the configurations must outlive it. Throws support::InputError, which names what there
/// is, where there is none of this name or of this dimension, and where the configuration makes no sense to it.
template <int Dim>
[[nodiscard]] std::unique_ptr<amr::Workload<Dim>> make_workload(std::string_view name, const amr::Config& config,
                                                                const WorkloadConfig& more = {});

}  // namespace amrbench::workloads
