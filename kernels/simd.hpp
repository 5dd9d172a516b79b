#pragma once
// Vectors of doubles by the compilers' vector extension: one source for every instruction set, each operation rounded
// as the scalar one is. Fused multiply-add and streaming stores are the two things the extension lacks.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/fused.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace amrbench::kernels {

/// Two vectors as one of twice the length, with their operators. Compilers keep a vector that is longer than a register
/// in memory, and shuffle it there value by value.
template <class Half>
struct SimdPair {
  using Element = std::remove_cvref_t<decltype(Half{}[0])>;
  Half low{}, high{};

  SimdPair() = default;
  SimdPair(const Half& first, const Half& second) : low(first), high(second) {}
  SimdPair(Element x) : low(Half{} + x), high(Half{} + x) {}  // NOLINT(google-explicit-constructor): as of vectors
  /// The same bits.
  template <class Other>
  explicit operator SimdPair<Other>() const {
    return {(Other)low, (Other)high};
  }

  [[nodiscard]] Element operator[](int k) const { return k < 4 ? low[k] : high[k - 4]; }
  friend SimdPair operator+(const SimdPair& a, const SimdPair& b) { return {a.low + b.low, a.high + b.high}; }
  friend SimdPair operator-(const SimdPair& a, const SimdPair& b) { return {a.low - b.low, a.high - b.high}; }
  friend SimdPair operator*(const SimdPair& a, const SimdPair& b) { return {a.low * b.low, a.high * b.high}; }
  friend SimdPair operator/(const SimdPair& a, const SimdPair& b) { return {a.low / b.low, a.high / b.high}; }
  friend SimdPair operator|(const SimdPair& a, const SimdPair& b) { return {a.low | b.low, a.high | b.high}; }
  friend SimdPair operator^(const SimdPair& a, const SimdPair& b) { return {a.low ^ b.low, a.high ^ b.high}; }
  SimdPair operator~() const { return {~low, ~high}; }
  SimdPair& operator+=(const SimdPair& b) { return *this = *this + b; }
  SimdPair& operator|=(const SimdPair& b) { return *this = *this | b; }
};

/// Vector of N doubles and of N unsigned 64-bit integers (sums wrap), N a power of two up to 8.
template <int N>
struct Simd {
  typedef double Double __attribute__((vector_size(N * 8)));
  typedef std::uint64_t Bits __attribute__((vector_size(N * 8)));
};
#if !defined(__AVX512F__)
template <>
struct Simd<8> {
  using Double = SimdPair<Simd<4>::Double>;
  using Bits = SimdPair<Simd<4>::Bits>;
};
#endif
template <int N>
using SimdDouble = typename Simd<N>::Double;
template <int N>
using SimdBits = typename Simd<N>::Bits;

inline constexpr int kFlatLength = 8;  ///< doubles of the vectors that rows and whole arrays are walked in

template <int N>
inline SimdDouble<N> load(const double* p) {
#if !defined(__AVX512F__)
  if constexpr (N == 8) return {load<4>(p), load<4>(p + 4)};
#endif
  SimdDouble<N> v;
  std::memcpy(static_cast<void*>(&v), p, sizeof v);
  return v;
}
template <int N>
inline void store(double* p, const SimdDouble<N>& v) {
#if !defined(__AVX512F__)
  if constexpr (N == 8) return store<4>(p, v.low), store<4>(p + 4, v.high);
#endif
  std::memcpy(p, &v, sizeof v);
}

#if defined(__FMA__)
inline SimdDouble<1> fused(SimdDouble<1> a, SimdDouble<1> b, SimdDouble<1> c) {
  return SimdDouble<1>{std::fma(a[0], b[0], c[0])};
}
inline SimdDouble<2> fused(SimdDouble<2> a, SimdDouble<2> b, SimdDouble<2> c) {
  return _mm_fmadd_pd(a, b, c);
}
inline SimdDouble<4> fused(SimdDouble<4> a, SimdDouble<4> b, SimdDouble<4> c) {
  return _mm256_fmadd_pd(a, b, c);
}
inline SimdDouble<8> fused(const SimdDouble<8>& a, const SimdDouble<8>& b, const SimdDouble<8>& c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#else
  return {fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)};
