#include "sfc/key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace amrbench::sfc {
namespace {

/// Dimension as a type, for typed tests.
template <int D>
struct DimTag {
  static constexpr int kDim = D;
};

template <class Tag>
class KeyTest : public testing::Test {};
using Dims = testing::Types<DimTag<2>, DimTag<3>>;
TYPED_TEST_SUITE(KeyTest, Dims);

constexpr std::array kCurves{Curve::morton, Curve::hilbert};

std::string where(Curve curve, int bits) {
  return std::string(curve_name(curve)) + ", " + std::to_string(bits) + " bits";
}

template <int Dim>
Coord<Dim> random_coord(std::mt19937_64& rng, const Coord<Dim>& extent) {
  Coord<Dim> c{};
  for (int d = 0; d < Dim; ++d) c[d] = std::uniform_int_distribution<std::uint32_t>(0, extent[d] - 1)(rng);
  return c;
}

template <int Dim>
Coord<Dim> refined(Coord<Dim> c, int levels) {
  for (auto& x : c) x <<= levels;
  return c;
}

/// A root grid with extents of up to max_bits bits, not powers of two as a rule, and all depths that leaves.
template <int Dim>
KeySpace<Dim> random_space(std::mt19937_64& rng, Curve curve, int max_bits) {
  Coord<Dim> root{};
  std::uint32_t most = 1;
  for (auto& r : root) {
    r = std::uniform_int_distribution<std::uint32_t>(1,
                                                     1U << std::uniform_int_distribution<int>(0, max_bits)(rng))(rng);
    most = std::max(most, r);
  }
  int root_bits = 0;
  while ((1U << root_bits) < most) ++root_bits;
  return {curve, root, std::uniform_int_distribution<int>(0, 20 - root_bits)(rng)};
}

/// Morton code bit by bit.
template <int Dim>
std::uint64_t reference_morton(const Coord<Dim>& c, int bits) {
  std::uint64_t code = 0;
  for (int b = 0; b < bits; ++b) {
    for (int d = 0; d < Dim; ++d) code |= static_cast<std::uint64_t>((c[d] >> b) & 1) << (Dim * b + d);
  }
  return code;
}

/// Hilbert index by Skilling's in-place transformation of whole coordinates.
template <int Dim>
std::uint64_t reference_hilbert(Coord<Dim> x, int bits) {
  if (bits == 0) return 0;
  const std::uint32_t top = 1U << (bits - 1);
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    const std::uint32_t below = q - 1;
    for (int i = 0; i < Dim; ++i) {
      if ((x[i] & q) != 0) {
        x[0] ^= below;
      } else {
        const std::uint32_t differ = (x[0] ^ x[i]) & below;
        x[0] ^= differ;
        x[i] ^= differ;
      }
    }
  }
  for (int i = 1; i < Dim; ++i) x[i] ^= x[i - 1];
  std::uint32_t invert = 0;
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    if ((x[Dim - 1] & q) != 0) invert ^= q - 1;
  }
  std::uint64_t index = 0;
  for (int b = bits - 1; b >= 0; --b) {
    for (int i = 0; i < Dim; ++i) index = index * 2 + (((x[i] ^ invert) >> b) & 1);
  }
  return index;
}

TYPED_TEST(KeyTest, CurveIsBijectiveOnSmallCubes) {
  constexpr int kDim = TypeParam::kDim;
  for (const Curve curve : kCurves) {
    for (int bits = 0; kDim * bits <= 15; ++bits) {
      SCOPED_TRACE(where(curve, bits));
      const std::uint64_t cells = std::uint64_t{1} << (kDim * bits);
      std::vector<bool> seen(cells, false);
      for (std::uint64_t linear = 0; linear < cells; ++linear) {
        Coord<kDim> c{};
        for (int d = 0; d < kDim; ++d) c[d] = static_cast<std::uint32_t>(linear >> (d * bits)) & ((1U << bits) - 1);
        const std::uint64_t index = curve_index<kDim>(curve, c, bits);
        ASSERT_LT(index, cells);
        ASSERT_FALSE(seen[index]);
        seen[index] = true;
        ASSERT_EQ(curve_coord<kDim>(curve, index, bits), c);
      }
    }
  }
}

