// Dynamic trees over ranks: the points of a plain reference, the parts of one rank, the leaves of a tree that knows no
// ranks, the invariants.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>

#include "partitioners/dynamic/ranks_tree.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"
#include "tests/partitioners/point_sets.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;
using Place = std::vector<double>;

/// A batch, the same on every rank, of which each rank passes its share.
struct SharedBatch {
  int dim = 3;
  std::vector<std::uint64_t> ids;
  std::vector<double> x, to;
  std::vector<std::uint64_t> weights{};  ///< of points to be put into a weighted tree

  void add(std::uint64_t id, const Place& at) {
    ids.push_back(id);
    x.insert(x.end(), at.begin(), at.end());
  }
  [[nodiscard]] Place at(const std::vector<double>& from, std::size_t i) const {
    const auto d = static_cast<std::ptrdiff_t>(dim), first = static_cast<std::ptrdiff_t>(i) * d;
    return {from.begin() + first, from.begin() + first + d};
  }
  [[nodiscard]] PointView<double> slice(const std::vector<double>& from, std::size_t begin, std::size_t end) const {
    const auto d = static_cast<std::size_t>(dim);
    return {std::span(from).subspan(begin * d, (end - begin) * d), dim};
  }
  [[nodiscard]] PointBatch slice(std::size_t begin, std::size_t end) const {
    return {std::span(ids).subspan(begin, end - begin), slice(x, begin, end),
            weights.empty() ? std::span<const std::uint64_t>{} : std::span(weights).subspan(begin, end - begin)};
  }
};

/// The tree over all ranks beside that of this rank alone and a plain one, and what all must hold.
struct Pair {
  Pair(const Communicator& world, const Communicator& alone, int dimension, const RanksTreeOptions& options)
      : comm(world),
        dim(dimension),
        weighted(options.tree.weighted),
        spread(world, dimension, options),
        whole(alone, dimension, options),
        plain(make_dynamic_tree(dimension, options.tree)) {}

  /// A point weighs what its identity says, so weights follow points wherever these go.
  [[nodiscard]] std::uint64_t weight(std::uint64_t id) const { return weighted ? id * id % 17 : 1; }

  /// Shares of a batch: by ranks, or all on the last one.
  std::pair<std::size_t, std::size_t> mine(std::size_t n, bool even) const {
    const auto ranks = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
    if (!even) return rank + 1 == ranks ? std::pair{std::size_t{0}, n} : std::pair{n, n};
    return {n * rank / ranks, n * (rank + 1) / ranks};
  }

  void insert(SharedBatch b, bool even) {
    if (weighted)
      for (const std::uint64_t id : b.ids) b.weights.push_back(weight(id));
    const auto [begin, end] = mine(b.ids.size(), even);
    spread.insert(b.slice(begin, end));
    whole.insert(b.slice(0, b.ids.size()));
    const bool first = plain->size() == 0;
    plain->insert(b.slice(0, b.ids.size()));
    if (first) plain->rebuild();
    for (std::size_t i = 0; i < b.ids.size(); ++i) held.emplace(b.ids[i], b.at(b.x, i));
  }

  void erase(const SharedBatch& b, bool even) {
    const auto [begin, end] = mine(b.ids.size(), even);
    std::size_t expected = 0;
    for (std::size_t i = 0; i < b.ids.size(); ++i) expected += take(b.ids[i], b.at(b.x, i)) ? 1U : 0U;
    EXPECT_EQ(spread.erase(b.slice(begin, end)), expected);
    EXPECT_EQ(whole.erase(b.slice(0, b.ids.size())), expected);
    EXPECT_EQ(plain->erase(b.slice(0, b.ids.size())), expected);
  }

  void move(const SharedBatch& b, bool even) {
    const auto [begin, end] = mine(b.ids.size(), even);
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < b.ids.size(); ++i)
      if (take(b.ids[i], b.at(b.x, i))) taken.push_back(i);
    for (const std::size_t i : taken) held.emplace(b.ids[i], b.at(b.to, i));
    EXPECT_EQ(spread.move(b.slice(begin, end), b.slice(b.to, begin, end)), taken.size());
    EXPECT_EQ(whole.move(b.slice(0, b.ids.size()), b.slice(b.to, 0, b.ids.size())), taken.size());
    EXPECT_EQ(plain->move(b.slice(0, b.ids.size()), b.slice(b.to, 0, b.ids.size())), taken.size());
  }

  void adjust() {
    const Adjustments a = spread.adjust(), b = plain->adjust();
    ASSERT_EQ(a, whole.adjust());
    ASSERT_EQ(a, b);
  }

  void rebuild() {
    spread.rebuild();
    whole.rebuild();
    plain->rebuild();
  }

  bool take(std::uint64_t id, const Place& at) {
    const auto [first, last] = held.equal_range(id);
    const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == at; });
    if (found == last) return false;
    held.erase(found);
    return true;
  }

  const Communicator& comm;
  int dim;
  bool weighted;
  DynamicRanksTree spread, whole;
  std::unique_ptr<DynamicTree> plain;
  std::multimap<std::uint64_t, Place> held;
};

