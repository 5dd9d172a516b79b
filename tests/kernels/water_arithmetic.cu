#include "kernels/shallow_water/arithmetic.hpp"
#include "kernels/water_arithmetic.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels::checks {

namespace {

namespace water = shallow_water;

constexpr int kThreads = 256, kBlocks = 2048;

__device__ std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__device__ double divided(double a, double b) {
  return __ddiv_rn(a, b);
}
__device__ float divided(float a, float b) {
  return __fdiv_rn(a, b);
}
__device__ double rooted(double a) {
  return __dsqrt_rn(a);
}
__device__ float rooted(float a) {
  return __fsqrt_rn(a);
}

/// 1 <= result < 2.
template <class Real>
__device__ Real mantissa(std::uint64_t bits) {
  constexpr int kBits = sizeof(Real) == 4 ? 23 : 52;
  constexpr std::uint64_t kAll = (std::uint64_t{1} << kBits) - 1;
  std::uint64_t m = bits >> (64 - kBits);
  if (bits % 4 == 0) {
    m = (std::uint64_t{1} << (bits >> 2) % kBits) ^ (std::uint64_t{1} << (bits >> 10) % kBits);
    if ((bits >> 16) % 2 != 0) m = kAll ^ m;
    if ((bits >> 17) % 8 == 0) m = kAll;
  }
  if constexpr (sizeof(Real) == 4)
    return __int_as_float(static_cast<int>((127U << 23) | m));
  else
    return __longlong_as_double(static_cast<long long>((std::uint64_t{1023} << 52) | m));
}

/// 2^e, -99 <= e <= 99.
template <class Real>
__device__ Real power(int e) {
  if constexpr (sizeof(Real) == 4)
    return __int_as_float((127 + e) << 23);
  else
    return __longlong_as_double((1023LL + e) << 52);
}

template <class Real>
__device__ void compare(Real a, Real b, unsigned long long (&wrong)[3]) {
  wrong[0] += water::reciprocal(b) != divided(Real(1), b) ? 1 : 0;
  wrong[1] += water::quotient(a, b) != divided(a, b) ? 1 : 0;
  const auto roots = water::roots(a, b);
  wrong[2] += roots.first != rooted(a) || roots.second != rooted(b) ? 1 : 0;
}

__device__ void add_up(const unsigned long long (&wrong)[3], unsigned long long* found) {
  for (int k = 0; k < 3; ++k)
    if (wrong[k] != 0) atomicAdd(found + k, wrong[k]);
}

template <class Real>
__global__ void random_kernel(std::uint64_t count, std::uint64_t seed, unsigned long long* found) {
  unsigned long long wrong[3] = {0, 0, 0};
  for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const std::uint64_t first = mixed(seed + 3 * i), second = mixed(seed + 3 * i + 1), third = mixed(seed + 3 * i + 2);
    const int of_b = static_cast<int>(third % 197) - 98, apart = static_cast<int>((third >> 8) % 121) - 60;
    const int of_a = of_b + apart < -98 ? -98 : of_b + apart > 98 ? 98 : of_b + apart;
    compare(mantissa<Real>(first) * power<Real>(of_a), mantissa<Real>(second) * power<Real>(of_b), wrong);
  }
  add_up(wrong, found);
}

__global__ void all_floats_kernel(unsigned long long* found) {
  unsigned long long wrong[3] = {0, 0, 0};
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < 1U << 23; i += gridDim.x * blockDim.x) {
    const float x = __int_as_float(static_cast<int>((127U << 23) | i));
    compare(2.0F * x, x, wrong);
  }
  add_up(wrong, found);
}

template <class Launch>
WrongResults counted(std::uint64_t tried, const Launch& launch) {
  support::CudaStream stream;
  support::DeviceBuffer<unsigned long long> found;
  found.resize_discard(3);
  support::cuda_check(cudaMemsetAsync(found.data(), 0, 3 * sizeof(unsigned long long), stream.get()), "counts");
  launch(found.data(), stream.get());
  support::cuda_check_launch("arithmetic");
  unsigned long long host[3] = {};
  support::copy_to_host(host, static_cast<const unsigned long long*>(found.data()), 3, stream);
  stream.synchronize();
  return {tried, host[0], host[1], host[2]};
}

}  // namespace

template <class Real>
WrongResults count_wrong(std::uint64_t count, std::uint64_t seed) {
  return counted(count, [&](unsigned long long* found, cudaStream_t stream) {
    // clang-format off
    random_kernel<Real><<<kBlocks, kThreads, 0, stream>>>(count, seed, found);
    // clang-format on
  });
}
template WrongResults count_wrong<float>(std::uint64_t, std::uint64_t);
template WrongResults count_wrong<double>(std::uint64_t, std::uint64_t);

WrongResults count_wrong_floats() {
  return counted(std::uint64_t{1} << 23, [](unsigned long long* found, cudaStream_t stream) {
    // clang-format off
    all_floats_kernel<<<kBlocks, kThreads, 0, stream>>>(found);
    // clang-format on
  });
}

}  // namespace amrbench::kernels::checks
