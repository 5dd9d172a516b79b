// Packed, restricted and prolonged faces against their definitions, and what they conserve.
#include "kernels/faces.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/random_block.hpp"

namespace amrbench::kernels {
namespace {

using checks::Buffer;

constexpr std::uint64_t kSeed = 424242;

/// A layer's value of a block at (a, b) of a face, by the layout's definition.
double face_value(const BlockLayout& l, const double* block, int face, int v, int a, int b) {
  std::array<int, 3> at{};
  at[face / 2] = face % 2 ? l.cells[face / 2] - 1 : 0;
  at[l.face_axis_a(face / 2)] = a;
  at[l.face_axis_b(face / 2)] = b;
  return block[l.offset(v, at[0], at[1], at[2])];
}

/// Place of a value in a packed face of na x nb cells.
std::size_t packed_at(const BlockLayout& l, int na, int nb, int v, int a, int b) {
  return ((std::size_t(v / l.lanes) * nb + b) * na + a) * l.lanes + v % l.lanes;
}

struct Face {
  int axis, na, nb;
};
Face face_of(const BlockLayout& l, int face) {
  return {face / 2, l.cells[l.face_axis_a(face / 2)], l.cells[l.face_axis_b(face / 2)]};
}

template <class Check>
void for_all_faces(const Check& check) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const std::array<int, 3> cells : {std::array{4, 4, 4}, {8, 8, 8}, {2, 4, 6}, {6, 2, 10}, {32, 2, 2}}) {
      const BlockLayout l = checks::layout_of(cells, lanes, 1 + lanes % 3);
      SCOPED_TRACE(checks::name_of(l));
      for (int face = 0; face < 6; ++face) {
        SCOPED_TRACE("face " + std::to_string(face));
        check(l, face, random);
      }
    }
  }
}

/// Calls f(v, a, b) for every value of na x nb cells.
template <class F>
void for_values(const BlockLayout& l, int na, int nb, const F& f) {
  for (int v = 0; v < l.lanes * l.chunks; ++v)
    for (int b = 0; b < nb; ++b)
      for (int a = 0; a < na; ++a) f(v, a, b);
}

TEST(Faces, PackFaceCopies) {
  for_all_faces([](const BlockLayout& l, int face, std::mt19937_64& random) {
    const auto [axis, na, nb] = face_of(l, face);
    const Buffer block = checks::random_buffer(random, l.block_values());
    std::vector<double> out(l.face_values(axis) + 1, -7.0);
    pack_face(l, block.data(), face, out.data());
    for_values(l, na, nb, [&, na = na, nb = nb](int v, int a, int b) {
      ASSERT_EQ(out[packed_at(l, na, nb, v, a, b)], face_value(l, block.data(), face, v, a, b));
    });
    EXPECT_EQ(out.back(), -7.0);
  });
}

TEST(Faces, PackQuarterCutsAndDivides) {
  for_all_faces([](const BlockLayout& l, int face, std::mt19937_64& random) {
    const auto [axis, na, nb] = face_of(l, face);
    const Buffer block = checks::random_buffer(random, l.block_values());
    for (int q = 0; q < 4; ++q) {
      const int qa = q & 1, qb = q >> 1;
      std::vector<double> out(l.quarter_values(axis) + 1, -7.0);
      pack_quarter(l, block.data(), face, qa, qb, out.data());
      for_values(l, na / 2, nb / 2, [&, na = na, nb = nb](int v, int a, int b) {
        const double whole = face_value(l, block.data(), face, v, qa * na / 2 + a, qb * nb / 2 + b);
        ASSERT_EQ(out[packed_at(l, na / 2, nb / 2, v, a, b)], whole / 4.0);
      });
      EXPECT_EQ(out.back(), -7.0);
    }
  });
}

TEST(Faces, PackRestrictedSumsTwoByTwo) {
  for_all_faces([](const BlockLayout& l, int face, std::mt19937_64& random) {
    const auto [axis, na, nb] = face_of(l, face);
    const Buffer block = checks::random_buffer(random, l.block_values());
    std::vector<double> out(l.quarter_values(axis) + 1, -7.0);
    pack_restricted(l, block.data(), face, out.data());
    for_values(l, na / 2, nb / 2, [&, na = na, nb = nb](int v, int a, int b) {
      const auto u = [&](int da, int db) { return face_value(l, block.data(), face, v, 2 * a + da, 2 * b + db); };
      ASSERT_EQ(out[packed_at(l, na / 2, nb / 2, v, a, b)], u(0, 0) + u(0, 1) + u(1, 0) + u(1, 1));
    });
    EXPECT_EQ(out.back(), -7.0);
  });
}

