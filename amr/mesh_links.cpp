// What each block knows of its neighbours: the part of Mesh::set_blocks that works on this rank alone.
//
// A mesh changes in few places, so most of it is carried over: a link between two blocks that both were here before and
// still are holds on, whatever else changed, and only their places in the list have to be renumbered. Faces whose
// neighbour is gone, new, or a ghost are open, as are all faces of new blocks; their neighbours' keys are looked up.
// Per block and change that is one pass over its links instead of six keys to make and as many look-ups.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "amr/mesh.hpp"
#include "support/thread_lists.hpp"

namespace amrbench::amr {

namespace {

constexpr std::int32_t kGone = Dictionary::kNone;

/// [begin, end) of thread `t` of `threads` among n items.
struct Share {
  std::size_t begin, end;
  Share(std::size_t n, int t, int threads) : begin(n * t / threads), end(n * (t + 1) / threads) {}
};

/// Kinds of faces, a byte each.
template <int Dim>
std::uint64_t kinds_of(const NearLinks<Dim>& near) {
  std::uint64_t kinds = 0;
  std::memcpy(&kinds, near.kind.data(), sizeof(near.kind));
  return kinds;
}
/// Has a byte this kind, coarse or fine? Without a branch, which no processor would foresee.
constexpr std::uint64_t kLowest = 0x0101010101010101U;
bool has_fine(std::uint64_t kinds) {
  static_assert(static_cast<int>(FaceKind::fine) == 3 && static_cast<int>(FaceKind::coarse) == 2);
  return (kinds & kinds >> 1U & kLowest) != 0;
}
bool has_coarse(std::uint64_t kinds) {
  return (~kinds & kinds >> 1U & kLowest) != 0;
}

}  // namespace

template <int Dim>
void Mesh<Dim>::Blocks::grow(std::size_t n) {
  levels.grow(n);
  coords.grow(n);
  near.grow(n);
  far.grow(n);
}

/// Fills now_ and before_ by a merge of the sorted lists `before` and keys_, each thread its share of keys_.
template <int Dim>
void Mesh<Dim>::match(std::span<const Key> before) {
  now_.grow(before.size() + ghost_keys_.size());
  before_.grow(keys_.size());
  std::fill_n(now_.data() + before.size(), ghost_keys_.size(), kGone);
#pragma omp parallel
  {
    const Share share(keys_.size(), omp_get_thread_num(), omp_get_num_threads());
    const auto place = [&](std::size_t i) {
      if (i == 0) return std::size_t{0};
      if (i == keys_.size()) return before.size();
      return static_cast<std::size_t>(std::lower_bound(before.begin(), before.end(), keys_[i]) - before.begin());
    };
    const std::size_t end = place(share.end);
    std::size_t old = place(share.begin);
    for (std::size_t i = share.begin; i < share.end; ++i) {
      while (old < end && before[old] < keys_[i]) now_[old++] = kGone;
      const bool stayed = old < end && before[old] == keys_[i];
      before_[i] = stayed ? static_cast<std::int32_t>(old) : kGone;
      if (stayed) now_[old++] = static_cast<std::int32_t>(i);
    }
    // Without keys all shares are empty and end at once; the first thread then answers for all that were.
    const bool last = keys_.empty() ? omp_get_thread_num() == 0 : true;
    while (last && old < (keys_.empty() ? before.size() : end)) now_[old++] = kGone;
  }
}

/// Renumbers the links of block `from` of the mesh before as those of block i; returns the faces that stay open.
template <int Dim>
unsigned Mesh<Dim>::carry_over(const Blocks& before, std::int32_t from, std::int32_t i) {
  const NearLinks<Dim>& old = before.near[from];
  NearLinks<Dim>& near = blocks_.near[i];
  const std::uint64_t kinds = kinds_of(old);
  const std::int32_t* now = now_.data();
  unsigned open = 0;
  near.kind = old.kind;
  for (int face = 0; face < Links::kFaces; ++face) {
    const std::int32_t was = old.first[face];
    const std::int32_t there = was < 0 ? kGone : now[was];
    near.first[face] = there;
    open |= static_cast<unsigned>(was ^ there) >> 31U << face;  // the sign bit: set where a block is gone
  }
  if (has_fine(kinds)) {
    for (int face = 0; face < Links::kFaces; ++face) {
      if (old.kind[face] != FaceKind::fine) continue;
      for (int part = 0; part < Links::kParts - 1; ++part) {
        const std::int32_t there = now[before.far[from][face][part]];
        blocks_.far[i][face][part] = there;
        open |= static_cast<unsigned>(there) >> 31U << face;
      }
    }
  }
  std::uint8_t flags = 0;
  if (open == 0) {
    flags =
        static_cast<std::uint8_t>((has_fine(kinds) ? kTouchesFiner : 0) | (has_coarse(kinds) ? kTouchesCoarser : 0));
  } else {
    for (int face = 0; face < Links::kFaces; ++face) {
      if ((open >> face & 1U) == 0) flags |= flag_of(old.kind[face]);
    }
  }
  flags_[i] = flags;
  return open;
}

template <int Dim>
void Mesh<Dim>::carry_over(const Blocks& before) {
  const auto n = keys_.size();
  blocks_.grow(n);
  flags_.grow(n);
  open_.clear();
  support::append_by_threads(open_, n, [&](std::size_t begin, std::size_t end, std::vector<Open>& open) {
    for (std::size_t k = begin; k < end; ++k) {
      const auto i = static_cast<std::int32_t>(k);
      const std::int32_t from = before_[i];
      unsigned faces = kAllFaces;
      if (from != kGone) {
        blocks_.levels[i] = before.levels[from];
        blocks_.coords[i] = before.coords[from];
        faces = carry_over(before, from, i);
      } else {
        blocks_.levels[i] = static_cast<std::int8_t>(space_.level(keys_[i]));
        blocks_.coords[i] = space_.coord(keys_[i]);
        flags_[i] = 0;
      }
      if (faces != 0) open.push_back({i, faces});
    }
  });
}

template <int Dim>
std::int32_t Mesh<Dim>::find(Key key) const {
  const std::int32_t local = dictionary_.find(key);
  if (local != Dictionary::kNone || ghost_keys_.empty()) return local;
  const std::int32_t ghost = ghost_dictionary_.find(key);
  return ghost == Dictionary::kNone ? Dictionary::kNone : size() + ghost;
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
  FaceKind& kind = blocks_.near[i].kind[face];
  std::int32_t& first = blocks_.near[i].first[face];
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
  blocks_.far[i][face].fill(Dictionary::kNone);
  if (level(i) == space_.max_level()) return false;
  bool found = true;
  for (int part = 0; part < Links::kParts; ++part) {
    std::int32_t& index = part == 0 ? first : blocks_.far[i][face][part - 1];
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

template void Mesh<2>::Blocks::grow(std::size_t);
template void Mesh<3>::Blocks::grow(std::size_t);
template void Mesh<2>::match(std::span<const Key>);
template void Mesh<3>::match(std::span<const Key>);
template unsigned Mesh<2>::carry_over(const Blocks&, std::int32_t, std::int32_t);
template unsigned Mesh<3>::carry_over(const Blocks&, std::int32_t, std::int32_t);
template void Mesh<2>::carry_over(const Blocks&);
template void Mesh<3>::carry_over(const Blocks&);
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
