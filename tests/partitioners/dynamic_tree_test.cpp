#include "partitioners/dynamic/dynamic_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/error.hpp"
#include "tests/partitioners/point_sets.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::partitioners {
namespace {

using Coordinates = std::vector<double>;

/// Points by identity and place, with their weights: what a tree must hold, kept in the plainest way.
using Held = std::multimap<std::pair<std::uint64_t, Coordinates>, std::uint64_t>;

/// A batch that owns what it shows.
struct OwnedBatch {
  int dim = 3;
  std::vector<std::uint64_t> ids;
  std::vector<double> x;
  std::vector<std::uint64_t> weights;

  void add(std::uint64_t id, const Coordinates& at) {
    ids.push_back(id);
    x.insert(x.end(), at.begin(), at.end());
  }
  [[nodiscard]] Coordinates at(std::size_t i) const {
    const auto d = static_cast<std::ptrdiff_t>(dim);
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(i) * d;
    return {first, first + d};
  }
  [[nodiscard]] PointView<double> points() const { return {x, dim}; }
  [[nodiscard]] PointBatch view() const { return {ids, points(), weights}; }
};

OwnedBatch batch_of(Kind kind, std::size_t n, int dim, std::uint64_t first_id, bool weighted, std::mt19937_64& rng) {
  OwnedBatch batch{dim, {}, make_points<double>(kind, n, dim, rng()), {}};
  for (std::size_t i = 0; i < n; ++i) {
    batch.ids.push_back(first_id + i);
    if (weighted) batch.weights.push_back(rng() % 100);
  }
  return batch;
}

void hold(Held& held, const OwnedBatch& batch) {
  for (std::size_t i = 0; i < batch.ids.size(); ++i)
    held.emplace(std::pair{batch.ids[i], batch.at(i)}, batch.weights.empty() ? 0 : batch.weights[i]);
}

/// Some of the points held, each perhaps twice, and some that are not.
OwnedBatch pick(const Held& held, std::size_t wanted, int dim, std::mt19937_64& rng) {
  OwnedBatch batch{dim, {}, {}, {}};
  for (const auto& [key, weight] : held) {
    if (rng() % held.size() >= wanted) continue;
    batch.add(key.first, key.second);
    if (rng() % 8 == 0) batch.add(key.first, key.second);
    if (rng() % 8 == 0) batch.add(key.first + 1'000'000, key.second);
    if (rng() % 8 == 0) {
      Coordinates elsewhere = key.second;
      elsewhere[0] = std::nextafter(elsewhere[0], 0.0);
      batch.add(key.first, elsewhere);
    }
  }
  return batch;
}

/// What move() must do, one point after another.
std::vector<std::uint8_t> move_held(Held& held, const OwnedBatch& batch, const std::vector<double>& to) {
  Held put;
  std::vector<std::uint8_t> found;
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    const auto at = held.find({batch.ids[i], batch.at(i)});
    found.push_back(at != held.end() ? 1 : 0);
    if (at == held.end()) continue;
    const auto d = static_cast<std::size_t>(batch.dim);
    put.emplace(std::pair{batch.ids[i], Coordinates(to.begin() + static_cast<std::ptrdiff_t>(i * d),
                                                    to.begin() + static_cast<std::ptrdiff_t>((i + 1) * d))},
                at->second);
    held.erase(at);
  }
  held.merge(put);
  return found;
}

std::vector<std::uint8_t> erase_held(Held& held, const OwnedBatch& batch) {
  std::vector<std::uint8_t> found;
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    const auto at = held.find({batch.ids[i], batch.at(i)});
    found.push_back(at != held.end() ? 1 : 0);
    if (at != held.end()) held.erase(at);
  }
  return found;
}

