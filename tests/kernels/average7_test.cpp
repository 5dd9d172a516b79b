// average7 in all its compiled forms against the reference, bit for bit, and its fused sums against exact ones.
#include "kernels/average7/average7.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/average.hpp"
#include "kernels/random_block.hpp"
#include "kernels/simd.hpp"
#include "kernels/stage_sum.hpp"
#include "support/exact_sum.hpp"

namespace amrbench::kernels {
namespace {

using checks::Buffer;
using checks::RandomBlock;

constexpr std::uint64_t kSeed = 20240917;

const std::vector<std::array<int, 3>> kShapes{
    {4, 4, 4}, {6, 6, 6},  {8, 8, 8}, {16, 16, 16}, {2, 4, 6},  {6, 2, 10},  {32, 2, 2},  {2, 2, 32}, {4, 2, 6},
    {8, 2, 4}, {16, 4, 2}, {2, 2, 2}, {18, 18, 4},  {10, 6, 4}, {30, 30, 2}, {22, 14, 4}, {12, 4, 6}, {14, 6, 2}};

/// Every lane count and shape, with one to three chunks and with padding lanes.
template <class Check>
void for_all_layouts(const Check& check) {
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const auto& cells : kShapes) {
      const int chunks = 1 + static_cast<int>(random() % 3);
      const int padding = static_cast<int>(random() % static_cast<std::uint64_t>(lanes));
      const BlockLayout layout = checks::layout_of(cells, lanes, chunks, padding);
      SCOPED_TRACE(checks::name_of(layout));
      check(layout, random);
    }
  }
}

bool same_bits(const double* a, const double* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(double)) == 0;
}

void expect_reference_bits(const BlockLayout& layout, const RandomBlock& block) {
  Buffer expected(layout.block_values() + kPadding);
  average7_reference(layout, block.args_into(expected.data()));
  const Average7Kernel kernel = select_average7(layout);
  StageSum sum(layout, kernel.vector_length, kernel.patterns, support::FixedPointScale::for_bound(64.0));
  sum.reserve(4 * layout.block_cells());
  for (const bool summing : {false, true})
    for (const bool streams : {false, true}) {
      std::memset(block.args().out, 0xff, layout.block_values() * sizeof(double));
      run_block(summing ? kernel.summing : kernel.plain, layout, block.args(), summing ? &sum : nullptr, streams);
      stream_fence();
      EXPECT_TRUE(same_bits(block.out().data(), expected.data(), layout.block_values()))
          << (summing ? "summing" : "plain") << (streams ? ", past the caches" : "");
    }
}

TEST(Average7, EveryKernelGivesTheReferenceBits) {
  for_all_layouts([](const BlockLayout& layout, std::mt19937_64& random) {
    for (int repeat = 0; repeat < 4; ++repeat) expect_reference_bits(layout, RandomBlock(random, layout));
  });
}

// Every number of cells in a row, with planes of one strip and of several.
TEST(Average7, EveryRowGivesTheReferenceBits) {
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const auto edge = [&](int most) { return 2 + 2 * static_cast<int>(random() % (most / 2U)); };
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes)
    for (int nx = 2; nx <= kMaxBlockEdge; nx += 2) {
      const BlockLayout layout = checks::layout_of({nx, edge(kMaxBlockEdge), edge(8)}, lanes, 1);
      SCOPED_TRACE(checks::name_of(layout));
      expect_reference_bits(layout, RandomBlock(random, layout));
    }
}

TEST(Average7, ReferenceIsTheFormulaOfTheHeader) {
  // One cell surrounded by faces: every neighbour known by hand.
  std::mt19937_64 random(kSeed);
  const BlockLayout layout = checks::layout_of({2, 2, 2}, 1, 1);
  const RandomBlock block(random, layout);
  Buffer out(layout.block_values() + kPadding);
  const BlockArgs args = block.args_into(out.data());
  average7_reference(layout, args);
  const auto face = [&](int f, int a, int b) {
    const FaceView& view = args.faces[f];
    const std::array<std::array<int, 2>, 3> strides{{{2, 4}, {1, 4}, {1, 2}}};
    return view.packed ? view.values[a + 2 * b] : view.values[a * strides[f / 2][0] + b * strides[f / 2][1]];
  };
  const double* u = args.in;
  EXPECT_EQ(out[0], (face(0, 0, 0) + face(2, 0, 0) + face(4, 0, 0) + u[0] + u[4] + u[2] + u[1]) / 7.0);
  EXPECT_EQ(out[7], (u[6] + u[5] + u[3] + u[7] + face(5, 1, 1) + face(3, 1, 1) + face(1, 1, 1)) / 7.0);
  EXPECT_EQ(out[1], (u[0] + face(2, 1, 0) + face(4, 1, 0) + u[1] + u[5] + u[3] + face(1, 0, 0)) / 7.0);
}

