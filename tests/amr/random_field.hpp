#pragma once
// A random adaptive mesh, and values that depend on the cell alone.
#include <algorithm>
#include <random>

#include "amr/field_store.hpp"
#include "amr/initial.hpp"
#include "amr/random_mesh.hpp"

namespace amrbench::amr::checks {

/// A cell of the whole domain: level and position counted in cells of that level.
struct Cell {
  int level;
  std::array<std::int64_t, 3> at;
};

/// Calls f(block, variable, x, y, z, cell) for all local values.
template <class F>
void for_cells(const Mesh<3>& mesh, const kernels::BlockLayout& l, const F& f) {
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    for (int v = 0; v < l.variables; ++v)
      for (int z = 0; z < l.cells[2]; ++z)
        for (int y = 0; y < l.cells[1]; ++y)
          for (int x = 0; x < l.cells[0]; ++x) {
            const auto& c = mesh.coord(i);
            f(i, v, l.offset(v, x, y, z),
              Cell{mesh.level(i),
                   {std::int64_t(c[0]) * l.cells[0] + x, std::int64_t(c[1]) * l.cells[1] + y,
                    std::int64_t(c[2]) * l.cells[2] + z}});
          }
}

/// Random values that depend on the cell alone; padding lanes 0.
inline void fill(const Mesh<3>& mesh, FieldStore& fields, std::uint64_t seed) {
  const kernels::BlockLayout& l = fields.layout();
  fields.reset(mesh.size());
  for (std::int32_t i = 0; i < mesh.size(); ++i) std::fill_n(fields.block(i), l.block_values(), 0.0);
  for_cells(mesh, l, [&](std::int32_t i, int v, std::size_t at, const Cell& c) {
    fields.block(i)[at] =
        random_value(support::mix64(seed, c.level), v, c.at[0], c.at[1], c.at[2]) - 0.25 * static_cast<double>(v % 3);
  });
}

/// A random mesh with leaves of several levels, dealt out by random cuts. Every third seed's domain closes on itself.
inline Mesh<3> random_mesh(const support::Communicator& world, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const int deepest = 1 + static_cast<int>(random() % 3);
  const auto root = random_root<3>(random, deepest == 3 ? 2 : 6);
  sfc::KeySpace<3> space(seed % 2 != 0 ? sfc::Curve::morton : sfc::Curve::hilbert, root, deepest);
  Closing<3> closing;
  if (seed % 3 == 0) closing = random_closing<3>(root, seed / 3);
  space.set_periodic(closing.axes);
  Mesh<3> mesh(world, space);
  auto leaves = root_leaves<3>(root);
  for (int pass = 0; pass < deepest + 1; ++pass)
    leaves = random_refinement<3>(leaves, random(), {40, 10}, deepest, closing);
  const auto keys = keys_of<3>(space, leaves);
  const auto cuts = random_cuts(random(), static_cast<std::int64_t>(keys.size()), world.size());
  mesh.set_blocks({keys.begin() + cuts[world.rank()], keys.begin() + cuts[world.rank() + 1]});
  return mesh;
}

}  // namespace amrbench::amr::checks
