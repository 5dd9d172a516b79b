#pragma once
// Stages of kind 1 of the mixed work: rows of cells along x, each of which needs the one before it. Included by
// mixed_cuda.cu only.
//
// A thread a row and place would read and write a value of a sector at a time. So a thread block brings its rows of
// groups 1 to 3 to shared memory; there they are worked on, new values in the places of old ones, and from there they
// go to the block. Cells of group 0 do not depend on one another.
#include <algorithm>

#include "kernels/mixed/mixed_first.cuh"
#include "kernels/mixed/mixed_view.cuh"
#include "kernels/mixed/mixed_walk.cuh"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail {

inline constexpr int kRowThreads = 256;

/// Rows of all places of a thread block in shared memory: [group - 1][place][row][x], a value more a row, so that
/// threads a row apart find their values in different banks.
struct RowTile {
  double* values;
  int nx, rows, places;

  [[nodiscard]] __device__ int group() const { return places * rows * (nx + 1); }
  /// Where a row would begin in group 0.
  [[nodiscard]] __device__ double* row(int place, int row) const {
    return values + (place * rows + row) * (nx + 1) - group();
  }
  /// Calls f(place, cell of the `here` rows, offset in the tile) for each cell and each of `of_part` places.
  /// Consecutive threads have consecutive cells. A thread block has a warp at least, a row no more cells than that.
  template <class F>
  __device__ void for_each(int of_part, int here, F&& f) const {
    const int thread = static_cast<int>(threadIdx.x), x = thread % nx, at_once = static_cast<int>(blockDim.x) / nx;
    if (thread >= at_once * nx) return;
#pragma unroll 4
    for (int k = thread / nx; k < of_part * here; k += at_once) {
      const int place = k / here, number = k - place * here;
      f(place, number * nx + x, (place * rows + number) * (nx + 1) + x);
    }
  }
};

/// Places and rows of a thread block: p.places, p.columns.
__global__ void __launch_bounds__(kRowThreads) walk_rows(const __grid_constant__ MixedParameters p) {
  extern __shared__ double2 first[];  // [row][x]: variables 0 and 1; behind them the tile
  __shared__ Around pieces[kPieces];
  const BlockView block(p, static_cast<int>(blockIdx.x) / p.parts, pieces);
  prefetch_ahead(p);
  const int thread = static_cast<int>(threadIdx.x), nx = block.cells(0), ny = block.cells(1);
  const int part = static_cast<int>(blockIdx.x) % p.parts, place_parts = (p.m + p.places - 1) / p.places;
  const int first_place = part % place_parts * p.places, first_row = part / place_parts * p.columns;
  const int here = min(p.columns, ny * block.cells(2) - first_row);
  const RowTile tile{reinterpret_cast<double*>(first + p.columns * nx), nx, p.columns, p.places};
  const int of_part = min(p.places, p.m - first_place), group = block.offset(p.m);
  const double* const old = block.old(first_place, 0, 0, 0) + first_row * nx;
  double* const fresh = block.fresh(first_place, 0, 0, 0) + first_row * nx;
  tile.for_each(of_part, here, [&](int place, int cell, int in_tile) {
#pragma unroll
    for (int g = 1; g < kGroups; ++g)
      support::copy_small<8>(tile.values + in_tile + (g - 1) * tile.group(),
                             old + block.offset(place) + g * group + cell);
  });
  support::copies_commit();
  for (int k = thread; k < here * nx; k += static_cast<int>(blockDim.x)) {
    const int row = first_row + k / nx;
    first[k] = first_variables(p, block, k % nx, row % ny, row / ny);
  }
  support::copies_wait_but<0>();
  __syncthreads();
  const Range ranged{p.constants[0], p.constants[1]};
  tile.for_each(of_part, here, [&](int place, int cell, int) {
    const double2 values = first[cell];
    const double u = __ldg(old + block.offset(place) + cell), a0 = __ldg(p.constants + 1 + first_place + place);
    if (first_place + place > 1)
      fresh[block.offset(place) + cell] = ranged(transport0(u, values.x, values.y, ranged.a1, a0));
  });
  const int number = thread % p.columns, place = thread / p.columns;
  if (number < here && place < of_part) {
    double* const row = tile.row(place, number);
    Transport<0> walk(p, block, first_place + place, {row, row, tile.group(), 1}, 0, (first_row + number) % ny,
                      (first_row + number) / ny);
    for (int x = 0; x < nx; ++x) walk.next(first[number * nx + x].x, first[number * nx + x].y);
    walk.finish();
  }
  __syncthreads();
  tile.for_each(of_part, here, [&](int place, int cell, int in_tile) {
#pragma unroll
    for (int g = 1; g < kGroups; ++g)
      fresh[block.offset(place) + g * group + cell] = tile.values[in_tile + (g - 1) * tile.group()];
  });
}

/// Shared memory of a row: variables 0 and 1, and its values of `places` places in groups 1 to 3.
inline std::size_t row_bytes(int nx, int places) {
  return sizeof(double2) * std::size_t(nx) + sizeof(double) * (kGroups - 1) * std::size_t(places) * std::size_t(nx + 1);
}

/// How thread blocks share out a block, as many of them on a multiprocessor as hide one another's waiting.
inline MixedParameters row_shape(MixedParameters p, std::size_t shared) {
  constexpr std::size_t kResident = 6, kFixed = 2048;
  constexpr int kMostPlaces = 64;
  const int nx = p.layout.cells[0], rows = static_cast<int>(p.layout.face_cells(0));
  const auto parts_of = [](int all, int of_part) { return (all + of_part - 1) / of_part; };
  const std::size_t room = shared / kResident - kFixed;
  int most_places = kMostPlaces;
  while (most_places > 1 && row_bytes(nx, most_places) > room) --most_places;
  const int place_parts = parts_of(p.m, most_places);
  p.places = parts_of(p.m, place_parts);
  const auto fit = static_cast<int>(room / row_bytes(nx, p.places));
  const int row_parts = parts_of(rows, std::clamp(fit, 1, kRowThreads / p.places));
  p.columns = parts_of(rows, row_parts);
  p.parts = place_parts * row_parts;
  p.ahead = thread_blocks_ahead(p);
  return p;
}

inline void launch_walk_rows(const MixedParameters& parameters, std::size_t shared, int count,
                             const support::CudaStream& stream) {
  const MixedParameters p = row_shape(parameters, shared);
  const std::size_t bytes = std::size_t(p.columns) * row_bytes(p.layout.cells[0], p.places);
  support::cuda_check(
      cudaFuncSetAttribute(walk_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "shared memory of the mixed work");
  // More threads than walk: all of them bring, average and store, as long as there is a cell for each.
  constexpr int kHelping = 128;
  const int walking = p.places * p.columns, helping = std::min(kHelping, p.columns * p.layout.cells[0]);
  const int threads = (std::max(walking, helping) + 31) / 32 * 32;
  walk_rows<<<static_cast<unsigned int>(count) * static_cast<unsigned int>(p.parts), threads, bytes, stream.get()>>>(p);
}

}  // namespace amrbench::kernels::detail
