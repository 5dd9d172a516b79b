#pragma once
// Initial values of a cell; one source for all back ends.
#include <cstdint>

#include "sfc/host_device.hpp"
#include "support/field_stats.hpp"

namespace amrbench::kernels {

/// Value of "random" in [0, 1) for cell (x, y, z) of the root mesh.
AMRBENCH_HD constexpr double random_value(std::uint64_t seed, int variable, std::uint64_t x, std::uint64_t y,
                                          std::uint64_t z) {
  using support::mix64;
  const std::uint64_t bits = mix64(mix64(seed, static_cast<std::uint64_t>(variable)), mix64(mix64(x, y), z));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace amrbench::kernels
