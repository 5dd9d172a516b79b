#include "amr/objects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace amrbench::amr {
namespace {

/// One axis of an object against one axis of a box. Names of the comparisons: strict everywhere, and written so that a
/// NaN decides as it does in miniAMR.
struct Axis {
  double lo, hi, center, size;

  /// The box and the slab [center - size, center + size] share more than a face.
  [[nodiscard]] bool overlaps() const { return hi > center - size && lo < center + size; }
  /// Exactly one end of the slab lies within the box, both strictly (given that they overlap).
  [[nodiscard]] bool straddles() const {
    const double begin = center - size;
    const double end = center + size;
    return (lo < begin && hi < end) || (lo > begin && hi > end);
  }
  [[nodiscard]] bool holds_center() const { return !(center < lo) && !(center > hi); }
  /// The face nearest to the centre; only asked when the box does not hold it.
  [[nodiscard]] double nearest() const { return center < lo ? lo : hi; }
  /// The face farthest from the centre.
  [[nodiscard]] double farthest() const {
    if (center < lo) return hi;
    if (center > hi) return lo;
    return center < (lo + hi) / 2.0 ? hi : lo;
  }
  /// ((at - center) / size)^2, this axis' term of the ellipsoid's equation.
  [[nodiscard]] double term(double at) const {
    const double ratio = (at - center) / size;
    return ratio * ratio;
  }
};

/// The nearest point of the box lies inside the ellipse or ellipsoid of the given axes. Axes whose slab holds the
/// centre add nothing; a sum keeps their zero, which changes no bit of it.
template <std::size_t N>
bool nearest_inside(const std::array<Axis, N>& axes) {
  std::array<bool, N> beside{};
  int count = 0;
  for (std::size_t a = 0; a < N; ++a) {
    if (axes[a].holds_center()) continue;
    // One axis alone: miniAMR compares lengths. Of several: a distance of at least `size` makes a term of at least 1
    // (rounding is monotone), or a NaN, and then the sum below is not less than 1 either. So both may leave here.
    if (!(std::fabs(axes[a].nearest() - axes[a].center) < axes[a].size)) return false;
    beside[a] = true;
    ++count;
  }
  if (count < 2) return true;
  double sum = 0.0;
  for (std::size_t a = 0; a < N; ++a) sum += beside[a] ? axes[a].term(axes[a].nearest()) : 0.0;
  return sum < 1.0;
}

/// The farthest corner of the box lies outside.
template <std::size_t N>
bool farthest_outside(const std::array<Axis, N>& axes) {
  double sum = axes[0].term(axes[0].farthest());
  for (std::size_t a = 1; a < N; ++a) sum += axes[a].term(axes[a].farthest());
  return sum > 1.0;
}

bool rectangle_surface(const std::array<Axis, 3>& axes) {
  const auto& [x, y, z] = axes;
  if (!x.overlaps()) return false;
  if (x.straddles()) return y.overlaps() && z.overlaps();
  // As miniAMR: with the rectangle's x faces both inside or both outside the box, z faces are looked at only when the
  // box lies beside the rectangle in y, where there is no rectangle; and not when it overlaps it there.
  if (y.overlaps()) return y.straddles() && z.overlaps();
  return z.overlaps() && z.straddles();
}

bool spheroid(const std::array<Axis, 3>& axes, int number) {
  if (number >= 4) {  // hemispheroid: not when the box lies wholly on the side that is cut away
    // As miniAMR: the box need not meet the ellipsoid on the kept side, it only has to reach that side.
    const int half = (number - 4) / 2;
    const Axis& cut = axes[static_cast<std::size_t>(half / 2)];
    if (half % 2 == 0 ? cut.hi < cut.center : cut.lo > cut.center) return false;
  }
  const bool volume = number % 2 != 0;
  return nearest_inside(axes) && (volume || farthest_outside(axes));
}

bool cylinder(const std::array<Axis, 3>& axes, int number) {
  const auto along = static_cast<std::size_t>((number - 20) / 2);
  if (!axes[along].overlaps()) return false;
  const std::array<Axis, 2> across{axes[(along + 1) % 3], axes[(along + 2) % 3]};
  if (!nearest_inside(across)) return false;
  const bool volume = number % 2 != 0;
  // As miniAMR: whether the box meets an end of the cylinder is asked of x, whatever axis the cylinder has.
  return volume || axes[0].straddles() || farthest_outside(across);
}

bool intersects(const Object& object, const Box& box) {
  // As miniAMR: only a negative size switches off. Zero divides: the terms become infinite or NaN and compare as such.
  if (object.size[0] < 0.0 || object.size[1] < 0.0 || object.size[2] < 0.0) return false;
  std::array<Axis, 3> axes;
  for (std::size_t a = 0; a < 3; ++a) axes[a] = {box.lo[a], box.hi[a], object.center[a], object.size[a]};
  const int number = static_cast<int>(object.type);
  if (number == 0) return rectangle_surface(axes);
  if (number == 1) return axes[0].overlaps() && axes[1].overlaps() && axes[2].overlaps();
  if (number < 20) return spheroid(axes, number);
  return cylinder(axes, number);
}

void bounce_axis(Object& object, std::size_t a) {
  double& center = object.center[a];
  double& velocity = object.velocity[a];
  if (object.bounce == 1) {
    if (center >= 1.0) {
      center = 2.0 - center;
      velocity = -velocity;
    } else if (center <= 0.0) {
      center = 0.0 - center;
      velocity = -velocity;
    }
  } else if (object.bounce == 2) {
    // The object is set back so that its edge touches the face; what miniAMR's manual says and its threaded version
    // does.
    const double upper = center + object.size[a];
    const double lower = center - object.size[a];
    if (upper >= 1.0) {
      center -= upper - 1.0;
      velocity = -velocity;
    } else if (lower <= 0.0) {
      center -= lower;
      velocity = -velocity;
    }
  }
}

/// Beyond a face of the unit cube with all of its extent, along some axis.
bool wholly_outside(const Object& object) {
  for (std::size_t a = 0; a < 3; ++a) {
    const double center = object.center[a];
    if (center < 0.0 && center + object.size[a] < 0.0) return true;
    if (center > 1.0 && center - object.size[a] > 1.0) return true;
  }
  return false;
}

}  // namespace

void move_objects(std::span<Object> objects, double delta) {
  for (Object& object : objects) {
    for (std::size_t a = 0; a < 3; ++a) {
      object.center[a] += delta * object.velocity[a];
      object.size[a] += delta * object.growth[a];
      bounce_axis(object, a);  // with the size as it has just grown
    }
  }
}

bool any_intersects(std::span<const Object> objects, const Box& box) {
  return std::any_of(objects.begin(), objects.end(), [&](const Object& object) { return intersects(object, box); });
}

double time_step(std::span<const Object> objects, const std::array<double, 3>& inv_cell) {
  double cells = 0.0;  // the farthest a boundary moves in a unit of time
  for (const Object& object : objects) {
    // As miniAMR: an object that is off or outside ends the search, it is not passed over.
    if (object.size[0] < 0.0 || object.size[1] < 0.0 || object.size[2] < 0.0 || wholly_outside(object)) break;
    for (std::size_t a = 0; a < 3; ++a) {
      const double moved = (std::fabs(object.velocity[a]) + std::fabs(object.growth[a])) * inv_cell[a];
      if (moved > cells) cells = moved;
    }
  }
  return cells > 0.0 ? 1.0 / cells : 1.0;
}

}  // namespace amrbench::amr