#endif
}
#else
template <class T>
inline T fused(const T& a, const T& b, const T& c) {
  return a * b + c;  // never called: kHasFma is false
}
#endif

/// Widest vector that streaming stores take in this build; 0 where there are none.
#if defined(__AVX512F__)
inline constexpr int kStreamLength = 8;
#elif defined(__AVX__)
inline constexpr int kStreamLength = 4;
#else
inline constexpr int kStreamLength = 0;
#endif

/// Stores past the caches, sparing the read for ownership; p aligned to the vector. Plain where N does not fit. Before
/// another thread reads: stream_fence().
template <int N>
inline void stream(double* p, const SimdDouble<N>& v) {
#if defined(__AVX512F__)
  if constexpr (N == 8) return _mm512_stream_pd(p, v);
#endif
#if defined(__AVX__)
  if constexpr (N == 4) return _mm256_stream_pd(p, v);
#if !defined(__AVX512F__)
  if constexpr (N == 8) return stream<4>(p, v.low), stream<4>(p + 4, v.high);
#endif
#endif
  store<N>(p, v);
}

inline SimdDouble<8> joined(const SimdDouble<4>& a, const SimdDouble<4>& b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return {a, b};
#endif
}

/// The values from Begin on of a and b behind each other.
template <int Begin, int N, std::size_t... K>
inline SimdDouble<N> shifted(const SimdDouble<N>& a, const SimdDouble<N>& b, std::index_sequence<K...>) {
  return __builtin_shufflevector(a, b, (int(K) + Begin)...);
}
template <int Begin>
inline SimdDouble<4> shifted(const SimdDouble<4>& a, const SimdDouble<4>& b) {
  return shifted<Begin, 4>(a, b, std::make_index_sequence<4>{});
}
template <int Begin>
inline SimdDouble<8> shifted(const SimdDouble<8>& a, const SimdDouble<8>& b) {
#if defined(__AVX512F__)
  return shifted<Begin, 8>(a, b, std::make_index_sequence<8>{});
#else
  if constexpr (Begin == 8)
    return b;
  else if constexpr (Begin >= 4)
    return {shifted<Begin - 4>(a.high, b.low), shifted<Begin - 4>(b.low, b.high)};
  else
    return {shifted<Begin>(a.low, a.high), shifted<Begin>(a.high, b.low)};
#endif
}

/// The last `Count` values of a, then those of b from `From` on.
template <int Count, int From, std::size_t... K>
inline SimdDouble<8> followed(const SimdDouble<8>& a, const SimdDouble<8>& b, std::index_sequence<K...>) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, (int(K) < Count ? 8 - Count + int(K) : (8 + From + int(K) - Count) % 16)...);
#else
  return shifted<8 - Count>(a, shifted<From>(b, b));
#endif
}
template <int Count, int From>
inline SimdDouble<8> followed(const SimdDouble<8>& a, const SimdDouble<8>& b) {
  return followed<Count, From>(a, b, std::make_index_sequence<8>{});
}

template <int N, std::size_t... K>
inline SimdDouble<N> broadcast(double x, std::index_sequence<K...>) {
  return SimdDouble<N>{(static_cast<void>(K), x)...};  // adding x to zeros is an addition that compilers keep
}

