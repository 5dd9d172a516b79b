#pragma once
// Initial values: a function of the global cell, the variable and the seed, so the same on any number of ranks.
#include "amr/config.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "kernels/initial.hpp"

namespace amrbench::amr {

using kernels::random_value;

/// Fills the blocks of a mesh of root cells (all of level 0); padding lanes become 0. Local.
void set_initial_fields(const Mesh<3>& mesh, const FieldsConfig& config, Fields& fields);

}  // namespace amrbench::amr
