#pragma once
// Heavy points of the first round: those that a sample by weight would take over and over. Internal to OrbGpu.
//
// In:  weights, and the size of the sample. Out: the heavy points; the sums of the others, the light ones, for a sample
// of these alone.
// Why. Of a sample by weight each point stands for the same weight. Where one point has most of the weight, most of
// the sample is that point, and tells nothing of the cells beside it. So heavy points are listed instead, each once,
// with the number of the sample's points that its weight amounts to, and the sample has light points only.
// Where light points weigh nothing a cut is by number between two heavy points, which may lie far outside of its
// bracket: of each node the nearest ones on either side of the bracket are found exactly, for they say whether rule 5
// cuts between them.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpu/weight_units.cuh"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// A point is heavy that would be so many points of the sample; light ones may be twice as many.
constexpr double kHeavyCopies = 8;
/// Searches for heavy points: without those found, others may be heavy.
constexpr int kHeavySearches = 6;
/// Of a block that counts points beside brackets.
constexpr int kFurtherThreads = 1024;

/// A heavy point's copies, and in the highest bit: does it count as a light one, too?
constexpr std::uint64_t kAlsoLight = std::uint64_t{1} << 63U;

/// The heavy points as points of the sample: fours of them, what is missing of the last one at node 0. copy: the weight
/// of one. light_share: points of the sample of all points; as many of the heavy ones count as light ones and have a
/// copy less: where a cell needs points for its leaves all count. codes, start: as in take_sample_kernel.
template <class T, int Dim>
__global__ void take_heavy_kernel(const T* __restrict__ points, const std::uint64_t* __restrict__ units,
                                  const std::uint32_t* __restrict__ positions, std::uint32_t n, double copy,
                                  double light_share, const std::uint16_t* __restrict__ codes,
                                  const std::uint16_t* __restrict__ start, float* __restrict__ sample,
                                  std::uint16_t* __restrict__ node, std::uint64_t* __restrict__ copies) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (n + 3) / 4 * 4) return;
  node[i] = 0;
  if (i >= n) return;
  const std::uint64_t at = positions[i];
  node[i] = codes != nullptr ? start[codes[at]] : std::uint16_t{1};
  const bool counts = static_cast<double>(support::splitmix64(i) >> 32U) * 0x1p-32 < light_share;
  const unsigned long long all = __double2ull_rn(static_cast<double>(units[at]) / copy);
  copies[i] = counts ? (all - min(all, 1ULL)) | kAlsoLight : all;
  for (int a = 0; a < Dim; ++a) sample[std::uint64_t{i} * Dim + a] = static_cast<float>(points[at * Dim + a]);
}

/// Of a node, the heavy points next to its bracket on its left [0] and on its right [1]: what they weigh, at least, and
/// how far from the bracket they lie, as a key of their coordinate; and how many of the node's points lie further, at
/// most, or more than the side has leaves. All bits set where there is none.
struct HeavyBeside {
  unsigned long long weight[2];
  std::uint32_t key[2], further[2];
};

/// Of which node of a level a point with this code lies beside the bracket, on which side, and how far away. No node:
/// it is in the bracket, or in none of the level's nodes.
struct BesideOf {
  std::uint32_t node = 0, side = 0;

  __device__ BesideOf(std::uint32_t code, int level) {
    const int below = code == 0 ? 0 : level_of(code) - level;
    if (below <= 0) return;
    node = code >> static_cast<unsigned>(below);
    side = (code >> static_cast<unsigned>(below - 1)) & 1U;
  }
  template <class T>
  [[nodiscard]] __device__ std::uint32_t distance(T x) const {
    const std::uint32_t key = ordered_bits(static_cast<float>(x));
    return side == 0 ? ~key : key;
  }
};

/// First the keys of the nodes of a level, then the weights. codes: of the points, as far as the levels above are cut.
template <class T, int Dim>
__global__ void heavy_beside_kernel(int level, bool weigh, const T* __restrict__ points,
                                    const std::uint64_t* __restrict__ units,
                                    const std::uint32_t* __restrict__ positions, std::uint32_t n,
                                    const std::uint16_t* __restrict__ codes,
                                    const CutGuess<T, Dim>* __restrict__ guesses, HeavyBeside* besides) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::uint64_t at = positions[i];
  const BesideOf of(codes[at], level);
  if (of.node == 0) return;
  HeavyBeside& beside = besides[of.node];
  const std::uint32_t distance = of.distance(points[at * Dim + guesses[of.node].axis]);
  if (!weigh)
    atomicMin(&beside.key[of.side], distance);
  else if (beside.key[of.side] == distance)  // several may be equal as floats: the lightest
    atomicMin(&beside.weight[of.side], static_cast<unsigned long long>(units[at]));
}

