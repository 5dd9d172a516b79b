#pragma once
// The distributed mesh: which blocks there are, who owns them, and who their neighbours are.
//
// Purpose: topology only; block data lives in amr/fields.hpp, slot by slot in the same order.
// Invariants between two calls of set_blocks:
// - A rank's blocks are sorted by key, whoever else has blocks between them.
// - Of other ranks' blocks nothing is kept but the ghosts, the remote blocks that touch a face of a local one, and what
//   it takes to find owners. Where all keys of rank r lie before those of rank r + 1 (a mesh cut along its curve), that
//   is one number a rank, the first key of its interval (its splitter). Otherwise blocks next to other ranks' are
//   entered in a distributed directory (amr/directory.hpp). Which of the two it is shows from the blocks themselves.
// - Blocks that share a face differ by at most one level (2:1 balance; set_blocks throws where it finds more).
// - Links are symmetric: when a sees b across a face, b sees a across the opposite one. For neighbour rank r, the list
//   of local blocks that r has as ghosts and r's list of the same blocks have the same order (by key).
// Sources: document 001, 5.2.1 (flat arrays, dictionary); p4est's ghost layer for the idea of one exchange of keys.
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "amr/dictionary.hpp"
#include "amr/directory.hpp"
#include "sfc/key.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

using Key = std::uint64_t;

/// What lies behind a face of a block.
enum class FaceKind : std::uint8_t { boundary, same, coarse, fine };

/// What is kept of a block's neighbours: of each face the kind and the first index; and the other indices of fine
/// faces, which few blocks have, apart, so that a pass over all blocks moves a third of the bytes.
template <int Dim>
struct NearLinks {
  std::array<FaceKind, 2 * Dim> kind;
  std::array<std::int32_t, 2 * Dim> first;
};
template <int Dim>
using FarLinks = std::array<std::array<std::int32_t, (1 << (Dim - 1)) - 1>, 2 * Dim>;

/// Kinds of a block's faces, a byte each. In two loads: one byte after another they would wait for each other.
template <std::size_t Faces>
std::uint64_t face_kinds(const std::array<FaceKind, Faces>& kind) {
  std::uint32_t low = 0;
  std::uint16_t high = 0;
  std::memcpy(&low, kind.data(), sizeof(low));
  if constexpr (Faces > 4) std::memcpy(&high, kind.data() + 4, sizeof(high));
  return low | std::uint64_t{high} << 32U;
}
/// A byte a face: 1 where a block of another level, or a finer one, lies behind it, else 0. Without branches, which no
/// processor would foresee.
template <std::size_t Faces>
std::uint64_t level_faces(const std::array<FaceKind, Faces>& kind) {
  static_assert(static_cast<int>(FaceKind::coarse) == 2 && static_cast<int>(FaceKind::fine) == 3);
  return face_kinds(kind) >> 1U & 0x0101010101010101U;
}
template <std::size_t Faces>
std::uint64_t finer_faces(const std::array<FaceKind, Faces>& kind) {
  return level_faces(kind) & face_kinds(kind);
}

/// The neighbours of one block across its faces (face 2 * axis + side). `index[f][0]` is the neighbour of kind same or
/// coarse; for kind fine, index[f][q] is the one that covers part q of the face (bit 0: upper half along the face's
/// first in-plane axis, bit 1: along the second). Others are below 0. An index below size() is a local block, else
/// index - size() is a ghost. A view: good until the next set_blocks() or settle().
template <int Dim>
class FaceLinks {
 public:
  static constexpr int kFaces = 2 * Dim;
  static constexpr int kParts = 1 << (Dim - 1);
  class Index {
   public:
    Index(const NearLinks<Dim>& near, const FarLinks<Dim>& far, const std::int32_t* places)
        : near_(near), far_(far), places_(places) {}
    std::array<std::int32_t, kParts> operator[](std::size_t face) const {
      std::array<std::int32_t, kParts> parts;
      parts[0] = place(near_.first[face]);
      for (std::size_t q = 1; q < kParts; ++q)
        parts[q] = near_.kind[face] == FaceKind::fine ? place(far_[face][q - 1]) : -1;
      return parts;
    }

    /// [face][0], without the others.
    [[nodiscard]] std::int32_t first(std::size_t face) const { return place(near_.first[face]); }

   private:
    [[nodiscard]] std::int32_t place(std::int32_t id) const { return places_ == nullptr || id < 0 ? id : places_[id]; }
    const NearLinks<Dim>& near_;
    const FarLinks<Dim>& far_;
    const std::int32_t* places_;
  };

