#pragma once
// Small things that stencil kernels share: vectors of one or two doubles that are loaded and stored as one (16 bytes
// where the number of lanes is even), the extents of a chunk, and the order in which pieces of work are done.
#include "kernels/average.hpp"
#include "kernels/device_blocks.hpp"
#include "support/error.hpp"

namespace amrbench::kernels {

/// Doubles that a thread moves at once: 2, which are 16 aligned bytes, where the number of lanes is even, else 1.
template <int Lanes>
inline constexpr int kDeviceWidth = Lanes % 2 == 0 ? 2 : 1;

template <int Width>
struct DeviceVector {
  double v[Width];
};

/// Loads from memory that no thread of this launch writes, through the read-only path.
template <int Width>
__device__ inline DeviceVector<Width> load_global(const double* p) {
  if constexpr (Width == 2) {
    const double2 d = __ldg(reinterpret_cast<const double2*>(p));
    return {{d.x, d.y}};
  } else {
    return {{__ldg(p)}};
  }
}
template <int Width>
__device__ inline DeviceVector<Width> load_shared(const double* p) {
  if constexpr (Width == 2) {
    const double2 d = *reinterpret_cast<const double2*>(p);
    return {{d.x, d.y}};
  } else {
    return {{*p}};
  }
}
/// A streaming store: nobody reads the line again soon, so the caches may drop it first.
template <int Width>
__device__ inline void store_global(double* p, const DeviceVector<Width>& d) {
  if constexpr (Width == 2)
    __stcs(reinterpret_cast<double2*>(p), make_double2(d.v[0], d.v[1]));
  else
    __stcs(p, d.v[0]);
}

template <int Width>
__device__ inline DeviceVector<Width> average7_vector(const DeviceVector<Width>& xm, const DeviceVector<Width>& ym,
                                                      const DeviceVector<Width>& zm, const DeviceVector<Width>& c,
                                                      const DeviceVector<Width>& zp, const DeviceVector<Width>& yp,
                                                      const DeviceVector<Width>& xp) {
  DeviceVector<Width> result;
#pragma unroll
  for (int w = 0; w < Width; ++w)
    result.v[w] = average7<double>(xm.v[w], ym.v[w], zm.v[w], c.v[w], zp.v[w], yp.v[w], xp.v[w]);
  return result;
}

/// Extents of a chunk: constants for a cube of `Cells`, members for any block (Cells = 0).
template <int Lanes, int Cells>
struct DeviceShape {
  __host__ __device__ explicit DeviceShape(const BlockLayout&) {}
  static __host__ __device__ constexpr int nx() { return Cells; }
  static __host__ __device__ constexpr int ny() { return Cells; }
  static __host__ __device__ constexpr int nz() { return Cells; }
  static __host__ __device__ constexpr int row() { return Cells * Lanes; }
  static __host__ __device__ constexpr int plane() { return row() * Cells; }
  static __host__ __device__ constexpr int chunk() { return plane() * Cells; }
};
template <int Lanes>
struct DeviceShape<Lanes, 0> {
  int x, y, z;
  __host__ __device__ explicit DeviceShape(const BlockLayout& l) : x(l.cells[0]), y(l.cells[1]), z(l.cells[2]) {}
  __host__ __device__ int nx() const { return x; }
  __host__ __device__ int ny() const { return y; }
  __host__ __device__ int nz() const { return z; }
  __host__ __device__ int row() const { return x * Lanes; }
  __host__ __device__ int plane() const { return row() * y; }
  __host__ __device__ int chunk() const { return plane() * z; }
};

/// The order of the pieces of work (words in kernels/average7/average7_cuda.hpp): tile after tile; in a tile chunk
/// after chunk; for each chunk group after group. place() says which group and chunk a number stands for. Numbers have
/// 31 bits, for 32-bit divisions are quick.
struct WorkOrder {
  int groups = 0;  ///< of blocks
  int chunks = 1;
  int tile = 1;  ///< groups a tile

  struct Place {
    int group, chunk;
  };
  __device__ Place place(unsigned int number) const {
    const unsigned int whole = static_cast<unsigned int>(tile) * chunks;
    const unsigned int t = number / whole, rest = number - t * whole, first = t * tile;
    const unsigned int size = min(static_cast<unsigned int>(tile), groups - first), chunk = rest / size;
    return {static_cast<int>(first + rest - chunk * size), static_cast<int>(chunk)};
  }
  [[nodiscard]] long long count() const { return static_cast<long long>(groups) * chunks; }
};

/// RunError when there are more pieces of work than a launch can number.
inline long long checked_pieces(long long pieces) {
  if (pieces >= 1LL << 31) throw support::RunError("GPU kernel: more than 2^31 pieces of work in one launch");
  return pieces;
}

}  // namespace amrbench::kernels
