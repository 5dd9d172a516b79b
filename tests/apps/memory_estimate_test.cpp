#include "apps/memory_estimate.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace amrbench::apps {
namespace {

TEST(MemoryEstimate, OfTheReadmeCase) {
  Config config;  // 2 x 2 x 2 roots, 8^3 cells, 40 variables, 4 levels
  const MemoryEstimate e = estimate_memory(config, 2);
  EXPECT_EQ(e.variables_padded, 40);
  EXPECT_EQ(e.block_bytes, 512.0 * 40 * 8 * 2);
  EXPECT_EQ(e.initial_blocks, 8);
  EXPECT_EQ(e.bound_blocks, 8.0 * 4096);
  EXPECT_EQ(e.initial_bytes, 8 * e.block_bytes);
  EXPECT_EQ(e.initial_bytes_per_rank, 4 * e.block_bytes);
  EXPECT_EQ(e.bound_bytes_per_rank, 4.0 * 4096 * e.block_bytes);
}

TEST(MemoryEstimate, RanksShareUnevenlyAndMayBeMoreThanBlocks) {
  Config config;
  config.mesh.root = {5, 1, 1};
  config.mesh.max_level = 0;
  EXPECT_EQ(estimate_memory(config, 2).initial_bytes_per_rank, 3 * estimate_memory(config, 1).block_bytes);
  EXPECT_EQ(estimate_memory(config, 64).initial_bytes_per_rank, estimate_memory(config, 1).block_bytes);
  EXPECT_EQ(estimate_memory(config, 64).initial_bytes, 5 * estimate_memory(config, 1).block_bytes);
}

TEST(MemoryEstimate, PaddingIsSmall) {
  Config config;
  for (int variables = 1; variables <= 256; ++variables) {
    config.fields.variables = variables;
    const int padded = estimate_memory(config, 1).variables_padded;
    EXPECT_GE(padded, variables);
    EXPECT_LE(padded, variables + 3) << variables;
  }
  config.fields.variables = 11;
  EXPECT_EQ(estimate_memory(config, 1).variables_padded, 12);
}

TEST(MemoryEstimate, SinglePrecisionTakesHalfOfAGpu) {
  Config config;
  config.shallow_water.precision = "single";
  const double whole = estimate_memory(config, 1).block_bytes;
  config.run.workload = "shallow_water";
  EXPECT_EQ(estimate_memory(config, 1).block_bytes, whole);
  config.device.backend = "cuda";
  EXPECT_EQ(estimate_memory(config, 1).block_bytes, 0.5 * whole);
  config.shallow_water.precision = "double";
  EXPECT_EQ(estimate_memory(config, 1).block_bytes, whole);
}

TEST(MemoryEstimate, TheLargestMeshDoesNotOverflow) {
  Config config;
  config.mesh.root = {1, 1, 1};
  config.mesh.block = {32, 32, 32};
  config.mesh.max_level = 20;
  config.fields.variables = 65536;
  const MemoryEstimate e = estimate_memory(config, 1);
  EXPECT_EQ(e.bound_blocks, 1152921504606846976.0);  // 2^60
  EXPECT_GT(e.bound_bytes, 1e27);
  EXPECT_LT(e.bound_bytes, std::numeric_limits<double>::infinity());
}

TEST(FormatBytes, ThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(327680), "320 KiB");
  EXPECT_EQ(format_bytes(1.25 * 1024 * 1024 * 1024), "1.25 GiB");
  EXPECT_EQ(format_bytes(10240.0 * 1024), "10.0 MiB");
}

TEST(DescribeMemory, NamesBothMeshes) {
  Config config;
  const std::string text = describe_memory(config, 2, "# ");
  EXPECT_NE(text.find("# memory of a block: 320 KiB"), std::string::npos) << text;
  EXPECT_NE(text.find("# root mesh: 8 blocks, 2.50 MiB; 1.25 MiB a rank on 2 ranks\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# at most, all refined to max_level: 32768 blocks, 10.0 GiB; 5.00 GiB a rank\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace amrbench::apps
