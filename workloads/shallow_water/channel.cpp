// Steady flow in channels: over a bump by Bernoulli's law, and with friction over a bed made for the depth.
#include <algorithm>
#include <cmath>
#include <vector>

#include "workloads/shallow_water/make.hpp"
#include "workloads/shallow_water/require.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

/// Walls beside a channel of `length`; inflow at its beginning, a level or nothing at its end.
Setup channel_setup(Axis axis, double length, double width, double end_time, double discharge, SideCondition out) {
  Setup setup;
  const int first = axis == Axis::x ? 0 : 2;
  setup.high = axis == Axis::x ? std::array{length, width} : std::array{width, length};
  setup.end_time = end_time;
  setup.sides[first] = {Side::inflow, discharge};
  setup.sides[first + 1] = out;
  setup.steady = true;
  return setup;
}

State turned(Axis axis, double h, double q) {
  return axis == Axis::x ? State{h, q / h, 0} : State{h, 0, q / h};
}

struct BumpFigures {
  double discharge, level;  ///< [m^2/s]; height of the water at the end [m], 0: supercritical there
};
BumpFigures figures_of(BumpFlow flow) {
  switch (flow) {
    case BumpFlow::subcritical:
      return {4.42, 2};
    case BumpFlow::transcritical:
      return {1.53, 0};
    default:
      return {0.18, 0.33};
  }
}

inline constexpr double kBumpMiddle = 10, kBumpLength = 25, kBumpHeight = 0.2;

class BumpSolution final : public Solution {
 public:
  explicit BumpSolution(const Bump& bump)
      : Solution("bump", bump_setup(bump)), bump_(bump), discharge_(figures_of(bump.flow).discharge) {
    const double level = figures_of(bump.flow).level;
    critical_ = std::cbrt(discharge_ * discharge_ / setup().gravity);
    if (level > 0) tail_head_ = head(level);
    // Over the crest the flow is critical, unless it stays slow all along.
    head_ = bump.flow == BumpFlow::subcritical ? tail_head_ : kBumpHeight + 1.5 * critical_;
    if (bump.flow == BumpFlow::shock) find_shock();
  }
  [[nodiscard]] State at(double x, double y, double) const override {
    return turned(bump_.axis, depth(bump_.axis == Axis::x ? x : y), discharge_);
  }
  [[nodiscard]] double bed(double x, double y) const override { return bed_along(bump_.axis == Axis::x ? x : y); }

 private:
  static Setup bump_setup(const Bump& bump) {
    const BumpFigures f = figures_of(bump.flow);
    return channel_setup(bump.axis, kBumpLength, bump.width, 200, f.discharge,
                         f.level > 0 ? SideCondition{Side::level, f.level} : SideCondition{Side::open, 0});
  }
  static double bed_along(double s) {
    return std::max(0.0, kBumpHeight - 0.05 * (s - kBumpMiddle) * (s - kBumpMiddle));
  }
  [[nodiscard]] double head(double h) const { return h + discharge_ * discharge_ / (2 * setup().gravity * h * h); }
  /// The depth, above or below the critical one, at which the head over the bed is `wanted`.
  [[nodiscard]] double depth_of(double wanted, bool slow) const {
    double near = critical_, far = slow ? wanted : discharge_ / std::sqrt(2 * setup().gravity * wanted);
    for (int i = 0; i < 100; ++i) {
      const double middle = 0.5 * (near + far);
      (head(middle) > wanted ? far : near) = middle;
    }
    return 0.5 * (near + far);
  }
  [[nodiscard]] double depth(double s) const {
    const bool behind_shock = bump_.flow == BumpFlow::shock && s > shock_;
    const bool slow = bump_.flow == BumpFlow::subcritical || s < kBumpMiddle || behind_shock;
    return depth_of((behind_shock ? tail_head_ : head_) - bed_along(s), slow);
  }
  /// Where the momentum of fast flow and that of the slow flow behind it are the same.
  void find_shock() {
    const auto momentum = [&](double h) { return discharge_ * discharge_ / h + 0.5 * setup().gravity * h * h; };
    double low = kBumpMiddle, high = kBumpMiddle + 2;
    for (int i = 0; i < 100; ++i) {
      const double s = 0.5 * (low + high);
      const double fast = momentum(depth_of(head_ - bed_along(s), false));
      const double slow = momentum(depth_of(tail_head_ - bed_along(s), true));
      (fast > slow ? low : high) = s;  // the stronger one pushes the shock away
    }
    shock_ = 0.5 * (low + high);
  }

