// Layers behind faces against the cells that lie there by their places in the domain, on random meshes.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdio>
#include <limits>
#include <random>
#include <string>

#include "amr/layer_halo.hpp"
#include "amr/random_mesh.hpp"
#include "kernels/initial.hpp"

namespace amrbench::amr {
namespace {

using support::Communicator;

/// What a cell of a level at a place of that level's grid holds: its own number, whoever has it.
double cell_value(std::uint64_t seed, int level, int v, const std::array<std::int64_t, 3>& at) {
  return kernels::random_value(support::mix64(seed, std::uint64_t(level)), v, std::uint64_t(at[0]),
                               std::uint64_t(at[1]), std::uint64_t(at[2]));
}

template <int Dim>
struct LayerCase {
  std::uint64_t seed;
  kernels::BlockLayout layout;
  int variables, layers;
  checks::Closing<Dim> closing;
  checks::Wishes<Dim> leaves;
};

template <int Dim>
LayerCase<Dim> draw_case(std::uint64_t seed, const sfc::Coord<Dim>& root, int deepest,
                         const checks::Closing<Dim>& closing) {
  std::mt19937_64 random(seed);
  std::array<int, 3> cells{1, 1, 1};
  for (std::size_t d = 0; d < Dim; ++d) cells[d] = 2 * (1 + static_cast<int>(random() % 3));
  const int variables = 1 + static_cast<int>(random() % 9);  // in 3-D with 1 to 8 lanes
  const int travelling = 1 + static_cast<int>(random() % std::size_t(variables));
  LayerCase<Dim> c{seed,    kernels::make_layout(cells, variables), travelling, 1 + static_cast<int>(random() % 2),
                   closing, checks::root_leaves<Dim>(root)};
  for (int pass = 0; pass < deepest + 1; ++pass)
    c.leaves = checks::random_refinement<Dim>(c.leaves, random(), {40, 10}, deepest, closing);
  return c;
}

template <int Dim>
void fill_fields(const LayerCase<Dim>& c, const Mesh<Dim>& mesh, FieldStore& fields) {
  const kernels::BlockLayout& l = c.layout;
  fields.reset(mesh.size());
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    std::fill_n(fields.block(i), l.block_values(), 0.0);
    std::array<std::int64_t, 3> low{};
    for (std::size_t d = 0; d < Dim; ++d) low[d] = std::int64_t(mesh.coord(i)[d]) * l.cells[d];
    for (int v = 0; v < l.variables; ++v) {
      for (int z = 0; z < l.cells[2]; ++z) {
        for (int y = 0; y < l.cells[1]; ++y) {
          for (int x = 0; x < l.cells[0]; ++x)
            fields.block(i)[l.offset(v, x, y, z)] =
                cell_value(c.seed, mesh.level(i), v, {low[0] + x, low[1] + y, low[2] + z});
        }
      }
    }
  }
}

/// What lies behind a face by the list of all leaves alone.
template <int Dim>
std::vector<double> wanted_layers(const LayerCase<Dim>& c, const checks::Place<Dim>& place, int face, int level) {
  const int axis = face / 2, axis_a = axis == 0 ? 1 : 0, axis_b = axis == 2 ? 1 : 2;
  // First cell of the block, and the one after its last, in cells of the level behind the face.
  std::array<std::int64_t, 3> low{}, high{1, 1, 1};
  for (std::size_t d = 0; d < Dim; ++d) {
    low[d] = std::int64_t(place.second[d]) * c.layout.cells[d];
    high[d] = low[d] + c.layout.cells[d];
    for (auto* x : {&low[d], &high[d]}) *x = level < place.first ? *x / 2 : level > place.first ? *x * 2 : *x;
  }
  std::vector<double> all;
  for (int v = 0; v < c.variables; ++v) {
    for (int layer = 0; layer < c.layers; ++layer) {
      for (std::int64_t b = low[axis_b]; b < high[axis_b]; ++b) {
        for (std::int64_t a = low[axis_a]; a < high[axis_a]; ++a) {
          std::array<std::int64_t, 3> at{};
          at[axis] = face % 2 == 0 ? low[axis] - 1 - layer : high[axis] + layer;
          if (const auto d = std::size_t(axis); c.closing.axes[d]) {
            const std::int64_t extent = (std::int64_t{c.closing.root[d]} << level) * c.layout.cells[d];
            at[d] = (at[d] + extent) % extent;
          }
          at[axis_a] = a;
          at[axis_b] = b;
          all.push_back(cell_value(c.seed, level, v, at));
        }
      }
    }
  }
  return all;
}

/// Compares all faces of all blocks; faces of each kind are counted. Collective.
template <int Dim>
void check_layers(const LayerCase<Dim>& c, const Mesh<Dim>& mesh, std::array<std::int64_t, 4>& kinds) {
  FieldStore fields(c.layout);
  fill_fields(c, mesh, fields);
  LayerHalo<Dim> halo(c.layout, c.variables, c.layers);
  for (int round = 0; round < 2; ++round) {
    halo.rebuild(mesh);
    halo.start(fields);
    EXPECT_GE(halo.finish(), 0.0);
  }
  std::vector<double> buffer(halo.most_values());
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const checks::Place<Dim> place = checks::place_of(mesh, i);
    for (int face = 0; face < 2 * Dim; ++face) {
      const FaceKind kind = mesh.links(i).kind[std::size_t(face)];
      ++kinds[std::size_t(kind)];
      const auto behind = checks::across<Dim>(c.leaves, place, face, c.closing);
      ASSERT_EQ(behind.empty(), kind == FaceKind::boundary);
      if (behind.empty()) continue;
      std::fill(buffer.begin(), buffer.end(), std::numeric_limits<double>::quiet_NaN());
      const double* const values = halo.gather(mesh, fields, i, face, buffer.data());
      const std::vector<double> wanted = wanted_layers<Dim>(c, place, face, behind.front().first);
      ASSERT_EQ(halo.values(face, kind), wanted.size());
      ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), values))
          << "block " << i << ", face " << face << ", kind " << int(kind);
    }
  }
}

