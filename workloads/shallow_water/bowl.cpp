// Thacker's oscillations in a paraboloid without friction: shores that move.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "workloads/shallow_water/make.hpp"
#include "workloads/shallow_water/require.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

/// omega^2 of the swing: 2 g h0 / a^2 for the planar one, 8 g h0 / a^2 for the radial one.
double bowl_frequency(const Bowl& bowl, double factor) {
  require(bowl.depth > 0 && bowl.radius > 0 && bowl.side > 0, "bowl: depth, radius and side > 0 wanted");
  return std::sqrt(factor * Setup{}.gravity * bowl.depth) / bowl.radius;
}

class BowlSolution : public Solution {
 public:
  [[nodiscard]] double bed(double x, double y) const override {
    const double px = x - 0.5 * bowl_.side, py = y - 0.5 * bowl_.side;
    return -bowl_.depth * (1 - (px * px + py * py) / (bowl_.radius * bowl_.radius));
  }

 protected:
  BowlSolution(const char* name, const Bowl& bowl, double factor)
      : Solution(name, bowl_setup(bowl, factor)), bowl_(bowl), omega_(bowl_frequency(bowl, factor)) {}
  [[nodiscard]] const Bowl& bowl() const { return bowl_; }
  [[nodiscard]] double omega() const { return omega_; }

 private:
  static Setup bowl_setup(const Bowl& bowl, double factor) {
    Setup setup;
    setup.high = {bowl.side, bowl.side};
    setup.closes = {true, true};  // no water comes to the sides
    setup.end_time = bowl.periods * 2 * std::numbers::pi / bowl_frequency(bowl, factor);
    return setup;
  }
  Bowl bowl_;
  double omega_;
};

class PlanarBowl final : public BowlSolution {
 public:
  explicit PlanarBowl(const Bowl& bowl) : BowlSolution("planar-bowl", bowl, 2) {}
  [[nodiscard]] State at(double x, double y, double t) const override {
    const Bowl& b = bowl();
    const double px = x - 0.5 * b.side, py = y - 0.5 * b.side;
    const double c = std::cos(omega() * t), s = std::sin(omega() * t);
    const double surface = b.amplitude * b.depth / (b.radius * b.radius) * (2 * px * c + 2 * py * s - b.amplitude);
    const double h = surface - bed(x, y);
    if (h <= 0) return {};
    return {h, -b.amplitude * omega() * s, b.amplitude * omega() * c};
  }
};

class RadialBowl final : public BowlSolution {
 public:
  explicit RadialBowl(const Bowl& bowl) : BowlSolution("radial-bowl", bowl, 8) {
    require(bowl.amplitude > 0 && bowl.amplitude < bowl.radius, "radial bowl: 0 < amplitude < radius wanted");
    const double a2 = bowl.radius * bowl.radius, r2 = bowl.amplitude * bowl.amplitude;
    ratio_ = (a2 - r2) / (a2 + r2);
  }
  [[nodiscard]] State at(double x, double y, double t) const override {
    const Bowl& b = bowl();
    const double px = x - 0.5 * b.side, py = y - 0.5 * b.side, r2 = px * px + py * py;
    const double below = 1 - ratio_ * std::cos(omega() * t), square = 1 - ratio_ * ratio_;
    const double surface =
        b.depth * (std::sqrt(square) / below - 1 - r2 / (b.radius * b.radius) * (square / (below * below) - 1));
    const double h = surface - bed(x, y);
    if (h <= 0) return {};
    const double rate = 0.5 * omega() * ratio_ * std::sin(omega() * t) / below;
    return {h, rate * px, rate * py};
  }

 private:
  double ratio_ = 0;
};

}  // namespace

std::unique_ptr<Solution> make_planar_bowl(const Bowl& bowl) {
  return std::make_unique<PlanarBowl>(bowl);
}
std::unique_ptr<Solution> make_radial_bowl(const Bowl& bowl) {
  return std::make_unique<RadialBowl>(bowl);
}

}  // namespace amrbench::workloads::shallow_water
