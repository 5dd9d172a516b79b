#pragma once
// Placements: which rank a block belongs on (partition.method). A method is one line in placement.cpp.
//
// Two kinds:
// - along the keys: the method is a curve, the mesh's keys follow it, and slicing (slicing.hpp) cuts it. Nothing but
//   the cuts is computed, and few blocks move when they shift.
// - by a partitioner over the blocks' centres and weights, distributed over the ranks that hold them. Ranks then hold
//   no intervals of the curve, and the mesh finds owners by its directory (amr/directory.hpp).
// No placement shows in the mesh or in the values of its blocks.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "amr/config.hpp"
#include "amr/mesh.hpp"

namespace amrbench::loadbalance {

struct PlacementEntry {
  std::string_view name;
  std::string_view description;
  sfc::Curve keys;  ///< the curve that the mesh's keys follow
  /// The rank of each local block, by the blocks' weights (>= 0); null where slices of the keys decide. Collective.
  std::vector<std::int32_t> (*place)(const amr::Mesh<3>& mesh, std::span<const std::int64_t> weights) = nullptr;
};

/// All methods, the default first.
std::span<const PlacementEntry> placement_registry();
/// Throws support::InputError that lists the names when there is none called `name`.
const PlacementEntry& find_placement(std::string_view name);

/// The keys of a run's blocks: the curve of partition.method over mesh.root. For gensfc the order of the root cells is
/// GenSFC's through a kd-tree of their centres. Throws support::InputError on an unknown method.
sfc::KeySpace<3> make_key_space(const amr::Config& config);

}  // namespace amrbench::loadbalance
