// Consensus rounds and the changes they lead to, on random refine/coarsen sequences: against plain rules on the list of
// all leaves, against the same sequence on one rank, and with all that must hold of a mesh after every pass.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <random>

#include "amr/adapt.hpp"
#include "amr/consensus.hpp"
#include "amr/field_store.hpp"
#include "amr/initial.hpp"
#include "amr/migrate.hpp"
#include "amr/random_mesh.hpp"
#include "amr/verify.hpp"
#include "sanitized.hpp"

namespace amrbench::amr {
namespace {

using support::Communicator;

/// What a sequence consists of; drawn from its seed alone.
struct Sequence {
  std::uint64_t seed;
  sfc::Curve curve;
  sfc::Coord<3> root;
  int deepest;
  int passes;
  checks::Odds odds;
  int variables;
};

Sequence make_sequence(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Sequence s{};
  s.seed = seed;
  s.curve = random() % 2 != 0 ? sfc::Curve::morton : sfc::Curve::hilbert;
  s.deepest = 1 + static_cast<int>(random() % 4);
  s.root = checks::random_root<3>(random, s.deepest == 4 ? 2 : s.deepest == 3 ? 4 : 12);
  s.passes = 3 + static_cast<int>(random() % 4);
  // Some seeds grow meshes, some shrink them, some do both.
  s.odds = {5 + random() % 30, 20 + random() % 60};
  s.variables = 1 + static_cast<int>(random() % 3);
  return s;
}

/// The mesh and the fields after a pass, as numbers that no partition changes.
struct Digest {
  std::uint64_t mesh;
  std::uint64_t fields;
  std::int64_t splits, merges, blocks;
  bool operator==(const Digest&) const = default;
};

/// A mesh with fields under way.
struct Run {
  Run(const Communicator& comm, const Sequence& s)
      : sequence(s), mesh(comm, {s.curve, s.root, s.deepest}), fields(kernels::make_layout({2, 4, 2}, s.variables)) {
    set_initial_fields(mesh, {s.variables, "random", s.seed}, fields);
  }
  [[nodiscard]] std::uint64_t draw(int pass) const { return support::mix64(sequence.seed, pass); }
  /// First passes only refine, or nothing would ever get deep.
  [[nodiscard]] std::vector<Change> marks(int pass) const {
    const checks::Odds odds = pass < sequence.deepest ? checks::Odds{sequence.odds.refine + 30, 0} : sequence.odds;
    return checks::random_marks(mesh, draw(pass), odds);
  }
  Consensus pass(int number) {
    const Consensus consensus = reach_consensus(mesh, marks(number));
    apply_changes(mesh, fields, consensus);
    return consensus;
  }
  [[nodiscard]] Digest digest(const Consensus& consensus) const {
    std::uint64_t hash = 0;
    for (const auto& stats : field_stats(mesh, fields)) hash = support::mix64(hash, stats.hash().value());
    return {mesh_digest(mesh), hash, consensus.splits, consensus.merges, mesh.global_size()};
  }
  Sequence sequence;
  Mesh<3> mesh;
  FieldStore fields;
};

constexpr int kMostPasses = 8;
using History = std::array<Digest, kMostPasses>;

/// The sequence on this rank alone.
History run_alone(const Sequence& s) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  Run run(self, s);
  History history{};
  for (int pass = 0; pass < s.passes; ++pass) history[pass] = run.digest(run.pass(pass));
  return history;
}

/// States after consensus, of all ranks, against the rules applied to all leaves by plain sweeps.
void check_against_rules(const Run& run, const std::vector<Change>& marks, const Consensus& consensus) {
  const auto leaves = checks::gather_leaves(run.mesh);
  const auto wanted = support::all_gather_v<Change>(run.mesh.comm(), marks);
  const auto agreed = support::all_gather_v<Change>(run.mesh.comm(), consensus.changes);
  ASSERT_EQ(agreed.size(), leaves.size());
  checks::Wishes<3> all;
  for (std::size_t n = 0; n < leaves.size(); ++n) all[{leaves[n].level, leaves[n].coord}] = wanted[n];
  checks::settle<3>(all);
  std::int64_t splits = 0, merging = 0;
  for (std::size_t n = 0; n < leaves.size(); ++n) {
    const Change expected = all.at({leaves[n].level, leaves[n].coord});
    ASSERT_EQ(static_cast<int>(agreed[n]), static_cast<int>(expected)) << "leaf " << n << ", level " << leaves[n].level;
    splits += expected == Change::refine;
    merging += expected == Change::coarsen;
  }
  EXPECT_EQ(consensus.splits, splits);
  EXPECT_EQ(consensus.merges * 8, merging);
}

/// Totals after a change against those before: splits are exact, merges round each sum of eight.
void check_totals(const Run& run, const std::vector<support::FieldStats>& before, std::int64_t merges) {
  const auto after = field_stats(run.mesh, run.fields);
  for (std::size_t v = 0; v < after.size(); ++v) {
    if (merges == 0) {
      EXPECT_TRUE(after[v].sum() == before[v].sum()) << "variable " << v;
    } else {
      const double total = before[v].sum().to_double();
      EXPECT_NEAR(after[v].sum().to_double(), total, 8 * 0x1p-53 * total) << "variable " << v;
    }
  }
}

/// One sequence on all ranks, between passes cut anew at random for half of them, scattered for a quarter.
void check_sequence(const Communicator& world, const Sequence& s, const History& expected) {
  SCOPED_TRACE("seed " + std::to_string(s.seed) + ", roots " + std::to_string(s.root[0]) + "x" +
               std::to_string(s.root[1]) + "x" + std::to_string(s.root[2]) + ", levels " + std::to_string(s.deepest));
  Run run(world, s);
  for (int pass = 0; pass < s.passes; ++pass) {
    SCOPED_TRACE("pass " + std::to_string(pass));
    const auto before = field_stats(run.mesh, run.fields);
    const std::vector<Change> marks = run.marks(pass);
    const Consensus consensus = reach_consensus(run.mesh, marks);
    check_against_rules(run, marks, consensus);
    apply_changes(run.mesh, run.fields, consensus);
    checks::check_mesh(run.mesh);
    check_totals(run, before, consensus.merges);
    EXPECT_TRUE(run.digest(consensus) == expected[pass]) << "not what one rank makes of it";
    if (s.seed % 2 != 0) {
      // Families are cut anywhere, ranks run empty, most blocks may gather on one.
      const auto cuts = checks::random_cuts(run.draw(100 + pass), run.mesh.global_size(), world.size());
      migrate(run.mesh, run.fields, cuts);
      EXPECT_TRUE(run.digest(consensus) == expected[pass]) << "changed by migration";
    } else if (s.seed % 4 == 0) {
      // Blocks anywhere, so that families are spread over ranks and neighbours know each other by the directory alone.
      const std::uint64_t draw = run.draw(100 + pass);
      std::vector<std::int32_t> to;
      for (const Key key : run.mesh.keys()) to.push_back(std::int32_t(support::mix64(draw, key) % world.size()));
      std::vector<Change> none(run.mesh.size(), Change::stay);
      migrate_to(run.mesh, run.fields, none, to);
      EXPECT_TRUE(run.digest(consensus) == expected[pass]) << "changed by scattering";
    }
  }
}

/// Sequences for this number of ranks: 250 each in CI, so that ranks 1, 2, 3 and 5 together make 1,000.
int sequence_count() {
  const char* full = std::getenv("AMRBENCH_FULL");
  return full != nullptr && std::string(full) == "1" ? 1000 : tests::cases(250, 60);
}

TEST(Consensus, RandomSequencesFollowTheRulesAndMatchOneRank) {
  const Communicator world = Communicator::world();
  const int count = sequence_count(), p = world.size();
  const std::uint64_t first = 1'000'000ULL * static_cast<std::uint64_t>(p);
  // Each rank makes its share of the references; then all see all of them.
  std::vector<History> mine;
  for (int k = world.rank(); k < count; k += p) mine.push_back(run_alone(make_sequence(first + k)));
  const auto sizes = support::all_gather(world, mine.size());
  const auto shares = support::all_gather_v<History>(world, mine);
  std::vector<std::size_t> begin{0};
  for (const std::size_t n : sizes) begin.push_back(begin.back() + n);
  for (int k = 0; k < count; ++k) {
    check_sequence(world, make_sequence(first + k), shares[begin[k % p] + k / p]);
    if (!support::all_of_ranks(world, !HasFailure())) break;  // one seed is enough to look at
  }
}

TEST(Consensus, SequencesSplitMergeAndReachTheDeepestLevel) {
  // Guards the test above against becoming empty: over some seeds everything must happen.
  std::int64_t splits = 0, merges = 0, largest = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const Digest& d : run_alone(make_sequence(seed))) {
      splits += d.splits;
      merges += d.merges;
      largest = std::max(largest, d.blocks);
    }
  }
  EXPECT_GT(splits, 1000);
  EXPECT_GT(merges, 500);
  EXPECT_GT(largest, 300);
}

