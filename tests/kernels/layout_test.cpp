// Which lanes make_layout chooses, and that offsets, faces and quarters fit together.
#include "kernels/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "kernels/lane_speeds.hpp"
#include "kernels/random_block.hpp"

namespace amrbench::kernels {
namespace {

int waste_of(int variables, int lanes) {
  return (variables + lanes - 1) / lanes * lanes - variables;
}

TEST(MakeLayout, CoversAllVariablesWithoutAnEmptyChunk) {
  for (int variables = 1; variables <= 1000; ++variables) {
    const BlockLayout l = make_layout({8, 4, 6}, variables);
    SCOPED_TRACE(checks::name_of(l));
    EXPECT_EQ(l.cells, (std::array{8, 4, 6}));
    EXPECT_EQ(l.variables, variables);
    ASSERT_GE(l.lanes, 1);
    ASSERT_LE(l.lanes, kMaxLanes);
    EXPECT_GE(l.lanes * l.chunks, variables);
    EXPECT_LT(l.lanes * (l.chunks - 1), variables);
  }
}

TEST(MakeLayout, WastesLittleAndTakesTheWidestThatDoes) {
  for (int variables = 1; variables <= 1000; ++variables) {
    const BlockLayout l = make_layout({8, 8, 8}, variables);
    SCOPED_TRACE(checks::name_of(l));
    const int waste = l.lanes * l.chunks - variables;
    EXPECT_LE(waste, 3);
    EXPECT_LE(waste * 8, variables) << "more than an eighth of what is computed is padding";
    if (variables >= 4) {
      EXPECT_GE(l.lanes, 4) << "short rows";
    }
    for (int lanes = variables >= 4 ? 4 : 1; lanes <= kMaxLanes; ++lanes) {
      EXPECT_GE(waste_of(variables, lanes), waste);
      if (lanes > l.lanes) {
        EXPECT_GT(waste_of(variables, lanes), waste) << lanes << " lanes are wider";
      }
    }
  }
}

/// Speed with which the variables, and no padding lanes, are got through.
double speed_of(int variables, int lanes, const LaneSpeeds& speeds) {
  return double(speeds.at(lanes - 1)) * variables / (variables + waste_of(variables, lanes));
}

TEST(MakeLayout, BySpeedsIsFastAndPadsOnlyForAGain) {
  constexpr unsigned kSpeedsSeed = 20261128;
  SCOPED_TRACE(testing::Message() << "seed " << kSpeedsSeed);
  std::mt19937 random(kSpeedsSeed);
  for (int draw = 0; draw < 3000; ++draw) {
    LaneSpeeds speeds{};
    for (int& speed : speeds) speed = 50 + static_cast<int>(random() % 50);
    const int variables = 1 + static_cast<int>(random() % 120);
    const BlockLayout l = make_layout({8, 4, 6}, variables, speeds);
    SCOPED_TRACE(testing::Message() << checks::name_of(l) << ", speeds " << testing::PrintToString(speeds));
    EXPECT_EQ(l.cells, (std::array{8, 4, 6}));
    EXPECT_EQ(l.variables, variables);
    ASSERT_GE(l.lanes, 1);
    ASSERT_LE(l.lanes, kMaxLanes);
    ASSERT_EQ(l.lanes * l.chunks, variables + waste_of(variables, l.lanes));
    const double chosen = speed_of(variables, l.lanes, speeds);
    double fastest = 0;
    for (int lanes = 1; lanes <= kMaxLanes; ++lanes) fastest = std::max(fastest, speed_of(variables, lanes, speeds));
    EXPECT_GE(chosen * 1.0301, fastest);
    for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
      const int more = waste_of(variables, lanes) - waste_of(variables, l.lanes);
      if (more == 0) {
        EXPECT_LE(speed_of(variables, lanes, speeds), chosen) << lanes << " lanes are faster";
      } else if (more < 0) {
        EXPECT_LT(speed_of(variables, lanes, speeds) * 1.0299, fastest) << lanes << " lanes pad less";
      }
    }
  }
}

TEST(LaneSpeeds, GpusTakeFourOrEightLanesWhereTheyFit) {
  const auto lanes = [](int edge, int variables) {
    const std::array cells{edge, edge, edge};
    return make_layout(cells, variables, average7_lane_speeds(cells)).lanes;
  };
  EXPECT_EQ(lanes(12, 19), 4);  // 20 in both: five lanes have 0.86 of the copy, four 0.87
  EXPECT_EQ(lanes(8, 90), 5);   // cubes of 8 have a kernel for five
  EXPECT_EQ(lanes(10, 40), 8);
  EXPECT_EQ(make_layout({12, 12, 1}, 19, average7_lane_speeds({12, 12, 1})).lanes, 1) << "in 2-D";
}

TEST(BlockLayout, OffsetsNumberEveryValueOnce) {
  for (const auto& [cells, lanes, chunks] : {std::tuple{std::array{2, 4, 6}, 3, 2}, {std::array{4, 4, 4}, 8, 1}}) {
    const BlockLayout l = checks::layout_of(cells, lanes, chunks);
    std::vector<int> seen(l.block_values(), 0);
    for (int v = 0; v < l.variables; ++v)
      for (int z = 0; z < cells[2]; ++z)
        for (int y = 0; y < cells[1]; ++y)
          for (int x = 0; x < cells[0]; ++x) ++seen.at(l.offset(v, x, y, z));
    for (const int n : seen) ASSERT_EQ(n, 1);
    // Lanes stand beside each other, then x, y, z, chunk.
    EXPECT_EQ(l.offset(1, 0, 0, 0), 1U);
    EXPECT_EQ(l.offset(0, 1, 0, 0), std::size_t(lanes));
    EXPECT_EQ(l.offset(0, 0, 1, 0), l.row_values());
    EXPECT_EQ(l.offset(0, 0, 0, 1), l.plane_values());
    if (chunks > 1) {
      EXPECT_EQ(l.offset(lanes, 0, 0, 0), l.chunk_values());
    }
  }
}

TEST(ChangeLayout, KeepsEveryValueAndClearsPaddingLanes) {
  constexpr std::array<int, 3> kCells{4, 2, 6};
  for (const int variables : {1, 3, 7, 9, 30}) {
    for (const auto& [from, to] : {std::pair{8, 1}, {1, 8}, {3, 5}, {4, 4}}) {
      const BlockLayout a = make_layout(kCells, variables, from), b = make_layout(kCells, variables, to);
      std::vector<double> values(a.block_values(), 0.0), changed(b.block_values(), -1.0);
      for (int v = 0; v < variables; ++v)
        for (int k = 0; k < 4 * 2 * 6; ++k) values.at(a.offset(v, k % 4, k / 4 % 2, k / 8)) = 100.0 * v + k + 1.0;
      change_layout(a, values.data(), b, changed.data());
      double total = 0.0;
      for (const double value : changed) total += value;
      for (int v = 0; v < variables; ++v) {
        for (int k = 0; k < 4 * 2 * 6; ++k) {
          const double value = changed.at(b.offset(v, k % 4, k / 4 % 2, k / 8));
          ASSERT_EQ(value, 100.0 * v + k + 1.0) << variables << " variables, lanes of " << from << " to " << to;
          total -= value;
        }
      }
      EXPECT_EQ(total, 0.0) << "padding lanes";
    }
  }
}

TEST(MakeLayout, OfOneLaneHasAChunkAVariable) {
  const BlockLayout l = make_layout({8, 8, 8}, 30, 1);
  EXPECT_EQ(l.lanes, 1);
  EXPECT_EQ(l.chunks, 30);
}

TEST(BlockLayout, InPlaceFacesStartAtTheirFirstCell) {
  const BlockLayout l = checks::layout_of({2, 4, 6}, 3, 2);
  const std::vector<double> block(l.block_values());
  for (int axis = 0; axis < 3; ++axis) {
    std::array<int, 3> last{};
    last[axis] = l.cells[axis] - 1;
    EXPECT_EQ(in_place_face(l, block.data(), axis, 0).values, block.data());
    EXPECT_EQ(in_place_face(l, block.data(), axis, 1).values - block.data(),
              std::ptrdiff_t(l.offset(0, last[0], last[1], last[2])));
    EXPECT_FALSE(in_place_face(l, block.data(), axis, 1).packed);
    EXPECT_EQ(l.face_values(axis), 4 * l.quarter_values(axis));
    EXPECT_EQ(l.face_cells(axis), std::size_t(l.cells[l.face_axis_a(axis)] * l.cells[l.face_axis_b(axis)]));
  }
}

TEST(ResultSkew, KeepsResultsAwayFromWhatIsLoaded) {
  for (int x = 2; x <= kMaxBlockEdge; x += 2) {
    for (int y = 2; y <= kMaxBlockEdge; y += 2) {
      for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
        const BlockLayout l = checks::layout_of({x, y, 4}, lanes, 1);
        SCOPED_TRACE(checks::name_of(l));
        const std::size_t skew = result_skew(l);
        EXPECT_EQ(skew % 8, 0U);
        ASSERT_LT(skew, kPageValues);
        // Five places on a circle of 512, at even values: some gap between two is 104 or more.
        for (const std::size_t shift : {std::size_t{0}, l.row_values(), l.plane_values()}) {
          const std::size_t ahead = (kPageValues + skew - shift % kPageValues) % kPageValues,
                            behind = (skew + shift) % kPageValues;
          for (const std::size_t apart : {ahead, behind}) {
            EXPECT_GE(apart, 44U) << "from a load " << shift << " further";
            EXPECT_GE(kPageValues - apart, 44U) << "from a load " << shift << " further";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace amrbench::kernels
