// A vortex in balance with gravity: g dh/dr = u_theta^2 / r.
#include <cmath>

#include "workloads/shallow_water/make.hpp"
#include "workloads/shallow_water/require.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

Setup vortex_setup(const Vortex& vortex) {
  Setup setup;
  setup.high = {vortex.side, vortex.side};
  setup.end_time = vortex.end_time;
  for (SideCondition& side : setup.sides) side = {Side::exact, 0};
  setup.steady = vortex.drift[0] == 0 && vortex.drift[1] == 0;
  setup.smooth = true;
  setup.closes = {true, true};  // but for what turns at the sides: exp(-12) of its speed at 5 radii
  return setup;
}

class VortexSolution final : public Solution {
 public:
  explicit VortexSolution(const Vortex& vortex) : Solution("vortex", vortex_setup(vortex)), vortex_(vortex) {
    require(vortex.radius > 0 && at(0.5 * vortex.side, 0.5 * vortex.side, 0).h > 0,
            "vortex: too fast for its depth, or no radius");
  }
  [[nodiscard]] State at(double x, double y, double t) const override {
    const double px = (x - 0.5 * vortex_.side - vortex_.drift[0] * t) / vortex_.radius;
    const double py = (y - 0.5 * vortex_.side - vortex_.drift[1] * t) / vortex_.radius;
    const double fade = std::exp(0.5 * (1 - (px * px + py * py)));  // its square is what depth falls by
    const double turn = vortex_.speed * fade;
    return {vortex_.depth - turn * turn / (2 * setup().gravity), vortex_.drift[0] - turn * py,
            vortex_.drift[1] + turn * px};
  }
  [[nodiscard]] double bed(double, double) const override { return 0; }
  [[nodiscard]] std::array<double, 2> middle(double t) const override {
    return {0.5 * vortex_.side + vortex_.drift[0] * t, 0.5 * vortex_.side + vortex_.drift[1] * t};
  }

 private:
  Vortex vortex_;
};

}  // namespace

std::unique_ptr<Solution> make_vortex(const Vortex& vortex) {
  return std::make_unique<VortexSolution>(vortex);
}

}  // namespace amrbench::workloads::shallow_water
