// The 27-point average against the sum written out, and what it conserves.
#include "kernels/average27/average27.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/random_block.hpp"

namespace amrbench::kernels {
namespace {

/// Every block edge that compiles to other loops, some shapes of other kinds, few and many variables.
std::vector<BlockLayout> layouts() {
  std::vector<BlockLayout> all;
  for (const auto& cells : {std::array{2, 2, 2},
                            {4, 4, 4},
                            {8, 8, 8},
                            {16, 16, 16},
                            {2, 6, 4},
                            {32, 2, 4},
                            {10, 4, 2},
                            {6, 6, 6},
                            {10, 10, 10},
                            {12, 10, 6},
                            {20, 2, 6}}) {
    for (const int variables : {1, 2, 3, 5, 8, 13, 40}) all.push_back(make_layout(cells, variables));
  }
  return all;
}

/// Every number of cells in a row with every number of lanes, planes of one strip and of several.
std::vector<BlockLayout> rows(std::mt19937_64& random, int most_y, int most_z) {
  const auto edge = [&](int most) { return 2 + 2 * static_cast<int>(random() % (most / 2U)); };
  std::vector<BlockLayout> all;
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes)
    for (int nx = 2; nx <= kMaxBlockEdge; nx += 2)
      all.push_back(checks::layout_of({nx, edge(most_y), edge(most_z)}, lanes, 1));
  return all;
}

/// A block with random values around it: every piece in a block of its own, or in an extended face, by chance.
class RandomSurroundings {
 public:
  RandomSurroundings(std::mt19937_64& random, const BlockLayout& l) : block_steps_(piece_steps(l)) {
    for (int axis = 0; axis < 3; ++axis) face_steps_[axis] = piece_steps(FaceLayout(l, axis));
    for (int k = 0; k < 27; ++k) {
      const std::array<int, 3> d{k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
      int axis = 2;
      while (axis >= 0 && (d[axis] == 0 || random() % 2 == 0)) --axis;
      std::array<int, 3> at{};
      for (int a = 0; a < 3; ++a) at[a] = d[a] < 0 ? l.cells[a] - 1 : 0;
      if (axis < 0) {
        values_[k] = checks::random_buffer(random, l.block_values());
        around.pieces[k] = {values_[k].data() + l.offset(0, at[0], at[1], at[2]), &block_steps_};
        continue;
      }
      const FaceLayout face(l, axis);
      for (int a = 0; a < axis; ++a) at[a] = d[a] < 0 ? -1 : d[a] == 0 ? 0 : l.cells[a];
      at[axis] = 0;
      values_[k] = checks::random_buffer(random, face.values());
      around.pieces[k] = {values_[k].data() + face.cell(at[0], at[1], at[2]), &face_steps_[axis]};
    }
  }
  /// All cells, one by one.
  [[nodiscard]] std::vector<double> tile(const TileLayout& t) const {
    std::vector<double> tile(t.values());
    const BlockLayout& l = t.block;
    for (int v = 0; v < t.lanes * t.chunks; ++v) {
      for (int z = -1; z <= l.cells[2]; ++z) {
        for (int y = -1; y <= l.cells[1]; ++y) {
          for (int x = -1; x <= l.cells[0]; ++x) {
            std::array<int, 3> at{x, y, z}, d{};
            for (int a = 0; a < 3; ++a) {
              d[a] = at[a] < 0 ? -1 : at[a] < l.cells[a] ? 0 : 1;
              if (d[a] != 0) at[a] = 0;
            }
            const Piece& piece = around.piece(d[0], d[1], d[2]);
            tile[t.offset(v, x, y, z)] =
                piece.at(at[0], at[1], at[2])[(v / l.lanes) * piece.steps->chunk + v % l.lanes];
          }
        }
      }
    }
    return tile;
  }
  Surroundings around;

 private:
  PieceSteps block_steps_;
  std::array<PieceSteps, 3> face_steps_;
  std::array<checks::Buffer, 27> values_;
};

void expect_reference_bits(std::mt19937_64& random, const BlockLayout& l) {
  const auto scale = support::FixedPointScale::for_bound(64.0);
  const RandomSurroundings block(random, l);
  const TileLayout t = make_tile_layout(l);
  std::vector<double> expected(l.block_values());
  average27_reference(t, block.tile(t).data(), expected.data());
  const Average27Kernel kernel = select_average27(l);
  checks::Buffer out(l.block_values());
  std::vector<support::FixedPointSum> exact(l.variables, support::FixedPointSum(scale));
  for (int v = 0; v < l.variables; ++v) {
    for (std::size_t c = 0; c < l.block_cells(); ++c) exact[v].add(expected[l.offset(v, 0, 0, 0) + c * l.lanes]);
  }
  for (int streamed = 0; streamed < 2; ++streamed) {
    StageSum sum(l, kFlatLength, block_sum_patterns(l.lanes), scale);
    sum.reserve(l.block_cells());
    for (const bool summing : {false, true}) {
      std::fill(out.begin(), out.end(), -1.0);
      for (int chunk = 0; chunk < l.chunks; chunk += 2) {
        const Average27Args args{&block.around, &block.around, out.data(), chunk, std::min(chunk + 2, l.chunks),
                                 streamed == 1};
        (summing ? kernel.summing : kernel.plain)(l, args, sum.raw(0), sum.magic());
      }
      stream_fence();
      ASSERT_EQ(std::memcmp(out.data(), expected.data(), expected.size() * sizeof(double)), 0);
    }
    for (int v = 0; v < l.variables; ++v) ASSERT_TRUE(sum.totals()[v] == exact[v]) << "variable " << v;
  }
}

TEST(Average27, EveryKernelGivesTheReferenceBitsAndExactSums) {
  unsigned seed = 27;
  for (const BlockLayout& l : layouts()) {
    SCOPED_TRACE("seed " + std::to_string(++seed) + ", " + checks::name_of(l));
    std::mt19937_64 random(seed);
    expect_reference_bits(random, l);
  }
}

TEST(Average27, EveryRowGivesTheReferenceBitsAndExactSums) {
  constexpr unsigned kSeed = 2732;
  std::mt19937_64 random(kSeed);
  for (const BlockLayout& l : rows(random, kMaxBlockEdge, 8)) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", " + checks::name_of(l));
    expect_reference_bits(random, l);
  }
}