  /// `places`: of the blocks that the links name; null: the links name places.
  FaceLinks(const NearLinks<Dim>& near, const FarLinks<Dim>& far, const std::int32_t* places)
      : kind(near.kind), index(near, far, places) {}
  const std::array<FaceKind, kFaces>& kind;
  const Index index;
};

/// A rank that owns blocks next to ours.
struct NeighborRank {
  int rank = 0;
  std::vector<std::int32_t> sends;  ///< local blocks that it has as ghosts, ascending
  std::int32_t ghosts_begin = 0;    ///< its blocks among our ghosts: [begin, end)
  std::int32_t ghosts_end = 0;
};

/// When links get into the order of the blocks: at the end of a change, or when asked for.
enum class Settle { now, later };

template <int Dim>
class Mesh {
 public:
  using Coord = sfc::Coord<Dim>;
  using Links = FaceLinks<Dim>;

  /// A mesh of root cells, one block each, dealt out evenly along the curve. Keeps a duplicate of `comm`. Collective.
  Mesh(const support::Communicator& comm, const sfc::KeySpace<Dim>& space);

  /// Replaces this rank's blocks and brings owners, dictionary, ghosts and links up to date. `keys`: ascending leaves;
  /// those of all ranks must tile the domain; a rank may hold none. `weights`: one a key, or none: all weigh 1. Blocks
  /// that were here before keep what they know of neighbours that still are (amr/mesh_edit.cpp). O(n) work and memory,
  /// little of it where few blocks change; one all-gather of three numbers a rank, one neighbourhood exchange of keys;
  /// where ranks hold no intervals of the curve, three all-to-alls of keys at the ranks' borders besides. Throws
  /// RunError when a neighbour is missing or more than one level away. Collective. Where another change follows,
  /// Settle::later saves time.
  void set_blocks(std::vector<Key> keys, std::vector<double> weights = {}, Settle when = Settle::now);
  /// After the last of several set_blocks() that left it for later, and before stages: puts links into the order of the
  /// blocks. O(n). Local.
  void settle();
  /// A list of any contents for the next set_blocks(): the memory of one before.
  [[nodiscard]] std::vector<Key> spare_keys() { return std::move(past_.keys); }
  /// The same for their weights.
  [[nodiscard]] std::vector<double> spare_weights() { return std::move(spare_weights_); }
  /// What balancing last said that each local block weighs; one a block. The mesh only keeps them with their blocks.
  void set_weights(std::span<const double> weights) { weights_.assign(weights.begin(), weights.end()); }

  [[nodiscard]] const support::Communicator& comm() const { return comm_; }
  [[nodiscard]] const sfc::KeySpace<Dim>& space() const { return space_; }