TEST(Faces, ExpandAndInsertPutValuesInTheirPlaces) {
  for_all_faces([](const BlockLayout& l, int face, std::mt19937_64& random) {
    const auto [axis, na, nb] = face_of(l, face);
    std::vector<double> expanded(l.face_values(axis) + 1, -7.0), inserted = expanded;
    for (int q = 0; q < 4; ++q) {
      const int qa = q & 1, qb = q >> 1;
      const Buffer quarter = checks::random_buffer(random, l.quarter_values(axis));
      expand_quarter(l, quarter.data(), axis, l.chunks, expanded.data());
      for_values(l, na, nb, [&, na = na, nb = nb](int v, int a, int b) {
        ASSERT_EQ(expanded[packed_at(l, na, nb, v, a, b)], quarter[packed_at(l, na / 2, nb / 2, v, a / 2, b / 2)]);
      });
      const std::vector<double> before = inserted;
      insert_quarter(l, quarter.data(), axis, qa, qb, l.chunks, inserted.data());
      for_values(l, na, nb, [&, na = na, nb = nb](int v, int a, int b) {
        const bool inside = a / (na / 2) == qa && b / (nb / 2) == qb;
        const std::size_t at = packed_at(l, na, nb, v, a, b);
        const double expected =
            inside ? quarter[packed_at(l, na / 2, nb / 2, v, a % (na / 2), b % (nb / 2))] : before[at];
        ASSERT_EQ(inserted[at], expected);
      });
    }
    EXPECT_EQ(expanded.back(), -7.0);
    EXPECT_EQ(inserted.back(), -7.0);
  });
}

/// Sum of a variable over a packed face; exact for whole numbers and their quarters.
double total(const BlockLayout& l, int na, int nb, int v, const std::vector<double>& packed) {
  double sum = 0.0;
  for (int b = 0; b < nb; ++b)
    for (int a = 0; a < na; ++a) sum += packed[packed_at(l, na, nb, v, a, b)];
  return sum;
}

TEST(Faces, WhatCrossesALevelIsConserved) {
  for_all_faces([](const BlockLayout& l, int face, std::mt19937_64& random) {
    const auto [axis, na, nb] = face_of(l, face);
    const Buffer block = checks::whole_numbers(random, l.block_values());
    std::vector<double> whole(l.face_values(axis)), quarter(l.quarter_values(axis)), fine(whole.size()),
        coarse(whole.size());
    pack_face(l, block.data(), face, whole.data());
    // Four quarters of a coarse face, each spread over a fine one: together what the coarse face holds.
    std::vector<double> sums(l.lanes * l.chunks, 0.0);
    for (int q = 0; q < 4; ++q) {
      pack_quarter(l, block.data(), face, q & 1, q >> 1, quarter.data());
      expand_quarter(l, quarter.data(), axis, l.chunks, fine.data());
      for (int v = 0; v < l.lanes * l.chunks; ++v) {
        EXPECT_EQ(total(l, na, nb, v, fine), 4.0 * total(l, na / 2, nb / 2, v, quarter));
        sums[v] += total(l, na, nb, v, fine);
      }
    }
    for (int v = 0; v < l.lanes * l.chunks; ++v) EXPECT_EQ(sums[v], total(l, na, nb, v, whole));
    // Fine faces restricted and put into a coarse one: the coarse one holds the sum of the four.
    pack_restricted(l, block.data(), face, quarter.data());
    for (int q = 0; q < 4; ++q) insert_quarter(l, quarter.data(), axis, q & 1, q >> 1, l.chunks, coarse.data());
    for (int v = 0; v < l.lanes * l.chunks; ++v)
      EXPECT_EQ(total(l, na, nb, v, coarse), 4.0 * total(l, na, nb, v, whole));
  });
}

TEST(Faces, FourQuartersInsertedAreTheFaceOverFour) {
  for_all_faces([](const BlockLayout& l, int face, std::mt19937_64& random) {
    const int axis = face / 2;
    const Buffer block = checks::random_buffer(random, l.block_values());
    std::vector<double> whole(l.face_values(axis)), built(l.face_values(axis)), quarter(l.quarter_values(axis));
    pack_face(l, block.data(), face, whole.data());
    for (int q = 0; q < 4; ++q) {
      pack_quarter(l, block.data(), face, q & 1, q >> 1, quarter.data());
      insert_quarter(l, quarter.data(), axis, q & 1, q >> 1, l.chunks, built.data());
    }
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(built[i], whole[i] / 4.0);
  });
}

TEST(Faces, ShortCutsEqualPackingAndUnpacking) {
  for_all_faces([](const BlockLayout& l, int face, std::mt19937_64& random) {
    const int axis = face / 2;
    const std::size_t step = l.face_cells(axis) * l.lanes;
    const Buffer block = checks::random_buffer(random, l.block_values());
    std::vector<double> quarter(l.quarter_values(axis)), expected(l.face_values(axis), -7.0), made = expected;
    for (int q = 0; q < 4; ++q) {
      const int qa = q & 1, qb = q >> 1;
      pack_quarter(l, block.data(), face, qa, qb, quarter.data());
      expand_quarter(l, quarter.data(), axis, l.chunks, expected.data());
      for (int c = 0; c < l.chunks; ++c)  // one by one: what is made at once must be the same
        prolong_face(l, block.data() + c * l.chunk_values(), face, qa, qb, 1, made.data() + c * step);
      ASSERT_EQ(made, expected) << "prolong, quarter " << q;
      pack_restricted(l, block.data(), face, quarter.data());
      insert_quarter(l, quarter.data(), axis, qa, qb, l.chunks, expected.data());
      for (int c = 0; c < l.chunks; ++c)
        restrict_face(l, block.data() + c * l.chunk_values(), face, qa, qb, 1, made.data() + c * step);
      ASSERT_EQ(made, expected) << "restrict, quarter " << q;
    }
  });
}

}  // namespace
}  // namespace amrbench::kernels
