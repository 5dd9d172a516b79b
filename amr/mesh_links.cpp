// What lies behind the faces that amr/mesh_edit.cpp left open: the part of Mesh::set_blocks that looks up neighbours'
// keys on this rank, and among its ghosts.
#include <algorithm>
#include <string>

#include "amr/mesh.hpp"
#include "support/thread_lists.hpp"

namespace amrbench::amr {

/// The number of a local block or ghost.
template <int Dim>
std::int32_t Mesh<Dim>::find(Key key) const {
  const std::int32_t local = dictionary_.find(key);
  if (local != Dictionary::kNone || ghost_keys_.empty()) return local;
  const std::int32_t ghost = ghost_dictionary_.find(key);
  return ghost == Dictionary::kNone ? Dictionary::kNone : numbers_ + ghost;
}

template <int Dim>
Key Mesh<Dim>::subface_key(std::int32_t i, int face, int part) const {
  const int axis = face / 2;
  Coord c = coord(i);
  static_cast<void>(space_.step(level(i), c, face));  // never asked for at the domain's boundary
  int bit = 0;
  for (int d = 0; d < Dim; ++d) {
    // The layer of half-size blocks that touches the face; along the face, the part asked for.
    c[d] = 2 * c[d] + (d == axis ? 1 - face % 2 : (part >> bit++) & 1);
  }
  return space_.key(level(i) + 1, c);
}

/// Links one face; false when the mesh has no fitting neighbour there.
template <int Dim>
bool Mesh<Dim>::link_face(std::int32_t i, int face, Key same) {
  NearLinks<Dim>& near = blocks_.near[id(i)];
  FaceKind& kind = near.kind[face];
  std::int32_t& first = near.first[face];
  first = Dictionary::kNone;
  if (same == space_.kNone) {
    kind = FaceKind::boundary;
    return true;
  }
  if ((first = find(same)) != Dictionary::kNone) {
    kind = FaceKind::same;
    return true;
  }
  if (level(i) > 0 && (first = find(space_.parent(same))) != Dictionary::kNone) {
    kind = FaceKind::coarse;
    return true;
  }
  kind = FaceKind::fine;
  auto& others = blocks_.far[id(i)][face];
  others.fill(Dictionary::kNone);
  if (level(i) == space_.max_level()) return false;
  bool found = true;
  for (int part = 0; part < Links::kParts; ++part) {
    std::int32_t& index = part == 0 ? first : others[part - 1];
    index = find(subface_key(i, face, part));
    found = found && index != Dictionary::kNone;
  }
  return found;
}

template <int Dim>
void Mesh<Dim>::link_open_faces() {
  const std::int32_t n = size();
  std::int32_t broken = n;
#pragma omp parallel for schedule(static) reduction(min : broken)
  for (std::size_t k = 0; k < open_.size(); ++k) {
    const auto [i, faces] = open_[k];
    const auto same = space_.neighbors(level(i), coord(i));
    std::uint8_t flags = flags_[i];
    for (int face = 0; face < 2 * Dim; ++face) {
      if ((faces >> face & 1U) == 0) continue;
      if (!link_face(i, face, same[face])) broken = std::min(broken, i);
      const Links links = this->links(i);
      flags |= flag_of(links.kind[face]);
      for (const std::int32_t j : links.index[face]) {
        if (j >= n) flags |= kTouchesGhost;
      }
    }
    flags_[i] = flags;
  }
  std::string message;
  if (broken < n) {
    message = "mesh: block of level " + std::to_string(level(broken)) + " on rank " + std::to_string(comm_.rank()) +
              " has a face without a neighbour at most one level away";
  }
  support::agree_on_error(comm_, message);
  is_linked_ = true;
  linked_ = numbers_;
}

template <int Dim>
void Mesh<Dim>::list_border() {
  border_.clear();
  if (ghost_keys_.empty()) return;
  support::append_by_threads(border_, keys_.size(),
                             [&](std::size_t begin, std::size_t end, std::vector<std::int32_t>& mine) {
                               for (std::size_t i = begin; i < end; ++i) {
                                 if ((flags_[i] & kTouchesGhost) != 0) mine.push_back(static_cast<std::int32_t>(i));
                               }
                             });
}

template std::int32_t Mesh<2>::find(Key) const;
template std::int32_t Mesh<3>::find(Key) const;
template Key Mesh<2>::subface_key(std::int32_t, int, int) const;
template Key Mesh<3>::subface_key(std::int32_t, int, int) const;
template bool Mesh<2>::link_face(std::int32_t, int, Key);
template bool Mesh<3>::link_face(std::int32_t, int, Key);
template void Mesh<2>::link_open_faces();
template void Mesh<3>::link_open_faces();
template void Mesh<2>::list_border();
template void Mesh<3>::list_border();

}  // namespace amrbench::amr
