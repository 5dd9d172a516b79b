#pragma once
// Weights on a GPU as integers, by the rules of weights.hpp, so that sums do not depend on order. Internal to OrbGpu.
// Kernels are templates because several translation units have them; weights are doubles.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "partitioners/orb/gpu/cut.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/weights.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

constexpr unsigned kWeightThreads = 256;

inline unsigned weights_grid(std::uint64_t n) {
  return std::min(16 * multiprocessors(), blocks_of(n, kWeightThreads));
}

/// The largest weight, whose bits have the order of the weights; the first that is none.
template <class Weight>
__global__ void __launch_bounds__(kWeightThreads)
    largest_weight_kernel(const Weight* __restrict__ weights, std::uint64_t n, unsigned long long* largest,
                          unsigned long long* bad) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long mine = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const double w = weights[i];
    if (!(w >= 0 && w <= DBL_MAX)) {
      atomicMin(bad, static_cast<unsigned long long>(i));
      continue;
    }
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(w + 0.0));
    mine = bits > mine ? bits : mine;
  }
  mine = warp_max(mine);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicMax(largest, mine);
}

/// What a pass over weights finds.
struct WeightSums {
  unsigned long long total, heaviest;  ///< of the light points
  std::uint32_t heavy;                 ///< points that are not light
};

/// Sums of weights by group; a warp a group at a time. Doubles become integers, `units`, on the way, and all are light.
/// Else points of weight `heavy` and more are not in the sums: the first `room` of them are listed.
template <class Weight>
__global__ void __launch_bounds__(kWeightThreads)
    weight_groups_kernel(const Weight* __restrict__ weights, std::uint64_t n, int exponent,
                         std::uint64_t* __restrict__ units, std::uint64_t heavy, std::uint32_t* __restrict__ positions,
                         std::uint32_t room, std::uint64_t* __restrict__ group_sums, WeightSums* found) {
  constexpr bool kConvert = std::is_same_v<Weight, double>;
  constexpr std::uint64_t kMine = kWeightGroup / 32;
  constexpr std::uint32_t kWarps = kWeightThreads / 32;
  const std::uint64_t groups = (n + kWeightGroup - 1) / kWeightGroup;
  const unsigned lane = threadIdx.x % 32;
  unsigned long long all = 0, most = 0;
  for (std::uint64_t g = std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32; g < groups; g += gridDim.x * kWarps) {
    Weight weight[kMine];
    unsigned long long sum = 0;
    std::uint32_t here = 0, mine = 0;  // heavy ones of the group, and of it this lane's, a bit each
#pragma unroll
    for (std::uint64_t j = 0; j < kMine; ++j) {
      const std::uint64_t i = g * kWeightGroup + j * 32 + lane;
      weight[j] = i < n ? weights[i] : Weight{0};
    }
#pragma unroll
    for (std::uint64_t j = 0; j < kMine; ++j) {
      unsigned long long unit = 0;
      if constexpr (kConvert) {
        const std::uint64_t i = g * kWeightGroup + j * 32 + lane;
        unit = weight_unit(weight[j], exponent);
        if (i < n) units[i] = unit;
      } else {
        unit = weight[j];
        const bool is_heavy = unit >= heavy;
        here += static_cast<std::uint32_t>(__popc(__ballot_sync(kFull, is_heavy)));
        mine |= (is_heavy ? 1U : 0U) << j;
        if (is_heavy) continue;
      }
      sum += unit;
      most = max(most, unit);
    }
    if (here > 0) {  // one atomic: all blocks wait for the same word
      std::uint32_t at = lane == 0 ? atomicAdd(&found->heavy, here) : 0;
      at = __shfl_sync(kFull, at, 0);
#pragma unroll
      for (std::uint64_t j = 0; j < kMine; ++j) {
        const bool is_heavy = (mine >> j & 1U) != 0;
        const unsigned others = __ballot_sync(kFull, is_heavy);
        const std::uint32_t to = at + static_cast<std::uint32_t>(__popc(others & ((1U << lane) - 1U)));
        if (is_heavy && to < room) positions[to] = static_cast<std::uint32_t>(g * kWeightGroup + j * 32 + lane);
        at += static_cast<std::uint32_t>(__popc(others));
      }
    }
    sum = warp_sum(sum);
    if (lane == 0) group_sums[g] = sum;
    all += sum;
  }
  most = warp_max(most);
  if (lane != 0 || most == 0) return;
  atomicAdd(&found->total, all);
  atomicMax(&found->heaviest, most);
}

/// Weights as integers, by the rules of weights.hpp.
class WeightUnits {
 public:
  WeightUnits(std::uint64_t n, const support::CudaStream& stream) : n_(n), stream_(stream), host_(1) {
    units_.resize_discard(n);
    ends_.resize_discard((n + kWeightGroup - 1) / kWeightGroup);
    findings_.resize_discard(1);
  }

  /// From n doubles on the device. InputError with the index of the first that is negative, NaN or infinite, unless the
  /// exponent is given. Waits. 24 bytes a point, 16 with an exponent.
  void convert(const double* weights, std::optional<int> exponent) {
    host_[0] = {0, n_, {}};
    copy_to_device(findings_.data(), host_.data(), 1, stream_);
    if (!exponent) exponent = checked_exponent(weights);
    weight_groups_kernel<<<weights_grid(n_), kWeightThreads, 0, stream_.get()>>>(
        weights, n_, *exponent, units_.data(), 0, nullptr, 0, ends_.data(), &findings_.data()->sums);
    cuda_check_launch("weight_groups_kernel");
    sums_up_to(ends_, temporary_, stream_);
    found_ = read().sums;
    unit_ = std::ldexp(1.0, -*exponent);
  }

  [[nodiscard]] UnitWeights get() const { return {units_.data(), ends_.data(), found_.heaviest}; }
  [[nodiscard]] std::uint64_t total() const { return found_.total; }
  [[nodiscard]] double unit() const { return unit_; }  ///< value of 1

 private:
  /// What the kernels find: the bits of the largest weight, the first bad index, and sums of the units.
  struct Findings {
    unsigned long long largest, bad;
    WeightSums sums;
  };

  [[nodiscard]] Findings read() {
    copy_to_host(host_.data(), findings_.data(), 1, stream_);
    stream_.synchronize();
    return host_[0];
  }

  /// The exponent of these weights; refuses those that are none.
  [[nodiscard]] int checked_exponent(const double* weights) {
    Findings* const found = findings_.data();
    largest_weight_kernel<<<weights_grid(n_), kWeightThreads, 0, stream_.get()>>>(weights, n_, &found->largest,
                                                                                  &found->bad);
    cuda_check_launch("largest_weight_kernel");
    const Findings first = read();
    if (first.bad < n_) {
      double weight = 0;
      copy_to_host(&weight, weights + first.bad, 1, stream_);
      stream_.synchronize();
      checked_heaviest(std::span<const double>(&weight, 1), first.bad, 1);  // says so
    }
    return fixed_point_shift(n_, std::bit_cast<double>(first.largest), kOrbWeightBits);
  }

  std::uint64_t n_;
  const support::CudaStream& stream_;
  support::DeviceBuffer<std::uint64_t> units_, ends_;
  support::DeviceBuffer<unsigned char> temporary_;
  support::DeviceBuffer<Findings> findings_;
  support::PinnedBuffer<Findings> host_;
  WeightSums found_{};
  double unit_ = 1;
};

}  // namespace amrbench::partitioners::gpu
