// Splitting and merging blocks: every cell where it belongs, totals conserved, and a round trip that changes nothing.
#include "kernels/refine_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/random_block.hpp"

namespace amrbench::kernels {
namespace {

using checks::Buffer;

constexpr std::uint64_t kSeed = 77001;

template <class Check>
void for_all_layouts(const Check& check) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const std::array<int, 3> cells : {std::array{4, 4, 4}, {8, 8, 8}, {2, 4, 6}, {6, 2, 10}, {32, 2, 2}}) {
      const BlockLayout l = checks::layout_of(cells, lanes, 1 + lanes % 2);
      SCOPED_TRACE(checks::name_of(l));
      check(l, random);
    }
  }
}

template <class F>
void for_cells(const BlockLayout& l, const F& f) {
  for (int v = 0; v < l.lanes * l.chunks; ++v)
    for (int z = 0; z < l.cells[2]; ++z)
      for (int y = 0; y < l.cells[1]; ++y)
        for (int x = 0; x < l.cells[0]; ++x) f(v, x, y, z);
}

std::array<Buffer, 8> split_all(const BlockLayout& l, const double* parent) {
  std::array<Buffer, 8> children;
  for (int octant = 0; octant < 8; ++octant) {
    children[octant] = Buffer(l.block_values() + kPadding);
    split_block(l, parent, octant, children[octant].data());
  }
  return children;
}

std::array<const double*, 8> pointers(const std::array<Buffer, 8>& children) {
  std::array<const double*, 8> p{};
  for (int octant = 0; octant < 8; ++octant) p[octant] = children[octant].data();
  return p;
}

TEST(SplitBlock, GivesEachFineCellAnEighthOfItsParent) {
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    const Buffer parent = checks::random_buffer(random, l.block_values());
    const auto children = split_all(l, parent.data());
    for (int octant = 0; octant < 8; ++octant) {
      for_cells(l, [&](int v, int x, int y, int z) {
        const int px = ((octant & 1) * l.cells[0] + x) / 2, py = ((octant >> 1 & 1) * l.cells[1] + y) / 2,
                  pz = ((octant >> 2) * l.cells[2] + z) / 2;
        ASSERT_EQ(children[octant][l.offset(v, x, y, z)], parent[l.offset(v, px, py, pz)] / 8.0)
            << "octant " << octant << " at " << x << " " << y << " " << z;
      });
    }
  });
}

TEST(MergeBlocks, SumsEightCellsByPairs) {
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    std::array<Buffer, 8> children;
    for (auto& child : children) child = checks::random_buffer(random, l.block_values());
    Buffer parent(l.block_values() + kPadding);
    merge_blocks(l, pointers(children), parent.data());
    for_cells(l, [&](int v, int x, int y, int z) {
      const int octant = (2 * x >= l.cells[0] ? 1 : 0) | (2 * y >= l.cells[1] ? 2 : 0) | (2 * z >= l.cells[2] ? 4 : 0);
      const auto fine = [&](int dx, int dy, int dz) {
        return children[octant]
                       [l.offset(v, (2 * x + dx) % l.cells[0], (2 * y + dy) % l.cells[1], (2 * z + dz) % l.cells[2])];
      };
      const auto layer = [&](int dz) { return (fine(0, 0, dz) + fine(1, 0, dz)) + (fine(0, 1, dz) + fine(1, 1, dz)); };
      const double sum = layer(0) + layer(1);
      ASSERT_EQ(parent[l.offset(v, x, y, z)], sum);
    });
  });
}

TEST(RefineData, MergeUndoesSplit) {
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    const Buffer block = checks::random_buffer(random, l.block_values());
    Buffer back(l.block_values() + kPadding);
    merge_blocks(l, pointers(split_all(l, block.data())), back.data());
    for (std::size_t i = 0; i < l.block_values(); ++i) ASSERT_EQ(back[i], block[i]) << "value " << i;
  });
}

TEST(RefineData, ChildZeroAndItsParentMayShareAPlace) {
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    const Buffer block = checks::random_buffer(random, l.block_values());
    Buffer apart(l.block_values() + kPadding), place(l.block_values() + kPadding);
    std::copy_n(block.data(), l.block_values(), place.data());
    split_block(l, block.data(), 0, apart.data());
    split_block(l, place.data(), 0, place.data());
    for (std::size_t i = 0; i < l.block_values(); ++i) ASSERT_EQ(place[i], apart[i]) << "split, value " << i;

    std::array<Buffer, 8> children;
    for (auto& child : children) child = checks::random_buffer(random, l.block_values());
    merge_blocks(l, pointers(children), apart.data());
    merge_blocks(l, pointers(children), children[0].data());
    for (std::size_t i = 0; i < l.block_values(); ++i) ASSERT_EQ(children[0][i], apart[i]) << "merge, value " << i;
  });
}

TEST(RefineData, MergeUndoesSplitForEveryEndingOfTheMantissa) {
  // Summed one by one, eight equal terms do not give eight times one for some mantissas: 3c, 5c, 6c and 7c round.
  const BlockLayout l = checks::layout_of({16, 16, 16}, 8, 1);
  Buffer block(l.block_values() + kPadding), back(l.block_values() + kPadding);
  constexpr std::uint64_t kLeading = 64, kEndings = 512;
  static_assert(kLeading * kEndings == 16 * 16 * 16 * 8);
  for (std::uint64_t lead = 0; lead < kLeading; ++lead) {
    for (std::uint64_t end = 0; end < kEndings; ++end) {
      const std::uint64_t mantissa = (std::uint64_t{1} << 52) + (lead << 46) + (lead * 0x9e3779b9U << 9) + end;
      block[lead * kEndings + end] = static_cast<double>(mantissa);
    }
  }
  merge_blocks(l, pointers(split_all(l, block.data())), back.data());
  for (std::size_t i = 0; i < l.block_values(); ++i) ASSERT_EQ(back[i], block[i]) << std::hexfloat << block[i];
}

TEST(RefineData, TotalsAreConservedExactly) {
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    const Buffer block = checks::whole_numbers(random, l.block_values());
    const auto children = split_all(l, block.data());
    std::array<Buffer, 8> others;
    for (auto& child : others) child = checks::whole_numbers(random, l.block_values());
    Buffer merged(l.block_values() + kPadding);
    merge_blocks(l, pointers(others), merged.data());
    std::vector<double> before(l.lanes * l.chunks), split = before, fine = before, coarse = before;
    for_cells(l, [&](int v, int x, int y, int z) {
      const std::size_t at = l.offset(v, x, y, z);
      before[v] += block[at];
      coarse[v] += merged[at];
      for (int octant = 0; octant < 8; ++octant) {
        split[v] += children[octant][at];
        fine[v] += others[octant][at];
      }
    });
    EXPECT_EQ(split, before);
    EXPECT_EQ(coarse, fine);
  });
}

}  // namespace
}  // namespace amrbench::kernels
