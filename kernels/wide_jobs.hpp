#pragma once
// How kernels are told of extended faces (kernels/tile.hpp). Plain data for all back ends.
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/tile.hpp"

namespace amrbench::kernels {

enum class WideFaceWork : std::uint8_t {
  pack,   ///< what block `block` sends across its face `face`, to the message at `at`
  fill,   ///< what block `block` sends across its face `face ^ 1`, into extended face number `to` across `face`
  unpack  ///< the piece of the message at `at` into that extended face
};
/// A job of one axis. fill and unpack write the whole face for transfer whole and quarter, a part for restricted; fill
/// is for changes of level.
struct WideFaceJob {
  std::int32_t block = 0;
  std::int32_t to = 0;
  WideFaceWork work = WideFaceWork::pack;
  std::uint8_t face = 0;
  TileTransfer transfer = TileTransfer::whole;
  std::uint8_t part = 0;
  std::uint32_t unused = 0;
  std::uint64_t at = 0;  ///< doubles
};

/// Kernels take lists of one axis that are ordered by work, transfer and part, and where the jobs of each key begin;
/// last, how many there are.
inline constexpr std::size_t kWideFaceKeys = 3 * 3 * 4;
using WideFaceJobStarts = std::array<int, kWideFaceKeys + 1>;
[[nodiscard]] constexpr std::size_t wide_face_key(const WideFaceJob& job) {
  const std::size_t part = job.transfer == TileTransfer::whole ? 0 : job.part;
  return (static_cast<std::size_t>(job.work) * 3 + static_cast<std::size_t>(job.transfer)) * 4 + part;
}

}  // namespace amrbench::kernels
