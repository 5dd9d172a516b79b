// Pieces around blocks, found from what stands beside faces, against where their values are in a box of blocks.
#include "kernels/beside.hpp"

#include <gtest/gtest.h>

#include "kernels/beside_grid.hpp"

namespace amrbench::kernels {
namespace {

TEST(Beside, PiecesHoldTheValuesThatLieThere) {
  int in_blocks = 0, in_faces = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const checks::BesideGrid grid(random);
    const PieceFinder find(grid.layout());
    grid.for_blocks([&](const std::array<int, 3>& block) {
      std::array<PieceSource, 3> row{};
      for (int k = 0; k < 27; ++k) {
        const std::array<int, 3> d{k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        if (k % 3 == 0) find.row(grid.beside().data(), grid.number(block), d[1], d[2], row.data());
        const PieceSource& source = row[std::size_t(k) % 3];
        ++(source.kind == PieceSource::kBlock ? in_blocks : in_faces);
        EXPECT_EQ(grid.wrong_values(block, d, source), 0)
            << "block " << block[0] << " " << block[1] << " " << block[2] << ", piece " << k;
      }
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(in_blocks, 1000);
  EXPECT_GT(in_faces, 1000);
}

TEST(Beside, PiecesOfAnOctetAreThoseOfItsOuterBlocks) {
  const OctetPlace octet{16, {3, 1, 0, 2, 7, 6, 5, 4}};
  EXPECT_EQ(octet.piece(Octet::index(1, 1, 1)), 27 * (16 + 3) + Surroundings::index(0, 0, 0));
  EXPECT_EQ(octet.piece(Octet::index(2, 1, 1)), 27 * (16 + 1) + Surroundings::index(0, 0, 0));
  EXPECT_EQ(octet.piece(Octet::index(0, 2, 3)), 27 * (16 + 5) + Surroundings::index(-1, 0, 1));
  EXPECT_EQ(octet.piece(Octet::index(3, 3, 0)), 27 * (16 + 2) + Surroundings::index(1, 1, -1));
}

}  // namespace
}  // namespace amrbench::kernels