template <int Dim>
void check_random_meshes() {
  const Communicator world = Communicator::world();
  std::array<std::int64_t, 4> kinds{};
  for (std::uint64_t seed = 500; seed < 516; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int deepest = 1 + static_cast<int>(random() % (Dim == 2 ? 4 : 2));
    const sfc::Coord<Dim> root = checks::random_root<Dim>(random, 8);
    sfc::KeySpace<Dim> space(random() % 2 != 0 ? sfc::Curve::morton : sfc::Curve::hilbert, root, deepest);
    checks::Closing<Dim> closing;
    if (seed % 2 != 0) closing = checks::random_closing<Dim>(root, seed / 2);
    space.set_periodic(closing.axes);
    const LayerCase<Dim> c = draw_case<Dim>(random(), root, deepest, closing);
    Mesh<Dim> mesh(world, space);
    const std::vector<Key> keys = checks::keys_of<Dim>(space, c.leaves);
    const auto cuts = checks::random_cuts(random(), static_cast<std::int64_t>(keys.size()), world.size());
    const auto rank = static_cast<std::size_t>(world.rank());
    mesh.set_blocks({keys.begin() + cuts[rank], keys.begin() + cuts[rank + 1]});
    omp_set_num_threads(1 + static_cast<int>(random() % 2));
    check_layers<Dim>(c, mesh, kinds);
    omp_set_num_threads(1);
  }
  support::all_sum(world, std::span<std::int64_t>(kinds));
  if (world.is_root())
    std::printf("%d dimensions, seeds 500 to 515: faces at sides %ld, same %ld, coarser %ld, finer %ld\n", Dim,
                long(kinds[0]), long(kinds[1]), long(kinds[2]), long(kinds[3]));
  for (const std::int64_t count : kinds) EXPECT_GT(count, 100);
}

TEST(LayerHalo, HandsOutTheCellsBehindFacesInTwoDimensions) {
  check_random_meshes<2>();
}

TEST(LayerHalo, HandsOutTheCellsBehindFacesInThreeDimensions) {
  check_random_meshes<3>();
}

TEST(LayerHalo, RefusesLayersThatBlocksDoNotHold) {
  const kernels::BlockLayout layout = kernels::make_layout({4, 2, 4}, 3);
  EXPECT_NO_THROW(LayerHalo<3>(layout, 3, 2));
  EXPECT_THROW(LayerHalo<3>(layout, 4, 2), std::logic_error);
  EXPECT_THROW(LayerHalo<3>(layout, 3, 3), std::logic_error);
  EXPECT_THROW(LayerHalo<2>(layout, 3, 2), std::logic_error);
}

}  // namespace
}  // namespace amrbench::amr
