// The distributed mesh on random leaves, random roots, both curves, random cuts between ranks, empty ranks among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "amr/mesh.hpp"
#include "amr/random_mesh.hpp"
#include "support/error.hpp"
#include "support/field_stats.hpp"

namespace amrbench::amr {
namespace {

using sfc::Curve;
using support::Communicator;

/// All root cells in curve order, by sorting.
template <int Dim>
std::vector<Key> all_roots(const sfc::KeySpace<Dim>& space) {
  return checks::keys_of<Dim>(space, checks::root_leaves<Dim>(space.root()));
}

template <int Dim>
void check_root_keys(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int repeat = 0; repeat < 60; ++repeat) {
    const auto root = checks::random_root<Dim>(random, 120);
    const sfc::KeySpace<Dim> space(repeat % 2 != 0 ? Curve::morton : Curve::hilbert, root, repeat % 5);
    const std::vector<Key> all = all_roots(space);
    const auto n = static_cast<std::int64_t>(all.size());
    EXPECT_EQ(root_keys<Dim>(space, 0, n), all);
    for (int cut = 0; cut < 10; ++cut) {
      const std::int64_t a = static_cast<std::int64_t>(random() % (n + 1)), b = a + random() % (n + 1 - a);
      const std::vector<Key> some = root_keys<Dim>(space, a, b);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + a, all.begin() + b)) << a << " to " << b;
    }
  }
}

TEST(RootKeys, AreTheSortedKeysOfTheRootGrid) {
  check_root_keys<2>(11);
  check_root_keys<3>(12);
}

TEST(RootKeys, OfLongThinGridsNeedNoList) {
  // 2^20 root cells in a row: only the range asked for is visited.
  const sfc::KeySpace<3> space(Curve::hilbert, {1U << 20, 1, 1}, 0);
  const auto keys = root_keys<3>(space, 1'000'000, 1'000'010);
  ASSERT_EQ(keys.size(), 10U);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_EQ(root_keys<3>(space, 999'995, 1'000'005)[9], keys[4]);
}

template <int Dim>
void check_root_meshes(const Communicator& world, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int repeat = 0; repeat < 20; ++repeat) {
    // From one root cell (more ranks than blocks) to a hundred.
    const auto root = checks::random_root<Dim>(random, repeat % 4 == 0 ? 2 : 100);
    sfc::KeySpace<Dim> space(repeat % 2 != 0 ? Curve::morton : Curve::hilbert, root, repeat % 3);
    if (repeat / 2 % 2 != 0) space.set_periodic(checks::random_closing<Dim>(root, random()).axes);
    const Mesh<Dim> mesh(world, space);
    const std::vector<Key> all = all_roots(space);
    const std::int64_t p = world.size(), n = static_cast<std::int64_t>(all.size());
    EXPECT_EQ(mesh.global_size(), n);
    EXPECT_LE(mesh.size(), (n + p - 1) / p);
    EXPECT_GE(mesh.size(), n / p);
    EXPECT_TRUE(std::equal(mesh.keys().begin(), mesh.keys().end(), all.begin() + mesh.global_begin()));
    checks::check_mesh(mesh);
  }
}

TEST(Mesh, RootCellsAreDealtOutEvenly) {
  const Communicator world = Communicator::world();
  check_root_meshes<2>(world, 21);
  check_root_meshes<3>(world, 22);
}

/// This rank's share of `keys` under `cuts`.
std::vector<Key> share(const std::vector<Key>& keys, const std::vector<std::int64_t>& cuts, int rank) {
  return {keys.begin() + cuts[rank], keys.begin() + cuts[rank + 1]};
}

/// This rank's share when leaves go to ranks at random, those of one cell of level `together` to one.
template <int Dim>
std::vector<Key> scattered(const sfc::KeySpace<Dim>& space, const std::vector<Key>& keys, std::uint64_t draw,
                           int together, const Communicator& world) {
  std::vector<Key> mine;
  for (const Key key : keys) {
    Key clump = key;
    while (space.level(clump) > together) clump = space.parent(clump);
    if (support::mix64(draw, clump) % world.size() == std::uint64_t(world.rank())) mine.push_back(key);
  }
  return mine;
}

/// This rank's share where ranks begin at the leaves `cuts` of `before`, which `keys` come from.
template <int Dim>
std::vector<Key> share_of_change(const sfc::KeySpace<Dim>& space, const std::vector<Key>& keys,
                                 const std::vector<Key>& before, const std::vector<std::int64_t>& cuts, int rank) {
  const auto begin = [&](int r) {
    const auto at = static_cast<std::size_t>(cuts[r]);
    return r == 0 ? 0 : at < before.size() ? space.first(before[at]) : space.kEnd;
  };
  std::vector<Key> mine;
  for (const Key key : keys)
    if (space.first(key) >= begin(rank) && space.first(key) < begin(rank + 1)) mine.push_back(key);
  return mine;
}

/// set_blocks, and what the mesh then says of places before.
template <int Dim>
void set_and_check(Mesh<Dim>& mesh, const std::vector<Key>& keys, Settle when = Settle::now) {
  const std::vector<Key> before(mesh.keys().begin(), mesh.keys().end());
  std::vector<Key> list = mesh.spare_keys();
  list.assign(keys.begin(), keys.end());
  mesh.set_blocks(std::move(list), {}, when);
  EXPECT_TRUE(std::ranges::equal(mesh.keys(), keys));
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto at = std::lower_bound(before.begin(), before.end(), mesh.keys()[i]);
    const bool was_here = at != before.end() && *at == mesh.keys()[i];
    EXPECT_EQ(mesh.place_before(i), was_here ? at - before.begin() : Dictionary::kNone);
  }
  checks::check_mesh(mesh);
}

