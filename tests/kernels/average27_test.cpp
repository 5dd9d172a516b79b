// The 27-point average against the sum written out, and what it conserves.
#include "kernels/average27.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace amrbench::kernels {
namespace {

/// Every block edge that compiles to other loops, some shapes of other kinds, few and many variables.
std::vector<BlockLayout> layouts() {
  std::vector<BlockLayout> all;
  for (const auto& cells :
       {std::array{2, 2, 2}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}, {2, 6, 4}, {32, 2, 4}, {10, 4, 2}}) {
    for (const int variables : {1, 2, 3, 5, 8, 13, 40}) all.push_back(make_layout(cells, variables));
  }
  return all;
}

double mean_of_27(const TileLayout& t, const std::vector<double>& tile, int v, int x, int y, int z) {
  std::array<double, 3> planes{};
  for (int dx = -1; dx <= 1; ++dx) {
    double sum = 0.0;
    bool first = true;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dz = -1; dz <= 1; ++dz) {
        const double value = tile[t.offset(v, x + dx, y + dy, z + dz)];
        sum = first ? value : sum + value;
        first = false;
      }
    }
    planes[dx + 1] = sum;
  }
  return (planes[0] + planes[1] + planes[2]) / 27.0;
}

TEST(Average27, AgreesWithTheSumWrittenOutBitForBit) {
  unsigned seed = 27;
  for (const BlockLayout& l : layouts()) {
    SCOPED_TRACE(testing::Message() << "seed " << ++seed << ", " << l.cells[0] << "x" << l.cells[1] << "x" << l.cells[2]
                                    << ", " << l.variables << " variables");
    const TileLayout t = make_tile_layout(l);
    std::mt19937 engine(seed);
    std::vector<double> tile(t.values()), out(l.block_values(), -1.0), scratch(average27_scratch(t));
    for (double& x : tile) x = std::uniform_real_distribution<double>(0.0, 1.0)(engine);
    average27(t, tile.data(), out.data(), scratch.data());
    for (int v = 0; v < l.lanes * l.chunks; ++v) {
      for (int z = 0; z < l.cells[2]; ++z) {
        for (int y = 0; y < l.cells[1]; ++y) {
          for (int x = 0; x < l.cells[0]; ++x)
            ASSERT_EQ(out[l.offset(v, x, y, z)], mean_of_27(t, tile, v, x, y, z))
                << v << ": " << x << " " << y << " " << z;
        }
      }
    }
  }
}

TEST(Average27, KeepsTheTotalOfAClosedBlockAndItsConstants) {
  for (const BlockLayout& l : layouts()) {
    const TileLayout t = make_tile_layout(l);
    SCOPED_TRACE(testing::Message() << l.cells[0] << "x" << l.cells[1] << "x" << l.cells[2] << ", " << l.variables);
    std::mt19937 engine(l.variables);
    std::vector<double> block(l.block_values() + kPadding), tile(t.values()), scratch(average27_scratch(t));
    for (double& x : block) x = std::uniform_real_distribution<double>(0.0, 1.0)(engine);
    const auto total = [&](const std::vector<double>& values, int v) {
      long double sum = 0.0;
      for (std::size_t c = 0; c < l.block_cells(); ++c) sum += values[l.offset(v, 0, 0, 0) + c * l.lanes];
      return static_cast<double>(sum);
    };
    const std::vector<double> first = block;
    for (int stage = 0; stage < 5; ++stage) {
      load_tile(t, block.data(), tile.data());
      for (int face = 0; face < 6; ++face) close_face(t, tile.data(), face);
      average27(t, tile.data(), block.data(), scratch.data());
    }
    EXPECT_NE(block, first);
    for (int v = 0; v < l.variables; ++v)
      EXPECT_NEAR(total(block, v) / total(first, v), 1.0, 1e-13) << "variable " << v;
    std::fill(tile.begin(), tile.end(), 3.0);
    average27(t, tile.data(), block.data(), scratch.data());
    EXPECT_EQ(block[l.offset(l.variables - 1, l.cells[0] - 1, l.cells[1] - 1, l.cells[2] - 1)], 3.0);
  }
}

}  // namespace
}  // namespace amrbench::kernels
