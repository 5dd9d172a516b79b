#pragma once
// The problems there are. Each throws support::InputError when parameters make no sense.
//
// Sources: Stoker, Water Waves, 1957 (dam breaks); Thacker, J. Fluid Mech. 107, 1981 (bowls); MacDonald et al., J.
// Hydraul. Eng. 123, 1997 (channel); all but vortex and lake also in Delestre et al. (SWASHES), Int. J. Numer. Meth.
// Fluids 72, 2013.
#include <cstdint>

#include "workloads/shallow_water/solution.hpp"

namespace amrbench::workloads::shallow_water {

/// A dam at the middle of a flat channel is gone at t = 0. `right` = 0: dry (Ritter), else wet (Stoker); left > right.
struct DamBreak {
  double left = 0.005, right = 0.001;  ///< depths [m]
  double length = 10, width = 1;       ///< of the channel [m]
  double end_time = 6;
  Axis axis = Axis::x;
};
[[nodiscard]] std::unique_ptr<Solution> make_dam_break(const DamBreak& dam = {});

/// Water in a paraboloid z = -depth (1 - r^2 / radius^2) about the middle of a square.
struct Bowl {
  double depth = 0.1, radius = 1;  ///< h0, a [m]
  double amplitude = 0.5;          ///< planar: distance of the surface's tilt, eta [m]; radial: r0, smallest shore [m]
  double side = 4;                 ///< of the domain [m]
  double periods = 1;              ///< how many to run
};
/// The surface stays a plane, which turns; the shore is a circle that goes round.
[[nodiscard]] std::unique_ptr<Solution> make_planar_bowl(const Bowl& bowl = {});
/// The surface is a paraboloid that swings; the shore is a circle that grows and shrinks. `amplitude` < radius.
[[nodiscard]] std::unique_ptr<Solution> make_radial_bowl(const Bowl& bowl = {0.1, 1, 0.8, 4, 1});

/// Vortex over a flat bed, u_theta = speed (r / radius) exp((1 - (r / radius)^2) / 2), at most `speed`, which gravity
/// holds: h = depth - speed^2 / (2 g) exp(1 - (r / radius)^2). Carried along by a uniform flow, which is zero for the
/// steady one. Negative speed: clockwise.
struct Vortex {
  double depth = 1, speed = 1, radius = 0.5;
  std::array<double, 2> drift{0, 0};  ///< [m/s]
  double side = 5;                    ///< domain, its middle the centre at t = 0 [m]
  double end_time = 1;
};
[[nodiscard]] std::unique_ptr<Solution> make_vortex(const Vortex& vortex = {});

/// Steady flow over the bump z = max(0, 0.2 - 0.05 (s - 10)^2) in a channel of 25 m.
enum class BumpFlow { subcritical, transcritical, shock };
struct Bump {
  BumpFlow flow = BumpFlow::subcritical;
  double width = 2;  ///< [m]
  Axis axis = Axis::x;
};
[[nodiscard]] std::unique_ptr<Solution> make_bump(const Bump& bump = {});

/// Steady subcritical flow with friction in a channel of 1000 m whose bed is made for the depth
/// h = (4 / g)^(1/3) (1 + 1/2 exp(-16 (s / 1000 - 1/2)^2)).
struct FrictionChannel {
  double discharge = 2;      ///< [m^2/s]
  double roughness = 0.033;  ///< Manning
  double width = 40;         ///< [m]
  Axis axis = Axis::x;
};
[[nodiscard]] std::unique_ptr<Solution> make_friction_channel(const FrictionChannel& channel = {});

/// A round dam of still water breaks on dry ground, east of a wall that no water passes, so that the ground west of it
/// stays dry. Blocks on the wall and on the dam's edge are to have the finest cells. Nothing is known of later times.
/// Source: document 002, section 4.4.
struct WalledDamBreak {
  double side = 50, wall = 25, thickness = 0.5, height = 10;  ///< domain; the wall's eastern face and its sizes [m]
  std::array<double, 2> centre{32, 25};
  double radius = 5, depth = 2.5;  ///< of the dam [m]
  double roughness = 0.02;         ///< Manning
  double end_time = 30;
};
[[nodiscard]] std::unique_ptr<Solution> make_walled_dam_break(const WalledDamBreak& dam = {});

/// Still water over a smooth random bed, a sum of `waves` cosines of total height about +-relief. `level` above the
/// highest crest: no islands.
struct Lake {
  std::uint64_t seed = 1;
  int waves = 12;
  double relief = 1, level = 0.2;  ///< [m]
  double side = 10;                ///< [m]
  double end_time = 10;
};
[[nodiscard]] std::unique_ptr<Solution> make_lake(const Lake& lake = {});

}  // namespace amrbench::workloads::shallow_water
