#pragma once
// Exact sums of all variables over a stage, added up on the GPU (the twin of kernels/stage_sum.hpp).
//
// In:  every value that a stage computes, one call a value in its kernel (device_sum.cuh).
// Out: one exact total a variable.
//
// The idea. Each value becomes integers, as on the CPU (support/fixed_point_sum.hpp has the arithmetic), and integers
// may be added in any order. A thread adds up the values of its lanes in registers. A thread block adds up its threads,
// through warp shuffles and shared memory, to a 128-bit integer a variable, before 2^15 cells could overflow a raw sum.
// It adds the four 32-bit digits of that to 64-bit words in device memory by atomics. There are several copies of the
// words, so that atomics seldom meet; the host adds up the copies. Any order, number of thread blocks or GPUs gives the
// bits of the CPU.
#include <cstdint>
#include <vector>

#include "kernels/layout.hpp"
#include "support/cuda.hpp"
#include "support/fixed_point_sum.hpp"

namespace amrbench::kernels {

/// The words kernels add to: [copy][chunk * lanes + lane][kSumWords]. Copies spare atomics from meeting.
struct DeviceSumView {
  unsigned long long* words = nullptr;  ///< null: do not sum
  int variables = 0;                    ///< lanes * chunks
  double magic_hi = 0.0;
  double magic_lo = 0.0;
};
inline constexpr int kSumCopies = 64;
inline constexpr int kSumWords = 8;  ///< four digits, flags, padding to 64 bytes
inline constexpr std::uint32_t kSumMaxCells = 1U << 15;

class DeviceSum {
 public:
  explicit DeviceSum(const BlockLayout& layout);

  /// Sets the words to zero, in the stream's order, and says where they are. Not before the totals before were taken.
  [[nodiscard]] DeviceSumView start(const support::FixedPointScale& scale, const support::CudaStream& stream);
  /// Copies the words to the host once the kernels put into `stream` so far, which added `cells` values a variable, are
  /// done. Does not wait.
  void fetch(std::int64_t cells, const support::CudaStream& stream);
  /// Totals by variable (padding lanes left out) of the last fetch; waits for it.
  [[nodiscard]] std::vector<support::FixedPointSum> totals();
  [[nodiscard]] std::size_t memory_bytes() const { return words_.bytes(); }

 private:
  BlockLayout layout_;
  support::DeviceBuffer<unsigned long long> words_;
  support::PinnedBuffer<unsigned long long> host_;
  support::FixedPointScale scale_;
  std::int64_t cells_ = 0;
  support::CudaEvent fetched_;
};

}  // namespace amrbench::kernels