/// An octet with random values in it and around it: every piece in a block of its own.
class RandomOctet {
 public:
  RandomOctet(std::mt19937_64& random, const BlockLayout& l) : steps_(piece_steps(l)) {
    for (int k = 0; k < 64; ++k) {
      values_[k] = checks::random_buffer(random, l.block_values());
      octet.pieces[k] = {
          values_[k].data() + l.offset(0, first(l, 0, k % 4), first(l, 1, k / 4 % 4), first(l, 2, k / 16)), &steps_};
      octet.far |= random() % 2 << unsigned(k);
    }
  }
  /// The tile of one of its blocks.
  [[nodiscard]] std::vector<double> tile(const TileLayout& t, const std::array<int, 3>& block) const {
    const BlockLayout& l = t.block;
    std::vector<double> tile(t.values());
    for (int v = 0; v < t.lanes * t.chunks; ++v) {
      for (int c = 0; c < (l.cells[0] + 2) * (l.cells[1] + 2) * (l.cells[2] + 2); ++c) {
        const std::array<int, 3> at{c % (l.cells[0] + 2) - 1, c / (l.cells[0] + 2) % (l.cells[1] + 2) - 1,
                                    c / (l.cells[0] + 2) / (l.cells[1] + 2) - 1};
        std::array<int, 3> piece{}, in{};
        for (int a = 0; a < 3; ++a) {
          piece[a] = 1 + block[a] + (at[a] < 0 ? -1 : at[a] < l.cells[a] ? 0 : 1);
          const bool inside = piece[a] == 1 || piece[a] == 2;
          in[a] = inside ? (at[a] + l.cells[a]) % l.cells[a] : 0;
        }
        tile[t.offset(v, at[0], at[1], at[2])] =
            octet.piece(piece[0], piece[1], piece[2]).at(in[0], in[1], in[2])[v / l.lanes * steps_.chunk + v % l.lanes];
      }
    }
    return tile;
  }
  Octet octet;

