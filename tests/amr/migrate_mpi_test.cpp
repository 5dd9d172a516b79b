// Blocks on their way between ranks, in lists long enough for several threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <random>

#include "amr/migrate.hpp"
#include "amr/random_field.hpp"

namespace amrbench::amr {
namespace {

double weight_of(Key key) {
  return 1.0 + static_cast<double>(support::mix64(17, key) % 1000);
}
Change change_of(Key key) {
  return static_cast<Change>(static_cast<int>(support::mix64(5, key) % 3) - 1);
}

/// A rank for each of n blocks in curve order: stretches of 1 to `longest` blocks go to one rank.
std::vector<std::int32_t> draw_ranks(std::mt19937_64& random, std::int64_t n, std::int64_t longest, int ranks) {
  std::vector<std::int32_t> to;
  while (static_cast<std::int64_t>(to.size()) < n) {
    const auto rank = static_cast<std::int32_t>(random() % ranks);
    const std::int64_t length = 1 + static_cast<std::int64_t>(random() % longest);
    to.insert(to.end(), std::min(length, n - static_cast<std::int64_t>(to.size())), rank);
  }
  return to;
}

/// Has this rank just the blocks `keys`, each with its own weight, change and values?
void check(const Mesh<3>& mesh, FieldStore& fields, const std::vector<Change>& changes, const std::vector<Key>& keys,
           std::uint64_t seed) {
  ASSERT_EQ(std::vector<Key>(mesh.keys().begin(), mesh.keys().end()), keys);
  ASSERT_EQ(changes.size(), keys.size());
  int wrong = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
    wrong += mesh.weights()[i] != weight_of(keys[i]) || changes[i] != change_of(keys[i]) ? 1 : 0;
  FieldStore expected(fields.layout());
  checks::fill(mesh, expected, seed);
  checks::for_cells(mesh, fields.layout(), [&](std::int32_t i, int, std::size_t at, const checks::Cell&) {
    wrong += fields.block(i)[at] != expected.block(i)[at] ? 1 : 0;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Migrate, LongListsArriveWhole) {
  const support::Communicator world = support::Communicator::world();
  const int me = world.rank(), before = omp_get_max_threads();
  omp_set_num_threads(3);
  // Stretches shorter and longer than what a thread copies at once.
  for (const std::int64_t longest : {3, 900, 9000, 60000}) {
    const std::uint64_t seed = 40 + static_cast<std::uint64_t>(longest);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const sfc::KeySpace<3> space(sfc::Curve::hilbert, {32, 32, 40}, 1);
    Mesh<3> mesh(world, space);
    FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
    checks::fill(mesh, fields, seed);
    const std::vector<Key> all = root_keys<3>(space, 0, mesh.global_size());
    std::vector<double> weights;
    std::vector<Change> changes;
    for (const Key key : mesh.keys()) {
      weights.push_back(weight_of(key));
      changes.push_back(change_of(key));
    }
    mesh.set_weights(weights);
    std::vector<std::int32_t> owner(all.size());  // of each block, in curve order
    for (std::size_t p = 0; p < all.size(); ++p) owner[p] = mesh.owner(all[p]);
    const auto mine = [&] {
      std::vector<Key> keys;
      for (std::size_t p = 0; p < all.size(); ++p)
        if (owner[p] == me) keys.push_back(all[p]);
      return keys;
    };
    const auto send = [&](const std::vector<std::int32_t>& to) {
      std::vector<std::int32_t> destinations;
      for (std::size_t p = 0; p < all.size(); ++p)
        if (owner[p] == me) destinations.push_back(to[p]);
      migrate_to(mesh, fields, changes, destinations);
      owner = to;
      check(mesh, fields, changes, mine(), seed);
    };
    for (int move = 0; move < 3; ++move) send(draw_ranks(random, mesh.global_size(), longest, world.size()));
    // Back to intervals, of which the last rank's is the longest; then to even ones.
    std::vector<std::int64_t> cuts(world.size() + 1, mesh.global_size());
    for (int r = 0; r < world.size(); ++r) cuts[r] = world.size() == 1 ? 0 : mesh.global_size() / 2 * r / world.size();
    std::vector<std::int32_t> home;
    for (std::size_t p = 0; p < all.size(); ++p) {
      int r = 0;
      while (cuts[r + 1] <= static_cast<std::int64_t>(p)) ++r;
      home.push_back(r);
    }
    send(home);
    for (int r = 0; r < world.size(); ++r) cuts[r] = mesh.global_size() * r / world.size();
    migrate(mesh, fields, changes, cuts);
    check(mesh, fields, changes, {all.begin() + cuts[me], all.begin() + cuts[me + 1]}, seed);
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace amrbench::amr
