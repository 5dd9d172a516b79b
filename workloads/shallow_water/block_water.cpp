#include "workloads/shallow_water/block_water.hpp"

#include <algorithm>
#include <cstddef>

#include "amr/field_store.hpp"
#include "support/mpi.hpp"
#if defined(AMRBENCH_CUDA)
#include "workloads/shallow_water/cuda_water.hpp"
#endif

namespace amrbench::workloads::shallow_water {

namespace {

/// Appends those of the ghosts.
void add_ghosts(const amr::Mesh<2>& mesh, std::vector<unsigned char>& water) {
  std::vector<unsigned char> send, ghosts;
  std::vector<std::size_t> counts;
  for (const amr::NeighborRank& neighbor : mesh.neighbors()) {
    counts.push_back(neighbor.sends.size());
    for (const std::int32_t i : neighbor.sends) send.push_back(water[static_cast<std::size_t>(i)]);
  }
  static_cast<void>(mesh.graph().exchange_v<unsigned char>(send, counts, ghosts));
  water.insert(water.end(), ghosts.begin(), ghosts.end());
}

/// Can water come in?
bool is_open_to_water(const SideCondition& side) {
  return side.kind != Side::wall && side.kind != Side::open;
}

}  // namespace

std::vector<unsigned char> find_water(const amr::Fields& fields, const Problem& problem) {
#if defined(AMRBENCH_CUDA)
  if (const auto* const device = dynamic_cast<const amr::CudaFields*>(&fields); device != nullptr)
    return find_water_on_device(*device, problem.is_single());
#endif
  const auto& store = dynamic_cast<const amr::FieldStore&>(fields);
  const std::size_t plane = std::size_t(problem.cells()) * std::size_t(problem.cells());
  std::vector<unsigned char> water(static_cast<std::size_t>(fields.size()));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < fields.size(); ++i)
    water[static_cast<std::size_t>(i)] =
        std::any_of(store.block(i), store.block(i) + plane, [](double h) { return h > 0.0; }) ? 1 : 0;
  return water;
}

std::vector<double> costs_by_water(const amr::Mesh<2>& mesh, const Problem& problem, std::vector<unsigned char> water) {
  constexpr double kLeftOut = 0.03;  // a block is looked at, all the same
  add_ghosts(mesh, water);
  const auto& sides = problem.solution().setup().sides;
  std::vector<double> costs(static_cast<std::size_t>(mesh.size()));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    bool may_hold = water[static_cast<std::size_t>(i)] != 0;
    const auto& links = mesh.links(i);
    for (std::size_t face = 0; face < 4 && !may_hold; ++face) {
      const amr::FaceKind kind = links.kind[face];
      if (kind == amr::FaceKind::boundary) {
        may_hold = is_open_to_water(sides[face]) || problem.has_side_inflow(mesh, i, static_cast<int>(face));
        continue;
      }
      for (std::size_t part = 0; part < (kind == amr::FaceKind::fine ? std::size_t{2} : std::size_t{1}); ++part)
        may_hold = may_hold || water[static_cast<std::size_t>(links.index[face][part])] != 0;
    }
    costs[static_cast<std::size_t>(i)] = may_hold ? 1.0 : kLeftOut;
  }
  return costs;
}

}  // namespace amrbench::workloads::shallow_water