template <int Dim>
void check_random_meshes(const Communicator& world, std::uint64_t seed, int repeats) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const int deepest = 1 + static_cast<int>(random() % 4);
    const auto root = checks::random_root<Dim>(random, deepest == 4 ? 4 : 12);
    sfc::KeySpace<Dim> space(repeat % 2 != 0 ? Curve::morton : Curve::hilbert, root, deepest);
    checks::Closing<Dim> closing;
    if (repeat / 2 % 2 != 0) closing = checks::random_closing<Dim>(root, random());
    space.set_periodic(closing.axes);
    Mesh<Dim> mesh(world, space);
    auto leaves = checks::root_leaves<Dim>(root);
    for (int pass = 0; pass < 2 + deepest; ++pass) {
      const std::uint64_t draw = random();
      SCOPED_TRACE("repeat " + std::to_string(repeat) + ", pass " + std::to_string(pass));
      leaves = checks::random_refinement<Dim>(leaves, draw, {30, 40}, deepest, closing);
      std::vector<Key> keys = checks::keys_of<Dim>(space, leaves);
      const auto cuts = checks::random_cuts(draw, static_cast<std::int64_t>(keys.size()), world.size());
      set_and_check(mesh, share(keys, cuts, world.rank()));
      EXPECT_TRUE(mesh.has_intervals());
      for (const checks::Odds odds : {checks::Odds{2, 2}, checks::Odds{1, 5}, checks::Odds{0, 0},
                                      checks::Odds{3, 1}}) {  // few blocks change, links move later
        leaves = checks::random_refinement<Dim>(leaves, random(), odds, deepest, closing);
        const std::vector<Key> changed = checks::keys_of<Dim>(space, leaves);
        set_and_check(mesh, share_of_change(space, changed, keys, cuts, world.rank()), Settle::later);
      }
      mesh.settle();
      checks::check_mesh(mesh);
      keys = checks::keys_of<Dim>(space, leaves);
      const int together = pass % (deepest + 1);
      set_and_check(mesh, scattered(space, keys, draw, together, world));
    }
  }
}

TEST(Mesh, LinksOwnersAndGhostsOfRandomMeshes) {
  const Communicator world = Communicator::world();
  check_random_meshes<2>(world, 31, 25);
  check_random_meshes<3>(world, 32, 12);
}

/// Throws or not on all ranks alike.
bool refuses(Mesh<3>& mesh, const std::vector<Key>& keys) {
  const std::int64_t n = static_cast<std::int64_t>(keys.size()), r = mesh.comm().rank(), p = mesh.comm().size();
  try {
    mesh.set_blocks({keys.begin() + n * r / p, keys.begin() + n * (r + 1) / p});
  } catch (const support::RunError& error) {
    EXPECT_NE(std::string(error.what()).find("neighbour"), std::string::npos) << error.what();
    return true;
  }
  return false;
}

TEST(Mesh, RefusesLeavesMoreThanOneLevelApartAndHoles) {
  const Communicator world = Communicator::world();
  const sfc::KeySpace<3> space(Curve::hilbert, {2, 1, 1}, 3);
  Mesh<3> mesh(world, space);
  // Split one root cell, then the child of it that touches the other root cell.
  std::vector<Key> keys{space.key(0, {1, 0, 0})};
  for (std::uint32_t c = 0; c < 8; ++c) keys.push_back(space.key(1, {c & 1, c >> 1 & 1, c >> 2}));
  std::sort(keys.begin(), keys.end());
  EXPECT_FALSE(refuses(mesh, keys));
  checks::check_mesh(mesh);
  std::vector<Key> holed = keys;
  holed.erase(std::find(holed.begin(), holed.end(), space.key(1, {1, 0, 1})));
  EXPECT_TRUE(refuses(mesh, holed));
  std::vector<Key> steep = keys;
  const Key split = space.key(1, {1, 0, 0});
  steep.erase(std::find(steep.begin(), steep.end(), split));
  for (int child = 0; child < 8; ++child) steep.push_back(space.child(split, child));
  std::sort(steep.begin(), steep.end());
  EXPECT_TRUE(refuses(mesh, steep));
  // A refusal leaves nothing behind that the next good mesh would notice.
  EXPECT_FALSE(refuses(mesh, keys));
  checks::check_mesh(mesh);
}

TEST(Mesh, DescendantsOfALeafBelongToItsOwner) {
  const Communicator world = Communicator::world();
  const sfc::KeySpace<3> space(Curve::morton, {3, 2, 5}, 6);
  const Mesh<3> mesh(world, space);
  std::mt19937_64 random(41);
  for (const auto& leaf : checks::gather_leaves(mesh)) {
    Key key = leaf.key;
    for (int level = 0; level < 6; ++level) {
      key = space.child(key, static_cast<int>(random() % 8));
      ASSERT_EQ(mesh.owner(key), leaf.rank);
    }
  }
}

}  // namespace
}  // namespace amrbench::amr
