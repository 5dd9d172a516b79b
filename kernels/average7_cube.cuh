#pragma once
// The sizes of a cube's chunk as `group` and `planes` need them, which bring it to shared memory, and where what lies
// behind its faces is found. Sizes in doubles.
#include "kernels/average7_call.cuh"

namespace amrbench::kernels::detail {

template <int Lanes, int Cells>
struct CubeChunk {
  static constexpr int kLanes = Lanes, kCells = Cells, kWidth = kDeviceWidth<Lanes>;
  static constexpr int kRow = Cells * Lanes, kPlane = kRow * Cells, kChunk = kPlane * Cells;
  static constexpr int kFace = kPlane;  // every face of a cube, packed
  static constexpr int kColumns = kPlane / kWidth;
  static constexpr int kShared = 227 * 1024;  // bytes a multiprocessor has for its thread blocks, 9.0

  /// What lies behind a face: where its first value is, and how far it is to the next row (across x: the next cell) and
  /// to the next plane.
  struct Layer {
    const double* at;
    int row, plane;
  };
  __device__ static Layer behind(const Average7Job& job, FaceCode code, int face, int chunk) {
    if (face_is_packed(code)) {
      const double* const at = job.packed + packed_offset(code) + static_cast<long long>(chunk) * kFace;
      return {at, face < 2 ? Lanes : kRow, kRow};
    }
    const int layer = face < 2 ? kRow - Lanes : face < 4 ? kPlane - kRow : kChunk - kPlane;
    return {job.in.at(code >> 1) + static_cast<long long>(chunk) * kChunk + (code & 1) * layer, kRow, kPlane};
  }
};

/// How many thread blocks fit a multiprocessor when each has `shared_bytes` of shared memory and each thread
/// `registers` registers: the number that kernels are compiled for.
constexpr int resident_blocks(std::size_t shared_bytes, std::size_t shared_room, int threads, int registers) {
  constexpr std::size_t kReserved = 1024;
  constexpr int kRegisters = 65536, kThreads = 2048;
  const auto by_shared = static_cast<int>(shared_room / (shared_bytes + kReserved));
  return std::max(1, std::min({by_shared, kRegisters / (threads * registers), kThreads / threads}));
}

}  // namespace amrbench::kernels::detail
