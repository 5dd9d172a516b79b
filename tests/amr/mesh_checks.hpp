#pragma once
// What must hold of a mesh after every change, found out the slow way: all leaves are gathered on every rank and
// painted into a grid of the deepest level's cells; whoever touches whom is then read off the grid. Nothing here uses
// the mesh's dictionary, links or key arithmetic, except to name blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "amr/mesh.hpp"

namespace amrbench::amr::checks {

template <int Dim>
struct Leaf {
  Key key = 0;
  int level = 0;
  int rank = 0;
  std::array<std::uint32_t, Dim> coord{};
};

/// The leaves of all ranks in rank order, on every rank. Collective.
template <int Dim>
std::vector<Leaf<Dim>> gather_leaves(const Mesh<Dim>& mesh) {
  std::vector<Leaf<Dim>> mine;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    Leaf<Dim> leaf{mesh.keys()[i], mesh.level(i), mesh.comm().rank(), {}};
    for (int d = 0; d < Dim; ++d) leaf.coord[d] = mesh.coord(i)[d];
    mine.push_back(leaf);
  }
  return support::all_gather_v<Leaf<Dim>>(mesh.comm(), mine);
}

/// The domain in cells of the deepest level, each holding the index of the leaf that covers it.
template <int Dim>
class Painting {
 public:
  static constexpr std::int32_t kHole = -1, kOutside = -2;

  Painting(const sfc::KeySpace<Dim>& space, const std::vector<Leaf<Dim>>& leaves) : deepest_(space.max_level()) {
    std::size_t cells = 1;
    for (int d = 0; d < Dim; ++d) periodic_[d] = space.is_periodic(d);
    for (int d = 0; d < Dim; ++d) cells *= extent_[d] = std::int64_t(space.root()[d]) << deepest_;
    cells_.assign(cells, kHole);
    for (std::size_t n = 0; n < leaves.size(); ++n) paint(leaves[n], static_cast<std::int32_t>(n));
    for (const std::int32_t n : cells_) holes_ += n == kHole;
  }
  [[nodiscard]] std::int64_t holes() const { return holes_; }
  [[nodiscard]] std::int64_t overlaps() const { return overlaps_; }
  [[nodiscard]] std::int64_t strays() const { return strays_; }
  [[nodiscard]] int deepest() const { return deepest_; }

  /// The leaf at a cell; kOutside beyond the domain, where it does not close on itself.
  [[nodiscard]] std::int32_t at(std::array<std::int64_t, Dim> c) const {
    std::size_t index = 0;
    for (int d = Dim - 1; d >= 0; --d) {
      if (periodic_[d]) c[d] = (c[d] + extent_[d]) % extent_[d];
      if (c[d] < 0 || c[d] >= extent_[d]) return kOutside;
      index = index * extent_[d] + c[d];
    }
    return cells_[index];
  }

  /// The leaves behind each of the 2^(Dim-1) quarters (halves in 2-D) of a leaf's face: all that touch it there.
  [[nodiscard]] std::vector<std::set<std::int32_t>> behind(const Leaf<Dim>& leaf, int face) const {
    const std::int64_t side = std::int64_t(1) << (deepest_ - leaf.level);
    std::vector<std::set<std::int32_t>> parts(1 << (Dim - 1));
    std::int64_t face_cells = 1;
    for (int d = 0; d + 1 < Dim; ++d) face_cells *= side;
    for (std::int64_t k = 0; k < face_cells; ++k) {
      std::array<std::int64_t, Dim> c{};
      std::int64_t rest = k;
      int part = 0, bit = 0;
      for (int d = 0; d < Dim; ++d) {
        c[d] = leaf.coord[d] * side;
        if (d == face / 2) {
          c[d] += face % 2 != 0 ? side : -1;
        } else {
          const std::int64_t along = rest % side;
          rest /= side;
          c[d] += along;
          part |= (2 * along >= side ? 1 : 0) << bit++;
        }
      }
      parts[part].insert(at(c));
    }
    // A face of one cell has one quarter; it stands for all.
    for (auto& p : parts)
      if (p.empty()) p = parts[0];
    return parts;
  }

 private:
  void paint(const Leaf<Dim>& leaf, std::int32_t n) {
    const std::int64_t side = std::int64_t(1) << (deepest_ - leaf.level);
    std::int64_t volume = 1;
    for (int d = 0; d < Dim; ++d) {
      volume *= side;
      if ((leaf.coord[d] + 1) * side > extent_[d]) {
        ++strays_;
        return;
      }
    }
    for (std::int64_t k = 0; k < volume; ++k) {
      std::size_t index = 0;
      std::int64_t rest = k;
      std::array<std::int64_t, Dim> c{};
      for (int d = 0; d < Dim; ++d, rest /= side) c[d] = leaf.coord[d] * side + rest % side;
      for (int d = Dim - 1; d >= 0; --d) index = index * extent_[d] + c[d];
      overlaps_ += cells_[index] != kHole;
      cells_[index] = n;
    }
  }

