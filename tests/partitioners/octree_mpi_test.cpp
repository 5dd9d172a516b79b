// Splitter "octree": blocks of random meshes along the curves of their own tree, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "partitioners/block_keys.hpp"
#include "partitioners/curve_methods.hpp"
#include "partitioners/octree.hpp"
#include "partitioners/slices.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"
#include "tests/partitioners/rank_spread.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

constexpr std::string_view kCurves[] = {"morton", "hilbert", "gensfc"};

/// Leaves of a tree, not balanced, and their keys along one curve.
template <int Dim>
struct Blocks {
  BlockGrid grid;
  std::vector<double> centres;
  std::vector<std::uint64_t> keys;
};

/// Each root cell refined at random, down to max_level here and there; leaves in random order.
template <int Dim>
Blocks<Dim> random_blocks(std::string_view curve, std::mt19937_64& rng) {
  struct Leaf {
    int level;
    sfc::Coord<Dim> c;
  };
  Blocks<Dim> blocks;
  sfc::Coord<Dim> root{};
  for (auto& extent : root) extent = static_cast<std::uint32_t>(1 + rng() % 5);
  blocks.grid.dim = Dim;
  std::copy(root.begin(), root.end(), blocks.grid.root.begin());
  blocks.grid.max_level = static_cast<int>(rng() % 6);
  std::vector<Leaf> open, leaves;
  std::uint32_t cells = 1;
  for (const auto extent : root) cells *= extent;
  for (std::uint32_t cell = 0; cell < cells; ++cell) {
    Leaf leaf{0, {}};
    std::uint32_t rest = cell;
    for (int d = 0; d < Dim; ++d) {
      leaf.c[d] = rest % root[d];
      rest /= root[d];
    }
    open.push_back(leaf);
  }
  while (!open.empty()) {
    const Leaf leaf = open.back();
    open.pop_back();
    if (leaf.level == blocks.grid.max_level || rng() % 10 < 7 || leaves.size() > 2000) {
      leaves.push_back(leaf);
      continue;
    }
    for (std::uint32_t child = 0; child < (1U << Dim); ++child) {
      Leaf next{leaf.level + 1, leaf.c};
      for (int d = 0; d < Dim; ++d) next.c[d] = 2 * leaf.c[d] + (child >> d & 1U);
      open.push_back(next);
    }
  }
  std::shuffle(leaves.begin(), leaves.end(), rng);
  const auto space = block_keys<Dim>(curve, root, blocks.grid.max_level);
  for (const Leaf& leaf : leaves) {
    blocks.keys.push_back(space.key(leaf.level, leaf.c));
    for (int d = 0; d < Dim; ++d)
      blocks.centres.push_back((2.0 * leaf.c[d] + 1.0) *
                               static_cast<double>(1U << (blocks.grid.max_level - leaf.level)));
  }
  return blocks;
}

/// Puts blocks in the order of their keys.
template <int Dim>
void sort_blocks(Blocks<Dim>& blocks) {
  std::vector<std::size_t> order(blocks.keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return blocks.keys[a] < blocks.keys[b]; });
  Blocks<Dim> sorted{blocks.grid, {}, {}};
  for (const std::size_t i : order) {
    sorted.keys.push_back(blocks.keys[i]);
    sorted.centres.insert(sorted.centres.end(), blocks.centres.begin() + static_cast<std::ptrdiff_t>(Dim * i),
                          blocks.centres.begin() + static_cast<std::ptrdiff_t>(Dim * (i + 1)));
  }
  blocks = std::move(sorted);
}

TreeCurve tree_curve(std::string_view name) {
  return name == "morton" ? TreeCurve::morton : name == "hilbert" ? TreeCurve::hilbert : TreeCurve::gensfc;
}

