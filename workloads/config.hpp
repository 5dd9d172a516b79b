#pragma once
// What workloads take of a run's configuration besides amr/config.hpp, as plain data, under the names of
// docs/config.md: one member a workload that has a table of its own.
#include "workloads/shallow_water/config.hpp"

namespace amrbench::workloads {

struct WorkloadConfig {
  ShallowWaterConfig shallow_water;
};

}  // namespace amrbench::workloads
