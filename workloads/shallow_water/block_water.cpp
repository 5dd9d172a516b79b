#include "workloads/shallow_water/block_water.hpp"

#include <cstddef>

#include "amr/field_store.hpp"
#include "amr/halo_plan.hpp"
#include "support/mpi.hpp"
#if defined(AMRBENCH_CUDA)
#include "workloads/shallow_water/cuda_water.hpp"
#endif

namespace amrbench::workloads::shallow_water {

namespace {

/// Appends those of the ghosts.
void add_ghosts(const amr::Mesh<2>& mesh, std::vector<WaterMarks>& water) {
  std::vector<WaterMarks> send, ghosts;
  std::vector<std::size_t> counts;
  for (const amr::NeighborRank& neighbor : mesh.neighbors()) {
    counts.push_back(neighbor.sends.size());
    for (const std::int32_t i : neighbor.sends) send.push_back(water[static_cast<std::size_t>(i)]);
  }
  static_cast<void>(mesh.graph().exchange_v<WaterMarks>(send, counts, ghosts));
  water.insert(water.end(), ghosts.begin(), ghosts.end());
}

/// Can water come in through this side of the domain?
bool is_open_to_water(const SideCondition& side) {
  return side.kind != Side::wall && side.kind != Side::open;
}

/// Is there water behind a face of block i, where a stage looks at it?
bool may_come_in(const amr::Mesh<2>& mesh, const Problem& problem, const std::vector<WaterMarks>& water, std::int32_t i,
                 int face) {
  const auto& links = mesh.links(i);
  const auto k = static_cast<std::size_t>(face);
  const auto marks = [&](std::size_t part) { return water[static_cast<std::size_t>(links.index[k][part])]; };
  const WaterMarks its_face = kernels::shallow_water::marks_of_face(face ^ 1);
  switch (links.kind[k]) {
    case amr::FaceKind::boundary:
      return is_open_to_water(problem.solution().setup().sides[k]) || problem.has_side_inflow(mesh, i, face);
    case amr::FaceKind::coarse: {
      const int half = amr::own_part<2>(mesh.coord(i), face / 2);
      return (marks(0) & kernels::shallow_water::marks_of_half(face ^ 1, half)) != 0;
    }
    case amr::FaceKind::fine:
      return ((marks(0) | marks(1)) & its_face) != 0;
    default:
      return (marks(0) & its_face) != 0;
  }
}

}  // namespace

std::vector<WaterMarks> find_water(const amr::Fields& fields, const Problem& problem) {
#if defined(AMRBENCH_CUDA)
  if (const auto* const device = dynamic_cast<const amr::CudaFields*>(&fields); device != nullptr)
    return find_water_on_device(*device, problem.is_single());
#endif
  const auto& store = dynamic_cast<const amr::FieldStore&>(fields);
  const int n = problem.cells();
  std::vector<WaterMarks> water(static_cast<std::size_t>(fields.size()));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < fields.size(); ++i) {
    const double* const depth = store.block(i);
    unsigned marks = 0;
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x)
        if (depth[y * n + x] > 0.0) marks |= kernels::shallow_water::water_marks(n, x, y);
    water[static_cast<std::size_t>(i)] = static_cast<WaterMarks>(marks);
  }
  return water;
}

std::vector<double> costs_by_water(const amr::Mesh<2>& mesh, const Problem& problem, std::vector<WaterMarks> water) {
  constexpr double kLeftOut = 0.03;  // a block is looked at, all the same
  add_ghosts(mesh, water);
  std::vector<double> costs(static_cast<std::size_t>(mesh.size()));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    bool may_hold = water[static_cast<std::size_t>(i)] != 0;
    for (int face = 0; face < 4 && !may_hold; ++face) may_hold = may_come_in(mesh, problem, water, i, face);
    costs[static_cast<std::size_t>(i)] = may_hold ? 1.0 : kLeftOut;
  }
  return costs;
}

}  // namespace amrbench::workloads::shallow_water
