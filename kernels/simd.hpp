#pragma once
// Vectors of doubles by the compilers' vector extension: one source for every instruction set, each operation rounded
// as the scalar one is.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace amrbench::kernels {

/// Vector of N doubles and of N unsigned 64-bit integers (sums wrap), N a power of two.
template <int N>
struct Simd {
  typedef double Double __attribute__((vector_size(N * 8)));
  typedef std::uint64_t Bits __attribute__((vector_size(N * 8)));
};
template <int N>
using SimdDouble = typename Simd<N>::Double;
template <int N>
using SimdBits = typename Simd<N>::Bits;

template <int N>
inline SimdDouble<N> load(const double* p) {
  SimdDouble<N> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <int N>
inline void store(double* p, const SimdDouble<N>& v) {
  std::memcpy(p, &v, sizeof v);
}

}  // namespace amrbench::kernels
