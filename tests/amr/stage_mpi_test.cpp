// One stage on random adaptive meshes against a field looked up cell by cell: the same bits, on any number of ranks,
// with and without overlap and sums.
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <map>
#include <optional>
#include <random>

#include "amr/field_store.hpp"
#include "amr/initial.hpp"
#include "amr/random_field.hpp"
#include "amr/stage.hpp"
#include "support/error.hpp"
#include "support/exact_sum.hpp"

namespace amrbench::amr {
namespace {

using checks::Cell;
using checks::fill;
using checks::for_cells;
using checks::random_mesh;
using support::Communicator;

/// The fields of all ranks, found by cell. Written without block faces, links or packing.
class WholeField {
 public:
  WholeField(const Mesh<3>& mesh, const FieldStore& fields) : layout_(fields.layout()), space_(mesh.space()) {
    std::vector<double> mine;
    for (std::int32_t i = 0; i < mesh.size(); ++i)
      mine.insert(mine.end(), fields.block(i), fields.block(i) + layout_.block_values());
    values_ = support::all_gather_v<double>(mesh.comm(), mine);
    const auto leaves = checks::gather_leaves(mesh);
    for (std::size_t n = 0; n < leaves.size(); ++n) blocks_[{leaves[n].level, leaves[n].coord}] = n;
  }

  /// The value of a cell that is one of some leaf's.
  [[nodiscard]] std::optional<double> cell(int variable, const Cell& c) const {
    checks::Place<3> place{c.level, {}};
    std::array<int, 3> in{};
    for (int d = 0; d < 3; ++d) {
      place.second[d] = static_cast<std::uint32_t>(c.at[d] / layout_.cells[d]);
      in[d] = static_cast<int>(c.at[d] % layout_.cells[d]);
    }
    const auto found = blocks_.find(place);
    if (found == blocks_.end()) return std::nullopt;
    return values_[found->second * layout_.block_values() + layout_.offset(variable, in[0], in[1], in[2])];
  }

  /// What lies behind face `face` of a cell, in that cell's measure.
  [[nodiscard]] double behind(int variable, const Cell& c, int face) const {
    const int axis = face / 2;
    Cell n = c;
    n.at[axis] += face % 2 != 0 ? 1 : -1;
    const std::int64_t extent = (std::int64_t(space_.root()[axis]) << c.level) * layout_.cells[axis];
    if (space_.is_periodic(axis)) n.at[axis] = (n.at[axis] + extent) % extent;
    if (n.at[axis] < 0 || n.at[axis] >= extent) return cell(variable, c).value();
    if (const auto same = cell(variable, n)) return *same;
    if (c.level > 0) {
      // A coarse face is shared by four fine cells: a quarter each.
      if (const auto coarse = cell(variable, {n.level - 1, {n.at[0] / 2, n.at[1] / 2, n.at[2] / 2}}))
        return *coarse / 4.0;
    }
    // The four fine cells that touch the face, the second in-plane axis first (the order of kernels/faces.cpp).
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    double sum = 0.0;
    for (int da = 0; da < 2; ++da) {
      for (int db = 0; db < 2; ++db) {
        Cell fine{n.level + 1, {2 * n.at[0], 2 * n.at[1], 2 * n.at[2]}};
        fine.at[axis] += face % 2 != 0 ? 0 : 1;
        fine.at[a] += da;
        fine.at[b] += db;
        sum += cell(variable, fine).value();
      }
    }
    return sum;
  }

  [[nodiscard]] double average(int variable, const Cell& c) const {
    const auto u = [&](int face) { return behind(variable, c, face); };
    return (u(0) + u(2) + u(4) + cell(variable, c).value() + u(5) + u(3) + u(1)) / 7.0;
  }

 private:
  kernels::BlockLayout layout_;
  sfc::KeySpace<3> space_;
  std::vector<double> values_;
  std::map<checks::Place<3>, std::size_t> blocks_;
};

struct Case {
  std::uint64_t seed;
  std::array<int, 3> cells;
  int variables;
};

/// Three stages one after another, each against the whole field looked up cell by cell.
void check_stages(const Mesh<3>& mesh, const Case& c, bool overlap, bool summing) {
  SCOPED_TRACE(std::string(overlap ? "overlapped" : "blocking") + (summing ? ", summing" : ""));
  FieldStore fields(kernels::make_layout(c.cells, c.variables));
  fill(mesh, fields, c.seed);
  const auto stage = make_stage("average7", fields.layout(), {.overlap = overlap, .stores = "auto"});
  stage->mesh_changed(mesh);
  support::Metrics metrics;
  const auto scale = support::FixedPointScale::for_bound(1024.0);
  for (int number = 0; number < 3; ++number) {
    const WholeField before(mesh, fields);
    stage->advance(mesh, fields, number, summing ? &scale : nullptr, metrics);
    std::vector<support::FixedPointSum> expected(c.variables, support::FixedPointSum(scale));
    std::int64_t wrong = 0;
    for_cells(mesh, fields.layout(), [&](std::int32_t i, int v, std::size_t at, const Cell& cell) {
      const double value = before.average(v, cell);
      wrong += std::bit_cast<std::uint64_t>(value) != std::bit_cast<std::uint64_t>(fields.block(i)[at]);
      expected[v].add(value);
    });
    EXPECT_EQ(wrong, 0) << "values of " << mesh.size() << " blocks, stage " << number;
    if (!summing) continue;
    const auto sums = stage->sums();
    ASSERT_EQ(sums.size(), std::size_t(c.variables));
    for (std::size_t v = 0; v < sums.size(); ++v) EXPECT_TRUE(sums[v] == expected[v]) << "variable " << v;
  }
}

TEST(FaceStage, MatchesTheFieldLookedUpCellByCell) {
  const Communicator world = Communicator::world();
  const std::vector<std::array<int, 3>> shapes{{4, 4, 4}, {2, 2, 2}, {2, 4, 6}, {8, 8, 8}, {6, 2, 4}};
  std::int64_t changes_of_level = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const Case c{seed, shapes[seed % shapes.size()], 1 + static_cast<int>(seed * 5 % 12)};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(c.variables) + " variables");
    const Mesh<3> mesh = random_mesh(world, seed);
    for (std::int32_t i = 0; i < mesh.size(); ++i)
      changes_of_level += std::ranges::count(mesh.links(i).kind, FaceKind::fine);
    // Blocking without sums and overlapped with them, or the other way round.
    for (const int way : seed % 2 != 0 ? std::array{0, 3} : std::array{1, 2}) {
      omp_set_num_threads(1 + static_cast<int>(seed / 2 + way / 2) % 2);
      check_stages(mesh, c, way % 2 != 0, way / 2 != 0);
    }
  }
  omp_set_num_threads(1);
  EXPECT_GT(support::all_sum(world, changes_of_level), 300) << "too few faces between levels to show anything";
}

