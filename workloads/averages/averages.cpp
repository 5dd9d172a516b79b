#include "workloads/averages/averages.hpp"

#include <array>

#include "amr/initial.hpp"

namespace amrbench::workloads {

amr::Backend<3> Averages::make_backend(const support::Communicator& comm) {
  return amr::make_backend(config_, comm);
}

void Averages::set_initial(const amr::Mesh<3>& mesh, amr::Fields& fields) {
  amr::set_initial_fields(mesh, config_.fields, fields);
}

std::vector<amr::Change> Averages::mark(const amr::Mesh<3>& mesh, const amr::Fields& /*fields*/,
                                        const std::vector<amr::Change>* before) {
  return before == nullptr ? amr::mark_blocks(mesh, config_.mesh, objects_)
                           : amr::mark_new_blocks(mesh, config_.mesh, objects_, *before);
}

double Averages::begin_step(const amr::Mesh<3>& /*mesh*/, amr::Fields& /*fields*/, amr::Stage<3>& /*stage*/,
                            double /*longest*/) {
  if (config_.run.time <= 0.0) return 1.0;
  if (config_.run.steps > 0) return config_.run.time / static_cast<double>(config_.run.steps);
  std::array<double, 3> cells{};
  for (std::size_t d = 0; d < 3; ++d) {
    // miniAMR's unit: twice the blocks of the deepest level times the cells of a block.
    const std::int64_t extent = std::int64_t(config_.mesh.root[d]) << (config_.mesh.max_level + 1);
    cells[d] = static_cast<double>(extent * config_.mesh.block[d]);
  }
  return amr::time_step(objects_, cells);
}

}  // namespace amrbench::workloads