TYPED_TEST(KeyTest, HilbertSuccessorsShareAFace) {
  constexpr int kDim = TypeParam::kDim;
  for (int bits = 1; bits <= (kDim == 2 ? 8 : 5); ++bits) {
    SCOPED_TRACE(where(Curve::hilbert, bits));
    auto before = curve_coord<kDim>(Curve::hilbert, 0, bits);
    EXPECT_EQ(before, Coord<kDim>{});
    for (std::uint64_t i = 1; i < std::uint64_t{1} << (kDim * bits); ++i) {
      const auto c = curve_coord<kDim>(Curve::hilbert, i, bits);
      std::int64_t distance = 0;
      for (int d = 0; d < kDim; ++d) distance += std::abs(std::int64_t{c[d]} - std::int64_t{before[d]});
      ASSERT_EQ(distance, 1) << "at index " << i;
      before = c;
    }
  }
}

TYPED_TEST(KeyTest, CurvesAgreeWithReferences) {
  constexpr int kDim = TypeParam::kDim;
  constexpr std::uint64_t kSeed = 1001;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 rng(kSeed);
  for (int bits = 0; bits <= 21; ++bits) {
    SCOPED_TRACE(bits);
    Coord<kDim> extent{};
    extent.fill(1U << bits);
    for (int n = 0; n < 2000; ++n) {
      const auto c = random_coord<kDim>(rng, extent);
      const std::uint64_t morton = reference_morton<kDim>(c, bits);
      ASSERT_EQ(curve_index<kDim>(Curve::morton, c, bits), morton);
      ASSERT_EQ(curve_coord<kDim>(Curve::morton, morton, bits), c);
      const std::uint64_t hilbert = reference_hilbert<kDim>(c, bits);
      ASSERT_EQ(curve_index<kDim>(Curve::hilbert, c, bits), hilbert);
      ASSERT_EQ(curve_coord<kDim>(Curve::hilbert, hilbert, bits), c);
      // Without BMI2 these are the shipped ones; with it, this is what tests them.
      for (int d = 0; d < kDim; ++d) {
        ASSERT_EQ(morton_spread_portable<kDim>(c[d]), morton_spread<kDim>(c[d]));
        ASSERT_EQ(morton_gather_portable<kDim>(morton >> d), c[d]);
      }
    }
  }
}

TYPED_TEST(KeyTest, AnyNumberOfLevelsALookUpGivesTheSameCurve) {
  constexpr int kDim = TypeParam::kDim;
  constexpr std::uint64_t kSeed = 1002;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 rng(kSeed);
  const auto& one = kHilbertTable<kDim, 1>;
  const auto& two = kHilbertTable<kDim, 2>;
  for (int bits = 0; bits <= 21; ++bits) {
    for (int n = 0; n < 500; ++n) {
      const std::uint64_t code = rng() & ((std::uint64_t{1} << (kDim * bits)) - 1);
      const std::uint64_t index = hilbert_from_morton<kDim>(code, bits);
      ASSERT_EQ((hilbert_translate<kDim, 1>(one.from_morton, code, bits)), index) << bits;
      ASSERT_EQ((hilbert_translate<kDim, 2>(two.from_morton, code, bits)), index) << bits;
      ASSERT_EQ((hilbert_translate<kDim, 1>(one.to_morton, index, bits)), code) << bits;
      ASSERT_EQ((hilbert_translate<kDim, 2>(two.to_morton, index, bits)), code) << bits;
    }
  }
}

TYPED_TEST(KeyTest, ParentsIndexIsPrefixOfChilds) {
  constexpr int kDim = TypeParam::kDim;
  constexpr std::uint64_t kSeed = 1003;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 rng(kSeed);
  for (const Curve curve : kCurves) {
    for (int bits = 1; bits <= 20; ++bits) {
      SCOPED_TRACE(where(curve, bits));
      Coord<kDim> extent{};
      extent.fill(1U << bits);
      for (int n = 0; n < 1000; ++n) {
        auto c = random_coord<kDim>(rng, extent);
        const std::uint64_t index = curve_index<kDim>(curve, c, bits);
        for (auto& x : c) x >>= 1;
        ASSERT_EQ(curve_index<kDim>(curve, c, bits - 1), index >> kDim);
      }
    }
  }
}