TEST(FaceStage, ConservesEveryTotalAcrossLevels) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 50; seed < 54; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Mesh<3> mesh = random_mesh(world, seed);
    FieldStore fields(kernels::make_layout({4, 4, 4}, 5));
    fill(mesh, fields, seed);
    const auto stage = make_stage("average7", fields.layout(), {.overlap = true, .stores = "auto"});
    EXPECT_EQ(stage->conserved_variables(false), 5);
    stage->mesh_changed(mesh);
    support::Metrics metrics;
    const auto total = [&](int v) {
      support::ExactSum sum, size;
      for_cells(mesh, fields.layout(), [&](std::int32_t i, int variable, std::size_t at, const Cell&) {
        if (variable != v) return;
        sum.add(fields.block(i)[at]);
        size.add(std::abs(fields.block(i)[at]));
      });
      sum.allreduce(world);
      size.allreduce(world);
      return std::pair(sum.to_double(), size.to_double());
    };
    std::array<double, 5> first{};
    double size = 0.0;
    for (int v = 0; v < 5; ++v) {
      const auto [sum, absolute] = total(v);
      first[v] = sum;
      size = std::max(size, absolute);
    }
    for (int number = 0; number < 20; ++number) stage->advance(mesh, fields, number, nullptr, metrics);
    for (int v = 0; v < 5; ++v) EXPECT_NEAR(total(v).first, first[v], 20 * 4 * 0x1p-53 * size) << "variable " << v;
  }
}

TEST(FaceStage, HaloSizeCountsTheFacesThatCross) {
  const Communicator world = Communicator::world();
  const Mesh<3> mesh = random_mesh(world, 5);
  const kernels::BlockLayout layout = kernels::make_layout({4, 2, 6}, 3);
  const auto stage = make_stage("average7", layout, {.overlap = true, .stores = "auto"});
  stage->mesh_changed(mesh);
  std::int64_t pieces = 0, values = 0;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (int face = 0; face < 6; ++face) {
      const auto& links = mesh.links(i);
      const int parts = links.kind[face] == FaceKind::boundary ? 0 : links.kind[face] == FaceKind::fine ? 4 : 1;
      for (int q = 0; q < parts; ++q) {
        if (links.index[face][q] < mesh.size()) continue;
        ++pieces;
        const std::size_t whole = layout.face_values(face / 2);
        values += static_cast<std::int64_t>(links.kind[face] == FaceKind::same ? whole : whole / 4);
      }
    }
  }
  const HaloSize size = stage->halo_size();
  EXPECT_EQ(size.pieces, pieces);
  EXPECT_EQ(size.bytes_sent, values * 8);
  EXPECT_EQ(size.neighbors, static_cast<int>(mesh.neighbors().size()));
  // Of each neighbour: counted from its ghosts.
  ASSERT_EQ(size.messages.size(), mesh.neighbors().size());
  for (std::size_t k = 0; k < size.messages.size(); ++k) {
    const NeighborRank& neighbor = mesh.neighbors()[k];
    std::int64_t to_it = 0, values_to_it = 0;
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      for (int face = 0; face < 6; ++face) {
        const auto& links = mesh.links(i);
        const int parts = links.kind[face] == FaceKind::boundary ? 0 : links.kind[face] == FaceKind::fine ? 4 : 1;
        for (int q = 0; q < parts; ++q) {
          const std::int32_t ghost = links.index[face][q] - mesh.size();
          if (ghost < neighbor.ghosts_begin || ghost >= neighbor.ghosts_end) continue;
          ++to_it;
          const std::size_t whole = layout.face_values(face / 2);
          values_to_it += static_cast<std::int64_t>(links.kind[face] == FaceKind::same ? whole : whole / 4);
        }
      }
    }
    EXPECT_EQ(size.messages[k].pieces, to_it);
    EXPECT_EQ(size.messages[k].bytes, values_to_it * 8);
  }
}

TEST(StencilRegistry, NamesAreKnownAndOthersRefused) {
  const kernels::BlockLayout layout = kernels::make_layout({4, 4, 4}, 1);
  for (const StencilEntry& entry : stencil_registry()) {
    EXPECT_FALSE(entry.description.empty());
    EXPECT_NE(make_stage(entry.name, layout, {.overlap = false, .stores = "auto"}), nullptr);
  }
  try {
    make_stage("average8", layout, {.overlap = false, .stores = "auto"});
    FAIL() << "accepted";
  } catch (const support::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("average7"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace amrbench::amr
