#pragma once
// A cell's lanes as vectors of fixed length: one source for every number of lanes.
#include <bit>
#include <type_traits>

#include "kernels/layout.hpp"
#include "kernels/simd.hpp"

namespace amrbench::kernels {

/// Calls run(std::integral_constant<int, lanes>), lanes 1 to kMaxLanes.
template <class Run>
void with_lanes(int lanes, const Run& run) {
  static_assert(kMaxLanes == 8);
  switch (lanes) {
    case 1:
      return run(std::integral_constant<int, 1>{});
    case 2:
      return run(std::integral_constant<int, 2>{});
    case 3:
      return run(std::integral_constant<int, 3>{});
    case 4:
      return run(std::integral_constant<int, 4>{});
    case 5:
      return run(std::integral_constant<int, 5>{});
    case 6:
      return run(std::integral_constant<int, 6>{});
    case 7:
      return run(std::integral_constant<int, 7>{});
    default:
      return run(std::integral_constant<int, kMaxLanes>{});
  }
}

/// Calls run(std::integral_constant<int, n>, offset) for vectors of n lanes from `offset` on that make up `Lanes`
/// lanes: 8 is one of 8, 7 is 4 + 2 + 1. Plain loops over lanes do not become vectors here, because compilers cannot
/// know that what is stored is not what is loaded next.
template <int Lanes, int Offset = 0, class Run>
inline void for_vectors(const Run& run) {
  if constexpr (Lanes > 0) {
    constexpr int kLength = static_cast<int>(std::bit_floor(static_cast<unsigned>(Lanes)));
    run(std::integral_constant<int, kLength>{}, Offset);
    for_vectors<Lanes - kLength, Offset + kLength>(run);
  }
}

}  // namespace amrbench::kernels