void expect_holds(const DynamicSnapshot& shot, const Held& held, bool weighted) {
  Held in_tree;
  const auto d = static_cast<std::size_t>(shot.tree.dim);
  for (std::size_t i = 0; i < shot.ids.size(); ++i) {
    const auto first = shot.coordinates.begin() + static_cast<std::ptrdiff_t>(i * d);
    in_tree.emplace(std::pair{shot.ids[i], Coordinates(first, first + static_cast<std::ptrdiff_t>(d))},
                    weighted ? shot.weights[i] : 0);
  }
  ASSERT_EQ(in_tree.size(), held.size());
  // Points alike may stand in any order of their weights.
  auto a = std::vector<std::pair<Held::key_type, std::uint64_t>>(in_tree.begin(), in_tree.end());
  auto b = std::vector<std::pair<Held::key_type, std::uint64_t>>(held.begin(), held.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  ASSERT_EQ(a, b);
}

struct Expected {
  std::size_t bucket;
  double merge;
  bool depth_bound;  ///< median cuts, no ties
};

/// Every invariant of dynamic_tree.hpp.
void expect_valid(const DynamicSnapshot& shot, const DynamicTree& tree, const Expected& e) {
  const auto& t = shot.tree;
  const auto d = static_cast<std::size_t>(t.dim);
  ASSERT_EQ(shot.ids.size(), tree.size());
  if (shot.ids.empty()) {
    ASSERT_EQ(tree.leaf_count(), 1U);
    ASSERT_EQ(tree.depth(), 0);
    return;
  }
  std::size_t leaves = 0;
  ASSERT_EQ(t.nodes[0].count, shot.ids.size());
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    const auto& node = t.nodes[i];
    const auto x = [&](std::size_t k, std::size_t axis) { return shot.coordinates[(node.first + k) * d + axis]; };
    ASSERT_GE(node.count, 1U);
    if (node.leaf()) {
      ++leaves;
      if (node.count <= e.bucket) continue;
      for (std::size_t k = 0; k < node.count; ++k) {
        for (std::size_t axis = 0; axis < d; ++axis) ASSERT_EQ(x(k, axis), x(0, axis)) << "a leaf above the bucket";
      }
      continue;
    }
    ASSERT_GE(static_cast<double>(node.count), e.merge * static_cast<double>(e.bucket));
    const auto& lower = t.nodes[node.child];
    const auto& upper = t.nodes[node.child + 1];
    ASSERT_EQ(node.count, lower.count + upper.count);
    ASSERT_EQ(node.first, lower.first);
    ASSERT_EQ(node.first + lower.count, upper.first);
    for (std::size_t k = 0; k < node.count; ++k) {
      if (k < lower.count) {
        ASSERT_LE(x(k, node.axis), t.split[i]);
      } else {
        ASSERT_GT(x(k, node.axis), t.split[i]);
      }
    }
  }
  ASSERT_EQ(leaves, tree.leaf_count());
  ASSERT_EQ(t.levels(), tree.depth() + 1);
  if (e.depth_bound) {
    ASSERT_LE(tree.depth(), median_levels(tree.size(), e.bucket) + 2);
  }
}

/// The parts by the tree's own leaves are those by the leaves of the static tree of the same planes.
void expect_curve_order(DynamicTree& tree, const DynamicSnapshot& shot, TreeCurve curve) {
  if (shot.ids.empty()) return;
  const auto expected = leaf_order(shot.tree, curve, 1);
  ASSERT_EQ(tree.leaves(curve).size(), expected.size());
  const int parts = static_cast<int>(expected.size());
  std::vector<std::int64_t> each(expected.size() + 1);
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = static_cast<std::int64_t>(i);
  const std::uint64_t last = *std::max_element(shot.ids.begin(), shot.ids.end());
  std::vector<std::int32_t> part(last + 1, -1);
  tree.write_parts(curve, each, part);
  for (int p = 0; p < parts; ++p) {
    const auto& node = shot.tree.nodes[expected[static_cast<std::size_t>(p)]];
    for (std::size_t i = node.first; i < node.first + node.count; ++i)
      ASSERT_EQ(part[shot.ids[i]], p) << tree_curve_name(curve);
  }
}

void expect_same_tree(const DynamicSnapshot& a, const DynamicSnapshot& b) {
  ASSERT_EQ(a.ids, b.ids);
  ASSERT_EQ(a.coordinates, b.coordinates);
  ASSERT_EQ(a.weights, b.weights);
  ASSERT_EQ(a.tree.level, b.tree.level);
  for (std::size_t i = 0; i < a.tree.nodes.size(); ++i) {
    ASSERT_EQ(a.tree.nodes[i].child, b.tree.nodes[i].child);
    ASSERT_EQ(a.tree.nodes[i].axis, b.tree.nodes[i].axis);
    ASSERT_EQ(a.tree.nodes[i].count, b.tree.nodes[i].count);
    ASSERT_EQ(a.tree.split[i], b.tree.split[i]);
  }
}

