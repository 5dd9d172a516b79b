#pragma once
// What workloads take of a run's configuration besides amr/config.hpp, as plain data, under the names of
// docs/config.md: one member a workload that has a table of its own.
#include <vector>

#include "workloads/advection/config.hpp"
#include "workloads/shallow_water/config.hpp"

namespace amrbench::workloads {

struct WorkloadConfig {
  AdvectionConfig advection;
  ShallowWaterConfig shallow_water;
  std::vector<InflowConfig> inflow;
  std::vector<GaugeConfig> gauge;
};

}  // namespace amrbench::workloads
