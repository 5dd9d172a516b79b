#pragma once
// How thread blocks share out a block in stages of kinds 4 and 5 of the mixed work (mixed_couple.cuh). Included by
// mixed_cuda.cu only.
#include <algorithm>

#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_cuda.hpp"
#include "kernels/mixed/mixed_view.cuh"

namespace amrbench::kernels::detail {

inline constexpr int kCoupleMost = 1024, kTileThreads = 128;  // threads of a thread block
/// Blocks of so many planes at most lie in shared memory as a whole, if they are small.
inline constexpr int kTileMost = 6;
/// Planes of a ring.
inline constexpr int kMostRing = 8, kLeastRing = 6;
inline constexpr std::size_t kCoupleFixed = kPieces * sizeof(Around) + 1024;

/// In how many phases a step does a plane of each group. With fewer, groups do not wait for one another within a step,
/// so they are further apart, and more planes lie in shared memory.
template <int Phases>
struct CoupleOrder {
  static_assert(Phases == 2 || Phases == 4);
  /// Planes that a group is behind the first one.
  [[nodiscard]] static constexpr int lag(int group) { return Phases == 2 ? group + group / 2 : group; }
  static constexpr int kLast = lag(kGroups - 1), kRing = kLast + 3;
};

/// Cells of a row that come together to shared memory: two of a plane of the block, or one beside it; none if there are
/// no more. The first is (x, y), from -1 on.
struct Brought {
  int cells = 0, x = 0, y = 0;
};
/// How many of them a plane has beside it.
[[nodiscard]] inline AMRBENCH_HD int cells_beside(int nx, int ny) {
  return 2 * (nx + 2) + 2 * ny;
}
/// The one beside the plane with this number.
[[nodiscard]] inline AMRBENCH_HD Brought brought_beside(int number, int nx, int ny) {
  const int rest = number - 2 * (nx + 2);
  if (rest >= 2 * ny) return {};
  if (rest < 0) return {1, number % (nx + 2) - 1, number < nx + 2 ? -1 : ny};
  return {1, rest < ny ? -1 : nx, rest % ny};
}
/// Of all, the one with this number.
[[nodiscard]] inline AMRBENCH_HD Brought brought(int number, int nx, int ny) {
  const int pairs = nx / 2 * ny;
  if (number >= pairs) return brought_beside(number - pairs, nx, ny);
  return {2, number % (nx / 2) * 2, number / (nx / 2)};
}

/// `shared`: bytes that a thread block may have. Small blocks lie there as a whole (`tile`), of others planes in rings.
/// A thread block has one place, of the smallest cubes two, which make a warp. Its threads have the rows of cells one
/// after the other, together with the cells beside them unless rows are as long as a half of a warp: so it finds its
/// values in different banks.
inline CoupleShape couple_shape(const BlockLayout& layout, int m, std::size_t shared) {
  constexpr int kBanks = 16, kWarp = 32;  // of doubles
  constexpr int kTileBytes = 17000;
  const int nx = layout.cells[0], ny = layout.cells[1], nz = layout.cells[2];
  CoupleShape shape;
  shape.tile =
      nz <= kTileMost && (nx + 2) * (ny + 2) * (nz + 2) * kGroups * static_cast<int>(sizeof(double)) <= kTileBytes;
  const bool is_small = shape.tile && nx == 4 && ny == 4;
  shape.places = is_small ? 2 : 1;
  shape.width = is_small || nx % kBanks == 0 ? nx : nx + 2;
  shape.row = is_small ? 2 * nx : nx + 2;
  shape.plane = shape.row * (ny + 2);
  const int fewest = is_small ? 0 : nx / 2 * ny + cells_beside(nx, ny);
  shape.threads = (std::max(shape.places * shape.width * ny, fewest) + kWarp - 1) / kWarp * kWarp;
  if (m == 0 || shape.threads > (shape.tile ? kTileThreads : kCoupleMost)) return {};
  // Sets the planes; returns how many thread blocks a multiprocessor has room for.
  const auto resident = [&](int ring) {
    shape.ring = ring;
    shape.place = shape.plane * ring + (is_small ? nx : 0);
    shape.bytes = sizeof(double) * static_cast<std::size_t>(kGroups * shape.places * shape.place + 2);
    return shared / (shape.bytes + kCoupleFixed);
  };
  if (shape.tile) return resident(nz + 2) > 0 ? shape : CoupleShape{};
  // A second thread block, which works while the first one waits, is worth more than fewer phases.
  const auto most = resident(kMostRing);
  for (int ring = most == 1 && resident(kMostRing - 1) > 1 ? kMostRing - 1 : kMostRing; ring >= kLeastRing; --ring)
    if (resident(ring) > 0) return shape;
  return {};
}

struct CoupleParameters {
  MixedParameters mixed;
  CoupleShape shape;
  Divisor divisor;  ///< of kind 5
  Range range;
};

}  // namespace amrbench::kernels::detail
