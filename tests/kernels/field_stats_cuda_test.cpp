// Statistics made on a GPU against those of the CPU: equal in every bit, whatever the values.
#include "kernels/field_stats_cuda.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "kernels/device_mesh.hpp"

namespace amrbench::kernels {
namespace {

constexpr std::uint64_t kSeed = 90210;

/// Any bits; or values near 1, as fields have; or special ones among them.
double draw(std::mt19937_64& random, int kind) {
  if (kind == 0) return checks::random_double(random);
  if (kind == 1) return std::bit_cast<double>(random());
  constexpr std::array kSpecial{0.0,
                                -0.0,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::denorm_min(),
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::lowest()};
  return random() % 4 == 0 ? kSpecial[random() % kSpecial.size()] : checks::random_double(random);
}

void expect_equal(const support::FieldStats& got, const support::FieldStats& expected) {
  EXPECT_EQ(got.sum().to_hex(), expected.sum().to_hex());
  EXPECT_TRUE(got.sum() == expected.sum());
  EXPECT_EQ(got.sum_squares().to_hex(), expected.sum_squares().to_hex());
  EXPECT_TRUE(got.sum_squares() == expected.sum_squares());
  EXPECT_EQ(got.hash().to_hex(), expected.hash().to_hex());
  EXPECT_EQ(std::bit_cast<std::uint64_t>(got.min()), std::bit_cast<std::uint64_t>(expected.min()));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(got.max()), std::bit_cast<std::uint64_t>(expected.max()));
  EXPECT_EQ(got.nan_count(), expected.nan_count());
}

TEST(FieldStatsCuda, EqualTheCpusInEveryBit) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const std::array<int, 3> cells : {std::array{4, 4, 4}, {8, 8, 8}, {2, 4, 6}, {32, 2, 16}}) {
      for (int kind = 0; kind < 3; ++kind) {
        const BlockLayout l = checks::layout_of(cells, lanes, 1 + lanes % 3, lanes > 2 ? 1 : 0);
        SCOPED_TRACE(checks::name_of(l) + ", kind " + std::to_string(kind));
        const int count = 1 + static_cast<int>(random() % 2000) / (cells[0] * cells[1]);
        const std::size_t values = l.block_values();
        std::vector<double> host((count + 2) * values);
        for (double& x : host) x = draw(random, kind);
        std::vector<std::int32_t> slots;
        std::vector<std::uint64_t> hashes;
        std::vector<support::FieldStats> expected(l.variables);
        for (int i = 0; i < count; ++i) {
          slots.push_back((i * 1 + 2) % (count + 2));
          hashes.push_back(random());
          for (int v = 0; v < l.variables; ++v) {
            for (std::size_t cell = 0; cell < l.block_cells(); ++cell) {
              const std::size_t at = std::size_t(v / l.lanes) * l.chunk_values() + cell * l.lanes + v % l.lanes;
              expected[v].add(host[slots[i] * values + at], support::mix64(hashes[i], cell));
            }
          }
        }
        const support::CudaStream stream;
        checks::DeviceField field(host, values, stream);
        const auto slot_list = checks::to_device(slots, stream);
        const auto hash_list = checks::to_device(hashes, stream);
        const auto got = device_field_stats(l, slot_list.data(), hash_list.data(), count, field.view(stream), stream);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t v = 0; v < got.size(); ++v) expect_equal(got[v], expected[v]);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(FieldStatsCuda, NoBlocksAreNoValues) {
  AMRBENCH_NEEDS_GPU();
  const support::CudaStream stream;
  const auto got = device_field_stats(make_layout({4, 4, 4}, 3), nullptr, nullptr, 0, {}, stream);
  ASSERT_EQ(got.size(), 3U);
  for (const auto& stats : got) expect_equal(stats, support::FieldStats{});
}

}  // namespace
}  // namespace amrbench::kernels
