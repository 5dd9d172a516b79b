// The sums of a stage: no overflow at the flush, bad values found, everything else unharmed.
#include "kernels/stage_sum.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "kernels/average7/average7.hpp"
#include "kernels/random_block.hpp"

namespace amrbench::kernels {
namespace {

using checks::Buffer;

/// A block whose every cell and neighbour is `value`.
struct ConstantBlock {
  ConstantBlock(const BlockLayout& layout, double value)
      : in(layout.block_values() + kPadding), out(layout.block_values() + kPadding) {
    for (double& x : in) x = value;
    args.in = in.data();
    args.out = out.data();
    for (int f = 0; f < 6; ++f) args.faces[f] = in_place_face(layout, in.data(), f / 2, f % 2);
  }
  Buffer in, out;
  BlockArgs args;
};

/// Blocks of largest values summed by the kernel and value by value. `blocks` passes 2^15 cells more than once.
void check_flush(const BlockLayout& layout, int blocks, double sign) {
  SCOPED_TRACE(checks::name_of(layout) + ", " + std::to_string(blocks) + " blocks, sign " + std::to_string(sign));
  const support::FixedPointScale scale(10);
  const Average7Kernel kernel = select_average7(layout);
  // As large as a value may be: a little more, and it would be rounded up to 2^10 in units of 2^(10 - 47).
  const double largest = sign * 0x1p10 * (1 - 0x1p-46);
  const ConstantBlock block(layout, largest);
  StageSum sum(layout, kernel.vector_length, kernel.patterns, scale);
  support::FixedPointSum one(scale);
  for (int b = 0; b < blocks; ++b) {
    sum.reserve(layout.block_cells());
    run_block(kernel.summing, layout, block.args, &sum);
  }
  for (std::size_t i = 0; i < blocks * layout.block_cells(); ++i) one.add(block.out[0]);
  ASSERT_TRUE(one.valid());
  for (const auto& total : sum.totals()) EXPECT_TRUE(total == one) << total.to_double() << " != " << one.to_double();
}

TEST(StageSum, FlushesBeforeTwoToTheFifteenCellsOverflow) {
  for (const double sign : {1.0, -1.0}) {
    check_flush(checks::layout_of({32, 32, 32}, 1, 1), 3, sign);   // one block fills it
    check_flush(checks::layout_of({16, 16, 16}, 3, 2), 17, sign);  // eight blocks fill it to the last cell
    check_flush(checks::layout_of({16, 16, 16}, 8, 1), 8, sign);
    check_flush(checks::layout_of({30, 30, 30}, 2, 1), 3, sign);  // a second block would not fit
    check_flush(checks::layout_of({8, 8, 8}, 5, 1), 130, sign);
    check_flush(checks::layout_of({2, 2, 2}, 7, 1), 4099, sign);
  }
}

TEST(StageSum, TotalsMayBeAskedForTwiceAndGoOn) {
  std::mt19937_64 random(7);
  const BlockLayout layout = checks::layout_of({4, 4, 4}, 3, 1);
  const Average7Kernel kernel = select_average7(layout);
  const support::FixedPointScale scale(10);
  StageSum whole(layout, kernel.vector_length, kernel.patterns, scale), parts = whole;
  for (int b = 0; b < 5; ++b) {
    const checks::RandomBlock block(random, layout);
    for (StageSum* sum : {&whole, &parts}) {
      sum->reserve(layout.block_cells());
      run_block(kernel.summing, layout, block.args(), sum);
    }
    (void)parts.totals();
  }
  const auto totals = whole.totals();
  EXPECT_TRUE(totals == parts.totals());
  EXPECT_TRUE(totals == parts.totals());
  EXPECT_EQ(totals[0].count(), std::int64_t(5 * layout.block_cells()));
}

TEST(StageSum, FlagsTheVariableThatLeftTheRangeAndNoOther) {
  std::mt19937_64 random(99);
  SCOPED_TRACE("seed 99");
  const std::vector<double> bad{std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                0x1p20,
                                -0x1p20,
                                0x1p300};
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const std::array<int, 3> cells : {std::array{4, 4, 4}, std::array{6, 2, 10}}) {
      const BlockLayout layout = checks::layout_of(cells, lanes, 2);
      SCOPED_TRACE(checks::name_of(layout));
      const Average7Kernel kernel = select_average7(layout);
      for (const double value : bad) {
        checks::RandomBlock block(random, layout);
        const int variable = static_cast<int>(random() % static_cast<std::uint64_t>(layout.variables));
        const auto at = [&](int d) { return static_cast<int>(random() % static_cast<std::uint64_t>(cells[d])); };
        block.in()[layout.offset(variable, at(0), at(1), at(2))] = value;
        StageSum sum(layout, kernel.vector_length, kernel.patterns, support::FixedPointScale(16));
        sum.reserve(layout.block_cells());
        run_block(kernel.summing, layout, block.args(), &sum);
        for (int v = 0; v < layout.variables; ++v)
          EXPECT_EQ(sum.totals()[v].valid(), v != variable) << "variable " << v << ", value " << value;
      }
    }
  }
}

TEST(StageSum, PaddingLanesDoNotCount) {
  // The last chunk's padding lane holds values out of range: no variable is touched by it.
  const BlockLayout layout = checks::layout_of({4, 4, 4}, 4, 2, 1);
  const Average7Kernel kernel = select_average7(layout);
  ConstantBlock block(layout, 2.0);
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x) block.in[layout.offset(7, x, y, z)] = 0x1p40;
  StageSum sum(layout, kernel.vector_length, kernel.patterns, support::FixedPointScale(4));
  sum.reserve(layout.block_cells());
  run_block(kernel.summing, layout, block.args, &sum);
  ASSERT_EQ(sum.totals().size(), 7U);
  for (const auto& total : sum.totals()) {
    EXPECT_TRUE(total.valid());
    EXPECT_EQ(total.to_double(), 128.0);
  }
}

}  // namespace
}  // namespace amrbench::kernels