  int deepest_;
  std::array<std::int64_t, Dim> extent_{};
  std::array<bool, Dim> periodic_{};
  std::vector<std::int32_t> cells_;
  std::int64_t holes_ = 0, overlaps_ = 0, strays_ = 0;
};

/// A rank's leaves in order along the curve, apart from each other, and counted right by the mesh; and whether it knows
/// the ranks' intervals exactly when there are some.
template <int Dim>
void check_order(const Mesh<Dim>& mesh, const std::vector<Leaf<Dim>>& leaves) {
  const auto& space = mesh.space();
  EXPECT_EQ(mesh.global_size(), static_cast<std::int64_t>(leaves.size()));
  bool ascending = true;
  for (std::size_t n = 0; n + 1 < leaves.size(); ++n) {
    const bool apart = space.last(leaves[n].key) < space.first(leaves[n + 1].key);
    if (leaves[n].rank == leaves[n + 1].rank) {
      ASSERT_TRUE(apart) << "leaf " << n;
    }
    ascending = ascending && apart;
  }
  ASSERT_EQ(mesh.has_intervals(), ascending);
  std::vector<std::int64_t> sizes(mesh.comm().size(), 0);
  for (const auto& leaf : leaves) {
    ++sizes[leaf.rank];
    if (!ascending) continue;
    ASSERT_EQ(mesh.owner(leaf.key), leaf.rank);
    ASSERT_EQ(mesh.owner(space.first(leaf.key)), leaf.rank);
    ASSERT_EQ(mesh.owner(space.last(leaf.key)), leaf.rank);
  }
  std::int64_t before = 0;
  for (int r = 0; r < mesh.comm().size(); ++r) {
    EXPECT_EQ(mesh.rank_sizes()[r], sizes[r]) << "rank " << r;
    if (r < mesh.comm().rank()) before += sizes[r];
  }
  EXPECT_EQ(mesh.global_begin(), before);
}

/// One face's link against the painting; adds remote neighbours to `ghosts`.
template <int Dim>
void check_link(const Mesh<Dim>& mesh, const std::vector<Leaf<Dim>>& leaves, const Painting<Dim>& painting,
                std::int32_t i, int face, std::set<Key>& ghosts) {
  const auto& links = mesh.links(i);
  const Leaf<Dim>& leaf = leaves[mesh.global_begin() + i];
  SCOPED_TRACE("level " + std::to_string(leaf.level) + ", block " + std::to_string(i) + ", face " +
               std::to_string(face));
  const auto parts = painting.behind(leaf, face);
  for (std::size_t q = 0; q < parts.size(); ++q) {
    ASSERT_EQ(parts[q].size(), 1U) << "more than one level finer";
    const std::int32_t n = *parts[q].begin();
    if (n == Painting<Dim>::kOutside) {
      ASSERT_EQ(links.kind[face], FaceKind::boundary);
      continue;
    }
    ASSERT_GE(n, 0);
    const Leaf<Dim>& other = leaves[n];
    ASSERT_LE(std::abs(other.level - leaf.level), 1);
    const FaceKind kind = other.level == leaf.level  ? FaceKind::same
                          : other.level < leaf.level ? FaceKind::coarse
                                                     : FaceKind::fine;
    ASSERT_EQ(links.kind[face], kind);
    const std::int32_t index = links.index[face][kind == FaceKind::fine ? q : 0];
    ASSERT_GE(index, 0);
    ASSERT_LT(index, mesh.size() + mesh.ghost_count());
    ASSERT_EQ(mesh.key_of(index), other.key);
    ASSERT_EQ(index < mesh.size(), other.rank == leaf.rank);
    if (other.rank != leaf.rank) {
      ghosts.insert(other.key);
      EXPECT_TRUE(mesh.has_ghost_neighbor(i));
      continue;
    }
    // Symmetry: the other one names this block behind the opposite face, in the part where it lies.
    const auto& back = mesh.links(index);
    std::size_t part = 0;
    if (kind == FaceKind::coarse) {
      for (int d = 0, bit = 0; d < Dim; ++d)
        if (d != face / 2) part |= std::size_t(leaf.coord[d] & 1U) << bit++;
    }
    EXPECT_EQ(back.index[face ^ 1][part], i);
    EXPECT_EQ(back.kind[face ^ 1], kind == FaceKind::coarse ? FaceKind::fine
                                   : kind == FaceKind::fine ? FaceKind::coarse
                                                            : FaceKind::same);
  }
}