template <int Dim>
void compare(const Communicator& comm, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const std::string_view curve = kCurves[seed % 3];
  Blocks<Dim> blocks = random_blocks<Dim>(curve, rng);
  const bool sorted = rng() % 2 == 0;
  if (sorted) sort_blocks(blocks);
  if (rng() % 8 == 0) {  // overlapping blocks: equal keys go by number
    const std::vector<double> copy = blocks.centres;
    blocks.centres.insert(blocks.centres.end(), copy.begin(), copy.end());
    const std::vector<std::uint64_t> keys = blocks.keys;
    blocks.keys.insert(blocks.keys.end(), keys.begin(), keys.end());
  }
  const std::size_t n = blocks.keys.size();
  std::vector<double> weights(rng() % 3 == 0 ? 0 : n);
  const bool zero = rng() % 4 == 0;
  for (double& w : weights) w = zero ? 0 : static_cast<double>(rng() % 1000) / 8;
  PartitionOptions options{
      .parts = static_cast<int>(1 + rng() % 90), .threads = static_cast<int>(1 + seed % 2), .splitter = "octree"};
  options.slices = seed % 3 == 0 ? SliceRule::exact : SliceRule::midpoint;
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(curve) + ", dim " + std::to_string(Dim) + ", n " +
               std::to_string(n) + ", parts " + std::to_string(options.parts) + (sorted ? ", sorted" : ""));

  // By the definition: a stable sort of the keys, then slices.
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return blocks.keys[a] < blocks.keys[b]; });
  const auto part = slice_order<std::uint32_t>(order, fixed_point_weights(weights), options.parts, 1, options.slices);

  const auto method = make_curve_method(tree_curve(curve));
  const Problem all{{blocks.centres, Dim}, weights, nullptr, &blocks.grid};
  const PartitionResult one = method->partition(all, options);
  ASSERT_EQ(one.order, order);
  ASSERT_EQ(one.part, part);

  const auto spread = random_spread(n, comm.size(), rng);
  const RankResult result = method->partition_on_ranks(comm, share_of(all, spread, comm.rank()), options);
  const std::size_t begin = spread[static_cast<std::size_t>(comm.rank())];
  ASSERT_EQ(result.part.size(), spread[static_cast<std::size_t>(comm.rank()) + 1] - begin);
  ASSERT_EQ(result.position.size(), result.part.size());
  for (std::size_t i = 0; i < result.part.size(); ++i) {
    ASSERT_EQ(result.part[i], part[begin + i]) << "block " << begin + i;
    ASSERT_EQ(order[result.position[i]], begin + i);
  }
}

TEST(Octree, GivesTheOrderOfKeysOnAnyRanks) {
  const Communicator comm = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    compare<2>(comm, seed);
    compare<3>(comm, seed);
    if (HasFatalFailure()) return;
  }
}

std::string refusal(const Communicator& comm, const Problem& mine, const PartitionOptions& options) {
  try {
    (void)assign(comm, *make_curve_method(TreeCurve::hilbert), mine, options);
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Octree, RefusesWhatIsNoMesh) {
  const Communicator comm = Communicator::world();
  const BlockGrid grid{.dim = 2, .root = {2, 3, 0}, .max_level = 2};
  const PartitionOptions options{.parts = 2, .splitter = "octree"};
  std::vector<double> x{4, 4, 1, 3, 14, 22};  // of levels 0, 2 and 1
  EXPECT_EQ(refusal(comm, {{x, 2}, {}, nullptr, &grid}, options), "");
  EXPECT_EQ(refusal(comm, {{x, 2}, {}, nullptr, nullptr}, options),
            "splitter octree needs the centres of a mesh's blocks");
  EXPECT_NE(refusal(comm, {{x, 3}, {}, nullptr, &grid}, options).find("points of 3 coordinates and blocks of 2"),
            std::string::npos);
  const BlockGrid deep{.dim = 2, .root = {2, 3, 0}, .max_level = 30};
  EXPECT_NE(refusal(comm, {{x, 2}, {}, nullptr, &deep}, options).find("together at most 20"), std::string::npos);
  // Outside, of two levels, no whole numbers, above the root.
  for (const auto& [a, b] : {std::pair{18.0, 22.0}, std::pair{14.0, 21.0}, std::pair{14.5, 22.5}, std::pair{8.0, 8.0},
                             std::pair{-2.0, 2.0}}) {
    x[4] = a;
    x[5] = b;
    EXPECT_NE(refusal(comm, {{x, 2}, {}, nullptr, &grid}, options).find("point 2 is ("), std::string::npos) << a;
  }
  const sfc::Coord<3> root{1, 1, 1};
  EXPECT_THROW(block_keys<3>("peano", root, 1), support::InputError);
}

}  // namespace
}  // namespace amrbench::partitioners
