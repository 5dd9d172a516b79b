// Tiles: what every ghost must hold, written out cell by cell, against the copies, packs and sums.
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

/// f(a, b) over the in-plane coordinates of the extended face across `axis`.
template <class F>
void for_extended_face(const TileLayout& t, int axis, F f) {
  const int a_axis = t.block.face_axis_a(axis), b_axis = t.block.face_axis_b(axis);
  const int ea = a_axis < axis ? 1 : 0, eb = b_axis < axis ? 1 : 0;
  for (int b = -eb; b < t.block.cells[b_axis] + eb; ++b) {
    for (int a = -ea; a < t.block.cells[a_axis] + ea; ++a) f(a, b);
  }
}

/// The value of `variable` at in-plane (a, b) of layer `layer` across `axis`.
double at(const TileLayout& t, const std::vector<double>& tile, int variable, int axis, int layer, int a, int b) {
  std::array<int, 3> c{};
  c[axis] = layer;
  c[t.block.face_axis_a(axis)] = a;
  c[t.block.face_axis_b(axis)] = b;
  return tile[t.offset(variable, c[0], c[1], c[2])];
}

/// Layer of a tile's own cells next to `face`, and of its ghosts behind it.
int inner(const TileLayout& t, int face) {
  return face % 2 ? t.block.cells[face / 2] - 1 : 0;
}
int outer(const TileLayout& t, int face) {
  return face % 2 ? t.block.cells[face / 2] : -1;
}