 private:
  static int first(const BlockLayout& l, int axis, int piece) { return piece == 0 ? l.cells[axis] - 1 : 0; }
  PieceSteps steps_;
  std::array<checks::Buffer, 64> values_;
};

TEST(Average27, OctetsGiveTheReferenceBitsAndExactSums) {
  const auto scale = support::FixedPointScale::for_bound(64.0);
  unsigned seed = 640;
  int taken = 0;
  std::mt19937_64 shapes(seed);
  std::vector<BlockLayout> all = layouts();
  for (const int most : {4, 12})
    for (const BlockLayout& l : rows(shapes, most, 8)) all.push_back(l);
  for (const BlockLayout& l : all) {
    SCOPED_TRACE("seed " + std::to_string(++seed) + ", " + checks::name_of(l));
    const Average27OctetKernel kernel = select_average27_octet(l, 48 << 10);
    if (kernel.scratch == 0) continue;
    ++taken;
    std::mt19937_64 random(seed);
    const RandomOctet octet(random, l);
    const TileLayout t = make_tile_layout(l);
    std::array<std::vector<double>, 8> expected;
    std::array<checks::Buffer, 8> out;
    std::vector<support::FixedPointSum> exact(l.variables, support::FixedPointSum(scale));
    Average27OctetArgs args{&octet.octet, &octet.octet};
    for (int b = 0; b < 8; ++b) {
      expected[b].resize(l.block_values());
      average27_reference(t, octet.tile(t, {b % 2, b / 2 % 2, b / 4}).data(), expected[b].data());
      for (int v = 0; v < l.variables; ++v)
        for (std::size_t c = 0; c < l.block_cells(); ++c) exact[v].add(expected[b][l.offset(v, 0, 0, 0) + c * l.lanes]);
      out[b] = checks::Buffer(l.block_values());
      args.out[b] = out[b].data();
    }
    checks::Buffer scratch(kernel.scratch);
    for (const auto& [streamed, summing] : {std::pair{0, false}, {0, true}, {1, false}, {1, true}}) {
      StageSum sum(l, kFlatLength, block_sum_patterns(l.lanes), scale);
      sum.reserve(8 * l.block_cells());
      for (auto& values : out) std::fill(values.begin(), values.end(), -1.0);
      std::fill(scratch.begin(), scratch.end(), std::numeric_limits<double>::quiet_NaN());
      for (args.first = 0; args.first < l.chunks; args.first = args.last) {
        args.last = std::min(args.first + 2, l.chunks);
        args.streams = streamed == 1;
        (summing ? kernel.summing : kernel.plain)(l, args, scratch.data(), sum.raw(0), sum.magic());
      }
      stream_fence();
      for (int b = 0; b < 8; ++b)
        ASSERT_EQ(std::memcmp(out[b].data(), expected[b].data(), expected[b].size() * sizeof(double)), 0) << b;
      for (int v = 0; summing && v < l.variables; ++v) ASSERT_TRUE(sum.totals()[v] == exact[v]) << "variable " << v;
    }
  }
  EXPECT_GT(taken, 50);
}

TEST(GatheredTile, HoldsEveryCellAroundABlockInBothKindsOfTile) {
  unsigned seed = 270;
  for (const BlockLayout& l : layouts()) {
    SCOPED_TRACE("seed " + std::to_string(++seed) + ", " + checks::name_of(l));
    std::mt19937_64 random(seed);
    const RandomSurroundings block(random, l);
    for (const TileLayout& t : {make_tile_layout(l), make_tile_layout_by_variable(l)}) {
      CellBox all{{-1, -1, -1}, l.cells};
      for (int& high : all.high) ++high;
      std::vector<double> tile(t.values(), std::numeric_limits<double>::quiet_NaN());
      gather_cells(l, block.around, all, piece_steps(t), t.lanes, tile.data());
      std::vector<double> expected = block.tile(t);
      // Nothing is written to the gaps between chunks.
      for (std::size_t end = t.chunk_values(); end <= t.values(); end += t.chunk_values()) {
        for (std::size_t k = end - t.gap; k < end; ++k) {
          ASSERT_TRUE(std::isnan(tile[k]));
          tile[k] = expected[k];
        }
      }
      ASSERT_EQ(tile, expected);
    }
  }
}

