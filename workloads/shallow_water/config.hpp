#pragma once
// [shallow_water], [[inflow]], [[gauge]]: what a run of the shallow-water equations takes of its configuration
// (docs/config.md).
#include <array>
#include <string>

namespace amrbench::workloads {

struct ShallowWaterConfig {
  std::string problem = "dam_break_wet";  ///< name in shallow_water/problem.hpp
  double cfl = 0.45;                      ///< of the largest stable step's number, 0.5 at most
  std::string limiter = "monotonized";    ///< of slopes: "minmod", "monotonized" or "van_leer"
  std::string precision = "double";       ///< of values and stages: "double" or "single"
  double dry_depth = 1e-6;                ///< below it velocities are damped [m]
  double refine_above = 0.01;    ///< blocks refine where the surface or the flow changes by more from cell to cell [m]
  double coarsen_below = 0.002;  ///< and may coarsen where both change by less everywhere [m]
  bool refine_front = true;      ///< blocks with both wet and dry cells refine

  std::string resolution;  ///< raster of the largest cell sizes that may be [m]; empty: none

  // Of problem "raster".
  std::string bed_file;        ///< raster of the bed, which is the domain
  std::string depth_file;      ///< raster of the depth at the start; empty: none
  double level = -20000.0;     ///< height of still water at the start, where it is above bed and depth [m]
  std::string roughness_file;  ///< raster of Manning's n; empty: `roughness` everywhere
  double roughness = 0.0;      ///< Manning's n [s m^(-1/3)]
  std::string west = "wall", east = "wall", south = "wall", north = "wall";  ///< sides: "wall" or "open"

  double gauge_interval = 60.0;  ///< simulated time between the samples of gauges [s]
  bool maps = false;             ///< keep the largest depth of each cell and when water came there
  double arrival_depth = 0.01;   ///< depth from which water counts as come [m]
};

/// Water that comes in along a line, or through a side with its momentum.
struct InflowConfig {
  std::array<double, 2> from{0, 0}, to{0, 0};  ///< ends of the line [m]; it may be a point; of a side: all of it
  std::string series;                          ///< file of discharges over time
  std::string side = {};                       ///< "west", "east", "south", "north"; empty: a line
  std::string depths = {};  ///< file of depths over time, of a side where water comes in faster than its waves
};

/// A place that is looked at again and again.
struct GaugeConfig {
  std::string name;
  std::array<double, 2> at{0, 0};  ///< [m]
};

}  // namespace amrbench::workloads
