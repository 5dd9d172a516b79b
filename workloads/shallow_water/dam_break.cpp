// Dam breaks over a flat bed without friction: a rarefaction, and a shock where the ground ahead is wet.
#include <algorithm>
#include <cmath>

#include "workloads/shallow_water/make.hpp"
#include "workloads/shallow_water/require.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

Setup dam_setup(const DamBreak& dam) {
  Setup setup;
  setup.high = {dam.length, dam.width};
  if (dam.axis == Axis::y) std::swap(setup.high[0], setup.high[1]);
  setup.end_time = dam.end_time;
  for (SideCondition& side : setup.sides) side = {Side::wall, 0};
  const int first = dam.axis == Axis::x ? 0 : 2;
  setup.sides[first] = setup.sides[first + 1] = {Side::open, 0};
  return setup;
}

class DamBreakSolution final : public Solution {
 public:
  explicit DamBreakSolution(const DamBreak& dam) : Solution("dam-break", dam_setup(dam)), dam_(dam) {
    require(dam.left > dam.right && dam.right >= 0 && dam.length > 0, "dam break: left > right >= 0 wanted");
    const double g = setup().gravity;
    left_speed_ = std::sqrt(g * dam.left);
    if (dam.right > 0) find_middle(g);
  }
  [[nodiscard]] State at(double x, double y, double t) const override {
    const double s = (dam_.axis == Axis::x ? x : y) - 0.5 * dam_.length;
    const auto [h, u] = along(s, t);
    return dam_.axis == Axis::x ? State{h, u, 0} : State{h, 0, u};
  }
  [[nodiscard]] double bed(double, double) const override { return 0; }

 private:
  /// The speed c of waves between rarefaction and shock: where what either gives for the velocity agrees.
  void find_middle(double g) {
    const auto excess = [&](double h) {
      const double shock = (h - dam_.right) * std::sqrt(0.5 * g * (h + dam_.right) / (h * dam_.right));
      return shock - 2 * (left_speed_ - std::sqrt(g * h));
    };
    double low = dam_.right, high = dam_.left;
    for (int i = 0; i < 200; ++i) {
      const double middle = 0.5 * (low + high);
      (excess(middle) > 0 ? high : low) = middle;
    }
    middle_ = 0.5 * (low + high);
    middle_velocity_ = 2 * (left_speed_ - std::sqrt(g * middle_));
    shock_speed_ = middle_ * middle_velocity_ / (middle_ - dam_.right);
  }
  [[nodiscard]] std::pair<double, double> along(double s, double t) const {
    const double g = setup().gravity;
    if (s <= -left_speed_ * t) return {dam_.left, 0};
    const double tail = dam_.right > 0 ? middle_velocity_ - std::sqrt(g * middle_) : 2 * left_speed_;
    if (s <= tail * t) {
      const double c = (2 * left_speed_ - s / t) / 3;
      return {c * c / g, 2 * (left_speed_ + s / t) / 3};
    }
    if (dam_.right > 0 && s <= shock_speed_ * t) return {middle_, middle_velocity_};
    return {dam_.right, 0};
  }

  DamBreak dam_;
  double left_speed_ = 0, middle_ = 0, middle_velocity_ = 0, shock_speed_ = 0;
};

}  // namespace

std::unique_ptr<Solution> make_dam_break(const DamBreak& dam) {
  return std::make_unique<DamBreakSolution>(dam);
}

}  // namespace amrbench::workloads::shallow_water
