// Weights go where blocks go: through migration by cuts and to any rank, ahead of changes, by splits and by merges.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "amr/adapt.hpp"
#include "amr/field_store.hpp"
#include "amr/migrate.hpp"
#include "amr/random_mesh.hpp"

namespace amrbench::loadbalance {
namespace {

using amr::FieldStore;
using amr::Key;
using amr::Mesh;
using support::Communicator;

using Weights = std::map<Key, double>;

/// Of all ranks.
Weights weights_of(const Mesh<3>& mesh) {
  struct Entry {
    Key key;
    double weight;
  };
  std::vector<Entry> mine;
  for (std::int32_t i = 0; i < mesh.size(); ++i) mine.push_back({mesh.keys()[i], mesh.weights()[i]});
  Weights all;
  for (const Entry& e : support::all_gather_v<Entry>(mesh.comm(), mine)) all[e.key] = e.weight;
  return all;
}

/// What the blocks of a mesh weigh by what those before it did.
void expect_inherited(const Mesh<3>& mesh, const Weights& before) {
  ASSERT_EQ(mesh.weights().size(), mesh.keys().size());
  const auto& space = mesh.space();
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const Key key = mesh.keys()[i];
    double expected = 0.0;
    if (const auto same = before.find(key); same != before.end()) {
      expected = same->second;
    } else if (const auto parent = space.level(key) > 0 ? before.find(space.parent(key)) : before.end();
               parent != before.end()) {
      expected = parent->second;
    } else {
      for (int child = 0; child < 8; ++child) expected += before.at(space.child(key, child)) / 8;
    }
    ASSERT_EQ(mesh.weights()[i], expected) << "block " << i << " of level " << mesh.level(i);
  }
}

TEST(Weights, FollowTheirBlocks) {
  const Communicator world = Communicator::world();
  std::int64_t splits = 0, merges = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto curve = seed % 2 != 0 ? sfc::Curve::morton : sfc::Curve::hilbert;
    Mesh<3> mesh(world, {curve, {3, 2, 2}, 3});
    for (const double w : mesh.weights()) EXPECT_EQ(w, 1.0);
    FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
    fields.reset(mesh.size());
    std::vector<double> drawn;
    for (const Key key : mesh.keys()) drawn.push_back(static_cast<double>(support::mix64(seed, key) >> 11) * 0x1p-40);
    mesh.set_weights(drawn);
    for (int round = 0; round < 6; ++round) {
      amr::Consensus consensus =
          amr::reach_consensus(mesh, amr::checks::random_marks(mesh, seed * 100 + round, {25, 60}));
      splits += consensus.splits;
      merges += consensus.merges;
      const std::uint64_t draw = random();
      Weights before = weights_of(mesh);
      switch (draw % 3) {  // ahead of the changes
        case 0: {
          const auto cuts = amr::checks::random_cuts(draw, mesh.global_size(), world.size());
          amr::migrate(mesh, fields, consensus.changes, cuts);
          break;
        }
        case 1: {
          std::vector<std::int32_t> to;
          for (const Key key : mesh.keys()) to.push_back(std::int32_t(support::mix64(draw, key) % world.size()));
          amr::migrate_to(mesh, fields, consensus.changes, to);
          break;
        }
        default:
          break;
      }
      expect_inherited(mesh, before);
      amr::apply_changes(mesh, fields, consensus);
      expect_inherited(mesh, before);
      before = weights_of(mesh);
      amr::migrate(mesh, fields, amr::checks::random_cuts(draw + 1, mesh.global_size(), world.size()));
      expect_inherited(mesh, before);
    }
  }
  EXPECT_GT(splits, 50);
  EXPECT_GT(merges, 20);
}

}  // namespace
}  // namespace amrbench::loadbalance
