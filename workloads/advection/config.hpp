#pragma once
// [advection]: what a run of the advection equation takes of its configuration (docs/config.md).
#include <array>

namespace amrbench::workloads {

struct AdvectionConfig {
  std::array<double, 3> velocity{1.0, 0.5, 0.25};  ///< lengths of the domain a unit of time; in 2-D the first two
  double width = 0.2;                              ///< radius of the bump, beyond it there is nothing
  double cfl = 0.45;             ///< cells that the tracer crosses in a step, added up over the axes, 0.5 at most
  double refine_above = 0.02;    ///< blocks refine where the tracer changes by more from cell to cell
  double coarsen_below = 0.005;  ///< and may coarsen where it changes by less everywhere
};

}  // namespace amrbench::workloads
