#pragma once
// How CUDA kernels are told of faces that cross a rank or a change of level. Plain data; no CUDA header needed.
//
// Packed faces and pieces start at multiples of 4 doubles in their buffers, so that stencils may read them in vectors.
#include <array>
#include <cstddef>
#include <cstdint>

namespace amrbench::kernels {

/// What is written, and out of what. `slot`: the block read; `from`: the packed quarter read.
enum class FaceWork : std::uint8_t {
  pack,             ///< face `face` of the block, packed
  pack_quarter,     ///< quarter `part` of it, each value a quarter
  pack_restricted,  ///< it, summed 2 x 2
  prolong,          ///< a whole packed face of a fine block: quarter `part` of face `face` of the coarse block `slot`
  expand,           ///< the same out of a packed quarter
  restrict_part,    ///< quarter `part` of a whole packed face of a coarse block: face `face` of the fine block `slot`
  insert            ///< the same out of a packed quarter
};

/// One piece of work; 16 bytes. `face` is that of the block that is read; for expand and insert only its axis counts.
/// part: bit 0 = upper half along the face's first axis, bit 1 = second.
struct FaceJob {
  std::int32_t slot = 0;
  FaceWork work = FaceWork::pack;
  std::uint8_t face = 0;
  std::uint8_t part = 0;
  std::uint8_t unused = 0;
  std::uint32_t from = 0;  ///< offset / 4 in the buffer of pieces received
  std::uint32_t to = 0;    ///< offset / 4 in the buffer written; restrict_part and insert: of the whole face
};
static_assert(sizeof(FaceJob) == 16);

/// Kernels take lists that are ordered by work and axis, and where the jobs of each key begin; last, how many there
/// are.
inline constexpr std::size_t kFaceKeys = 7 * 3;
using FaceJobStarts = std::array<int, kFaceKeys + 1>;
[[nodiscard]] constexpr std::size_t face_key(FaceWork work, int axis) {
  return static_cast<std::size_t>(work) * 3 + static_cast<std::size_t>(axis);
}
[[nodiscard]] constexpr std::size_t face_key(const FaceJob& job) {
  return face_key(job.work, job.face / 2);
}

/// Doubles from one piece to the next in a buffer.
[[nodiscard]] constexpr std::size_t piece_room(std::size_t values) {
  return (values + 3) / 4 * 4;
}

}  // namespace amrbench::kernels
