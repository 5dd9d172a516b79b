#pragma once
// Heavy points of the first round: those that a sample by weight would take over and over. Internal to OrbGpu.
//
// In:  weights, and the size of the sample. Out: the heavy points; the sums of the others, the light ones, for a sample
// of these alone.
// Why. Of a sample by weight each point stands for the same weight. Where one point has most of the weight, most of
// the sample is that point, and tells nothing of the cells beside it. So heavy points are listed instead, each once,
// with the number of the sample's points that its weight amounts to, and the sample has light points only.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cub/device/device_scan.cuh>

#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// A point is heavy that would be so many points of the sample; light ones may be twice as many.
constexpr double kHeavyCopies = 8;
/// Searches for heavy points: without those found, others may be heavy.
constexpr int kHeavySearches = 6;

/// What a search finds.
struct HeavySearch {
  unsigned long long total, heaviest;  ///< of the light points
  std::uint32_t heavy;                 ///< points that are not light
};

/// Sums of the light points' weights by group, and a list of the heavy points. A warp a group at a time.
template <class Unit>
__global__ void __launch_bounds__(256)
    heavy_search_kernel(const Unit* __restrict__ units, std::uint64_t n, Unit heavy, Unit* __restrict__ group_sums,
                        std::uint32_t* __restrict__ positions, std::uint32_t room, HeavySearch* found) {
  constexpr std::uint32_t kWarps = 256 / 32;
  const std::uint64_t groups = (n + kWeightGroup - 1) / kWeightGroup;
  const unsigned lane = threadIdx.x % 32;
  unsigned long long all = 0, most = 0;
  for (std::uint64_t g = std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32; g < groups; g += gridDim.x * kWarps) {
    unsigned long long sum = 0;
#pragma unroll
    for (std::uint64_t j = 0; j < kWeightGroup; j += 32) {
      const std::uint64_t i = g * kWeightGroup + j + lane;
      const unsigned long long unit = i < n ? units[i] : 0;
      if (unit < heavy) {
        sum += unit;
        most = max(most, unit);
        continue;
      }
      const std::uint32_t at = atomicAdd(&found->heavy, 1U);
      if (at < room) positions[at] = static_cast<std::uint32_t>(i);
    }
    sum = warp_sum(sum);
    if (lane == 0) group_sums[g] = sum;
    all += sum;
  }
  most = warp_max(most);
  if (lane != 0) return;
  if (all > 0) atomicAdd(&found->total, all);
  atomicMax(&found->heaviest, most);
}

/// The heavy points as points of the sample: fours of them, what is missing of the last one at node 0. unit: the weight
/// of one copy. codes, start: as in take_sample_kernel.
template <class T, int Dim>
__global__ void take_heavy_kernel(const T* __restrict__ points, const std::uint64_t* __restrict__ units,
                                  const std::uint32_t* __restrict__ positions, std::uint32_t n, double unit,
                                  const std::uint16_t* __restrict__ codes, const std::uint16_t* __restrict__ start,
                                  float* __restrict__ sample, std::uint16_t* __restrict__ node,
                                  std::uint64_t* __restrict__ copies) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (n + 3) / 4 * 4) return;
  node[i] = 0;
  if (i >= n) return;
  const std::uint64_t at = positions[i];
  node[i] = codes != nullptr ? start[codes[at]] : std::uint16_t{1};
  copies[i] = static_cast<std::uint64_t>(static_cast<double>(units[at]) / unit);
  for (int a = 0; a < Dim; ++a) sample[std::uint64_t{i} * Dim + a] = static_cast<float>(points[at * Dim + a]);
}

class HeavyPoints {
 public:
  explicit HeavyPoints(const support::CudaStream& stream) : stream_(stream), host_(1) {}

  /// Finds the heavy ones of n points of this total weight > 0, for a sample of m. Waits where one is heavy.
  void find(const UnitWeights& weights, std::uint64_t total, std::uint64_t n, std::uint32_t m) {
    units_ = weights.units;
    light_ = weights;
    size_ = 0;
    light_total_ = total;
    std::uint64_t heaviest = weights.heaviest;
    for (int k = 0; k < kHeavySearches; ++k) {
      const double copy = static_cast<double>(light_total_) / m;
      if (static_cast<double>(heaviest) <= 2 * kHeavyCopies * copy) break;
      search(n, static_cast<std::uint64_t>(std::ceil(kHeavyCopies * copy)), m);
      heaviest = host_[0].heaviest;
    }
    // Copies add up to 2^40 at most, however light the light points are.
    unit_ = std::max(static_cast<double>(light_total_) / m, std::ldexp(static_cast<double>(total), -40));
    if (light_total_ == 0) light_ = {};
    if (size_ == 0 || light_total_ == 0) return;
    with_room(temporary_, "DeviceScan", [&](void* room, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(room, bytes, ends_.data(), ends_.data(), ends_.size(), stream_.get());
    });
    light_.ends = ends_.data();
  }

  /// Them as points of a sample; see take_heavy_kernel.
  template <class T, int Dim>
  void take(const T* points, const std::uint16_t* codes, const std::uint16_t* start, float* sample,
            std::uint16_t* node) {
    if (size_ == 0) return;
    copies_.resize_discard(std::size_t{4} * fours());
    take_heavy_kernel<T, Dim><<<blocks_of(4 * fours(), 128), 128, 0, stream_.get()>>>(
        points, units_, positions_.data(), size_, unit_, codes, start, sample, node, copies_.data());
    cuda_check_launch("take_heavy_kernel");
  }

  [[nodiscard]] std::uint32_t fours() const { return blocks_of(size_, 4); }
  [[nodiscard]] const std::uint64_t* copies() const { return copies_.data(); }
  [[nodiscard]] const UnitWeights& light() const { return light_; }  ///< the others; by number where they weigh nothing
  [[nodiscard]] std::uint64_t light_total() const { return light_total_; }

 private:
  /// Points of weight `heavy` and more are; each time at most m / 8 more.
  void search(std::uint64_t n, std::uint64_t heavy, std::uint32_t m) {
    ends_.resize_discard((n + kWeightGroup - 1) / kWeightGroup);
    positions_.resize_discard(m);
    gpu::clear(found_, 1, stream_);
    const unsigned blocks = std::min(16 * multiprocessors(), blocks_of(ends_.size(), 256 / 32));
    heavy_search_kernel<<<blocks, 256, 0, stream_.get()>>>(units_, n, heavy, ends_.data(), positions_.data(), m,
                                                           found_.data());
    cuda_check_launch("heavy_search_kernel");
    copy_to_host(host_.data(), found_.data(), 1, stream_);
    stream_.synchronize();
    size_ = host_[0].heavy;
    light_total_ = host_[0].total;
    light_.heavy = heavy;
  }

  const support::CudaStream& stream_;
  const std::uint64_t* units_ = nullptr;
  UnitWeights light_;
  std::uint64_t light_total_ = 0;
  std::uint32_t size_ = 0;
  double unit_ = 1;
  support::DeviceBuffer<std::uint64_t> ends_, copies_;
  support::DeviceBuffer<std::uint32_t> positions_;
  support::DeviceBuffer<HeavySearch> found_;
  support::PinnedBuffer<HeavySearch> host_;
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
