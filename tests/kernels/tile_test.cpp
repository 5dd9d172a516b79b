// Tiles to blocks, and sums of blocks.
#include "kernels/tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/simd.hpp"
#include "kernels/stage_sum.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::kernels {
namespace {

constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();

struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); }
  std::vector<double> values(std::size_t n) {
    std::vector<double> v(n);
    for (double& x : v) x = std::uniform_real_distribution<double>(-1.0, 1.0)(engine);
    return v;
  }
  BlockLayout layout() { return make_layout({2 * whole(1, 4), 2 * whole(1, 4), 2 * whole(1, 4)}, whole(1, 19)); }
  std::mt19937 engine;
};

/// A block with random variables and padding lanes of 0.
std::vector<double> random_block(Random& random, const BlockLayout& l) {
  std::vector<double> block = random.values(l.block_values() + kPadding);
  for (int v = l.variables; v < l.lanes * l.chunks; ++v) {
    for (std::size_t c = 0; c < l.block_cells(); ++c) block[l.offset(v, 0, 0, 0) + c * l.lanes] = 0.0;
  }
  return block;
}

/// Runs `check` on both kinds of tile for random shapes.
template <class F>
void for_random_layouts(F check) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const BlockLayout block = random.layout();
    SCOPED_TRACE(testing::Message() << block.cells[0] << "x" << block.cells[1] << "x" << block.cells[2] << ", "
                                    << block.variables << " variables, " << block.lanes << " lanes");
    check(random, make_tile_layout(block));
    check(random, make_tile_layout_by_variable(block));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Tile, StoresEveryValueAndClearsPadding) {
  for_random_layouts([](Random& random, const TileLayout& t) {
    const BlockLayout& l = t.block;
    const std::vector<double> block = random_block(random, l);
    std::vector<double> tile(t.values()), back(l.block_values(), kUnset);
    for (int v = 0; v < l.variables; ++v) {
      for (int z = 0; z < l.cells[2]; ++z) {
        for (int y = 0; y < l.cells[1]; ++y) {
          for (int x = 0; x < l.cells[0]; ++x) tile[t.offset(v, x, y, z)] = block[l.offset(v, x, y, z)];
        }
      }
    }
    store_tile(t, tile.data(), piece_steps(t), back.data());
    EXPECT_TRUE(std::equal(back.begin(), back.end(), block.begin()));
    support::PageBuffer<double> streamed(l.block_values()), staging(store_staging(l));
    std::fill_n(streamed.data(), l.block_values(), kUnset);
    store_tile(t, tile.data(), piece_steps(t), streamed.data(), staging.data());
    stream_fence();
    EXPECT_TRUE(std::equal(back.begin(), back.end(), streamed.data()));
  });
}

TEST(Tile, BlockSumsAreExact) {
  const auto scale = support::FixedPointScale::for_bound(1.0);
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const BlockLayout l = random.layout();
    StageSum sum(l, kBlockSumLength, block_sum_patterns(l.lanes), scale);
    std::vector<support::FixedPointSum> expected(l.variables, support::FixedPointSum(scale));
    for (int block = 0; block < 3; ++block) {
      const std::vector<double> values = random_block(random, l);
      sum_block(l, values.data(), sum);
      for (int v = 0; v < l.variables; ++v) {
        for (std::size_t c = 0; c < l.block_cells(); ++c) expected[v].add(values[l.offset(v, 0, 0, 0) + c * l.lanes]);
      }
    }
    for (int v = 0; v < l.variables; ++v) {
      EXPECT_EQ(sum.totals()[v].to_hex(), expected[v].to_hex()) << "variable " << v << " of " << l.variables;
      EXPECT_EQ(sum.totals()[v].count(), expected[v].count());
    }
  }
}

TEST(Tile, BlockSumsSeeValuesOutOfRange) {
  const BlockLayout l = make_layout({4, 2, 2}, 7);
  for (int bad = 0; bad < l.variables; ++bad) {
    std::vector<double> values(l.block_values() + kPadding, 0.25);
    values[l.offset(bad, 3, 1, 0)] = bad % 2 ? kUnset : 1e9;
    StageSum sum(l, kBlockSumLength, block_sum_patterns(l.lanes), support::FixedPointScale::for_bound(1.0));
    sum_block(l, values.data(), sum);
    for (int v = 0; v < l.variables; ++v) EXPECT_EQ(sum.totals()[v].valid(), v != bad) << v << " with " << bad;
  }
}

}  // namespace
}  // namespace amrbench::kernels
