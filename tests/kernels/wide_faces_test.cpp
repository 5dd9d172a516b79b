// Extended faces: what every ghost must hold, written out cell by cell, against what is packed, filled and put in
// place.
#include "kernels/wide_faces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace amrbench::kernels {
namespace {

constexpr double kNotWritten = -7.0;

/// A block and its ghosts with random values, as a tile and as what lies around the block.
struct RandomTile {
  TileLayout layout;
  PieceSteps steps;
  std::vector<double> values;

  RandomTile(std::mt19937& random, const BlockLayout& block)
      : layout(make_tile_layout(block)), steps(piece_steps(layout)), values(layout.values()) {
    for (double& x : values) x = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
  }
  [[nodiscard]] Surroundings around() const {
    Surroundings around;
    const auto first = [&](int d, int axis) { return d < 0 ? -1 : d == 0 ? 0 : layout.block.cells[axis]; };
    for (int k = 0; k < 27; ++k) {
      const std::size_t at = layout.cell(first(k % 3 - 1, 0), first(k / 3 % 3 - 1, 1), first(k / 9 - 1, 2));
      around.pieces[k] = {values.data() + at, &steps};
    }
    return around;
  }
};

/// The value of `variable` at in-plane (a, b) of layer `layer` across `axis`.
double at(const TileLayout& t, const std::vector<double>& tile, int variable, int axis, int layer, int a, int b) {
  std::array<int, 3> c{};
  c[axis] = layer;
  c[t.block.face_axis_a(axis)] = a;
  c[t.block.face_axis_b(axis)] = b;
  return tile[t.offset(variable, c[0], c[1], c[2])];
}

/// One shape and one face of it.
struct Case {
  BlockLayout layout;
  int face, axis = face / 2;
  WideFaces faces{layout, axis};
  TileLayout whole = make_tile_layout(layout);
  int a_axis = layout.face_axis_a(axis), b_axis = layout.face_axis_b(axis);
  int na = layout.cells[a_axis], nb = layout.cells[b_axis];
  int ea = a_axis < axis ? 1 : 0, eb = b_axis < axis ? 1 : 0;
  int sent_layer = face % 2 ? 0 : layout.cells[axis] - 1;  ///< of the block behind `face`

  /// The value of `variable` at in-plane (a, b) of an extended face.
  [[nodiscard]] double ghost(const std::vector<double>& extended_face, int variable, int a, int b) const {
    const FaceLayout& f = faces.extended();
    std::array<int, 3> c{};
    c[a_axis] = a;
    c[b_axis] = b;
    return extended_face[variable / f.lanes * f.chunk_values() + f.cell(c[0], c[1], c[2]) + variable % f.lanes];
  }