/// Ghosts are the remote blocks that touch local ones, and both sides of a border list them in one order.
template <int Dim>
void check_ghosts(const Mesh<Dim>& mesh, const std::vector<Leaf<Dim>>& leaves, const std::set<Key>& expected) {
  EXPECT_TRUE(std::ranges::equal(expected, std::set<Key>(mesh.ghost_keys().begin(), mesh.ghost_keys().end())));
  EXPECT_EQ(std::int64_t(expected.size()), mesh.ghost_count());
  std::map<Key, int> owners;
  for (const Leaf<Dim>& leaf : leaves) owners[leaf.key] = leaf.rank;
  std::vector<std::size_t> counts;
  std::vector<Key> sent, received;
  std::int32_t begin = 0;
  for (std::size_t k = 0; k < mesh.neighbors().size(); ++k) {
    const NeighborRank& neighbor = mesh.neighbors()[k];
    EXPECT_EQ(mesh.graph().neighbors()[k], neighbor.rank);
    EXPECT_EQ(neighbor.ghosts_begin, begin);
    EXPECT_GT(neighbor.ghosts_end, begin);
    begin = neighbor.ghosts_end;
    for (std::int32_t g = neighbor.ghosts_begin; g < neighbor.ghosts_end; ++g)
      EXPECT_EQ(owners.at(mesh.ghost_keys()[g]), neighbor.rank);
    EXPECT_TRUE(std::ranges::is_sorted(
        mesh.ghost_keys().subspan(neighbor.ghosts_begin, neighbor.ghosts_end - neighbor.ghosts_begin)));
    counts.push_back(neighbor.sends.size());
    EXPECT_TRUE(std::is_sorted(neighbor.sends.begin(), neighbor.sends.end()));
    for (const std::int32_t i : neighbor.sends) sent.push_back(mesh.keys()[i]);
  }
  EXPECT_EQ(begin, mesh.ghost_count());
  EXPECT_TRUE(mesh.graph().is_symmetric());
  mesh.graph().template exchange_v<Key>(sent, counts, received);
  EXPECT_TRUE(std::equal(received.begin(), received.end(), mesh.ghost_keys().begin(), mesh.ghost_keys().end()));
}

template <int Dim>
std::vector<int> ghost_owners(const Mesh<Dim>& mesh) {
  std::vector<int> owners;
  for (const NeighborRank& neighbor : mesh.neighbors()) owners.resize(neighbor.ghosts_end, neighbor.rank);
  return owners;
}

/// Everything the header of amr/mesh.hpp promises. Collective; expectations fail on the ranks that see the fault.
template <int Dim>
void check_mesh(const Mesh<Dim>& mesh) {
  const std::vector<Leaf<Dim>> leaves = gather_leaves(mesh);
  check_order(mesh, leaves);
  const Painting<Dim> painting(mesh.space(), leaves);
  EXPECT_EQ(painting.holes(), 0);
  EXPECT_EQ(painting.overlaps(), 0);
  EXPECT_EQ(painting.strays(), 0);
  std::set<Key> ghosts;
  std::vector<std::int32_t> border;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (int face = 0; face < 2 * Dim; ++face) check_link(mesh, leaves, painting, i, face, ghosts);
    bool remote = false;
    for (int face = 0; face < 2 * Dim; ++face)
      for (const std::int32_t j : mesh.links(i).index[face]) remote = remote || j >= mesh.size();
    EXPECT_EQ(mesh.has_ghost_neighbor(i), remote);
    const auto has = [&](FaceKind kind) { return std::ranges::count(mesh.links(i).kind, kind) > 0; };
    EXPECT_EQ(mesh.has_finer_neighbor(i), has(FaceKind::fine));
    EXPECT_EQ(mesh.touches_level(i), has(FaceKind::fine) || has(FaceKind::coarse));
    if (remote) border.push_back(i);
    if (::testing::Test::HasFatalFailure()) break;
  }
  EXPECT_TRUE(::testing::Test::HasFatalFailure() || std::ranges::equal(mesh.border(), border));
  check_ghosts(mesh, leaves, ghosts);
  EXPECT_EQ(mesh.owners(mesh.ghost_keys()), ghost_owners(mesh));
}

}  // namespace amrbench::amr::checks
