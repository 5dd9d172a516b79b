#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cub/device/device_scan.cuh>
#include <span>

#include "partitioners/orb/gpu/weighted/weighted.hpp"
#include "partitioners/weights.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::copy_to_host;
using support::cuda_check;
using support::cuda_check_launch;

constexpr unsigned kThreadsOfPass = 256;

unsigned grid_of(std::uint64_t n) {
  return std::min(16 * multiprocessors(), blocks_of(n, kThreadsOfPass));
}

/// The largest weight, whose bits have the order of the weights; the first that is none.
__global__ void __launch_bounds__(kThreadsOfPass)
    largest_weight_kernel(const double* __restrict__ weights, std::uint64_t n, unsigned long long* largest,
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

/// round(w * 2^exponent), ties to even, as to_fixed_point(); and sums of groups. A warp a group at a time.
__global__ void __launch_bounds__(kThreadsOfPass)
    weight_units_kernel(const double* __restrict__ weights, std::uint64_t n, int exponent,
                        std::uint64_t* __restrict__ units, std::uint64_t* __restrict__ group_sums,
                        unsigned long long* total) {
  constexpr int kMine = kWeightGroup / 32;
  constexpr std::uint32_t kWarps = kThreadsOfPass / 32;
  const std::uint64_t groups = (n + kWeightGroup - 1) / kWeightGroup;
  const unsigned lane = threadIdx.x % 32;
  unsigned long long all = 0;
  for (std::uint64_t g = std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / 32; g < groups; g += gridDim.x * kWarps) {
    double weight[kMine];
    unsigned long long sum = 0;
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint64_t i = g * kWeightGroup + j * 32 + lane;
      weight[j] = i < n ? weights[i] : 0.0;
    }
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const std::uint64_t i = g * kWeightGroup + j * 32 + lane;
      const unsigned long long unit = __double2ull_rn(ldexp(weight[j], exponent));
      if (i < n) units[i] = unit;
      sum += unit;
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(kFull, sum, lanes);
    if (lane == 0) group_sums[g] = sum;
    all += sum;
  }
  if (lane == 0 && all > 0) atomicAdd(total, all);
}

/// Points in their order; a thread a coordinate.
template <class T, int Dim>
__global__ void __launch_bounds__(kThreadsOfPass)
    gather_points_kernel(const T* __restrict__ points, const std::uint32_t* __restrict__ order, std::uint64_t values,
                         T* __restrict__ moved) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= values) return;
  const std::uint64_t i = k / Dim;
  moved[k] = points[std::uint64_t{order[i]} * Dim + (k - i * Dim)];
}

}  // namespace

WeightUnits::WeightUnits(std::uint64_t n, const support::CudaStream& stream) : n_(n), stream_(stream), host_(1) {
  units_.resize_discard((n + 3) / 4 * 4);
  ends_.resize_discard((n + kWeightGroup - 1) / kWeightGroup);
  findings_.resize_discard(1);
}

WeightUnits::Findings WeightUnits::read() {
  copy_to_host(host_.data(), findings_.data(), 1, stream_);
  stream_.synchronize();
  return host_[0];
}