/// Rounds in two dimensions, where there is no adapt: states against the rules, blocks applied by the reference.
TEST(Consensus, FollowsTheRulesInTwoDimensions) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int deepest = 1 + static_cast<int>(random() % 5);
    const auto root = checks::random_root<2>(random, 12);
    sfc::KeySpace<2> space(seed % 2 != 0 ? sfc::Curve::hilbert : sfc::Curve::morton, root, deepest);
    checks::Closing<2> closing;
    if (seed / 2 % 2 != 0) closing = checks::random_closing<2>(root, seed / 4);
    space.set_periodic(closing.axes);
    Mesh<2> mesh(world, space);
    auto all = checks::root_leaves<2>(root);
    for (int pass = 0; pass < 6; ++pass) {
      const std::uint64_t draw = random();
      const checks::Odds odds = pass < 3 ? checks::Odds{50, 0} : checks::Odds{20, 60};
      const Consensus consensus = reach_consensus(mesh, checks::random_marks(mesh, draw, odds));
      for (auto& [place, state] : all) state = checks::random_wish<2>(draw, odds, deepest, place);
      checks::settle<2>(all, closing);
      for (std::int32_t i = 0; i < mesh.size(); ++i) EXPECT_EQ(consensus.changes[i], all.at(checks::place_of(mesh, i)));
      all = checks::apply<2>(all);
      const auto keys = checks::keys_of<2>(space, all);
      const auto cuts = checks::random_cuts(draw, static_cast<std::int64_t>(keys.size()), world.size());
      mesh.set_blocks({keys.begin() + cuts[world.rank()], keys.begin() + cuts[world.rank() + 1]});
      checks::check_mesh(mesh);
    }
  }
}