struct IdPart {
  std::uint64_t id;
  std::int32_t part;
  auto operator<=>(const IdPart&) const = default;
};

std::vector<IdPart> sorted_parts(const RankParts& parts) {
  std::vector<IdPart> result;
  for (std::size_t i = 0; i < parts.ids.size(); ++i) result.push_back({parts.ids[i], parts.part[i]});
  std::sort(result.begin(), result.end());
  return result;
}

/// Points of each leaf, leaves in any order.
std::vector<std::vector<std::uint64_t>> plain_leaves(DynamicTree& tree) {
  std::vector<std::vector<std::uint64_t>> leaves;
  for (const std::uint32_t leaf : tree.leaves(TreeCurve::morton)) {
    tree.append_ids(leaf, leaves.emplace_back());
    std::sort(leaves.back().begin(), leaves.back().end());
  }
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

/// The same of a tree over ranks: as many parts as leaves, along cuts that take one each.
std::vector<std::vector<std::uint64_t>> spread_leaves(const Communicator& comm, DynamicRanksTree& tree) {
  std::vector<std::int64_t> cuts(tree.leaf_count() + 1);
  std::iota(cuts.begin(), cuts.end(), std::int64_t{0});
  const RankParts parts = tree.parts_here(cuts);
  const auto ids = support::all_gather_v<std::uint64_t>(comm, parts.ids);
  const auto part = support::all_gather_v<std::int32_t>(comm, parts.part);
  std::vector<std::vector<std::uint64_t>> leaves(tree.leaf_count());
  for (std::size_t i = 0; i < ids.size(); ++i) leaves[static_cast<std::size_t>(part[i])].push_back(ids[i]);
  for (auto& leaf : leaves) std::sort(leaf.begin(), leaf.end());
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

/// Nodes, leaves and, along Morton's curve, parts are those of a tree that knows no ranks.
void expect_plain(Pair& p, const RanksTreeOptions& options, std::span<const std::int64_t> cuts, SliceRule rule,
                  const std::vector<IdPart>& all) {
  ASSERT_EQ(p.spread.depth(), p.plain->depth());
  ASSERT_EQ(spread_leaves(p.comm, p.spread), plain_leaves(*p.plain));
  if (options.curve != TreeCurve::morton) return;
  const auto plain_cuts = p.plain->part_cuts(TreeCurve::morton, static_cast<int>(cuts.size()) - 1, rule);
  ASSERT_EQ(std::vector<std::int64_t>(cuts.begin(), cuts.end()), plain_cuts);
  std::vector<std::int32_t> part(p.held.empty() ? 0 : p.held.rbegin()->first + 1);
  p.plain->write_parts(TreeCurve::morton, plain_cuts, part);
  for (const IdPart& point : all) {
    if (p.held.count(point.id) == 1) {
      ASSERT_EQ(point.part, part[point.id]);
    }
  }
}

void expect_alike(Pair& p, const RanksTreeOptions& options, bool bounded) {
  ASSERT_EQ(p.spread.size(), p.held.size());
  ASSERT_EQ(p.whole.size(), p.held.size());
  ASSERT_EQ(support::all_sum(p.comm, p.spread.points_here()), p.held.size());
  ASSERT_EQ(p.spread.leaf_count(), p.whole.leaf_count());
  ASSERT_EQ(p.spread.depth(), p.whole.depth());
  ASSERT_EQ(p.spread.remakes(), p.whole.remakes());
  ASSERT_EQ(p.spread.domains(), p.whole.domains());
  if (bounded) {
    ASSERT_LE(p.spread.depth(), median_levels(p.held.size(), options.tree.bucket) + 2);
  }
  for (const SliceRule rule : {SliceRule::midpoint, SliceRule::exact}) {
    const int parts = 7;
    const auto cuts = p.spread.part_cuts(parts, rule);
    ASSERT_EQ(cuts, p.whole.part_cuts(parts, rule));
    const std::vector<IdPart> here = sorted_parts(p.spread.parts_here(cuts));
    std::vector<IdPart> all = support::all_gather_v<IdPart>(p.comm, here);
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all, sorted_parts(p.whole.parts_here(cuts)));
    ASSERT_NO_FATAL_FAILURE(expect_plain(p, options, cuts, rule, all));
    std::vector<std::uint64_t> load(parts);
    std::uint64_t total = 0, heaviest = 0;
    auto next = p.held.begin();
    for (const IdPart& point : all) {
      ASSERT_EQ(point.id, (next++)->first);
      load[static_cast<std::size_t>(point.part)] += p.weight(point.id);
      total += p.weight(point.id);
      heaviest = std::max(heaviest, p.weight(point.id));
    }
    if (bounded) {
      ASSERT_LE(*std::max_element(load.begin(), load.end()), total / parts + 1 + options.tree.bucket * heaviest);
    }
  }
}

SharedBatch picked(const std::multimap<std::uint64_t, Place>& held, int dim, std::size_t wanted, Kind kind,
                   std::mt19937_64& rng) {
  SharedBatch batch{dim, {}, {}, {}};
  for (const auto& [id, at] : held) {
    if (rng() % held.size() >= wanted) continue;
    batch.add(id, at);
    if (rng() % 8 == 0) batch.add(id + 1'000'000, at);  // is not there
  }
  batch.to = make_points<double>(kind, batch.ids.size(), dim, rng());
  return batch;
}

TEST(DynamicRanksTree, EqualsOneRankAfterEachRandomBatch) {
  const Communicator comm = Communicator::world();
  const Communicator alone = comm.split(comm.rank());
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(24, 8)); seed <= last; ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kind = kKinds[seed % std::size(kKinds)];
    const int dims[] = {2, 3, 3, 5};
    const int dim = dims[rng() % 4];
    RanksTreeOptions options;
    options.tree.bucket = 1 + rng() % 30;
    options.tree.threads = static_cast<int>(1 + seed % 2);
    options.tree.weighted = seed % 3 == 0;
    options.tree.splitter = rng() % 3 == 0 ? Splitter::midpoint : Splitter::selection;
    options.curve = dim > 3 ? TreeCurve::morton : static_cast<TreeCurve>(rng() % 3);
    options.domains = std::size_t{1} << rng() % 7;
    options.message_bytes = rng() % 4 > 0 ? 1U << 20U : 1 + rng() % 400;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", dim " + std::to_string(dim) +
                 ", domains " + std::to_string(options.domains) + (options.tree.weighted ? ", weighted" : ""));
    const bool ties = kind == Kind::lattice || kind == Kind::coincident || kind == Kind::extreme;
    const bool bounded = options.tree.splitter == Splitter::selection && !ties;
    Pair pair(comm, alone, dim, options);
    std::uint64_t next_id = 0;
    for (int step = 0; step < 14; ++step) {
      const std::uint64_t what = step == 10 ? 4 : rng() % 4;
      const std::size_t n = 1 + rng() % 400;
      if (what <= 1) {
        SharedBatch batch{dim, {}, make_points<double>(kind, n, dim, rng()), {}};
        for (std::size_t i = 0; i < n; ++i) batch.ids.push_back(next_id++);
        pair.insert(batch, rng() % 3 != 0);
      } else if (what == 3) {
        pair.move(picked(pair.held, dim, n, kind, rng), rng() % 3 != 0);
      } else {  // 4: all of them
        pair.erase(picked(pair.held, dim, what == 4 ? pair.held.size() : n, kind, rng), rng() % 3 != 0);
      }
      if (rng() % 6 == 0) {
        pair.rebuild();
      } else if (rng() % 4 == 0) {
        continue;
      } else {
        ASSERT_NO_FATAL_FAILURE(pair.adjust());
      }
      ASSERT_NO_FATAL_FAILURE(expect_alike(pair, options, bounded)) << "step " << step;
    }
  }
}

