// The names of shapes and bounces, and miniAMR's numbers for them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "amr/objects.hpp"
#include "support/error.hpp"

namespace amrbench::amr {
namespace {

// Place in the list = half of miniAMR's number of the surface type, up to 7; cylinders follow from number 20.
constexpr std::array<std::string_view, 11> kShapes{
    "rectangle",           "spheroid",           "hemispheroid_xplus",  "hemispheroid_xminus", "hemispheroid_yplus",
    "hemispheroid_yminus", "hemispheroid_zplus", "hemispheroid_zminus", "cylinder_x",          "cylinder_y",
    "cylinder_z"};
constexpr int kFirstCylinder = 8;
constexpr int kCylinderNumber = 20;

constexpr std::array<std::string_view, 3> kBounces{"none", "center", "edge"};

std::string listed(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

int number_of_shape(const ObjectConfig& config, std::string_view key) {
  std::string_view name = config.shape;
  if (name == "sphere" || name == "ellipsoid") name = "spheroid";
  const auto found = std::find(kShapes.begin(), kShapes.end(), name);
  if (found == kShapes.end()) {
    throw support::InputError(fmt::format("{}.shape: unknown shape \"{}\"; one of sphere, ellipsoid, {} would be right",
                                          key, config.shape, listed(kShapes)));
  }
  const auto place = static_cast<int>(found - kShapes.begin());
  const int surface = place < kFirstCylinder ? 2 * place : kCylinderNumber + 2 * (place - kFirstCylinder);
  return surface + (config.volume ? 1 : 0);
}

int number_of_bounce(const ObjectConfig& config, std::string_view key) {
  const auto found = std::find(kBounces.begin(), kBounces.end(), config.bounce);
  if (found == kBounces.end()) {
    throw support::InputError(fmt::format("{}.bounce: unknown bounce \"{}\"; one of {} would be right", key,
                                          config.bounce, listed(kBounces)));
  }
  return static_cast<int>(found - kBounces.begin());
}

void check_finite(const std::array<double, 3>& values, std::string_view key, std::string_view name) {
  for (const double value : values) {
    if (!std::isfinite(value)) {
      throw support::InputError(
          fmt::format("{}.{}: {} is not finite; three finite numbers would be right", key, name, value));
    }
  }
}

}  // namespace

std::span<const std::string_view> shape_names() {
  return kShapes;
}

std::pair<std::string, bool> shape_of_type(int type) {
  const int last_cylinder = kCylinderNumber + 2 * static_cast<int>(kShapes.size() - kFirstCylinder) - 1;
  int place = 0;
  if (type >= 0 && type < 2 * kFirstCylinder) {
    place = type / 2;
  } else if (type >= kCylinderNumber && type <= last_cylinder) {
    place = kFirstCylinder + (type - kCylinderNumber) / 2;
  } else {
    throw support::InputError(fmt::format("--object: undefined object type {}; 0 to {} or {} to {} would be right",
                                          type, 2 * kFirstCylinder - 1, kCylinderNumber, last_cylinder));
  }
  return {std::string(kShapes[static_cast<std::size_t>(place)]), type % 2 != 0};
}

std::string bounce_of_option(int bounce) {
  return std::string(kBounces[bounce == 1 ? 1 : 0]);
}

ObjectType object_type(const ObjectConfig& config) {
  return ObjectType{number_of_shape(config, "object")};
}

std::vector<Object> make_objects(std::span<const ObjectConfig> configs) {
  std::vector<Object> objects;
  objects.reserve(configs.size());
  for (const ObjectConfig& config : configs) {
    const std::string key = fmt::format("object[{}]", objects.size());
    check_finite(config.center, key, "center");
    check_finite(config.velocity, key, "velocity");
    check_finite(config.size, key, "size");
    check_finite(config.growth, key, "growth");
    objects.push_back({.type = ObjectType{number_of_shape(config, key)},
                       .bounce = number_of_bounce(config, key),
                       .center = config.center,
                       .velocity = config.velocity,
                       .size = config.size,
                       .growth = config.growth});
  }
  return objects;
}

ObjectConfig object_config(const Object& object) {
  auto [shape, volume] = shape_of_type(static_cast<int>(object.type));
  return {.shape = std::move(shape),
          .volume = volume,
          .center = object.center,
          .velocity = object.velocity,
          .size = object.size,
          .growth = object.growth,
          .bounce = std::string(kBounces.at(static_cast<std::size_t>(object.bounce)))};
}

}  // namespace amrbench::amr
