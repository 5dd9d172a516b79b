// A dam breaks beside a wall.
#include <algorithm>
#include <cmath>

#include "workloads/shallow_water/make.hpp"
#include "workloads/shallow_water/require.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

Setup walled_setup(const WalledDamBreak& dam) {
  Setup setup;
  setup.high = {dam.side, dam.side};
  setup.end_time = dam.end_time;
  setup.friction = dam.roughness > 0.0;
  setup.known = false;
  return setup;
}

class WalledDamBreakSolution final : public Solution {
 public:
  explicit WalledDamBreakSolution(const WalledDamBreak& dam)
      : Solution("walled_dam_break", walled_setup(dam)), dam_(dam) {
    require(dam.radius > 0 && dam.depth > 0 && dam.thickness > 0 && dam.centre[0] - dam.radius > dam.wall,
            "walled_dam_break: a dam of positive size east of the wall wanted");
  }
  [[nodiscard]] State at(double x, double y, double /*t*/) const override {
    return {std::hypot(x - dam_.centre[0], y - dam_.centre[1]) < dam_.radius ? dam_.depth : 0.0, 0, 0};
  }
  [[nodiscard]] double bed(double x, double /*y*/) const override {
    return x >= dam_.wall - dam_.thickness && x < dam_.wall ? dam_.height : 0.0;
  }
  [[nodiscard]] double roughness(double /*x*/, double /*y*/) const override { return dam_.roughness; }
  [[nodiscard]] int wanted_level(const std::array<double, 2>& low, const std::array<double, 2>& high,
                                 int deepest) const override {
    const bool on_wall = low[0] < dam_.wall && high[0] > dam_.wall - dam_.thickness;
    double nearest = 0.0, farthest = 0.0;  // squared distances from the dam's centre
    for (std::size_t d = 0; d < 2; ++d) {
      const double below = low[d] - dam_.centre[d], above = dam_.centre[d] - high[d];
      nearest += std::pow(std::max({below, above, 0.0}), 2);
      farthest += std::pow(std::max(-below, -above), 2);
    }
    const double edge = dam_.radius * dam_.radius;
    return on_wall || (nearest < edge && farthest > edge) ? deepest : 0;
  }

 private:
  WalledDamBreak dam_;
};

}  // namespace

std::unique_ptr<Solution> make_walled_dam_break(const WalledDamBreak& dam) {
  return std::make_unique<WalledDamBreakSolution>(dam);
}

}  // namespace amrbench::workloads::shallow_water
