#pragma once
// The device side of kernels/device_sum.hpp: CellSum is what a thread adds up in registers, flush_sums() what its
// thread block does with it at the end.
#include "kernels/device_sum.hpp"

namespace amrbench::kernels {

/// The raw sums (support/fixed_point_sum.hpp) of one thread for one variable. Only the upper half of a flag word is
/// looked at, so 32 bits of it are kept.
struct CellSum {
  unsigned long long hi = 0, lo = 0;
  unsigned int flags = 0;

  __device__ void add(double value, const DeviceSumView& sums) {
    const double shifted = value + sums.magic_hi;
    hi += static_cast<unsigned long long>(__double_as_longlong(shifted));
    flags |= static_cast<unsigned int>(__double2hiint(shifted) ^ __double2hiint(sums.magic_hi));
    const double rest = value - (shifted - sums.magic_hi);
    lo += static_cast<unsigned long long>(__double_as_longlong(rest + sums.magic_lo));
  }
  __device__ void merge(const CellSum& other) {
    hi += other.hi;
    lo += other.lo;
    flags |= other.flags;
  }
  /// The sum of the thread that stands `offset` further in the warp.
  __device__ CellSum from_behind(int offset) const {
    CellSum other;
    other.hi = __shfl_down_sync(0xffffffffU, hi, offset);
    other.lo = __shfl_down_sync(0xffffffffU, lo, offset);
    other.flags = __shfl_down_sync(0xffffffffU, flags, offset);
    return other;
  }
};

/// Adds the raw sum of `cells` values, at most kSumMaxCells, to the words of a variable.
__device__ inline void add_to_words(const CellSum& sum, std::uint32_t cells, int variable, const DeviceSumView& sums) {
  const auto offset_hi = static_cast<unsigned long long>(__double_as_longlong(sums.magic_hi)) * cells;
  const auto offset_lo = static_cast<unsigned long long>(__double_as_longlong(sums.magic_lo)) * cells;
  const __int128 total = static_cast<__int128>(static_cast<long long>(sum.hi - offset_hi)) *
                             (static_cast<__int128>(1) << support::FixedPointScale::kLowBits) +
                         static_cast<long long>(sum.lo - offset_lo);
  const int copy = static_cast<int>(blockIdx.x % kSumCopies);
  unsigned long long* const words =
      sums.words + (static_cast<std::size_t>(copy) * sums.variables + variable) * kSumWords;
  atomicAdd(words, static_cast<unsigned long long>(total) & 0xffffffffU);
  atomicAdd(words + 1, static_cast<unsigned long long>(total >> 32) & 0xffffffffU);
  atomicAdd(words + 2, static_cast<unsigned long long>(total >> 64) & 0xffffffffU);
  atomicAdd(words + 3, static_cast<unsigned long long>(static_cast<long long>(total >> 96)));
  if ((sum.flags >> 16) != 0) atomicOr(words + 4, 1ULL);
}

/// Threads after which lanes repeat when each has `Width` values that follow one another.
template <int Lanes, int Width>
inline constexpr int kSumPeriod = Lanes % Width == 0 ? Lanes / Width : Lanes;

/// Shared memory that flush_sums needs, in 64-bit words.
template <int Lanes, int Width>
constexpr int sum_scratch_words(int threads) {
  return threads / 32 * kSumPeriod<Lanes, Width> * Width * 3;
}

/// Adds up over a warp the sums of the same variable, which threads `Period` apart have. The first `Period` threads get
/// the results.
template <int Period>
__device__ inline void sum_over_warp(CellSum& sum) {
  constexpr int kWarp = 32;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  constexpr int kFirst = Period * (Period > 7 ? 2 : Period > 3 ? 4 : Period > 1 ? 8 : 16);
  static_assert(kFirst < kWarp && 2 * kFirst >= kWarp);
#pragma unroll
  for (int step = kFirst; step >= Period; step /= 2) {
    const CellSum other = sum.from_behind(step);
    if (lane + step < kWarp) sum.merge(other);
  }
}

/// Adds up the raw sums of a thread block, adds the totals to the words of `chunk`, and clears the sums. Element w of
/// thread t belongs to the chunk's variable (t * Width + w) % Lanes. `cells`: how many values each variable has, over
/// all threads. The number of threads is a multiple of 32, and all call. Ends with a barrier.
template <int Lanes, int Width>
__device__ void flush_sums(CellSum (&sums)[Width], std::uint32_t cells, int chunk, const DeviceSumView& view,
                           unsigned long long* scratch) {
  constexpr int kPeriod = kSumPeriod<Lanes, Width>;
  constexpr int kSets = kPeriod * Width / Lanes;  // sums that a warp has of each lane
  constexpr int kParts = 4;                       // threads that add up a lane over the warps
  static_assert(kPeriod * Width % Lanes == 0 && Lanes * kParts <= 32);
  const int t = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.x) / 32;
#pragma unroll
  for (int w = 0; w < Width; ++w) {
    sum_over_warp<kPeriod>(sums[w]);
    if (t % 32 < kPeriod) {
      unsigned long long* const to = scratch + ((t / 32 * kSets + w % kSets) * Lanes + (t * Width + w) % Lanes) * 3;
      to[0] = sums[w].hi;
      to[1] = sums[w].lo;
      to[2] = sums[w].flags;
    }
    sums[w] = {};
  }
  __syncthreads();
  if (t < 32) {
    const int v = t / kParts;
    CellSum total;
    for (int k = t % kParts; v < Lanes && k < warps * kSets; k += kParts) {
      const unsigned long long* const from = scratch + (k * Lanes + v) * 3;
      total.merge({from[0], from[1], static_cast<unsigned int>(from[2])});
    }
#pragma unroll
    for (int step = kParts / 2; step > 0; step /= 2) total.merge(total.from_behind(step));
    if (v < Lanes && t % kParts == 0) add_to_words(total, cells, chunk * Lanes + v, view);
  }
  __syncthreads();
}

}  // namespace amrbench::kernels