  Bump bump_;
  double discharge_, critical_ = 0, head_ = 0, tail_head_ = 0, shock_ = 0;
};

class FrictionChannelSolution final : public Solution {
 public:
  explicit FrictionChannelSolution(const FrictionChannel& channel)
      : Solution("friction-channel", friction_setup(channel)), channel_(channel), bed_(kPieces + 1) {
    // z is 0 at the end; Simpson's rule on each piece, from there backwards.
    const double piece = kLength / kPieces;
    for (int i = kPieces; i-- > 0;) {
      const double s = i * piece;
      bed_[i] = bed_[i + 1] - piece / 6 * (slope(s) + 4 * slope(s + 0.5 * piece) + slope(s + piece));
    }
  }
  [[nodiscard]] State at(double x, double y, double) const override {
    return turned(channel_.axis, depth(along(x, y)), channel_.discharge);
  }
  /// Cubic between the tabulated places, by values and slopes; straight on beyond the ends.
  [[nodiscard]] double bed(double x, double y) const override {
    const double s = along(x, y), inside = std::clamp(s, 0.0, kLength), piece = kLength / kPieces;
    const int i = std::min(int(inside / piece), kPieces - 1);
    const double a = inside / piece - i, b = 1 - a;
    const double cubic = bed_[i] * b * b * (1 + 2 * a) + bed_[i + 1] * a * a * (1 + 2 * b) +
                         piece * a * b * (slope(i * piece) * b - slope((i + 1) * piece) * a);
    return cubic + (s - inside) * slope(inside);
  }
  [[nodiscard]] double roughness(double, double) const override { return channel_.roughness; }

 private:
  static constexpr double kLength = 1000;
  static constexpr int kPieces = 4000;
  static double depth(double s) { return std::cbrt(4 / Setup{}.gravity) * (1 + 0.5 * hump(s)); }
  static double hump(double s) {
    const double from = s / kLength - 0.5;
    return std::exp(-16 * from * from);
  }
  static Setup friction_setup(const FrictionChannel& channel) {
    Setup setup =
        channel_setup(channel.axis, kLength, channel.width, 1500, channel.discharge, {Side::level, depth(kLength)});
    setup.friction = setup.smooth = true;
    return setup;
  }
  [[nodiscard]] double along(double x, double y) const { return channel_.axis == Axis::x ? x : y; }
  /// dz/ds = (q^2 / (g h^3) - 1) dh/ds - n^2 q^2 / h^(10/3)
  [[nodiscard]] double slope(double s) const {
    const double h = depth(s), q2 = channel_.discharge * channel_.discharge;
    const double rise = 0.5 * std::cbrt(4 / Setup{}.gravity) * hump(s) * (-32 * (s / kLength - 0.5) / kLength);
    return (q2 / (setup().gravity * h * h * h) - 1) * rise -
           channel_.roughness * channel_.roughness * q2 / (h * h * h * std::cbrt(h));
  }

  FrictionChannel channel_;
  std::vector<double> bed_;
};

}  // namespace

std::unique_ptr<Solution> make_bump(const Bump& bump) {
  return std::make_unique<BumpSolution>(bump);
}
std::unique_ptr<Solution> make_friction_channel(const FrictionChannel& channel) {
  return std::make_unique<FrictionChannelSolution>(channel);
}

}  // namespace amrbench::workloads::shallow_water