TEST(Average7, SummingGivesTheSameBitsAndTheExactSums) {
  for_all_layouts([](const BlockLayout& layout, std::mt19937_64& random) {
    const Average7Kernel kernel = select_average7(layout);
    const auto scale = support::FixedPointScale::for_bound(64.0);
    StageSum sum(layout, kernel.vector_length, kernel.patterns, scale);
    std::vector<support::FixedPointSum> one_by_one(layout.variables, support::FixedPointSum(scale));
    std::vector<support::ExactSum> exact(layout.variables);
    constexpr int kBlocks = 3;
    for (int b = 0; b < kBlocks; ++b) {
      const RandomBlock block(random, layout);
      Buffer plain(layout.block_values() + kPadding);
      run_block(kernel.plain, layout, block.args_into(plain.data()), nullptr);
      sum.reserve(layout.block_cells());
      run_block(kernel.summing, layout, block.args(), &sum, b % 2 != 0);
      stream_fence();
      ASSERT_TRUE(same_bits(block.out().data(), plain.data(), layout.block_values()));
      for (int v = 0; v < layout.variables; ++v) {
        for (int z = 0; z < layout.cells[2]; ++z)
          for (int y = 0; y < layout.cells[1]; ++y)
            for (int x = 0; x < layout.cells[0]; ++x) {
              one_by_one[v].add(plain[layout.offset(v, x, y, z)]);
              exact[v].add(plain[layout.offset(v, x, y, z)]);
            }
      }
    }
    const auto& totals = sum.totals();
    ASSERT_EQ(totals.size(), std::size_t(layout.variables));
    const double unit = std::ldexp(1.0, scale.unit_exponent());
    const auto cells = static_cast<double>(kBlocks * layout.block_cells());
    for (int v = 0; v < layout.variables; ++v) {
      // The integers do not depend on the kernel: what one value contributes is fixed by the scale.
      EXPECT_TRUE(totals[v] == one_by_one[v]) << "variable " << v;
      support::ExactSum difference = exact[v];
      difference.add(-totals[v].to_double());
      const double rounding = std::abs(totals[v].to_double()) * 0x1p-53;
      EXPECT_LE(std::abs(difference.to_double()), 0.5 * unit * cells + rounding) << "variable " << v;
    }
  });
}

template <int Divisor>
void check_quotients(std::mt19937_64& random) {
  for (int k = 0; k < 2'000'000; ++k) {
    // All mantissas, and those beside multiples of the divisor, whose quotients lie next to a double.
    const std::uint64_t low = (std::uint64_t{1} << 52) / Divisor + 1, high = (std::uint64_t{1} << 53) / Divisor;
    const double multiple = static_cast<double>((low + random() % (high - low)) * Divisor + random() % 3 - 1);
    const double s = std::ldexp(k % 2 != 0 ? multiple : 1.0 + static_cast<double>(random() >> 12) * 0x1p-52,
                                static_cast<int>(random() % 1200) - 600);
    ASSERT_EQ(divided<Divisor>(s), s / Divisor) << std::hexfloat << s;
    ASSERT_EQ(divided<Divisor>(-s), -s / Divisor) << std::hexfloat << s;
  }
}

TEST(Divided, IsTheCorrectlyRoundedQuotient) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  check_quotients<7>(random);
  check_quotients<27>(random);
}

TEST(Average7, ConstantFieldStaysConstant) {
  for_all_layouts([](const BlockLayout& layout, std::mt19937_64&) {
    Buffer in(layout.block_values() + kPadding), out(layout.block_values() + kPadding);
    for (double& x : in) x = 3.0;
    BlockArgs args;
    args.in = in.data();
    args.out = out.data();
    for (int f = 0; f < 6; ++f) args.faces[f] = in_place_face(layout, in.data(), f / 2, f % 2);
    run_block(select_average7(layout).plain, layout, args, nullptr, true);
    stream_fence();
    for (std::size_t i = 0; i < layout.block_values(); ++i) ASSERT_EQ(out[i], 3.0) << "value " << i;
  });
}

}  // namespace
}  // namespace amrbench::kernels
