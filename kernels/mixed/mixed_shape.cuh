#pragma once
// How thread blocks share out a block in stages of kinds 4 and 5 of the mixed work (mixed_tile.cuh, mixed_couple.cuh).
// Included by mixed_cuda.cu only.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_cuda.hpp"
#include "kernels/mixed/mixed_view.cuh"

namespace amrbench::kernels::detail {

inline constexpr int kCoupleMost = 1024, kBrought = 2;
inline constexpr std::size_t kCoupleFixed = kPieces * sizeof(Around) + 1024;
/// Blocks are small with so many planes at most, and so many bytes of all groups of a place.
inline constexpr int kTileMost = 6, kTileBytes = 17000, kTileThreads = 256;

/// The times that shared memory is busy with one access of all threads. Threads have the cells of rows of all places
/// one after the other, `width` a row.
inline int accesses(const BlockLayout& layout, const CoupleShape& shape) {
  constexpr int kBanks = 16, kWarp = 32;  // of doubles
  const int nx = layout.cells[0], n = shape.places * shape.width * layout.cells[1];
  int sum = 0;
  for (int first = 0; first < n; first += kWarp) {
    std::array<int, kBanks> of_bank{};
    for (int t = first; t < std::min(n, first + kWarp); ++t) {
      const int x = t % shape.width, place = t / shape.width % shape.places, y = t / shape.width / shape.places;
      if (x < nx) ++of_bank[(x + place * shape.place + y * shape.row) % kBanks];
    }
    sum += *std::max_element(of_bank.begin(), of_bank.end());
  }
  return sum;
}

/// How much of its time a multiprocessor is expected to work, in any unit: it is busy with accesses and instructions,
/// and waits unless it has enough threads; where blocks lie in it as a whole, in several thread blocks, for each waits
/// until all its values have come.
inline double promise(const BlockLayout& layout, int m, const CoupleShape& shape, std::size_t shared) {
  constexpr double kAccesses = 45, kInstructions = 50;  // cycles of a warp's cells, about
  constexpr double kEnough = 256, kOthers = 2;
  constexpr int kWarps = 20;  // for which it has registers
  const double warps = shape.threads / 32, parts = (m + shape.places - 1) / shape.places;
  const double cycles = parts * std::hypot(kAccesses * accesses(layout, shape), kInstructions * warps);
  const double resident = std::clamp(
      std::min(kWarps / (shape.threads / 32), static_cast<int>(shared / (shape.bytes + kCoupleFixed))), 1, kWarps);
  const double at_once = resident * shape.threads;
  return at_once / (at_once + kEnough) * (shape.tile ? resident / (resident + kOthers) : 1.0) / cycles;
}

/// The shape that promises most. `shared`: bytes a thread block may have, and about as many as a multiprocessor has.
/// Small blocks lie there as a whole (`tile`); of others planes in rings, of which a step needs 6; with 7 the next
/// plane may come while it runs.
inline CoupleShape couple_shape(const BlockLayout& layout, int m, std::size_t shared) {
  constexpr int kBanks = 16, kBytes = kGroups * static_cast<int>(sizeof(double)), kPadded = 4;
  const int nx = layout.cells[0], ny = layout.cells[1], nz = layout.cells[2];
  const bool tile = nz <= kTileMost && (nx + 2) * (ny + 2) * (nz + 2) * kBytes <= kTileBytes;
  CoupleShape best;
  double most = 0;
  const auto consider = [&](int places, int width, int row, int ring) {
    CoupleShape shape{tile, places, width, row};
    const int brought = (nx + 2) * (ny + 2), plane = row * (ny + 2);
    shape.of_place = tile ? width * ny : std::max(width * ny, (brought + kBrought - 1) / kBrought);
    shape.threads = (places * shape.of_place + 31) / 32 * 32;
    shape.ring = ring;
    // So that a row of the next place lies in the banks behind a row.
    const int values = tile ? plane * ring : plane;
    shape.place = values + (places > 1 ? (width - values % kBanks + kBanks) % kBanks : 0);
    shape.bytes = static_cast<std::size_t>(places * shape.place * (tile ? 1 : ring)) * kBytes;
    const int limit = tile || places > 1 ? kTileThreads : kCoupleMost;
    if (shape.threads > limit || shape.bytes + kCoupleFixed > shared) return;
    const double promised = promise(layout, m, shape, shared);
    if (promised > most * 1.001) best = shape, most = promised;
  };
  for (const int ring : {tile ? nz + 2 : 7, 6}) {
    for (int places = 1; places <= m; ++places)
      for (const int width : {nx, nx + 2})
        for (int row = nx + 2; row <= nx + 2 + (tile ? kPadded : 0); row += 2) consider(places, width, row, ring);
    if (most > 0 || tile) break;
  }
  return best;
}

struct CoupleParameters {
  MixedParameters mixed;
  CoupleShape shape;
  Divisor divisor;  ///< of kind 5
  Range range;
};

template <class Kernel>
void launch_couple(Kernel kernel, CoupleParameters p, int count, const support::CudaStream& stream) {
  p.mixed.parts = (p.mixed.m + p.shape.places - 1) / p.shape.places;
  support::cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(p.shape.bytes)),
      "shared memory of the mixed work");
  kernel<<<static_cast<unsigned int>(count) * static_cast<unsigned int>(p.mixed.parts), p.shape.threads, p.shape.bytes,
           stream.get()>>>(p);
  support::cuda_check_launch("mixed");
}

}  // namespace amrbench::kernels::detail
