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

/// The places of eight blocks from block i on: block at (x, y, z) is i + order[x + 2 y + 4 z]. How many fit, up to 8.
int find_order(const Mesh<3>& mesh, std::int32_t i, std::array<std::int32_t, 8>& order) {
  const auto& first = mesh.coord(i);
  for (int k = 0; k < 8; ++k) {
    const auto& at = mesh.coord(i + k);
    if (mesh.level(i + k) != mesh.level(i) || !sees_nothing_finer(mesh, i + k)) return k;
    for (int axis = 0; axis < 3; ++axis)
      if (at[axis] / 2 != first[axis] / 2) return k;
    order[at[0] % 2 + 2 * (at[1] % 2) + 4 * (at[2] % 2)] = k;
  }
  return 8;
}

}  // namespace

void Octets::rebuild(const Mesh<3>& mesh, std::span<const kernels::PieceSource> sources) {
  numbers_.assign(std::size_t(mesh.size()), -1);
  sources_.clear();
  // Along an axis: the block whose piece it is, and the piece's side of that block.
  constexpr std::array<std::array<int, 2>, 4> kFrom{{{0, -1}, {0, 0}, {1, 0}, {1, 1}}};
  std::array<std::int32_t, 8> order{};
  for (std::int32_t i = 0; i + 8 <= mesh.size();) {
    const int fit = find_order(mesh, i, order);
    if (fit == 8) {
      numbers_[std::size_t(i)] = static_cast<std::int32_t>(sources_.size());
      Sources& to = sources_.emplace_back();
      for (int k = 0; k < 64; ++k) {
        const auto &x = kFrom[k % 4], &y = kFrom[k / 4 % 4], &z = kFrom[k / 16];
        const std::int32_t block = i + order[x[0] + 2 * y[0] + 4 * z[0]];
        to[k] = sources[std::size_t(block) * 27 + kernels::Surroundings::index(x[1], y[1], z[1])];
      }
    }
    i += std::max(fit, 1);
  }
}

}  // namespace amrbench::amr