/// One step of a random history, on several trees and on the reference.
void random_step(std::span<const std::unique_ptr<DynamicTree>> trees, Held& held, Kind kind, int dim, bool weighted,
                 std::uint64_t& next_id, std::mt19937_64& rng) {
  const std::size_t n = 1 + rng() % 400;
  const std::uint64_t what = rng() % 4;
  if (what <= 1) {
    const OwnedBatch batch = batch_of(kind, n, dim, next_id, weighted, rng);
    next_id += n;
    for (const auto& tree : trees) tree->insert(batch.view());
    hold(held, batch);
    return;
  }
  const OwnedBatch batch = pick(held, what == 2 ? n : rng() % 600, dim, rng);
  const std::vector<double> to = make_points<double>(kind, batch.ids.size(), dim, rng());
  const std::vector<std::uint8_t> expected = what == 2 ? erase_held(held, batch) : move_held(held, batch, to);
  for (const auto& tree : trees) {
    std::vector<std::uint8_t> found(batch.ids.size(), 7);
    const std::size_t count = what == 2 ? tree->erase(batch.view(), found) : tree->move(batch.view(), {to, dim}, found);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(count, static_cast<std::size_t>(std::count(expected.begin(), expected.end(), 1)));
  }
}

TEST(DynamicTree, IsThatOfTheReferenceAfterEachRandomBatch) {
  for (std::uint64_t seed = 1; seed <= (tests::fewer_cases() ? 10U : 24U); ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kind = kKinds[seed % std::size(kKinds)];
    const int dims[] = {2, 3, 3, 5, 10, 16};
    const int dim = dims[rng() % 6];
    DynamicTreeOptions options;
    options.bucket = 1 + rng() % 40;
    options.splitter = rng() % 3 == 0 ? Splitter::midpoint : Splitter::selection;
    options.weighted = rng() % 2 == 0;
    if (rng() % 4 == 0) options.merge = 0;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", dim " + std::to_string(dim));
    std::vector<std::unique_ptr<DynamicTree>> trees;
    for (const int threads : {1, 2, 3}) {
      options.threads = threads;
      trees.push_back(make_dynamic_tree(dim, options));
    }
    const bool ties = kind == Kind::lattice || kind == Kind::coincident || kind == Kind::extreme;
    const Expected expected{options.bucket, options.merge, options.splitter == Splitter::selection && !ties};
    Held held;
    std::uint64_t next_id = 0;
    for (int step = 0; step < 16; ++step) {
      random_step(trees, held, kind, dim, options.weighted, next_id, rng);
      if (rng() % 8 == 0) {
        for (const auto& tree : trees) tree->rebuild();
      } else if (rng() % 4 == 0) {
        continue;  // several batches before the tree is adjusted
      } else {
        for (const auto& tree : trees) tree->adjust();
      }
      const DynamicSnapshot shot = trees[0]->snapshot();
      ASSERT_NO_FATAL_FAILURE(expect_holds(shot, held, options.weighted)) << "step " << step;
      ASSERT_NO_FATAL_FAILURE(expect_valid(shot, *trees[0], expected)) << "step " << step;
      ASSERT_NO_FATAL_FAILURE(expect_same_tree(shot, trees[1]->snapshot())) << "2 threads, step " << step;
      ASSERT_NO_FATAL_FAILURE(expect_same_tree(shot, trees[2]->snapshot())) << "3 threads, step " << step;
      for (const TreeCurve curve : {TreeCurve::morton, TreeCurve::hilbert, TreeCurve::gensfc}) {
        if (curve != TreeCurve::morton && dim > 3) continue;
        ASSERT_NO_FATAL_FAILURE(expect_curve_order(*trees[1], shot, curve)) << "step " << step;
      }
    }
  }
}

TEST(DynamicTree, LargeBatchesGiveTheSameTreeOnAnyThreads) {
  std::mt19937_64 rng(7);
  const std::size_t n = tests::fewer_cases() ? 10000 : 60000;  // most of it built by all threads
  const OwnedBatch all = batch_of(Kind::cluster, n, 3, 0, false, rng);
  const OwnedBatch more = batch_of(Kind::uniform, n / 4, 3, n, false, rng);
  std::vector<DynamicSnapshot> shots;
  for (const int threads : {1, 2, 3}) {
    DynamicTreeOptions options;
    options.threads = threads;
    const auto tree = make_dynamic_tree(3, options);
    tree->insert(all.view());
    EXPECT_EQ(tree->adjust().splits, 1U);
    EXPECT_LE(tree->depth(), median_levels(n, options.bucket));
    tree->insert(more.view());
    const PointBatch some{std::span(all.ids).first(n / 2), {std::span(all.x).first(n / 2 * 3), 3}};
    EXPECT_EQ(tree->erase(some), n / 2);
    tree->adjust();
    shots.push_back(tree->snapshot());
    ASSERT_NO_FATAL_FAILURE(expect_valid(shots.back(), *tree, {options.bucket, options.merge, true}));
  }
  ASSERT_NO_FATAL_FAILURE(expect_same_tree(shots[0], shots[1]));
  ASSERT_NO_FATAL_FAILURE(expect_same_tree(shots[0], shots[2]));
}