  // This rank's blocks, in curve order.
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(keys_.size()); }
  [[nodiscard]] std::span<const Key> keys() const { return keys_; }
  /// >= 0. They go where the blocks go; a child has its parent's, a merged block the mean of its children's.
  [[nodiscard]] std::span<const double> weights() const { return weights_; }
  [[nodiscard]] int level(std::int32_t i) const { return levels_[i]; }
  [[nodiscard]] const Coord& coord(std::int32_t i) const { return blocks_.coords[id(i)]; }
  /// Middle of a block in the unit cube.
  [[nodiscard]] std::array<double, Dim> centre(std::int32_t i) const {
    std::array<double, Dim> centre;
    for (int d = 0; d < Dim; ++d)
      centre[d] = (coord(i)[d] + 0.5) / static_cast<double>(std::int64_t{space_.root()[d]} << level(i));
    return centre;
  }
  [[nodiscard]] Links links(std::int32_t i) const {
    return {blocks_.near[id(i)], blocks_.far[id(i)], is_settled_ ? nullptr : places_.data()};
  }
  /// The same of a settled mesh; quicker, for inner loops.
  [[nodiscard]] Links settled_links(std::int32_t i) const {
    assert(is_settled_);
    return {blocks_.near[i], blocks_.far[i], nullptr};
  }
  /// Asks for what links(i) and the key will read.
  void prefetch(std::int32_t i) const {
    __builtin_prefetch(&blocks_.near[id(i)]);
    __builtin_prefetch(&keys_[i]);
  }
  [[nodiscard]] bool has_ghost_neighbor(std::int32_t i) const { return (flags_[i] & kTouchesGhost) != 0; }
  [[nodiscard]] bool has_finer_neighbor(std::int32_t i) const { return (flags_[i] & kTouchesFiner) != 0; }
  /// A byte for each of 2^Dim blocks that stand together.
  using FamilyWord = std::conditional_t<Dim == 3, std::uint64_t, std::uint32_t>;
  /// Are blocks i, i + 1, ... all children of one block? They are where they have one level and the first and the last
  /// of them are its first and last child. Any i.
  [[nodiscard]] bool is_family(std::int32_t i) const {
    constexpr std::int32_t kLast = sfc::KeySpace<Dim>::kChildren - 1;
    if (i < 0 || i + kLast >= size() || level(i) == 0) return false;
    const Key parent = space_.parent(keys_[i]);
    return keys_[i] == space_.child(parent, 0) && keys_[i + kLast] == space_.child(parent, kLast) &&
           family_bytes(&levels_[i]) == FamilyWord(level(i)) * FamilyWord(0x0101010101010101U);
  }
  /// Has one of a family, from block i on, a finer neighbour?
  [[nodiscard]] bool family_has_finer_neighbor(std::int32_t i) const {
    return (family_bytes(&flags_[i]) & FamilyWord(kTouchesFiner * 0x0101010101010101U)) != 0;
  }
  /// Is a neighbour of another level?
  [[nodiscard]] bool touches_level(std::int32_t i) const {
    return (flags_[i] & (kTouchesFiner | kTouchesCoarser)) != 0;
  }
  /// Those with ghost neighbours, ascending.
  [[nodiscard]] std::span<const std::int32_t> border() const { return border_; }
  /// Where block i stood before the last set_blocks(), or Dictionary::kNone: it was not here.
  [[nodiscard]] std::int32_t place_before(std::int32_t i) const { return before_[i]; }

  /// Blocks that were not here before the last set_blocks(): ascending.
  [[nodiscard]] std::vector<std::int32_t> new_blocks() const {
    std::vector<std::int32_t> fresh;
    for (std::int32_t i = 0; i < size(); ++i)
      if (before_[i] == Dictionary::kNone) fresh.push_back(i);
    return fresh;
  }

  // Remote blocks next to ours, by owner, then by key.
  [[nodiscard]] std::int32_t ghost_count() const { return static_cast<std::int32_t>(ghost_keys_.size()); }
  [[nodiscard]] std::span<const Key> ghost_keys() const { return ghost_keys_; }
  /// Key of a local block or ghost, by the index that links use.
  [[nodiscard]] Key key_of(std::int32_t index) const {
    return index < size() ? keys_[index] : ghost_keys_[index - size()];
  }
  [[nodiscard]] std::span<const NeighborRank> neighbors() const { return neighbors_; }
  /// Neighbourhood of the ranks of neighbors(), in their order.
  [[nodiscard]] const support::DistGraph& graph() const { return graph_; }

  /// Does every rank hold an interval of the curve, in rank order? The same on every rank.
  [[nodiscard]] bool has_intervals() const { return has_intervals_; }
  /// Rank whose interval holds `key`. Only where has_intervals().
  [[nodiscard]] int owner(Key key) const;
  /// Are all leaves inside `key` known to be here? Never where !has_intervals().
  [[nodiscard]] bool holds(Key key) const {
    return has_intervals_ && space_.first(key) >= splitters_[comm_.rank()] &&
           space_.last(key) < splitters_[comm_.rank() + 1];
  }
  /// Owners of leaves, on any mesh: of leaves that this rank does not hold and that touch one of its blocks across a
  /// face, or are the first child in a family of which it holds another member. Collective where !has_intervals(), else
  /// local.
  [[nodiscard]] std::vector<int> owners(std::span<const Key> leaves) const;
  /// Index of a local block, or Dictionary::kNone.
  [[nodiscard]] std::int32_t find_local(Key key) const {
    const std::int32_t id = dictionary_.find(key);
    return is_settled_ || id < 0 ? id : places_[id];
  }
  /// Blocks on all ranks, and on the ranks before this one.
  [[nodiscard]] std::int64_t global_size() const { return global_size_; }
  [[nodiscard]] std::int64_t global_begin() const { return global_begin_; }
  /// Blocks of each rank; one number a rank.
  [[nodiscard]] std::span<const std::int64_t> rank_sizes() const { return rank_sizes_; }
  /// Bytes of this rank's tables.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::uint8_t kTouchesGhost = 1, kTouchesFiner = 2, kTouchesCoarser = 4;
  static constexpr std::uint8_t kDisturbed = 8;  ///< while blocks change: is new, or was beside one that is gone
  static constexpr unsigned kAllFaces = (1U << (2 * Dim)) - 1;
  /// What is kept of each block under a number of its own (amr/mesh_edit.cpp). Links name such numbers too.
  struct Blocks {
    support::PageBuffer<Coord> coords;
    support::PageBuffer<NearLinks<Dim>> near;
    support::PageBuffer<FarLinks<Dim>> far;  ///< of blocks with finer neighbours, else undefined
    void grow(std::size_t n);
    void swap(Blocks& other) noexcept;
    [[nodiscard]] std::size_t bytes() const { return coords.bytes() + near.bytes() + far.bytes(); }
  };
  /// What is kept of each block in the list's order: the list before, while blocks change.
  struct Before {
    std::vector<Key> keys;
    support::PageBuffer<std::int8_t> levels;
    support::PageBuffer<std::uint8_t> flags;
    support::PageBuffer<std::int32_t> ids;
  };
  /// A local block and those of its faces (bit f: face f) whose neighbours have to be looked up.
  struct Open {
    std::int32_t block;
    unsigned faces;
  };
  /// A local block that another rank needs as a ghost.
  struct Sent {
    int rank;
    std::int32_t block;
    bool operator==(const Sent&) const = default;
  };
  struct Changed {
    std::vector<std::int32_t> gone;   ///< places before, ascending
    std::vector<std::int32_t> fresh;  ///< places now, ascending
  };
  [[nodiscard]] std::int32_t id(std::int32_t i) const { return is_settled_ ? i : ids_[i]; }
  void carry_over();
  Changed match(bool was_settled);
  void keep(std::size_t old, std::size_t i, std::size_t count, bool was_settled);
  void number(std::span<const std::int32_t> fresh);
  void disturb_neighbors(std::span<const std::int32_t> gone, bool was_settled);
  void list_open();
  unsigned open_faces(std::int32_t i);
  void renumber(std::int32_t i);
  void gather_splitters();
  void link_open_faces();
  void list_border();
  // Both by ascending blocks.
  std::vector<Sent> border_by_intervals() const;
  std::vector<Sent> border_by_directory();
  void exchange_ghosts();
  void list_neighbors(std::span<const Sent> sent);
  [[nodiscard]] static FamilyWord family_bytes(const void* first) {
    FamilyWord word = 0;
    std::memcpy(&word, first, sizeof(word));
    return word;
  }
  [[nodiscard]] static std::uint8_t flag_of(FaceKind kind) {
    return kind == FaceKind::fine ? kTouchesFiner : kind == FaceKind::coarse ? kTouchesCoarser : std::uint8_t{0};
  }
  [[nodiscard]] bool has_family(std::int32_t i) const;
  Key subface_key(std::int32_t i, int face, int part) const;
  bool link_face(std::int32_t i, int face, Key same);
  std::int32_t find(Key key) const;

  support::Communicator comm_;
  sfc::KeySpace<Dim> space_;
  std::vector<Key> keys_;
  std::vector<double> weights_, spare_weights_;
  support::PageBuffer<std::int8_t> levels_;
  support::PageBuffer<std::uint8_t> flags_;
  support::PageBuffer<std::int32_t> before_;  ///< the place where each block was
  support::PageBuffer<std::int32_t> ids_;     ///< the number of each block, where they are not places
  support::PageBuffer<std::int32_t> places_;  ///< the other way round, then of ghosts; kNone: the block is gone
  std::int32_t numbers_ = 0;                  ///< given to blocks; ghosts have the next ones
  std::int32_t linked_ = 0;                   ///< blocks below have links; others are being linked
  bool is_settled_ = true;                    ///< are all numbers places?
  Blocks blocks_;
  Blocks spare_;  ///< memory for the next settle()
  Before past_;   ///< memory of the mesh before, for the next one
  std::vector<std::int32_t> border_;
  std::vector<Open> open_;  ///< ascending blocks
  bool is_linked_ = false;  ///< are all links those of the present blocks?
  Dictionary dictionary_;   ///< numbers of blocks
  bool has_intervals_ = true;
  std::vector<Key> splitters_;  ///< first key of each rank's interval, plus kEnd; where has_intervals_
  Directory directory_;         ///< where not
  std::vector<std::int64_t> rank_sizes_;
  std::int64_t global_size_ = 0;
  std::int64_t global_begin_ = 0;
  std::vector<Key> ghost_keys_;
  Dictionary ghost_dictionary_;
  std::vector<NeighborRank> neighbors_;
  support::DistGraph graph_;
};

/// Keys of the root cells that stand at positions [begin, end) among all root cells in curve order. No list of the
/// others is made: subtrees outside the domain or the range are skipped by counting. O((end - begin) + bits) steps.
template <int Dim>
std::vector<Key> root_keys(const sfc::KeySpace<Dim>& space, std::int64_t begin, std::int64_t end);

extern template class Mesh<2>;
extern template class Mesh<3>;

}  // namespace amrbench::amr