TEST(GatheredTile, HasOfEachChunkThePiecesThatAreWanted) {
  unsigned seed = 380;
  for (const BlockLayout& l : layouts()) {
    SCOPED_TRACE("seed " + std::to_string(++seed) + ", " + checks::name_of(l));
    std::mt19937_64 random(seed);
    const RandomSurroundings block(random, l);
    std::vector<PieceSet> wanted;
    for (int chunk = 0; chunk < l.chunks; ++chunk) wanted.push_back(random() % 4 == 0 ? 0 : random() & kAllPieces);
    CellBox all{{-1, -1, -1}, l.cells};
    for (int& high : all.high) ++high;
    const auto side = [&](int axis, int c) { return c < 0 ? -1 : c < l.cells[axis] ? 0 : 1; };
    for (const TileLayout& t : {make_tile_layout(l), make_tile_layout_by_variable(l)}) {
      std::vector<double> tile(t.values(), std::numeric_limits<double>::quiet_NaN());
      gather_cells(l, block.around, all, piece_steps(t), t.lanes, tile.data(), &block.around, wanted.data());
      const std::vector<double> expected = block.tile(t);
      for (int v = 0; v < l.variables; ++v)
        for (int z = -1; z <= l.cells[2]; ++z)
          for (int y = -1; y <= l.cells[1]; ++y)
            for (int x = -1; x <= l.cells[0]; ++x) {
              const double value = tile[t.offset(v, x, y, z)];
              const int piece = Surroundings::index(side(0, x), side(1, y), side(2, z));
              if ((wanted[v / l.lanes] >> piece & 1U) == 0) {
                ASSERT_TRUE(std::isnan(value)) << v << " " << x << " " << y << " " << z;
              } else {
                ASSERT_EQ(value, expected[t.offset(v, x, y, z)]) << v << " " << x << " " << y << " " << z;
              }
            }
    }
  }
}

TEST(Average27, ItsReferenceKeepsTheTotalOfAClosedBlockAndItsConstants) {
  for (const BlockLayout& l : layouts()) {
    const TileLayout t = make_tile_layout(l);
    SCOPED_TRACE(testing::Message() << l.cells[0] << "x" << l.cells[1] << "x" << l.cells[2] << ", " << l.variables);
    std::mt19937 engine(l.variables);
    std::vector<double> block(l.block_values() + kPadding), tile(t.values());
    for (double& x : block) x = std::uniform_real_distribution<double>(0.0, 1.0)(engine);
    const auto total = [&](const std::vector<double>& values, int v) {
      long double sum = 0.0;
      for (std::size_t c = 0; c < l.block_cells(); ++c) sum += values[l.offset(v, 0, 0, 0) + c * l.lanes];
      return static_cast<double>(sum);
    };
    // Behind the boundary on every side lie the block's own outermost cells.
    const PieceSteps steps = piece_steps(l);
    const auto own = [&](int d, int axis) { return d <= 0 ? 0 : l.cells[axis] - 1; };
    Surroundings closed;
    for (int k = 0; k < 27; ++k)
      closed.pieces[k] = {&block[l.offset(0, own(k % 3 - 1, 0), own(k / 3 % 3 - 1, 1), own(k / 9 - 1, 2))], &steps};
    const CellBox all{{-1, -1, -1}, {l.cells[0] + 1, l.cells[1] + 1, l.cells[2] + 1}};
    const std::vector<double> first = block;
    for (int stage = 0; stage < 5; ++stage) {
      gather_cells(l, closed, all, piece_steps(t), t.lanes, tile.data());
      average27_reference(t, tile.data(), block.data());
    }
    EXPECT_NE(block, first);
    for (int v = 0; v < l.variables; ++v)
      EXPECT_NEAR(total(block, v) / total(first, v), 1.0, 1e-13) << "variable " << v;
    std::fill(tile.begin(), tile.end(), 3.0);
    average27_reference(t, tile.data(), block.data());
    EXPECT_EQ(block[l.offset(l.variables - 1, l.cells[0] - 1, l.cells[1] - 1, l.cells[2] - 1)], 3.0);
  }
}

}  // namespace
}  // namespace amrbench::kernels