TYPED_TEST(KeyTest, RoundTripsAndFamilies) {
  constexpr int kDim = TypeParam::kDim;
  constexpr std::uint64_t kSeed = 1004;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 rng(kSeed);
  for (const Curve curve : kCurves) {
    for (int n = 0; n < 400; ++n) {
      const auto space = random_space<kDim>(rng, curve, n % 21);
      for (int level = 0; level <= space.max_level(); ++level) {
        SCOPED_TRACE(where(curve, space.root_bits()) + " of root, level " + std::to_string(level));
        const auto c = random_coord<kDim>(rng, refined<kDim>(space.root(), level));
        const std::uint64_t key = space.key(level, c);
        ASSERT_NE(key, space.kNone);
        ASSERT_LT(key, std::uint64_t{1} << 61);
        ASSERT_EQ(space.level(key), level);
        ASSERT_EQ(space.coord(key), c);
        ASSERT_LE(space.first(key), key);
        ASSERT_LE(key, space.last(key));
        if (level > 0) {
          Coord<kDim> up = c;
          for (auto& x : up) x >>= 1;
          const std::uint64_t parent = space.parent(key);
          ASSERT_EQ(parent, space.key(level - 1, up));
          ASSERT_EQ(space.child(parent, space.child_index(key)), key);
          ASSERT_LE(space.first(parent), space.first(key));
          ASSERT_LE(space.last(key), space.last(parent));
        }
        if (level == space.max_level()) {
          ASSERT_EQ(space.first(key), key);
          ASSERT_EQ(space.last(key), key);
          continue;
        }
        std::uint64_t below = space.first(key);
        for (int i = 0; i < space.kChildren; ++i) {
          const std::uint64_t child = space.child(key, i);
          ASSERT_EQ(space.level(child), level + 1);
          ASSERT_EQ(space.parent(child), key);
          ASSERT_EQ(space.child_index(child), i);
          // The children's subtrees tile the parent's: the finest keys are odd, so one even number lies between two
          // subtrees, in the middle the parent's own key.
          ASSERT_EQ(space.first(child), below);
          below = space.last(child) + 2;
          if (i == space.kChildren / 2 - 1) {
            ASSERT_EQ(below, key + 1);
          }
        }
        ASSERT_EQ(below, space.last(key) + 2);
      }
    }
  }
}

TYPED_TEST(KeyTest, NeighborsAreThoseOfTheCoordinates) {
  constexpr int kDim = TypeParam::kDim;
  constexpr std::uint64_t kSeed = 1005;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 rng(kSeed);
  int boundary = 0;
  for (const Curve curve : kCurves) {
    for (int n = 0; n < 3000; ++n) {
      const auto space = random_space<kDim>(rng, curve, n % 5);
      const int level = std::uniform_int_distribution<int>(0, space.max_level())(rng);
      const auto extent = refined<kDim>(space.root(), level);
      auto c = random_coord<kDim>(rng, extent);
      const auto axis = static_cast<std::size_t>(n % kDim);  // both ends of each axis must occur at deep levels too
      if (n % 3 == 1) c[axis] = 0;
      if (n % 3 == 2) c[axis] = extent[axis] - 1;
      const std::uint64_t key = space.key(level, c);
      const auto all = space.neighbors(key);
      for (int face = 0; face < space.kFaces; ++face) {
        const auto d = static_cast<std::size_t>(face / 2);
        const bool up = face % 2 == 1;
        std::uint64_t expected = 0;
        if (up ? c[d] + 1 < extent[d] : c[d] > 0) {
          Coord<kDim> other = c;
          other[d] = up ? c[d] + 1 : c[d] - 1;
          expected = space.key(level, other);
          ASSERT_EQ(space.neighbor(expected, face ^ 1), key);
        } else {
          ++boundary;
        }
        ASSERT_EQ(all[static_cast<std::size_t>(face)], expected) << where(curve, level) << " face " << face;
        ASSERT_EQ(space.neighbor(level, c, face), expected);
        ASSERT_EQ(space.neighbor(key, face), expected);
      }
    }
  }
  EXPECT_GT(boundary, 1000);
}

