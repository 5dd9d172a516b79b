// Keys along a curve over root grids of any shape: round trips, families, and that the curve does not jump.
#include "sfc/root_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sfc/key.hpp"

namespace amrbench::sfc {
namespace {

template <int D>
struct DimTag {
  static constexpr int kDim = D;
};
template <class Tag>
class RootOrderTest : public testing::Test {};
using Dims = testing::Types<DimTag<2>, DimTag<3>>;
TYPED_TEST_SUITE(RootOrderTest, Dims);

template <int Dim>
Coord<Dim> random_root(std::mt19937_64& random, std::uint32_t most) {
  Coord<Dim> root{};
  for (auto& extent : root) extent = 1 + static_cast<std::uint32_t>(random() % most);
  return root;
}

template <int Dim>
std::uint32_t cells_of(const Coord<Dim>& root) {
  return std::accumulate(root.begin(), root.end(), 1U, std::multiplies<>());
}

/// To and fro along the first axis, then the second, ...: every cell shares a face with the one before.
template <int Dim>
std::vector<std::uint32_t> snake(const Coord<Dim>& root) {
  std::vector<std::uint32_t> order{0};
  std::uint32_t block = 1;
  for (const std::uint32_t extent : root) {
    std::vector<std::uint32_t> longer;
    for (std::uint32_t i = 0; i < extent; ++i) {
      for (const std::uint32_t cell : order) longer.push_back(i * block + cell);
      std::reverse(order.begin(), order.end());
    }
    order = longer;
    block *= extent;
  }
  return order;
}

template <int Dim>
std::vector<std::uint32_t> shuffled(const Coord<Dim>& root, std::mt19937_64& random) {
  std::vector<std::uint32_t> order(cells_of<Dim>(root));
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

template <int Dim>
KeySpace<Dim> space_of(const Coord<Dim>& root, const std::vector<std::uint32_t>& order, int max_level) {
  return {std::make_shared<const RootOrder<Dim>>(root, order), root, max_level};
}

/// Keys of all blocks of one level, ascending.
template <int Dim>
std::vector<std::uint64_t> level_keys(const KeySpace<Dim>& space, int level) {
  std::vector<std::uint64_t> keys;
  std::uint64_t blocks = 1;
  for (const auto extent : space.root()) blocks *= std::uint64_t{extent} << level;
  for (std::uint64_t n = 0; n < blocks; ++n) {
    Coord<Dim> c{};
    std::uint64_t rest = n;
    for (int d = 0; d < Dim; ++d) {
      c[d] = static_cast<std::uint32_t>(rest % (std::uint64_t{space.root()[d]} << level));
      rest /= std::uint64_t{space.root()[d]} << level;
    }
    keys.push_back(space.key(level, c));
    EXPECT_EQ(space.coord(keys.back()), c);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

TYPED_TEST(RootOrderTest, BlocksInOrderShareFacesWhereRootCellsDo) {
  constexpr int kDim = TypeParam::kDim;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto root = random_root<kDim>(random, 5);
    const auto space = space_of<kDim>(root, snake<kDim>(root), 3);
    for (int level = 0; level <= 3; ++level) {
      const auto keys = level_keys<kDim>(space, level);
      for (std::size_t i = 1; i < keys.size(); ++i) {
        const auto a = space.coord(keys[i - 1]), b = space.coord(keys[i]);
        std::uint32_t distance = 0;
        for (int d = 0; d < kDim; ++d) distance += a[d] > b[d] ? a[d] - b[d] : b[d] - a[d];
        ASSERT_EQ(distance, 1U) << "level " << level << ", blocks " << i - 1 << " and " << i;
      }
    }
  }
}

TYPED_TEST(RootOrderTest, KeysOfAnyOrderFormFamiliesAndKnowTheirNeighbors) {
  constexpr int kDim = TypeParam::kDim;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto root = random_root<kDim>(random, 6);
    const auto order = shuffled<kDim>(root, random);
    const auto space = space_of<kDim>(root, order, 1 + static_cast<int>(random() % 15));
    for (std::uint32_t p = 0; p < order.size(); ++p)
      ASSERT_EQ(space.root_order()->position(space.root_order()->cell(p)), p);
    for (int n = 0; n < 500; ++n) {
      const int level = static_cast<int>(random() % (space.max_level() + 1));
      Coord<kDim> c{}, up{};
      for (int d = 0; d < kDim; ++d) {
        c[d] = static_cast<std::uint32_t>(random() % (std::uint64_t{root[d]} << level));
        up[d] = c[d] >> 1;
      }
      const std::uint64_t key = space.key(level, c);
      ASSERT_EQ(space.level(key), level);
      ASSERT_EQ(space.coord(key), c);
      if (level > 0) {
        ASSERT_EQ(space.parent(key), space.key(level - 1, up));
        ASSERT_EQ(space.child(space.parent(key), space.child_index(key)), key);
      }
      const auto all = space.neighbors(key);
      for (int face = 0; face < space.kFaces; ++face) {
        Coord<kDim> other = c;
        other[face / 2] += face % 2 == 1 ? 1U : ~0U;
        ASSERT_EQ(all[face], space.contains(level, other) ? space.key(level, other) : space.kNone);
      }
    }
  }
}

TEST(RootOrder, OrdersThatAreNoneAreRefused) {
  const Coord<2> root{2, 3};
  EXPECT_THROW(RootOrder<2>(root, std::vector<std::uint32_t>{0, 1, 2, 3, 4}), std::invalid_argument);
  EXPECT_THROW(RootOrder<2>(root, std::vector<std::uint32_t>{0, 1, 2, 3, 4, 6}), std::invalid_argument);
  EXPECT_THROW(RootOrder<2>(root, std::vector<std::uint32_t>{0, 1, 2, 3, 4, 4}), std::invalid_argument);
  const auto order = std::make_shared<const RootOrder<2>>(root, std::vector<std::uint32_t>{5, 1, 2, 3, 4, 0});
  EXPECT_NO_THROW(KeySpace<2>(order, root, 17));
  EXPECT_THROW(KeySpace<2>(order, root, 19), std::invalid_argument);
  EXPECT_THROW(KeySpace<2>(order, Coord<2>{3, 3}, 2), std::invalid_argument);
  EXPECT_THROW(KeySpace<2>(nullptr, root, 2), std::invalid_argument);
  EXPECT_THROW(KeySpace<2>(Curve::gensfc, root, 2), std::invalid_argument);
}

}  // namespace
}  // namespace amrbench::sfc