TEST(DynamicTree, PartsAreSlicesOfLeavesByWeight) {
  std::mt19937_64 rng(11);
  DynamicTreeOptions options;
  options.weighted = true;
  options.bucket = 8;
  options.threads = 1;
  const auto tree = make_dynamic_tree(3, options);
  const OwnedBatch all = batch_of(Kind::uniform, 5000, 3, 0, true, rng);
  tree->insert(all.view());
  tree->adjust();
  const OwnedBatch more = batch_of(Kind::cluster, 700, 3, 5000, true, rng);
  tree->insert(more.view());
  EXPECT_EQ(tree->erase({std::span(all.ids).first(900), {std::span(all.x).first(2700), 3}}), 900U);
  tree->adjust();
  std::vector<std::uint64_t> weight = all.weights;
  weight.insert(weight.end(), more.weights.begin(), more.weights.end());
  for (const SliceRule rule : {SliceRule::midpoint, SliceRule::exact}) {
    const auto cuts = tree->part_cuts(TreeCurve::gensfc, 16, rule);
    std::vector<std::int32_t> part(5700, -1);
    tree->write_parts(TreeCurve::gensfc, cuts, part);
    std::vector<std::uint64_t> load(16);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      ASSERT_EQ(part[i] < 0, i < 900) << i;
      if (part[i] < 0) continue;
      load[static_cast<std::size_t>(part[i])] += weight[i];
      total += weight[i];
    }
    // A part exceeds the mean by its heaviest leaf at most: 8 points of at most 99.
    EXPECT_LE(*std::max_element(load.begin(), load.end()), total / 16 + 8 * 99);
    EXPECT_GE(*std::min_element(load.begin(), load.end()) + 8 * 99, total / 16);
  }
}

TEST(DynamicTree, AllPointsErasedLeaveAnEmptyTreeAndGiveMemoryBack) {
  std::mt19937_64 rng(3);
  const std::size_t n = 4000;
  const auto tree = make_dynamic_tree(3, {});
  const OwnedBatch all = batch_of(Kind::uniform, n, 3, 0, false, rng);
  for (int round = 0; round < 3; ++round) {
    tree->insert(all.view());
    tree->adjust();
    EXPECT_EQ(tree->leaf_count(), 128U);
    const std::size_t full = tree->memory_bytes();
    EXPECT_EQ(tree->erase(all.view()), n);
    EXPECT_EQ(tree->erase(all.view()), 0U);
    EXPECT_LE(tree->memory_bytes() + n * 32, full);  // a point's slot is 32 bytes
    tree->adjust();
    EXPECT_EQ(tree->size(), 0U);
    EXPECT_EQ(tree->leaf_count(), 1U);
    EXPECT_EQ(tree->depth(), 0);
    EXPECT_EQ(tree->snapshot().ids.size(), 0U);
    tree->rebuild();
    EXPECT_EQ(tree->part_cuts(TreeCurve::hilbert, 4, SliceRule::midpoint).size(), 5U);
  }
}

TEST(DynamicTree, CoincidentPointsStayTogetherAndAreErasedByIdentity) {
  const std::size_t n = 3000;
  DynamicTreeOptions options;
  options.bucket = 16;
  const auto tree = make_dynamic_tree(3, options);
  OwnedBatch batch{3, {}, {}, {}};
  for (std::size_t i = 0; i < n; ++i) batch.add(i, {0.5, -2, 7});
  tree->insert(batch.view());
  tree->adjust();
  EXPECT_EQ(tree->leaf_count(), 1U);
  OwnedBatch other{3, {}, {}, {}};
  for (std::size_t i = 0; i < 100; ++i) other.add(n + i, {0.5, -2, 8 + static_cast<double>(i)});
  tree->insert(other.view());
  tree->adjust();
  ASSERT_NO_FATAL_FAILURE(expect_valid(tree->snapshot(), *tree, {16, 0.5, false}));
  EXPECT_GT(tree->leaf_count(), 6U);
  OwnedBatch half{3, {}, {}, {}};
  for (std::size_t i = 0; i < n; i += 2) half.add(i, {0.5, -2, 7});
  EXPECT_EQ(tree->erase(half.view()), n / 2);
  EXPECT_EQ(tree->erase(half.view()), 0U);
  tree->adjust();
  std::vector<std::uint64_t> left = tree->snapshot().ids;
  std::sort(left.begin(), left.end());
  ASSERT_EQ(left.size(), n / 2 + 100);
  EXPECT_EQ(left[0], 1U);
  EXPECT_EQ(left[n / 2 - 1], n - 1);
  // One identity for many points: as many entries, as many points.
  OwnedBatch twins{3, std::vector<std::uint64_t>(500, 9), {}, {}};
  for (int i = 0; i < 500; ++i) twins.x.insert(twins.x.end(), {1, 1, 1});
  tree->insert(twins.view());
  twins.ids.resize(200);
  twins.x.resize(600);
  EXPECT_EQ(tree->erase(twins.view()), 200U);
  EXPECT_EQ(tree->size(), n / 2 + 100 + 300);
}

