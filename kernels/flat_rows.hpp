#pragma once
// A chunk walked as one array of whole vectors of 8 doubles.
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

inline constexpr int kFlatLength = 8;  ///< doubles of a vector

/// Which of 8 values are meant.
#if defined(__AVX512F__)
using LaneMask = std::uint8_t;
#else
using LaneMask = SimdBits<kFlatLength>;
#endif

/// v, but p's values where the mask is set.
inline SimdDouble<8> load_where(const LaneMask& mask, const double* p, const SimdDouble<8>& v) {
#if defined(__AVX512F__)
  return _mm512_mask_loadu_pd(v, mask, p);
#else
  return (SimdDouble<8>)(((SimdBits<8>)load<8>(p) & mask) | ((SimdBits<8>)v & ~mask));
#endif
}

/// The masks of one vector: values of a row's first and of its last cell.
struct EdgeMasks {
  LaneMask first, last;
};

/// How the rows of a layout's chunks are cut. Plain data, made once.
struct FlatRows {
  explicit FlatRows(const BlockLayout& layout);

  BlockLayout layout;
  int rows = 0;                  ///< of a chunk
  int strip = 0;                 ///< rows computed at once: whole vectors, whole periods of masks and sums
  std::vector<EdgeMasks> masks;  ///< of the vectors of a period
};

}  // namespace amrbench::kernels
