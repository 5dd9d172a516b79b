#pragma once
// Floating-point numbers as integers of the same order. Host and device.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "sfc/host_device.hpp"

namespace amrbench::partitioners {

/// Unsigned integer as wide as T whose order is that of finite numbers; -0 and +0 are equal.
template <class T>
AMRBENCH_HD inline auto ordered_bits(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  const auto bits = std::bit_cast<Bits>(x + T{0});  // -0 + 0 is +0
  return static_cast<Bits>(bits ^ ((bits & kSign) != 0 ? static_cast<Bits>(~Bits{0}) : kSign));
}

/// The number, float or double, of such an integer.
template <class Bits>
AMRBENCH_HD inline auto from_ordered_bits(Bits bits) {
  using T = std::conditional_t<sizeof(Bits) == 8, double, float>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  return std::bit_cast<T>(static_cast<Bits>(bits ^ ((bits & kSign) != 0 ? kSign : static_cast<Bits>(~Bits{0}))));
}

}  // namespace amrbench::partitioners