  [[nodiscard]] WideFaceJob job(WideFaceWork work, TileTransfer transfer, int part) const {
    WideFaceJob job;
    job.work = work;
    job.face = static_cast<std::uint8_t>(work == WideFaceWork::pack ? face ^ 1 : face);
    job.transfer = transfer;
    job.part = static_cast<std::uint8_t>(part);
    return job;
  }
  /// An extended face that `neighbors` fill, one a part, directly and by messages: both the same.
  [[nodiscard]] std::vector<double> filled(const std::vector<RandomTile>& neighbors, TileTransfer transfer,
                                           int only_part) const {
    std::vector<double> direct(faces.extended().values(), kNotWritten), sent = direct, scratch(faces.scratch());
    for (std::size_t k = 0; k < neighbors.size(); ++k) {
      const int part = neighbors.size() == 1 ? only_part : static_cast<int>(k);
      const Surroundings around = neighbors[k].around();
      if (transfer != TileTransfer::whole)
        faces.fill(job(WideFaceWork::fill, transfer, part), around, direct.data(), scratch.data());
      std::vector<double> piece(tile_piece_values(whole, transfer, axis) + 1, kNotWritten);
      faces.pack(job(WideFaceWork::pack, transfer, part), around, piece.data(), scratch.data());
      EXPECT_EQ(piece.back(), kNotWritten) << "wrote beyond the piece";
      EXPECT_EQ(std::count(piece.begin(), piece.end(), kNotWritten), 1) << "left some of the piece";
      faces.unpack(job(WideFaceWork::unpack, transfer, part), piece.data(), sent.data());
    }
    EXPECT_TRUE(transfer == TileTransfer::whole || direct == sent) << "filled directly and by messages";
    return sent;
  }
  /// Are the ghosts of an extended face those of expected(variable, a, b), and has it no other values?
  template <class Expected>
  void check(const std::vector<double>& extended_face, const Expected& expected) const {
    std::size_t cells = 0;
    for (int b = -eb; b < nb + eb; ++b) {
      for (int a = -ea; a < na + ea; ++a, ++cells) {
        for (int v = 0; v < layout.lanes * layout.chunks; ++v)
          ASSERT_EQ(ghost(extended_face, v, a, b), expected(v, a, b)) << v << " " << a << " " << b;
      }
    }
    EXPECT_EQ(extended_face.size(), cells * layout.lanes * layout.chunks);
  }
};

/// Runs check(random, case) for all faces of random shapes.
template <class Check>
void for_random_cases(const Check& check) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const BlockLayout l = make_layout({2 * whole(1, 6), 2 * whole(1, 6), 2 * whole(1, 6)}, whole(1, 19));
    for (int face = 0; face < 6; ++face) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", face " << face << " of " << l.cells[0] << "x"
                                      << l.cells[1] << "x" << l.cells[2] << ", " << l.variables << " variables");
      check(random, Case{l, face});
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(WideFaces, OfOneLevelAreTheNeighboursCells) {
  for_random_cases([](std::mt19937& random, const Case& c) {
    const std::vector<RandomTile> neighbor(1, RandomTile(random, c.layout));
    c.check(c.filled(neighbor, TileTransfer::whole, 0),
            [&](int v, int a, int b) { return at(c.whole, neighbor[0].values, v, c.axis, c.sent_layer, a, b); });
  });
}

TEST(WideFaces, OfFineBlocksAreAQuarterOfTheCoarseCellThatContainsTheGhost) {
  const auto floor_half = [](int f) { return (f + 2) / 2 - 1; };
  for_random_cases([&](std::mt19937& random, const Case& c) {
    const std::vector<RandomTile> coarse(1, RandomTile(random, c.layout));
    const int part = static_cast<int>(random() % 4);
    c.check(c.filled(coarse, TileTransfer::quarter, part), [&](int v, int a, int b) {
      const int ca = (part & 1) * c.na / 2 + floor_half(a), cb = (part >> 1) * c.nb / 2 + floor_half(b);
      return at(c.whole, coarse[0].values, v, c.axis, c.sent_layer, ca, cb) / 4.0;
    });
  });
}

TEST(WideFaces, OfCoarseBlocksAreSumsOfTheFineCellsBeforeTheGhost) {
  for_random_cases([](std::mt19937& random, const Case& c) {
    std::vector<RandomTile> fine;
    for (int part = 0; part < 4; ++part) fine.emplace_back(random, c.layout);
    c.check(c.filled(fine, TileTransfer::restricted, 0), [&](int v, int a, int b) {
      // The ghost's fine cells in the plane of all four fine blocks; the outermost layer stands for what lies beyond.
      const int pa = a >= c.na / 2, pb = b >= c.nb / 2;
      const auto value = [&](int da, int db) {
        const int fa = std::clamp(2 * (a - pa * c.na / 2) + da, -c.ea, c.na - 1 + c.ea);
        const int fb = std::clamp(2 * (b - pb * c.nb / 2) + db, -c.eb, c.nb - 1 + c.eb);
        return at(c.whole, fine[pa + 2 * pb].values, v, c.axis, c.sent_layer, fa, fb);
      };
      return value(0, 0) + value(0, 1) + value(1, 0) + value(1, 1);
    });
  });
}

}  // namespace
}  // namespace amrbench::kernels
