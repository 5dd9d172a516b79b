#pragma once
// Objects that drive refinement: miniAMR's shapes, their motion, and their intersection with a block. The decisions are
// those of Mantevo miniAMR's reference code (ref/move.c, ref/driver.c) to the last bit, its irregularities included, so
// that the same objects refine the same blocks. Nothing here is collective: every rank holds all objects.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amr/config.hpp"

namespace amrbench::amr {

/// miniAMR's object types, by its numbers: even = surface, odd = volume.
/// 0/1 rectangle, 2/3 spheroid, 4..15 hemispheroids (+x -x +y -y +z -z), 20..25 cylinders along x, y, z. A hemispheroid
/// "+x" (4, 5) is the half above the plane x = centre, "-x" (6, 7) the half below it; its flat face is no surface.
enum class ObjectType : int {};

/// Axis-parallel extent [lo, hi] of a block in the unit cube.
struct Box {
  std::array<double, 3> lo;
  std::array<double, 3> hi;
};

/// An object at the present time.
struct Object {
  ObjectType type{};
  int bounce = 0;  ///< 0 none, 1 the centre bounces off the faces of the unit cube, 2 the edge does
  std::array<double, 3> center{};
  std::array<double, 3> velocity{};
  std::array<double, 3> size{};  ///< half extents; a negative one switches the object off, zero is legal
  std::array<double, 3> growth{};
};

/// The canonical names of ObjectConfig::shape. "sphere" and "ellipsoid" are read as "spheroid" besides.
[[nodiscard]] std::span<const std::string_view> shape_names();

/// From miniAMR's numbers to the configuration's names: {shape, volume} of --object's first value. Throws
/// support::InputError for a number that miniAMR does not define.
[[nodiscard]] std::pair<std::string, bool> shape_of_type(int type);
/// The bounce name with which miniAMR's --object, second value `bounce`, moves alike. Only 1 has an effect in miniAMR:
/// its code for 2 cannot be reached (the `else` before it belongs to an inner `if`), so 2 gives "none" like any other.
[[nodiscard]] std::string bounce_of_option(int bounce);

/// From and to the configuration's names; object_type throws support::InputError on an unknown shape, make_objects also
/// on an unknown bounce and on a number that is not finite, naming the object by its place in the list, from 0.
[[nodiscard]] ObjectType object_type(const ObjectConfig& config);
[[nodiscard]] std::vector<Object> make_objects(std::span<const ObjectConfig> configs);
[[nodiscard]] ObjectConfig object_config(const Object& object);

/// Advances all objects by `delta` units of time, bounces included.
void move_objects(std::span<Object> objects, double delta);

/// Does any object ask for refinement of this box? Evaluated in miniAMR's order of operations, so that the decision is
/// the same to the last bit (given the same box: miniAMR's faces are quotients of integers). At most six divisions an
/// object; none when the box lies beside the object's bounding box.
[[nodiscard]] bool any_intersects(std::span<const Object> objects, const Box& box);

/// miniAMR's time step for --time without --num_tsteps: the largest step that moves no object's boundary by more than
/// the smallest cell (`inv_cell` = cells a unit length in each direction at the deepest level), 1 when nothing moves.
/// As in miniAMR, objects listed after one that is switched off or wholly outside the unit cube are not looked at.
[[nodiscard]] double time_step(std::span<const Object> objects, const std::array<double, 3>& inv_cell);

}  // namespace amrbench::amr
