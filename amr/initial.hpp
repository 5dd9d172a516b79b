#pragma once
// Initial values: a function of the global cell, the variable and the seed, so the same on any number of ranks.
#include "amr/config.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"

namespace amrbench::amr {

/// Value of "random" in [0, 1) for cell (x, y, z) of the root mesh.
[[nodiscard]] double random_value(std::uint64_t seed, int variable, std::uint64_t x, std::uint64_t y, std::uint64_t z);

/// Fills the blocks of a mesh of root cells (all of level 0); padding lanes become 0. Local.
void set_initial_fields(const Mesh<3>& mesh, const FieldsConfig& config, FieldStore& fields);

}  // namespace amrbench::amr
