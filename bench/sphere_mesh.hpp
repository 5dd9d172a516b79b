#pragma once
// A mesh refined around a sphere's surface, for the benchmarks of what happens at a refinement.
#include <vector>

#include "amr/adapt.hpp"
#include "amr/consensus.hpp"
#include "amr/field_store.hpp"
#include "amr/initial.hpp"
#include "amr/objects.hpp"

namespace amrbench::bench {

/// Roots 2 x 2 x 2; a sphere inside that moves by half a deepest block in each direction a step and bounces.
class SphereMesh {
 public:
  SphereMesh(int max_level, std::array<int, 3> block, int variables)
      : comm_(support::Communicator::duplicate(MPI_COMM_SELF)),
        mesh(comm_, {sfc::Curve::hilbert, {2, 2, 2}, max_level}),
        fields(kernels::make_layout(block, variables)) {
    config.root = {2, 2, 2};
    config.block = block;
    config.max_level = max_level;
    amr::ObjectConfig sphere;
    sphere.bounce = "center";
    sphere.center = {0.5, 0.47, 0.52};
    sphere.size = {0.3, 0.3, 0.3};
    for (double& v : sphere.velocity) v = 0.25 / static_cast<double>(1 << max_level);
    objects = amr::make_objects(std::vector{sphere});
    amr::set_initial_fields(mesh, {variables, "random", 1}, fields);
    for (int level = 0; level < max_level; ++level) amr::apply_changes(mesh, fields, consensus());
  }
  [[nodiscard]] std::vector<amr::Change> marks() const { return amr::mark_blocks(mesh, config, objects); }
  [[nodiscard]] amr::Consensus consensus() const { return amr::reach_consensus(mesh, marks()); }

 private:
  support::Communicator comm_;

 public:
  amr::MeshConfig config;
  amr::Mesh<3> mesh;
  amr::FieldStore fields;
  std::vector<amr::Object> objects;
};

}  // namespace amrbench::bench
