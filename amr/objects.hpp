#pragma once
// Objects that drive refinement: miniAMR's shapes, their motion, and their intersection with a block.
#include <array>
#include <span>
#include <vector>

#include "amr/config.hpp"

namespace amrbench::amr {

/// miniAMR's object types, by its numbers: even = surface, odd = volume.
/// 0/1 rectangle, 2/3 spheroid, 4..15 hemispheroids (+x -x +y -y +z -z), 20..25 cylinders along x, y, z.
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
  std::array<double, 3> size{};
  std::array<double, 3> growth{};
};

/// From and to the configuration's names; object_type throws support::InputError on an unknown shape.
ObjectType object_type(const ObjectConfig& config);
std::vector<Object> make_objects(std::span<const ObjectConfig> configs);

/// Advances all objects by `delta` units of time, bounces included.
void move_objects(std::span<Object> objects, double delta);

/// Does any object ask for refinement of this box? Evaluated in miniAMR's order of operations, so that the decision is
/// the same to the last bit.
[[nodiscard]] bool any_intersects(std::span<const Object> objects, const Box& box);

/// miniAMR's time step for --time: the largest step that moves no object's boundary by more than the smallest cell
/// (`inv_cell` = cells a unit length in each direction at the deepest level), 1 when nothing moves.
[[nodiscard]] double time_step(std::span<const Object> objects, const std::array<double, 3>& inv_cell);

}  // namespace amrbench::amr
