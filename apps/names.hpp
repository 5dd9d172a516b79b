#pragma once
// The names a configuration may use, with one line each for `amrbench list`, and the search for near misses.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/registry.hpp"

namespace amrbench::apps {

/// One legal value of a key and what it means.
struct Choice {
  std::string_view name;
  std::string_view line;
};

/// Each list is static; the first entry is the default.
std::span<const Choice> partition_methods();
std::span<const Choice> splitters();
std::span<const Choice> slice_rules();
std::span<const Choice> balance_policies();
std::span<const Choice> balance_weights();
std::span<const Choice> workload_names();  ///< run.workload
std::span<const Choice> stencils();
std::span<const Choice> shallow_water_problems();
std::span<const Choice> shallow_water_limiters();
std::span<const Choice> water_sides();
std::span<const Choice> precisions();
std::span<const Choice> initial_fields();
std::span<const Choice> object_shapes();
std::span<const Choice> bounce_modes();
std::span<const Choice> backends();
std::span<const Choice> store_kinds();
std::span<const Choice> transports();

/// Shape name of one of miniAMR's object types (0-15, 20-25; the parity, surface or volume, is dropped); nothing when
/// there is no such type.
std::optional<std::string_view> shape_of_miniamr_type(std::int64_t type);

using support::nearest;

std::vector<std::string_view> names_of(std::span<const Choice> choices);

/// `"a", "b", "c"`.
std::string quoted_list(std::span<const Choice> choices);

}  // namespace amrbench::apps