TEST(DynamicRanksTree, CoincidentPointsOneDomainAndNothing) {
  const Communicator comm = Communicator::world();
  const Communicator alone = comm.split(comm.rank());
  const RanksTreeOptions options{.tree = {.bucket = 8}, .domains = 16};
  Pair pair(comm, alone, 3, options);
  ASSERT_NO_FATAL_FAILURE(pair.adjust());
  ASSERT_NO_FATAL_FAILURE(expect_alike(pair, options, true));
  SharedBatch twins{3, {}, {}, {}};
  for (std::uint64_t i = 0; i < 300; ++i) twins.add(i / 2, {1, -2, 3});
  pair.insert(twins, true);
  ASSERT_NO_FATAL_FAILURE(expect_alike(pair, options, false));
  EXPECT_EQ(pair.spread.leaf_count(), 1U);
  pair.erase(twins, false);
  pair.erase(twins, true);
  ASSERT_NO_FATAL_FAILURE(pair.adjust());
  ASSERT_NO_FATAL_FAILURE(expect_alike(pair, options, true));
  EXPECT_EQ(pair.spread.size(), 0U);
}

/// Half of the points drift through the others for many rounds: upper planes are found anew in places, domains are cut,
/// joined and go from rank to rank.
TEST(DynamicRanksTree, EqualsOneRankWhereAClusterDrifts) {
  const Communicator comm = Communicator::world();
  const Communicator alone = comm.split(comm.rank());
  std::size_t moves = 0, remakes = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 rng(seed);
    RanksTreeOptions options;
    options.tree.bucket = 8;
    options.tree.splitter = seed == 4 ? Splitter::midpoint : Splitter::selection;
    options.curve = static_cast<TreeCurve>(seed % 3);
    options.domains = 16;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Pair pair(comm, alone, 3, options);
    const std::size_t n = 3000;
    SharedBatch all{3, {}, make_points<double>(Kind::uniform, n, 3, seed), {}};
    for (std::size_t i = 0; i < n; ++i) {
      all.ids.push_back(i);
      if (i % 2 == 0)
        for (std::size_t d = 0; d < 3; ++d) all.x[3 * i + d] /= 16;
    }
    pair.insert(all, true);
    std::uint64_t next_id = n;
    for (int round = 0; round < 40; ++round) {
      SharedBatch old = picked(pair.held, 3, n / 20, Kind::uniform, rng);
      pair.erase(old, true);
      SharedBatch fresh{3, {}, make_points<double>(Kind::uniform, n / 20, 3, rng()), {}};
      for (std::size_t i = 0; i < n / 20; ++i) {
        fresh.ids.push_back(next_id++);
        if (i % 2 == 0)
          for (std::size_t d = 0; d < 3; ++d) fresh.x[3 * i + d] = fresh.x[3 * i + d] / 16 + round * 0.02;
      }
      pair.insert(fresh, true);
      ASSERT_NO_FATAL_FAILURE(pair.adjust());
      if (round % 4 == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_alike(pair, options, seed < 4)) << "round " << round;
      }
    }
    moves += pair.spread.moves();
    remakes += pair.spread.remakes();
    // A rank has its share, and as much more as a tenth and a domain of twice that come to.
    const auto held = static_cast<double>(pair.held.size());
    EXPECT_LE(static_cast<double>(pair.spread.points_here()), 1.1 * (held / comm.size() + 2 * (held / 16 + 1)));
  }
  EXPECT_GT(remakes, 4U);
  EXPECT_EQ(moves > 0, comm.size() > 1);
}

