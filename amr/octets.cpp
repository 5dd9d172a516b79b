#include "amr/octets.hpp"

#include <algorithm>

namespace amrbench::amr {

namespace {

/// Is nothing finer behind the faces of block i, nor behind those of the blocks of its level there? Of blocks of other
/// ranks that is not known, unless no finer ones are possible.
bool sees_nothing_finer(const Mesh<3>& mesh, std::int32_t i) {
  if (mesh.level(i) == mesh.space().max_level()) return true;
  if (mesh.has_finer_neighbor(i)) return false;
  const auto links = mesh.settled_links(i);
  for (std::size_t face = 0; face < links.kFaces; ++face) {
    const std::int32_t k = links.index.first(face);
    if (links.kind[face] == FaceKind::same && (k >= mesh.size() || mesh.has_finer_neighbor(k))) return false;
  }
  return true;
}

/// Does an octet begin with block i? Then block (x, y, z) of it becomes order[x + 2 y + 4 z].
bool find_order(const Mesh<3>& mesh, std::int32_t i, std::array<std::int32_t, 8>& order) {
  const auto& first = mesh.coord(i);
  for (std::int32_t k = i; k < i + 8; ++k) {
    const auto& at = mesh.coord(k);
    if (mesh.level(k) != mesh.level(i)) return false;
    for (int axis = 0; axis < 3; ++axis)
      if (at[axis] / 2 != first[axis] / 2) return false;
    order[at[0] % 2 + 2 * (at[1] % 2) + 4 * (at[2] % 2)] = k;
  }
  return std::ranges::all_of(order, [&](std::int32_t k) { return sees_nothing_finer(mesh, k); });
}

}  // namespace

void Octets::rebuild(const Mesh<3>& mesh, std::span<const kernels::PieceSource> sources) {
  numbers_.assign(std::size_t(mesh.size()), -1);
  // Along an axis: the block whose piece it is, and the piece's side of that block.
  constexpr std::array<std::array<int, 2>, 4> kFrom{{{0, -1}, {0, 0}, {1, 0}, {1, 1}}};
  // Eight blocks in one cube of two an edge are all of it, so no two octets share a block.
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size() - 7; ++i)
    if (std::array<std::int32_t, 8> order{}; find_order(mesh, i, order)) numbers_[std::size_t(i)] = 0;
  std::int32_t count = 0;
  for (std::int32_t& number : numbers_)
    if (number == 0) number = count++;
  sources_.resize(std::size_t(count));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size() - 7; ++i) {
    std::array<std::int32_t, 8> order{};
    if (!begins(i) || !find_order(mesh, i, order)) continue;
    Sources& to = sources_[std::size_t(numbers_[std::size_t(i)])];
    for (int k = 0; k < 64; ++k) {
      const auto &x = kFrom[k % 4], &y = kFrom[k / 4 % 4], &z = kFrom[k / 16];
      const std::int32_t block = order[x[0] + 2 * y[0] + 4 * z[0]];
      to[k] = sources[std::size_t(block) * 27 + kernels::Surroundings::index(x[1], y[1], z[1])];
    }
  }
}

}  // namespace amrbench::amr
