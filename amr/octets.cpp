#include "amr/octets.hpp"

#include "support/thread_lists.hpp"

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

/// Does an octet begin with block i? Then `octet` becomes its place.
bool find_octet(const Mesh<3>& mesh, std::int32_t i, kernels::OctetPlace& octet) {
  const auto& first = mesh.coord(i);
  octet.first = i;
  for (std::int32_t k = i; k < i + 8; ++k) {
    const auto& at = mesh.coord(k);
    if (mesh.level(k) != mesh.level(i)) return false;
    for (int axis = 0; axis < 3; ++axis)
      if (at[axis] / 2 != first[axis] / 2) return false;
    octet.order[at[0] % 2 + 2 * (at[1] % 2) + 4 * (at[2] % 2)] = static_cast<std::uint8_t>(k - i);
  }
  for (std::int32_t k = i; k < i + 8; ++k)
    if (!sees_nothing_finer(mesh, k)) return false;
  return true;
}

}  // namespace

void Octets::rebuild(const Mesh<3>& mesh) {
  const auto blocks = static_cast<std::size_t>(mesh.size());
  places_.clear();
  // Eight blocks in one cube of two an edge are all of it, so no two octets share a block.
  support::append_by_threads(places_, blocks < 8 ? 0 : blocks - 7,
                             [&](std::size_t begin, std::size_t end, std::vector<kernels::OctetPlace>& list) {
                               kernels::OctetPlace octet;
                               for (auto i = static_cast<std::int32_t>(begin); i < static_cast<std::int32_t>(end); ++i)
                                 if (find_octet(mesh, i, octet)) list.push_back(octet);
                             });
}

void Octets::find_pieces(std::span<const kernels::PieceSource> sources) {
  numbers_.resize(sources.size() / 27);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = -1;
  sources_.resize(places_.size());
#pragma omp parallel for schedule(static)
  for (std::size_t octet = 0; octet < places_.size(); ++octet) {
    numbers_[static_cast<std::size_t>(places_[octet].first)] = static_cast<std::int32_t>(octet);
    for (int k = 0; k < 64; ++k) sources_[octet][k] = sources[static_cast<std::size_t>(places_[octet].piece(k))];
  }
}

std::size_t Octets::memory_bytes() const {
  return numbers_.capacity() * sizeof(std::int32_t) + places_.capacity() * sizeof(kernels::OctetPlace) +
         sources_.capacity() * sizeof(Sources);
}

}  // namespace amrbench::amr
