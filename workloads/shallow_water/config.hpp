#pragma once
// [shallow_water]: what a run of the shallow-water equations takes of its configuration (docs/config.md).
#include <string>

namespace amrbench::workloads {

struct ShallowWaterConfig {
  std::string problem = "dam_break_wet";  ///< name in shallow_water/problem.hpp
  double cfl = 0.45;                      ///< of the largest stable step's number, 0.5 at most
  std::string limiter = "monotonized";    ///< of slopes: "minmod", "monotonized" or "van_leer"
  double dry_depth = 1e-6;                ///< below it velocities are damped [m]
  double refine_above = 0.01;    ///< blocks refine where the surface or the flow changes by more from cell to cell [m]
  double coarsen_below = 0.002;  ///< and may coarsen where both change by less everywhere [m]
  bool refine_front = true;      ///< blocks with both wet and dry cells refine
};

}  // namespace amrbench::workloads