/// Splits blocks at random from the roots down; leaves are listed by a walk in no particular order.
template <int Dim>
void random_leaves(const KeySpace<Dim>& space, std::mt19937_64& rng, std::uint64_t key, int depth,
                   std::vector<std::uint64_t>& leaves) {
  const int level = space.level(key);
  if (level == 0 || (level < depth && rng() % 3 != 0)) {
    for (int i = space.kChildren - 1; i >= 0; --i) random_leaves<Dim>(space, rng, space.child(key, i), depth, leaves);
  } else {
    leaves.push_back(key);
  }
}

TYPED_TEST(KeyTest, SortedLeavesAreInCurveOrder) {
  constexpr int kDim = TypeParam::kDim;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const Curve curve = kCurves[seed % 2];
    Coord<kDim> root{};
    for (auto& r : root) r = 1 + static_cast<std::uint32_t>(rng() % 3);
    const KeySpace<kDim> space(curve, root, 5);
    std::vector<std::uint64_t> leaves;
    std::uint64_t roots = 1;
    for (const auto r : root) roots *= r;
    for (std::uint64_t linear = 0; linear < roots; ++linear) {
      Coord<kDim> c{};
      std::uint64_t rest = linear;
      for (std::size_t d = 0; d < kDim; ++d) {
        c[d] = static_cast<std::uint32_t>(rest % root[d]);
        rest /= root[d];
      }
      random_leaves<kDim>(space, rng, space.key(0, c), kDim == 2 ? 5 : 3, leaves);
    }
    std::sort(leaves.begin(), leaves.end());
    const int bits = space.root_bits() + space.max_level();
    std::uint64_t volume = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      volume += std::uint64_t{1} << (kDim * (space.max_level() - space.level(leaves[i])));
      if (i == 0) continue;
      ASSERT_LT(space.last(leaves[i - 1]), space.first(leaves[i]));
      // Any cell of an earlier leaf lies before any cell of a later one on the finest curve.
      const auto before = refined<kDim>(space.coord(leaves[i - 1]), space.max_level() - space.level(leaves[i - 1]));
      const auto after = refined<kDim>(space.coord(leaves[i]), space.max_level() - space.level(leaves[i]));
      ASSERT_LT(curve_index<kDim>(curve, before, bits), curve_index<kDim>(curve, after, bits));
    }
    EXPECT_EQ(volume, roots << (kDim * space.max_level()));
    EXPECT_GT(leaves.size(), roots);
  }
}

TYPED_TEST(KeyTest, RefusesBadSpaces) {
  constexpr int kDim = TypeParam::kDim;
  Coord<kDim> root{};
  root.fill(2);
  EXPECT_NO_THROW(KeySpace<kDim>(Curve::morton, root, 19));
  EXPECT_THROW(KeySpace<kDim>(Curve::morton, root, 20), std::invalid_argument);
  EXPECT_THROW(KeySpace<kDim>(Curve::morton, root, std::numeric_limits<int>::max()), std::invalid_argument);
  EXPECT_THROW(KeySpace<kDim>(Curve::morton, root, -1), std::invalid_argument);
  root[kDim - 1] = 3;
  EXPECT_NO_THROW(KeySpace<kDim>(Curve::hilbert, root, 18));
  EXPECT_THROW(KeySpace<kDim>(Curve::hilbert, root, 19), std::invalid_argument);
  root[kDim - 1] = 1U << 20;
  EXPECT_NO_THROW(KeySpace<kDim>(Curve::hilbert, root, 0));
  root[kDim - 1] = (1U << 20) + 1;
  EXPECT_THROW(KeySpace<kDim>(Curve::hilbert, root, 0), std::invalid_argument);
  root[kDim - 1] = std::numeric_limits<std::uint32_t>::max();
  EXPECT_THROW(KeySpace<kDim>(Curve::hilbert, root, 0), std::invalid_argument);
  root[kDim - 1] = 0;
  EXPECT_THROW(KeySpace<kDim>(Curve::hilbert, root, 0), std::invalid_argument);
}

TEST(CurveName, RoundTripsAndRefusesOthers) {
  for (const Curve curve : kCurves) EXPECT_EQ(curve_from_name(curve_name(curve)), curve);
  EXPECT_EQ(curve_name(Curve::hilbert), "hilbert");
  for (const char* name : {"", "Morton", "hilbert ", "z"}) EXPECT_THROW(curve_from_name(name), std::invalid_argument);
}

}  // namespace
}  // namespace amrbench::sfc
