#pragma once
// A problem of the shallow-water equations whose solution is known at every place and time.
#include <array>
#include <memory>
#include <string>

namespace amrbench::workloads::shallow_water {

/// Depth [m] and velocities [m/s]; velocities are 0 where the depth is.
struct State {
  double h = 0, u = 0, v = 0;
};

/// What stands at a side of the domain. `exact` asks for the solution itself as cells behind the side, which is right
/// for every problem; the others are what a program without the solution would take.
enum class Side { wall, open, inflow, level, exact };

struct SideCondition {
  Side kind = Side::wall;
  double value = 0;  ///< inflow: discharge along the inward normal [m^2/s]; level: height of the water [m]
};

/// Where and how long to run, and with what.
struct Setup {
  std::array<double, 2> low{0, 0}, high{1, 1};  ///< corners of the domain [m]
  double end_time = 1;                          ///< [s]
  std::array<SideCondition, 4> sides;           ///< -x +x -y +y
  double gravity = 9.81;                        ///< [m/s^2]
  bool friction = false;                        ///< roughness is not zero
  bool steady = false;                          ///< the state does not depend on time
  bool smooth = false;                          ///< errors fall with second order all over
  bool known = true;                            ///< at all times, not only at the start
  std::array<bool, 2> closes{false, false};     ///< known too where the domain closes on itself along this axis
};

/// Immutable; may be asked by several threads.
class Solution {
 public:
  virtual ~Solution() = default;
  [[nodiscard]] virtual State at(double x, double y, double t) const = 0;
  [[nodiscard]] virtual double bed(double x, double y) const = 0;                         ///< [m]
  [[nodiscard]] virtual double roughness(double /*x*/, double /*y*/) const { return 0; }  ///< Manning [s m^(-1/3)]
  /// Where the domain closes on itself, of all images of a place that which is nearest to this one counts [m].
  [[nodiscard]] virtual std::array<double, 2> middle(double /*t*/) const {
    return {0.5 * (setup_.low[0] + setup_.high[0]), 0.5 * (setup_.low[1] + setup_.high[1])};
  }
  /// The level that blocks over the box [low, high) [m] are to have, at most `deepest`; below 0: as waves want it.
  [[nodiscard]] virtual int wanted_level(const std::array<double, 2>& /*low*/, const std::array<double, 2>& /*high*/,
                                         int /*deepest*/) const {
    return -1;
  }
  [[nodiscard]] const Setup& setup() const { return setup_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  Solution(std::string name, const Setup& setup) : name_(std::move(name)), setup_(setup) {}

 private:
  std::string name_;
  Setup setup_;
};

/// The five variables of a cell, in the order of kernels::shallow_water::Variable.
using CellValues = std::array<double, 5>;

/// Means over the cell with centre (x, y) by points x points Gauss points, 1 to 3. One point, the centre, is of second
/// order and keeps lakes at rest also where shores cross cells: depth and bed are then those of one place. More points
/// are nearer to the mean where the solution is smooth.
[[nodiscard]] CellValues cell_values(const Solution& solution, double x, double y, double dx, double dy, double t,
                                     int points = 1);

/// The axis along which a problem of one dimension runs.
enum class Axis { x, y };

}  // namespace amrbench::workloads::shallow_water
