#pragma once
// RoundTree::classify() in AVX-512: a level has at most 32 nodes, so a table of brackets is two (float) or four
// (double) registers and a look-up one or three permutations, without a gather. Nodes 1 .. 31 are one table, 32 .. 63
// another; a node's number modulo 32 is its place in either.
#include <cstdint>

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#define AMRBENCH_ORB_AVX512 1
#include <immintrin.h>

namespace amrbench::partitioners::detail {

/// Tables of RoundTree: [node], 64 entries each.
template <class T>
struct WalkTables {
  const T* low;
  const T* high;
  const std::int32_t* axis;  ///< axis times the block's length
  const int* common_axis;    ///< of each level; -1: nodes differ
  int levels;
  int block;  ///< points of a block, a multiple of 16
  int dim;
};

/// 16 lanes of node numbers, and the codes at their end.
inline void store_codes(__m512i at, __m512i stop, int levels, std::uint8_t stopped_code, std::uint8_t* codes) {
  const __mmask16 stopped = _mm512_test_epi32_mask(stop, stop);
  const __m512i reached = _mm512_sub_epi32(at, _mm512_set1_epi32(1 << levels));
  const __m512i code = _mm512_mask_add_epi32(reached, stopped, stop, _mm512_set1_epi32(stopped_code));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(codes), _mm512_maskz_cvtepi32_epi8(0xffff, code));
}

inline void walk(const WalkTables<float>& t, const float* x, std::uint8_t stopped_code, std::uint8_t* codes) {
  for (int i = 0; i < t.block; i += 16) {
    __m512i at = _mm512_set1_epi32(1);
    __m512i stop = _mm512_setzero_si512();
    for (int level = 0; level < t.levels; ++level) {
      const int table = level < 5 ? 0 : 32;
      const __m512 low =
          _mm512_permutex2var_ps(_mm512_loadu_ps(t.low + table), at, _mm512_loadu_ps(t.low + table + 16));
      const __m512 high =
          _mm512_permutex2var_ps(_mm512_loadu_ps(t.high + table), at, _mm512_loadu_ps(t.high + table + 16));
      __m512 c;
      if (t.common_axis[level] >= 0) {
        c = _mm512_loadu_ps(x + t.common_axis[level] * t.block + i);
      } else {
        const __m512i axis =
            _mm512_permutex2var_epi32(_mm512_loadu_si512(t.axis + table), at, _mm512_loadu_si512(t.axis + table + 16));
        c = _mm512_loadu_ps(x + i);
        for (int a = 1; a < t.dim; ++a)
          c = _mm512_mask_loadu_ps(c, _mm512_cmpeq_epi32_mask(axis, _mm512_set1_epi32(a * t.block)),
                                   x + a * t.block + i);
      }
      const __mmask16 right = _mm512_cmp_ps_mask(c, low, _CMP_GE_OQ);
      const __mmask16 inside = _mm512_mask_cmp_ps_mask(right, c, high, _CMP_LE_OQ);
      stop = _mm512_mask_mov_epi32(stop, inside & _mm512_testn_epi32_mask(stop, stop), at);
      at = _mm512_add_epi32(at, at);
      at = _mm512_mask_add_epi32(at, right, at, _mm512_set1_epi32(1));
    }
    store_codes(at, stop, t.levels, stopped_code, codes + i);
  }
}

/// Entry `at` modulo 32 of a table of 32 doubles, for 8 lanes.
inline __m512d look_up(const double* table, __m512i at) {
  const __m512d a = _mm512_permutex2var_pd(_mm512_loadu_pd(table), at, _mm512_loadu_pd(table + 8));
  const __m512d b = _mm512_permutex2var_pd(_mm512_loadu_pd(table + 16), at, _mm512_loadu_pd(table + 24));
  return _mm512_mask_mov_pd(a, _mm512_test_epi64_mask(at, _mm512_set1_epi64(16)), b);
}

inline void walk(const WalkTables<double>& t, const double* x, std::uint8_t stopped_code, std::uint8_t* codes) {
  for (int i = 0; i < t.block; i += 16) {
    __m256i at_half[2];
    __m256i stop_half[2];
    for (int half = 0; half < 2; ++half) {
      const double* from = x + i + 8 * half;
      __m512i at = _mm512_set1_epi64(1);
      __m512i stop = _mm512_setzero_si512();
      for (int level = 0; level < t.levels; ++level) {
        const int table = level < 5 ? 0 : 32;
        const __m512d low = look_up(t.low + table, at);
        const __m512d high = look_up(t.high + table, at);
        __m512d c;
        if (t.common_axis[level] >= 0) {
          c = _mm512_loadu_pd(from + t.common_axis[level] * t.block);
        } else {
          const __m512i lanes = _mm512_permutex2var_epi32(_mm512_loadu_si512(t.axis + table), at,
                                                          _mm512_loadu_si512(t.axis + table + 16));
          const __m512i axis = _mm512_and_si512(lanes, _mm512_set1_epi64(0xffffffffLL));
          c = _mm512_loadu_pd(from);
          for (int a = 1; a < t.dim; ++a)
            c = _mm512_mask_loadu_pd(c, _mm512_cmpeq_epi64_mask(axis, _mm512_set1_epi64(a * t.block)),
                                     from + a * t.block);
        }
        const __mmask8 right = _mm512_cmp_pd_mask(c, low, _CMP_GE_OQ);
        const __mmask8 inside = _mm512_mask_cmp_pd_mask(right, c, high, _CMP_LE_OQ);
        stop = _mm512_mask_mov_epi64(stop, static_cast<__mmask8>(inside & _mm512_testn_epi64_mask(stop, stop)), at);
        at = _mm512_add_epi64(at, at);
        at = _mm512_mask_add_epi64(at, right, at, _mm512_set1_epi64(1));
      }
      at_half[half] = _mm512_maskz_cvtepi64_epi32(0xff, at);
      stop_half[half] = _mm512_maskz_cvtepi64_epi32(0xff, stop);
    }
    const auto join = [](const __m256i(&h)[2]) {
      return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(h[0]), h[1], 1);
    };
    store_codes(join(at_half), join(stop_half), t.levels, stopped_code, codes + i);
  }
}

}  // namespace amrbench::partitioners::detail
#endif
