#include "sfc/host_device.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace amrbench {
namespace {

// On a GPU the same functions are held to the CPU's by what is built on them (orb_gpus_mpi_cuda_test: Ties).
TEST(HostDevice, FindsBits) {
  EXPECT_EQ(bit_width(0), 0);
  for (int k = 0; k < 64; ++k) {
    const std::uint64_t bit = std::uint64_t{1} << k;
    EXPECT_EQ(bit_width(bit), k + 1);
    EXPECT_EQ(bit_width(bit | (bit - 1)), k + 1);
    EXPECT_EQ(trailing_zeros(bit), k);
    EXPECT_EQ(trailing_zeros(bit | std::uint64_t{1} << 63), k);
  }
}

}  // namespace
}  // namespace amrbench