/// What one adjust() was told of is forgotten by the next.
TEST(DynamicRanksTree, TakesNoMoreMemoryWhereBatchesRepeat) {
  const Communicator comm = Communicator::world();
  const std::size_t n = 2000;
  DynamicRanksTree tree(comm, 2, {.tree = {.bucket = 16}, .domains = 4});
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < n; ++i) ids.push_back(i);
  const std::vector<double> x = make_points<double>(Kind::uniform, n, 2, 77);
  const PointBatch batch = comm.rank() == 0 ? PointBatch{ids, {x, 2}} : PointBatch{{}, {{}, 2}};
  tree.insert(batch);
  std::size_t before = 0;
  for (int round = 0; round < 60; ++round) {
    ASSERT_EQ(tree.move(batch, batch.points), n);
    tree.adjust();
    if (round == 9) before = tree.memory_bytes();
  }
  EXPECT_EQ(tree.memory_bytes(), before);
}

TEST(DynamicRanksTree, RefusesOnEveryRankWhatOneRankGetsWrong) {
  const Communicator comm = Communicator::world();
  EXPECT_THROW(DynamicRanksTree(comm, 3, {.tree = {}, .domains = 3}), support::InputError);
  EXPECT_THROW(DynamicRanksTree(comm, 1, {}), support::InputError);
  DynamicRanksTree tree(comm, 2, {});
  const std::vector<std::uint64_t> ids{7};
  const std::vector<double> good{1, 2}, bad{1, std::numeric_limits<double>::infinity()};
  const bool wrong = comm.rank() + 1 == comm.size();
  EXPECT_THROW(tree.insert({ids, {wrong ? bad : good, 2}}), support::InputError);
  const std::vector<std::uint64_t> weights{3};
  EXPECT_THROW(tree.insert({ids, {good, 2}, weights}), support::InputError);
  DynamicRanksTree weighted(comm, 2, {.tree = {.weighted = true}});
  EXPECT_THROW(weighted.insert(wrong ? PointBatch{ids, {good, 2}} : PointBatch{ids, {good, 2}, weights}),
               support::InputError);
  EXPECT_EQ(weighted.size(), 0U);
  EXPECT_EQ(tree.size(), 0U);
  tree.insert({ids, {good, 2}});
  EXPECT_THROW(tree.move({ids, {good, 2}}, {wrong ? bad : good, 2}), support::InputError);
  EXPECT_EQ(tree.erase({ids, {good, 2}}), static_cast<std::size_t>(comm.size()));
}

}  // namespace
}  // namespace amrbench::partitioners
