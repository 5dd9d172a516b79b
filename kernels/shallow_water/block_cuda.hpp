#pragma once
// The shallow-water scheme on a GPU: all blocks of a stage in one launch. The
// twin of block.hpp, whose bits it gives: both are made of cell.hpp and face.hpp.
//
// A thread block gathers the cells of one block, or of several small ones, and two layers behind each face into shared
// memory. Threads walk along segments of rows and columns, so that slopes are found once a cell and axis; fluxes and
// slopes of the surface go to shared memory, and a last pass over the cells writes the new state. Which blocks hold
// water, or may get some, is listed on the device; the others are left out. A stage of double precision moves 64 bytes
// a cell, and 88 in the second stage; it has about 500 operations.
#include <array>
#include <cstdint>

#include "kernels/shallow_water/inflow.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels::shallow_water {

/// Where the cells behind a face are.
enum class Behind : std::uint8_t {
  same,           ///< block a
  same_packed,    ///< a strip at a of the buffer of packed strips: [4][2][n]
  coarse,         ///< half `part` of the face of block a
  coarse_packed,  ///< [4][2][n / 2]
  fine,           ///< two halves: blocks a and b, or packed strips [4][2][n] where the number is negative (~offset)
  boundary,       ///< a condition
  given,          ///< a strip at a of the buffer of given strips: [5][2][n]
  inflow,         ///< the same of the buffer of inflows, with what comes in behind it (inflow.hpp)
};

/// A block of a stage: its slot, before and after, is its number.
struct alignas(16) BlockWork {
  std::int32_t level = 0;
  std::array<Behind, 4> behind{};
  std::array<std::int8_t, 4> part{};
  std::int32_t number = 0;
  std::array<std::int32_t, 4> a{}, b{};
};

/// What kernels read and write besides blocks; all in device memory.
template <class Real>
struct StageMemory {
  const Real* packed = nullptr;
  const Real* given = nullptr;
  const Real* inflows = nullptr;
  const unsigned char* had_water = nullptr;  ///< of each block, before
  unsigned char* has_water = nullptr;        ///< and after
  unsigned char* is_same = nullptr;          ///< do both buffers hold the same of a block?
  /// Bits of a double of at least 0, after a second stage: the largest (|u| + c) / dx. 0 before.
  unsigned long long* found = nullptr;
  /// How many of the job's blocks are computed and how many copied, 0 before, and which: room for all of them.
  int* counts = nullptr;
  int *computed = nullptr, *copied = nullptr;
};

/// Real: double or float. Values of blocks lie in their slots as Real, from the
/// slot's first byte.
template <class Real>
struct StageJob {
  const BlockWork* blocks = nullptr;
  int count = 0;
  int cells = 16;  ///< along an edge; even, 4 to 32
  Real dt = 0;
  /// Of the cells of level 0: quotients are dear, and those of other levels differ by powers of 2.
  Real dt_over_dx = 0, dt_over_dy = 0, dx_over_dt = 0, dy_over_dt = 0, inverse_dx = 1, inverse_dy = 1;
  int thread_blocks = 0;    ///< of the stage that run at once, 0: ask the device, which takes a while
  bool second = false;      ///< the output holds U^n
  bool copies_bed = false;  ///< to the output
  Physics<Real> physics;
  std::array<Boundary<Real>, 4> sides{};
  support::DeviceSlots in, out;
  StageMemory<Real> memory;
};

/// One stage of all blocks of the list, two launches. Returns how many thread blocks of it run at once. Asynchronous.
/// Errors: RunError when it cannot be launched.
template <class Real>
int launch_stage(const StageJob<Real>& job, const support::CudaStream& stream);

/// memory.found and memory.has_water of a state as it is, in job.in.
template <class Real>
void launch_measure(const StageJob<Real>& job, const support::CudaStream& stream);

/// A face at a side of the domain through which water comes in.
struct InflowJob {
  std::int32_t block = 0;
  int face = 0;
};
/// Values that launch_inflows() writes for a face: the strip behind it, and what comes in.
[[nodiscard]] constexpr std::size_t inflow_strip_values(int n) {
  return std::size_t(kVariables) * 2 * std::size_t(n) + inflow_values(n);
}
/// What stands behind such faces and comes in through them, before a stage of job.in; `cells`: n a face. Asynchronous.
template <class Real>
void launch_inflows(const StageJob<Real>& job, const InflowJob* faces, int count, const Inflow<Real>* cells, Real* to,
                    const support::CudaStream& stream);

/// A strip that is sent: cells [begin, begin + count) along a face of a block, two layers, to `at` of the buffer.
struct StripJob {
  std::int32_t block = 0;
  std::int16_t face = 0, begin = 0, count = 0;
  std::int64_t at = 0;
};
template <class Real>
void launch_strips(const StripJob* jobs, int count, int cells, const support::DeviceSlots& blocks, Real* packed,
                   const support::CudaStream& stream);

}  // namespace amrbench::kernels::shallow_water
