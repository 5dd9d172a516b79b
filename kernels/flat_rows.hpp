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

inline bool any(const LaneMask& mask) {
#if defined(__AVX512F__)
  return mask != 0;
#else
  std::uint64_t all = 0;
  for (int k = 0; k < kFlatLength; ++k) all |= mask[k];
  return all != 0;
#endif
}

/// v, but p's values where the mask is set; reads those only.
inline SimdDouble<8> load_where(const LaneMask& mask, const double* p, const SimdDouble<8>& v) {
#if defined(__AVX512F__)
  return _mm512_mask_loadu_pd(v, mask, p);
#elif defined(__AVX__)
  SimdDouble<8> r = v;
  for (int half = 0; half < 2; ++half) {
    __m256i m;
    __m256d old;
    std::memcpy(&m, reinterpret_cast<const char*>(&mask) + half * sizeof m, sizeof m);
    std::memcpy(&old, reinterpret_cast<const char*>(&v) + half * sizeof old, sizeof old);
    const __m256d mixed = _mm256_blendv_pd(old, _mm256_maskload_pd(p + 4 * half, m), _mm256_castsi256_pd(m));
    std::memcpy(reinterpret_cast<char*>(&r) + half * sizeof mixed, &mixed, sizeof mixed);
  }
  return r;
#else
  SimdDouble<8> r = v;
  for (int k = 0; k < kFlatLength; ++k)
    if (mask[k] != 0) r[k] = p[k];
  return r;
#endif
}

/// a where the mask is set, b elsewhere.
inline SimdDouble<8> select(const LaneMask& mask, const SimdDouble<8>& a, const SimdDouble<8>& b) {
#if defined(__AVX512F__)
  return _mm512_mask_mov_pd(b, mask, a);
#else
  return (SimdDouble<8>)(((SimdBits<8>)a & mask) | ((SimdBits<8>)b & ~mask));
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
  /// How far the cells before and behind rows (FlatRows::beside) move against the rows behind this vector.
  std::array<std::ptrdiff_t, 2> step;
};

/// Values of a vector in a plane's first and in its last row.
struct RowMasks {
  LaneMask first, last;
};

/// How the vectors of a plane meet its first and its last row.
struct PlaneCut {
  bool across = false;              ///< the plane begins in the middle of a vector: that one is counted apart
  std::array<RowMasks, 2> between;  ///< of it: its values in the plane before and in this one
  std::array<int, 3> vectors{};     ///< with values of the first row, of neither, of the last
  std::vector<RowMasks> masks;      ///< of the first and of the last of those
  bool close = false;               ///< some have values of both rows: all are of the first kind then
};

/// What is fetched while rows are computed lies so many doubles behind the plane that they need: memory answers in the
/// meantime, and a second-level cache keeps it so long.
inline constexpr std::size_t kLeadValues = 2048;

inline constexpr std::size_t kMostStripValues = 1024;  ///< a few arrays of so many doubles fit the first-level cache

/// Where in `room`, aligned to 64 bytes, an array of n values with kPageValues to spare is to begin: so many values
/// behind the offset in a page that `out` has, `out` being stored value by value as the array is read.
inline double* beside_stores(double* room, const double* out, std::size_t behind) {
  const auto offset = [](const double* p) { return reinterpret_cast<std::uintptr_t>(p) / sizeof(double); };
  return room + (offset(out) + behind - offset(room)) % kPageValues;
}

/// How the rows of a layout's chunks are cut. Plain data, made once.
struct FlatRows {
  explicit FlatRows(const BlockLayout& layout);

  BlockLayout layout;
  int rows = 0;                  ///< of a chunk
  int strip = 0;                 ///< rows computed at once: whole vectors, whole periods of masks and sums
  int lead = 0;                  ///< rows from those that are computed to those that are fetched; rows - lead is strips
  std::size_t beside = 0;        ///< from a cell before (behind) a row to that of the next, where they are kept
  std::vector<EdgeMasks> masks;  ///< of the vectors of a period
  std::array<LaneMask, kFlatLength> behind{};  ///< behind[n]: values n and on
  std::array<PlaneCut, 2> cuts;                ///< of planes of even and of odd number
};

}  // namespace amrbench::kernels