/// Meshes around a sphere that moves, on `threads` threads: a digest a pass. Marks are looked up where they can be.
std::vector<std::uint64_t> sphere_meshes(const Communicator& world, int threads) {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(threads);
  MeshConfig config;
  config.root = {4, 4, 4};
  config.max_level = 4;
  std::vector<Object> objects = make_objects(
      std::vector{ObjectConfig{.center = {0.5, 0.47, 0.52}, .velocity = {0.01, 0, 0}, .size = {0.4, 0.4, 0.4}}});
  Mesh<3> mesh(world, {sfc::Curve::morton, {4, 4, 4}, config.max_level});
  FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
  set_initial_fields(mesh, {1, "random", 1}, fields);
  std::vector<std::uint64_t> digests;
  std::int64_t looked_up = 0;
  for (int step = 0; step < 3; ++step) {
    std::vector<Change> marks = mark_blocks(mesh, config, objects);
    for (int pass = 0; pass < config.max_level; ++pass) {
      const Consensus consensus = reach_consensus(mesh, marks);
      if (consensus.splits + consensus.merges == 0) break;  // the mesh stays, and its places before are older
      apply_changes(mesh, fields, consensus);
      for (std::int32_t i = 0; i < mesh.size(); ++i) looked_up += mesh.place_before(i) != Dictionary::kNone;
      marks = mark_new_blocks(mesh, config, objects, marks);
      EXPECT_EQ(marks, mark_blocks(mesh, config, objects)) << "step " << step << ", pass " << pass;
      digests.push_back(mesh_digest(mesh));
      // Cut anew between passes, as after a refinement: blocks have moved, so all are marked anew.
      if (pass % 2 == 0) continue;
      const std::int64_t n = mesh.global_size(), ranks = world.size();
      std::vector<std::int64_t> cuts;
      for (std::int64_t r = 0; r <= ranks; ++r) cuts.push_back(n * r / ranks);
      migrate(mesh, fields, cuts);
      marks = mark_blocks(mesh, config, objects);
    }
    move_objects(objects, 1.0);
  }
  EXPECT_GT(support::all_sum(world, looked_up), 10'000);
  EXPECT_GT(mesh.global_size(), 10'000);
  checks::check_mesh(mesh);
  omp_set_num_threads(threads_before);
  return digests;
}

TEST(Consensus, ManyBlocksGiveTheSameMeshOnOneThreadAndSeveral) {
  const Communicator world = Communicator::world();
  EXPECT_EQ(sphere_meshes(world, 4), sphere_meshes(world, 1));
}

}  // namespace
}  // namespace amrbench::amr