int floor_half(int f) {
  return (f + 2) / 2 - 1;
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

TEST(Tile, LoadsAndStoresEveryValueAndClearsPadding) {
  for_random_layouts([](Random& random, const TileLayout& t) {
    const BlockLayout& l = t.block;
    const std::vector<double> block = random_block(random, l);
    std::vector<double> tile(t.values(), kUnset), back(l.block_values(), kUnset);
    load_tile(t, block.data(), tile.data());
    std::size_t unset = 0;
    for (const double x : tile) unset += x != x;
    EXPECT_EQ(unset, t.values() - l.block_cells() * t.lanes * t.chunks) << "ghosts must stay as they are";
    for (int v = 0; v < l.variables; ++v) {
      for (int z = 0; z < l.cells[2]; ++z) {
        for (int y = 0; y < l.cells[1]; ++y) {
          for (int x = 0; x < l.cells[0]; ++x)
            ASSERT_EQ(tile[t.offset(v, x, y, z)], block[l.offset(v, x, y, z)]) << v << " " << x << " " << y << " " << z;
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

TEST(Tile, DomainFacesCopyTheCellInside) {
  for_random_layouts([](Random& random, const TileLayout& t) {
    const std::vector<double> before = random.values(t.values());
    for (int face = 0; face < 6; ++face) {
      std::vector<double> tile = before, expected = before;
      close_face(t, tile.data(), face);
      std::size_t changed = 0;
      for (std::size_t k = 0; k < tile.size(); ++k) changed += tile[k] != before[k];
      std::size_t cells = 0;
      for_extended_face(t, face / 2, [&](int a, int b) {
        ++cells;
        for (int v = 0; v < t.block.variables; ++v)
          ASSERT_EQ(at(t, tile, v, face / 2, outer(t, face), a, b), at(t, before, v, face / 2, inner(t, face), a, b));
      });
      EXPECT_EQ(changed, cells * t.lanes * t.chunks) << "only the face's ghosts may change";
    }
  });
}

TEST(Tile, SameLevelFacesCopyTheNeighbourDirectlyAndByMessage) {
  for_random_layouts([](Random& random, const TileLayout& t) {
    const std::vector<double> neighbor = random.values(t.values()), before = random.values(t.values());
    for (int face = 0; face < 6; ++face) {
      const int axis = face / 2;
      std::vector<double> direct = before, packed = before;
      copy_face(t, neighbor.data(), direct.data(), face);
      for_extended_face(t, axis, [&](int a, int b) {
        for (int v = 0; v < t.block.variables; ++v)
          ASSERT_EQ(at(t, direct, v, axis, outer(t, face), a, b), at(t, neighbor, v, axis, inner(t, face ^ 1), a, b));
      });
      std::vector<double> piece(tile_piece_values(t, TileTransfer::whole, axis) + 1, kUnset);
      pack_tile_piece(t, neighbor.data(), face ^ 1, TileTransfer::whole, 0, piece.data());
      EXPECT_TRUE(piece.back() != piece.back()) << "wrote beyond the piece";
      unpack_tile_piece(t, piece.data(), face, TileTransfer::whole, 0, packed.data());
      EXPECT_EQ(packed, direct);
    }
  });
}

TEST(Tile, FineGhostsTakeAQuarterOfTheCoarseCellThatContainsThem) {
  for_random_layouts([](Random& random, const TileLayout& t) {
    const std::vector<double> coarse = random.values(t.values()), before = random.values(t.values());
    for (int face = 0; face < 6; ++face) {
      const int axis = face / 2, part = random.whole(0, 3);
      const int ha = t.block.cells[t.block.face_axis_a(axis)] / 2, hb = t.block.cells[t.block.face_axis_b(axis)] / 2;
      std::vector<double> tile = before, piece(tile_piece_values(t, TileTransfer::quarter, axis) + 1, kUnset);
      pack_tile_piece(t, coarse.data(), face ^ 1, TileTransfer::quarter, part, piece.data());
      EXPECT_TRUE(piece.back() != piece.back());
      unpack_tile_piece(t, piece.data(), face, TileTransfer::quarter, part, tile.data());
      for_extended_face(t, axis, [&](int a, int b) {
        const int ca = (part & 1) * ha + floor_half(a), cb = (part >> 1) * hb + floor_half(b);
        for (int v = 0; v < t.block.variables; ++v) {
          ASSERT_EQ(at(t, tile, v, axis, outer(t, face), a, b),
                    at(t, coarse, v, axis, inner(t, face ^ 1), ca, cb) / 4.0)
              << "face " << face << " part " << part << " at " << a << ", " << b;
        }
      });
    }
  });
}

TEST(Tile, CoarseGhostsSumTheFineCellsBeforeThem) {
  for_random_layouts([](Random& random, const TileLayout& t) {
    std::array<std::vector<double>, 4> fine;
    for (auto& tile : fine) tile = random.values(t.values());
    for (int face = 0; face < 6; ++face) {
      const int axis = face / 2, a_axis = t.block.face_axis_a(axis), b_axis = t.block.face_axis_b(axis);
      const int na = t.block.cells[a_axis], nb = t.block.cells[b_axis];
      const int ea = a_axis < axis ? 1 : 0, eb = b_axis < axis ? 1 : 0;
      std::vector<double> tile(t.values(), kUnset);
      for (int part = 0; part < 4; ++part) {
        std::vector<double> piece(tile_piece_values(t, TileTransfer::restricted, axis) + 1, kUnset);
        pack_tile_piece(t, fine[part].data(), face ^ 1, TileTransfer::restricted, part, piece.data());
        EXPECT_TRUE(piece.back() != piece.back());
        unpack_tile_piece(t, piece.data(), face, TileTransfer::restricted, part, tile.data());
      }
      for_extended_face(t, axis, [&](int a, int b) {
        // The coarse ghost's fine cells in the plane of all four fine blocks; the outermost layer stands for what lies
        // beyond it.
        const int pa = a >= na / 2, pb = b >= nb / 2, layer = inner(t, face ^ 1);
        const auto fine_value = [&](int v, int da, int db) {
          const int fa = std::clamp(2 * (a - pa * na / 2) + da, -ea, na - 1 + ea);
          const int fb = std::clamp(2 * (b - pb * nb / 2) + db, -eb, nb - 1 + eb);
          return at(t, fine[pa + 2 * pb], v, axis, layer, fa, fb);
        };
        for (int v = 0; v < t.block.variables; ++v) {
          const double sum = fine_value(v, 0, 0) + fine_value(v, 0, 1) + fine_value(v, 1, 0) + fine_value(v, 1, 1);
          ASSERT_EQ(at(t, tile, v, axis, outer(t, face), a, b), sum) << "face " << face << " at " << a << ", " << b;
        }
      });
    }
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
