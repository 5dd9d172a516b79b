#pragma once
// The device side of kernels/device_sum.hpp.
#include "kernels/device_sum.hpp"

namespace amrbench::kernels {

/// Raw sums of one thread for one lane. Only the upper half of a flag word is looked at, so 32 bits are kept of it.
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
  __device__ CellSum shuffled(int offset) const {
    CellSum other;
    other.hi = __shfl_xor_sync(0xffffffffU, hi, offset);
    other.lo = __shfl_xor_sync(0xffffffffU, lo, offset);
    other.flags = __shfl_xor_sync(0xffffffffU, flags, offset);
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

/// Shared memory that flush_sums needs, in 64-bit words.
template <int Lanes, int Width>
constexpr int sum_scratch_words(int threads) {
  constexpr bool kPower = (Lanes & (Lanes - 1)) == 0;
  return kPower ? threads / 32 * Lanes * 3 : threads * Width + 3 * Lanes;
}

/// Adds up the raw sums of a thread block, of which element w of thread t belongs to lane (t * Width + w) % Lanes, adds
/// them to the words of `chunk`, and clears them. `cells`: values a variable, over all threads. Threads are a multiple
/// of 32; all call. Ends with a barrier.
template <int Lanes, int Width>
__device__ void flush_sums(CellSum (&sums)[Width], std::uint32_t cells, int chunk, const DeviceSumView& view,
                           unsigned long long* scratch) {
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  CellSum total;
  if constexpr ((Lanes & (Lanes - 1)) == 0) {
    constexpr int kDistinct = Lanes / Width;  // threads after which lanes repeat
#pragma unroll
    for (int w = 0; w < Width; ++w) {
#pragma unroll
      for (int offset = 16; offset >= kDistinct; offset /= 2) sums[w].merge(sums[w].shuffled(offset));
      if (lane < kDistinct) {
        unsigned long long* const to = scratch + (warp * Lanes + lane * Width + w) * 3;
        to[0] = sums[w].hi;
        to[1] = sums[w].lo;
        to[2] = sums[w].flags;
      }
    }
    __syncthreads();
    if (threadIdx.x < Lanes) {
      for (int k = 0; k < warps; ++k) {
        const unsigned long long* const from = scratch + (k * Lanes + threadIdx.x) * 3;
        total.merge({from[0], from[1], static_cast<unsigned int>(from[2])});
      }
    }
  } else {
    const int elements = static_cast<int>(blockDim.x) * Width;
    unsigned long long* const results = scratch + elements;
#pragma unroll
    for (int part = 0; part < 3; ++part) {
#pragma unroll
      for (int w = 0; w < Width; ++w)
        scratch[threadIdx.x * Width + w] = part == 0 ? sums[w].hi : part == 1 ? sums[w].lo : sums[w].flags;
      __syncthreads();
      for (int v = warp; v < Lanes; v += warps) {
        unsigned long long sum = 0;
        for (int k = v + Lanes * lane; k < elements; k += Lanes * 32)
          sum = part < 2 ? sum + scratch[k] : sum | scratch[k];
        for (int offset = 16; offset > 0; offset /= 2) {
          const unsigned long long other = __shfl_xor_sync(0xffffffffU, sum, offset);
          sum = part < 2 ? sum + other : sum | other;
        }
        if (lane == 0) results[v * 3 + part] = sum;
      }
      __syncthreads();
    }
    if (threadIdx.x < Lanes) {
      const unsigned long long* const from = results + threadIdx.x * 3;
      total = {from[0], from[1], static_cast<unsigned int>(from[2])};
    }
  }
  if (threadIdx.x < Lanes) add_to_words(total, cells, chunk * Lanes + static_cast<int>(threadIdx.x), view);
#pragma unroll
  for (int w = 0; w < Width; ++w) sums[w] = {};
  __syncthreads();
}

}  // namespace amrbench::kernels