/// The exponent of these weights; refuses those that are none.
int WeightUnits::checked_exponent(const double* weights) {
  Findings* const found = findings_.data();
  largest_weight_kernel<<<grid_of(n_), kThreadsOfPass, 0, stream_.get()>>>(weights, n_, &found->largest, &found->bad);
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

void WeightUnits::convert(const double* weights, std::optional<int> exponent) {
  const cudaStream_t stream = stream_.get();
  host_[0] = {0, n_, 0};
  support::copy_to_device(findings_.data(), host_.data(), 1, stream_);
  if (!exponent) exponent = checked_exponent(weights);
  weight_units_kernel<<<grid_of(n_), kThreadsOfPass, 0, stream>>>(weights, n_, *exponent, units_.data(), ends_.data(),
                                                                  &findings_.data()->total);
  cuda_check_launch("weight_units_kernel");
  std::size_t bytes = 0;
  const auto groups = static_cast<std::uint32_t>(ends_.size());
  cuda_check(cub::DeviceScan::InclusiveSum(nullptr, bytes, ends_.data(), ends_.data(), groups, stream), "DeviceScan");
  temporary_.resize_discard(bytes);
  cuda_check(cub::DeviceScan::InclusiveSum(temporary_.data(), bytes, ends_.data(), ends_.data(), groups, stream),
             "DeviceScan");
  total_ = read().total;
  unit_ = std::ldexp(1.0, -*exponent);
}

template <class T, int Dim>
WeightedMultiway<T, Dim>::WeightedMultiway(std::uint64_t n, const OrbGpuOptions& options) : n_(n), options_(options) {
  if (wide_suits(n, options)) wide_ = std::make_unique<WeightedWideRound<T, Dim>>(n, options, stream_);
  if (options.points) points_.resize_discard(n * Dim);
  if (options.labels) labels_.resize_discard(n);
}

template <class T, int Dim>
void WeightedMultiway<T, Dim>::run(const T* points, const double* weights, std::optional<int> exponent,
                                   OrbTree<T, Dim>& tree, OrbGpuTimes& times) {
  watch_.reset();
  watch_.mark(nullptr);
  units_.convert(weights, exponent);
  tree.cells[1].weight = units_.total();
  tree.weight_unit = units_.unit();
  watch_.mark(&times.weights_s);
  std::vector<std::size_t> active;
  if (tree.leaves > 1) active.push_back(1);
  const bool wide =
      wide_ && reinterpret_cast<std::uintptr_t>(points) % 16 == 0 && run_wide(points, tree, times, active);
  const bool ordered = options_.points || options_.permutation;
  if (!wide && ordered) {
    own_order_.resize_discard(n_);
    order_ = own_order_.data();
  }
  if (tree.leaves == 1) {
    if (ordered) write_numbers(order_, n_, stream_);
    if (options_.labels) clear(labels_, n_, stream_);
  }
  levels_.run({points, units_.data(), wide ? order_ : nullptr, false},
              {nullptr, ordered ? order_ : nullptr, options_.labels ? labels_.data() : nullptr}, active,
              options_.side_tolerance, tree, watch_, times);
  if (options_.points) gather(points);
  watch_.mark(&times.move_s);
  stream_.synchronize();
  watch_.close();
  times.wide = wide;
  times.rounds += wide ? 1 : 0;
  times.total_s = watch_.total();
}

/// The wide round; false: it cut nothing. active: cells to cut further.
template <class T, int Dim>
bool WeightedMultiway<T, Dim>::run_wide(const T* points, OrbTree<T, Dim>& tree, OrbGpuTimes& times,
                                        std::vector<std::size_t>& active) {
  if (!wide_->cut(points, {units_.data(), units_.ends()}, points_, tree, watch_, times)) return false;
  active = wide_->left();
  if (options_.labels) wide_->label(labels_.data());
  watch_.mark(&times.labels_s);
  order_ = nullptr;
  if (options_.points || options_.permutation || !active.empty()) order_ = wide_->order();
  watch_.mark(&times.move_s);
  return true;
}

template <class T, int Dim>
void WeightedMultiway<T, Dim>::gather(const T* points) {
  const std::uint64_t values = n_ * Dim;
  gather_points_kernel<T, Dim>
      <<<blocks_of(values, kThreadsOfPass), kThreadsOfPass, 0, stream_.get()>>>(points, order_, values, points_.data());
  cuda_check_launch("gather_points_kernel");
}

template class WeightedMultiway<float, 2>;
template class WeightedMultiway<float, 3>;
template class WeightedMultiway<double, 2>;
template class WeightedMultiway<double, 3>;

}  // namespace amrbench::partitioners::gpu
