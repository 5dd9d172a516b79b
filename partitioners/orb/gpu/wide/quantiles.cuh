#pragma once
// Kernels of gpu/wide/quantiles.cu. Words as there.
#include "partitioners/orb/gpu/wide/quantiles.hpp"
#include "partitioners/orb/gpu/wide/walk.cuh"

namespace amrbench::partitioners::gpu {

constexpr int kSpreadThreads = 1024;
/// A quantile more than there are: the end of the last one's stretch.
template <class T, int Dim>
constexpr std::size_t kSpreadShared = Dim*(kQuantiles<T> + 1) * (Dim * sizeof(T) + sizeof(std::uint32_t));

/// A point at random out of each of equal stretches, in ascending order of numbers; fewer points are taken repeatedly.
template <class T, int Dim>
__global__ void quantile_sample_kernel(const T* __restrict__ points, std::uint64_t n, OrbPoint<T, Dim>* sample) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint64_t begin = i * n / kQuantileSample;
  const auto length = static_cast<std::uint32_t>((i + 1) * n / kQuantileSample - begin);
  const std::uint64_t at = begin + __umulhi(static_cast<std::uint32_t>(support::splitmix64(i)), length);
  for (int a = 0; a < Dim; ++a) sample[i].x[a] = points[at * Dim + a];
  sample[i].id = static_cast<std::uint32_t>(at);
}

template <class T, int Dim>
__global__ void quantile_keys_kernel(const OrbPoint<T, Dim>* __restrict__ sample,
                                     const std::uint32_t* __restrict__ order, int axis, OrderKey<T>* keys) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  keys[i] = order_key(sample[order[i]].x[axis]);
}

template <class T, int Dim>
__global__ void quantile_gather_kernel(const OrbPoint<T, Dim>* __restrict__ sample,
                                       const std::uint32_t* __restrict__ order, OrbPoint<T, Dim>* sorted) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  sorted[i] = sample[order[i]];
}

/// Where between a and b, in rule 1's order along the axis, p stands: 0 to 1; never falls along that order.
template <int Axis, class T, int Dim>
__device__ inline float share_between(const OrbPoint<T, Dim>& a, const OrbPoint<T, Dim>& b, const OrbPoint<T, Dim>& p) {
#pragma unroll
  for (int stage = 0; stage <= Dim; ++stage) {
    const int axis = stage < Dim ? axis_of_stage<T, Dim>(Axis, stage) : 0;
    const OrderKey<T> from = stage < Dim ? order_key(a.x[axis]) : OrderKey<T>{a.id};
    const OrderKey<T> to = stage < Dim ? order_key(b.x[axis]) : OrderKey<T>{b.id};
    const OrderKey<T> key = stage < Dim ? order_key(p.x[axis]) : OrderKey<T>{p.id};
    if (key == from && from == to) continue;
    if (key <= from) return 0;
    if (key >= to) return 1;
    return __fdiv_rn(static_cast<float>(key - from), static_cast<float>(to - from));
  }
  return 0;
}

/// An axis' quantiles in shared memory.
template <class T, int Dim>
struct SharedQuantiles {
  static constexpr std::uint32_t kStride = kQuantiles<T> + 1;
  T* x;  ///< [axis][kStride]
  std::uint32_t* id;

  __device__ SharedQuantiles(unsigned char* memory, int axis)
      : x(reinterpret_cast<T*>(memory) + axis * Dim * kStride),
        id(reinterpret_cast<std::uint32_t*>(memory + Dim * Dim * kStride * sizeof(T)) + axis * kStride) {}
  __device__ void load(const OrbPoint<T, Dim>* along) const {
    for (std::uint32_t k = threadIdx.x; k < kStride; k += kSpreadThreads) {
      const OrbPoint<T, Dim> p = along[min(k * QuantileTable<T, Dim>::kEach, kQuantileSample - 1U)];
      for (int a = 0; a < Dim; ++a) x[a * kStride + k] = p.x[a];
      id[k] = p.id;
    }
  }
  [[nodiscard]] __device__ OrbPoint<T, Dim> get(std::uint32_t k) const {
    OrbPoint<T, Dim> p;
#pragma unroll
    for (int a = 0; a < Dim; ++a) p.x[a] = x[a * kStride + k];
    p.id = id[k];
    return p;
  }
  /// Does quantile k stand at or before p? What comes after the first coordinate is read only where that is equal.
  template <int Axis>
  [[nodiscard]] __device__ bool not_after(std::uint32_t k, const OrbPoint<T, Dim>& p) const {
#pragma unroll
    for (int stage = 0; stage < Dim; ++stage) {
      const int axis = axis_of_stage<T, Dim>(Axis, stage);
      const T here = x[axis * kStride + k];
      if (here != p.x[axis]) return here < p.x[axis];
    }
    return id[k] <= p.id;
  }
};

/// The fraction of p on the axis.
template <int Axis, class T, int Dim>
__device__ inline T fraction_on(unsigned char* memory, const OrbPoint<T, Dim>& p) {
  constexpr std::uint32_t kCount = kQuantiles<T>;
  const SharedQuantiles<T, Dim> quantiles(memory, Axis);
  std::uint32_t k = 0;
#pragma unroll 1
  for (std::uint32_t step = kCount / 2; step > 0; step /= 2)
    if (quantiles.template not_after<Axis>(k + step, p)) k += step;
  const float share = share_between<Axis>(quantiles.get(k), quantiles.get(k + 1), p);
  return (static_cast<float>(k) + share) * (1.0F / kCount);
}

/// Fractions of all points. Blocks stay, one a multiprocessor. Bytes a point: 24 of 12.
template <class T, int Dim>
__global__ void __launch_bounds__(kSpreadThreads, 1)
    spread_kernel(const T* __restrict__ points, std::uint64_t n, const QuantileTable<T, Dim> table,
                  T* __restrict__ fractions) {
  extern __shared__ __align__(16) unsigned char memory[];
  for (int a = 0; a < Dim; ++a)
    SharedQuantiles<T, Dim>(memory, a).load(table.sorted + std::uint64_t{kQuantileSample} * a);
  __syncthreads();
  constexpr std::uint64_t kBlock = std::uint64_t{kSpreadThreads} * 4;
  for (std::uint64_t begin = blockIdx.x * kBlock; begin < n; begin += gridDim.x * kBlock) {
    const std::uint64_t i = begin + threadIdx.x * std::uint64_t{4};
    if (i >= n) continue;
    T x[4][Dim];
    load_four<T, Dim>(points, i, n, x);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      OrbPoint<T, Dim> p;
#pragma unroll
      for (int a = 0; a < Dim; ++a) p.x[a] = x[j][a];
      p.id = static_cast<std::uint32_t>(i + j);
      x[j][0] = fraction_on<0>(memory, p);
      x[j][1] = fraction_on<1>(memory, p);
      if constexpr (Dim == 3) x[j][Dim - 1] = fraction_on<Dim - 1>(memory, p);
    }
    for (int j = 0; j < 4 && i + j < n; ++j)
#pragma unroll
      for (int a = 0; a < Dim; ++a) fractions[(i + j) * Dim + a] = x[j][a];
  }
}

}  // namespace amrbench::partitioners::gpu