/// A vector of p's first `Period` values over and over. Compilers build most such vectors value by value in memory.
template <int N, int Period>
inline SimdDouble<N> repeated(const double* p) {
  static_assert(N % Period == 0);
  if constexpr (N == Period) {
    return load<N>(p);
#if !defined(__AVX512F__)
  } else if constexpr (N == 8) {
    return {repeated<4, Period>(p), repeated<4, Period>(p)};
#endif
  } else if constexpr (Period == 1) {
    return broadcast<N>(*p, std::make_index_sequence<N>{});
#if defined(__AVX512F__)
  } else if constexpr (N == 8 && Period == 2) {
    return _mm512_castps_pd(_mm512_maskz_broadcast_f32x4(0xffff, _mm_castpd_ps(_mm_loadu_pd(p))));
  } else if constexpr (N == 8 && Period == 4) {
    return _mm512_maskz_broadcast_f64x4(0xff, _mm256_loadu_pd(p));
#endif
  } else {
    static_assert(N == 4 && Period == 2);
    return SimdDouble<4>{p[0], p[1], p[0], p[1]};
  }
}

/// p's first Count values as a vector's first or last ones, Begin being 0 or N - Count; reads those only, and without a
/// mask: a processor waits for what a mask leaves out. Other elements are any of them.
#if defined(__AVX512F__)
template <int Count, int Begin, std::size_t... K>
inline SimdDouble<8> placed(const double* p, std::index_sequence<K...>) {
  constexpr int kHalf = static_cast<int>(std::bit_floor(unsigned{Count}));
  const auto from = [](int k) { return k < 0 || k >= Count ? 0 : k < kHalf ? k : 8 + k - (Count - kHalf); };
  return __builtin_shufflevector(repeated<8, kHalf>(p), repeated<8, kHalf>(p + Count - kHalf), from(int(K) - Begin)...);
}
template <int N, int Count, int Begin>
inline SimdDouble<8> placed(const double* p) {
  return placed<Count, Begin>(p, std::make_index_sequence<8>{});
}
#else
template <int N, int Count, int Begin>
inline SimdDouble<N> placed(const double* p) {
  static_assert(Begin == 0 || Begin == N - Count);
  if constexpr (N % Count == 0) {
    return repeated<N, Count>(p);
  } else if constexpr (N == 4) {
    const SimdDouble<4> two = repeated<4, 2>(p), third = repeated<4, 1>(p + 2);
    return Begin == 0 ? __builtin_shufflevector(two, third, 0, 1, 4, 4)
                      : __builtin_shufflevector(two, third, 0, 0, 1, 4);
  } else if constexpr (Count < 4) {
    constexpr int kBegin = Begin == 0 ? 0 : 4 - Count;
    const SimdDouble<4> half = placed<4, Count, kBegin>(p);
    return {half, half};
  } else if constexpr (Begin == 0) {
    return {load<4>(p), placed<4, Count - 4, 0>(p + 4)};
  } else {
    return {placed<4, Count - 4, 8 - Count>(p), load<4>(p + Count - 4)};
  }
}
#endif

/// Value j of vector k becomes value k of vector j.
inline void transpose(std::array<SimdDouble<4>, 4>& v) {
  const SimdDouble<4> a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6);
  const SimdDouble<4> b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
  const SimdDouble<4> c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6);
  const SimdDouble<4> d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/// How near to a core lines are asked for: into its second-level cache (2), or into the first-level one (3), which
/// AMD's Zen 5 wants; with that the Zen 4 before it gets no more than 15 GB/s a core
/// (docs/decisions/0003-stencil-schedule.md; chosen by cmake/AmrbenchFlags.cmake).
#if defined(AMRBENCH_PREFETCH_FIRST)
inline constexpr int kPrefetchLevel = 3;
#else
inline constexpr int kPrefetchLevel = 2;
#endif
/// Asks for a line.
[[gnu::always_inline]] inline void prefetch_line(const double* p) {
  __builtin_prefetch(p, 0, kPrefetchLevel);
  asm volatile("");  // else GCC takes callers for functions without effect, and drops calls of them
}
/// The same for n >= 1 values.
inline void prefetch_values(const double* p, std::size_t n) {
  for (std::size_t k = 0; k + 1 < n; k += 8) prefetch_line(p + k);
  prefetch_line(p + n - 1);  // they need not begin with a line
}

inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace amrbench::kernels