/// Then how many of all points lie further. Blocks stay; each counts in its shared memory, and no further than to as
/// many as the node has leaves, so that few coordinates are read. codes: eights of them, what is no point is 0.
template <class T, int Dim>
__global__ void __launch_bounds__(kFurtherThreads)
    further_points_kernel(int level, const T* __restrict__ points, std::uint32_t eights,
                          const std::uint16_t* __restrict__ codes, const CutGuess<T, Dim>* __restrict__ guesses,
                          HeavyBeside* besides) {
  __shared__ std::int32_t wanted[kFirstInner];  // of the level's nodes, both sides: so many more are looked for
  const std::uint32_t first = 1U << static_cast<unsigned>(level);
  const auto most = [&](std::uint32_t k) {
    const std::uint32_t v = first + k / 2;
    return besides[v].key[k % 2] == ~0U ? 0 : static_cast<std::int32_t>(guesses[v].leaves) + 1;
  };
  for (std::uint32_t k = threadIdx.x; k < 2 * first; k += kFurtherThreads) wanted[k] = most(k);
  __syncthreads();
  for (std::uint32_t e = blockIdx.x * kFurtherThreads + threadIdx.x; e < eights; e += gridDim.x * kFurtherThreads) {
    const uint4 eight = reinterpret_cast<const uint4*>(codes)[e];
    const std::uint32_t words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) {
      const BesideOf of((words[j / 2] >> (16U * (j % 2))) & 0xffffU, level);
      if (of.node == 0) continue;
      std::int32_t& more = wanted[2 * (of.node - first) + of.side];
      if (*static_cast<volatile std::int32_t*>(&more) <= 0) continue;
      const std::uint64_t i = std::uint64_t{e} * 8 + j;
      if (of.distance(points[i * Dim + guesses[of.node].axis]) >= besides[of.node].key[of.side]) atomicSub(&more, 1);
    }
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < 2 * first; k += kFurtherThreads)
    if (const std::int32_t found = most(k) - wanted[k]; found > 0)
      atomicAdd(&besides[first + k / 2].further[k % 2], static_cast<std::uint32_t>(found));
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
    n_ = n;
    std::uint64_t heaviest = weights.heaviest;
    for (int k = 0; k < kHeavySearches; ++k) {
      const double copy = static_cast<double>(light_total_) / m;
      if (static_cast<double>(heaviest) <= 2 * kHeavyCopies * copy) break;
      search(n, static_cast<std::uint64_t>(std::ceil(kHeavyCopies * copy)), m);
      heaviest = host_[0].heaviest;
    }
    least_copy_ = std::ldexp(static_cast<double>(total), -40);  // copies add up to 2^40 at most
    if (light_total_ == 0) light_ = {};
    if (size_ == 0 || light_total_ == 0) return;
    sums_up_to(ends_, temporary_, stream_);
    light_.ends = ends_.data();
  }

  /// Them as points of a sample that has `light` light ones; see take_heavy_kernel.
  template <class T, int Dim>
  void take(double light, const T* points, const std::uint16_t* codes, const std::uint16_t* start, float* sample,
            std::uint16_t* node) {
    if (size_ == 0) return;
    copies_.resize_discard(std::size_t{4} * fours());
    const double copy = std::max(static_cast<double>(light_total_) / light, least_copy_);
    const double share = light_total_ > 0 ? light / static_cast<double>(n_) : 0;
    take_heavy_kernel<T, Dim><<<blocks_of(4 * fours(), 128), 128, 0, stream_.get()>>>(
        points, units_, positions_.data(), size_, copy, share, codes, start, sample, node, copies_.data());
    cuda_check_launch("take_heavy_kernel");
  }

  [[nodiscard]] std::uint32_t fours() const { return blocks_of(size_, 4); }
  [[nodiscard]] const std::uint64_t* copies() const { return copies_.data(); }
  [[nodiscard]] const UnitWeights& light() const { return light_; }  ///< the others; by number where they weigh nothing
  [[nodiscard]] std::uint64_t light_total() const { return light_total_; }

  /// Of the nodes of a level, which have been made known, the heavy points beside their brackets, where these alone
  /// weigh anything; else null.
  template <class T, int Dim>
  [[nodiscard]] const HeavyBeside* besides(int level, const T* points, std::uint64_t n, const std::uint16_t* codes,
                                           const CutGuess<T, Dim>* guesses) {
    if (size_ == 0 || light_total_ > 0) return nullptr;
    besides_.resize_discard(kFirstInner);
    const std::size_t first = std::size_t{1} << static_cast<unsigned>(level);
    cuda_check(cudaMemsetAsync(besides_.data() + first, 0xff, first * sizeof(HeavyBeside), stream_.get()),
               "cudaMemsetAsync");
    for (const bool weigh : {false, true}) {
      heavy_beside_kernel<T, Dim><<<blocks_of(size_, 128), 128, 0, stream_.get()>>>(
          level, weigh, points, units_, positions_.data(), size_, codes, guesses, besides_.data());
      cuda_check_launch("heavy_beside_kernel");
    }
    const std::uint32_t eights = blocks_of(n, 8);
    const unsigned blocks = std::min(2 * multiprocessors(), blocks_of(eights, kFurtherThreads));
    further_points_kernel<T, Dim>
        <<<blocks, kFurtherThreads, 0, stream_.get()>>>(level, points, eights, codes, guesses, besides_.data());
    cuda_check_launch("further_points_kernel");
    return besides_.data();
  }

 private:
  /// Points of weight `heavy` and more are; each time at most m / 8 more.
  void search(std::uint64_t n, std::uint64_t heavy, std::uint32_t m) {
    ends_.resize_discard((n + kWeightGroup - 1) / kWeightGroup);
    positions_.resize_discard(m);
    gpu::clear(found_, 1, stream_);
    const unsigned blocks = std::min(16 * multiprocessors(), blocks_of(ends_.size(), kWeightThreads / 32));
    weight_groups_kernel<<<blocks, kWeightThreads, 0, stream_.get()>>>(units_, n, 0, nullptr, heavy, positions_.data(),
                                                                       m, ends_.data(), found_.data());
    cuda_check_launch("weight_groups_kernel");
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
  std::uint64_t n_ = 0;
  double least_copy_ = 1;
  support::DeviceBuffer<std::uint64_t> ends_, copies_;
  support::DeviceBuffer<std::uint32_t> positions_;
  support::DeviceBuffer<WeightSums> found_;
  support::DeviceBuffer<HeavyBeside> besides_;
  support::PinnedBuffer<WeightSums> host_;
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
