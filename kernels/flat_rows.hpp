#pragma once
// The rows of a chunk as whole vectors of 8 doubles, for stencils that make sums of rows first.
//
// Edges are even, so any four rows of a chunk (and any one row of a multiple of 8 doubles) are whole vectors, aligned
// as the chunk is, whatever the edge and the lanes. A neighbour along x is then the same array shifted by the lanes,
// but where a row begins or ends: there the value comes from an array of what lies outside, by a mask. The masks repeat
// with a period.
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/layout.hpp"
#include "kernels/simd.hpp"

namespace amrbench::kernels {

/// Which of 8 values are meant.
#if defined(__AVX512F__)
using LaneMask = std::uint8_t;
#else
using LaneMask = SimdBits<kFlatLength>;
#endif

/// v, but p's values where the mask is set; reads those only.
#if !defined(__AVX512F__)
inline SimdDouble<4> load_where(const SimdBits<4>& mask, const double* p, const SimdDouble<4>& v) {
#if defined(__AVX__)
  return _mm256_blendv_pd(v, _mm256_maskload_pd(p, (__m256i)mask), (__m256d)mask);
#else
  SimdDouble<4> r = v;
  for (int k = 0; k < 4; ++k)
    if (mask[k] != 0) r[k] = p[k];
  return r;
#endif
}
#endif
inline SimdDouble<8> load_where(const LaneMask& mask, const double* p, const SimdDouble<8>& v) {
#if defined(__AVX512F__)
  return _mm512_mask_loadu_pd(v, mask, p);
#else
  return {load_where(mask.low, p, v.low), load_where(mask.high, p + 4, v.high)};
#endif
}

/// p's values where the mask is set, q's elsewhere; reads those only.
inline SimdDouble<8> load_either(const LaneMask& mask, const double* p, const double* q) {
#if defined(__AVX512F__)
  return _mm512_mask_loadu_pd(_mm512_maskz_loadu_pd(static_cast<LaneMask>(~mask), q), mask, p);
#else
  return load_where(mask, p, load_where(~mask, q, SimdDouble<8>{}));
#endif
}

/// The masks of one vector: values of a row's first and of its last cell.
struct EdgeMasks {
  LaneMask first, last;
  bool any;  ///< is there such a value?
};

/// What is fetched while rows are computed lies so many doubles behind the plane that they need: memory answers in the
/// meantime, and a second-level cache keeps it so long.
inline constexpr std::size_t kLeadValues = 2048;

inline constexpr std::size_t kMostStripValues = 1024;  ///< a few arrays of so many doubles fit the first-level cache

/// How the rows of a layout's chunks are cut. Plain data, made once.
struct FlatRows {
  explicit FlatRows(const BlockLayout& layout);

  BlockLayout layout;
  int rows = 0;                  ///< of a chunk
  int strip = 0;                 ///< rows computed at once: whole vectors, whole periods of masks and sums
  int lead = 0;                  ///< rows from those that are computed to those that are fetched; rows - lead is strips
  std::vector<EdgeMasks> masks;  ///< of the vectors of a period
  std::array<LaneMask, kFlatLength> behind{};  ///< behind[n]: values n and on
};

}  // namespace amrbench::kernels