TEST(DynamicTree, NothingFlickersBetweenSplitAndMerge) {
  std::mt19937_64 rng(5);
  DynamicTreeOptions options;
  options.bucket = 32;
  const auto tree = make_dynamic_tree(2, options);
  const OwnedBatch all = batch_of(Kind::uniform, 33, 2, 0, false, rng);
  tree->insert(all.view());
  EXPECT_EQ(tree->adjust().splits, 1U);
  const OwnedBatch one{2, {all.ids[0]}, all.at(0), {}};
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(tree->erase(one.view()), 1U);
    Adjustments done = tree->adjust();
    EXPECT_EQ(done.merges + done.splits + done.rebuilds, 0U);
    tree->insert(one.view());
    done = tree->adjust();
    EXPECT_EQ(done.merges + done.splits + done.rebuilds, 0U);
  }
}

TEST(DynamicTree, RefusesWhatDoesNotFitAndKeepsItsPoints) {
  using support::InputError;
  EXPECT_THROW(make_dynamic_tree(1, {}), InputError);
  EXPECT_THROW(make_dynamic_tree(17, {}), InputError);
  EXPECT_THROW(make_dynamic_tree(3, {.bucket = 0}), InputError);
  EXPECT_THROW(make_dynamic_tree(3, {.merge = 1}), InputError);
  EXPECT_THROW(make_dynamic_tree(3, {.balance = 0.5}), InputError);
  EXPECT_THROW(make_dynamic_tree(3, {.splitter = Splitter::sampled_median}), InputError);
  const auto tree = make_dynamic_tree(3, {});
  const OwnedBatch good{3, {4}, {1, 2, 3}, {}};
  tree->insert(good.view());
  const OwnedBatch bad[] = {{2, {4}, {1, 2}, {}},
                            {3, {4, 5}, {1, 2, 3}, {}},
                            {3, {4}, {1, 2, 3}, {1}},
                            {3, {4}, {1, std::numeric_limits<double>::quiet_NaN(), 3}, {}},
                            {3, {4}, {1, std::numeric_limits<double>::infinity(), 3}, {}}};
  for (const OwnedBatch& batch : bad) EXPECT_THROW(tree->insert(batch.view()), InputError);
  EXPECT_THROW(tree->move(good.view(), bad[3].points(), {}), InputError);
  EXPECT_EQ(tree->size(), 1U);
  EXPECT_EQ(tree->erase(bad[3].view()), 0U);
  EXPECT_EQ(tree->erase(good.view()), 1U);
}

TEST(DynamicTree, EraseSaysWhatPointsWeighed) {
  for (const std::size_t bucket : {std::size_t{4}, std::size_t{1000}}) {  // few points a leaf, and many
    const auto tree = make_dynamic_tree(2, {.bucket = bucket, .weighted = true});
    std::vector<std::uint64_t> ids, weights;
    std::vector<double> x;
    for (std::uint64_t i = 0; i < 600; ++i) {
      ids.push_back(i);
      weights.push_back(1 + i * i % 101);
      const std::uint64_t row = i / 25;
      x.insert(x.end(), {static_cast<double>(i % 25), static_cast<double>(row)});
    }
    tree->insert({ids, {x, 2}, weights});
    tree->adjust();
    std::vector<std::uint64_t> asked;
    std::vector<double> at;
    for (std::uint64_t i = 0; i < 600; i += 3) {
      asked.push_back(i % 2 == 0 ? i : i + 10000);  // every second one is not there
      at.insert(at.end(), {x[2 * i], x[2 * i + 1]});
    }
    std::vector<std::uint8_t> found(asked.size());
    std::vector<std::uint64_t> weighed(asked.size(), 77);
    EXPECT_EQ(tree->erase({asked, {at, 2}}, found, weighed), 100U);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      EXPECT_EQ(found[k], asked[k] < 600 ? 1 : 0);
      EXPECT_EQ(weighed[k], asked[k] < 600 ? weights[asked[k]] : 0);
    }
  }
}

}  // namespace
}  // namespace amrbench::partitioners
