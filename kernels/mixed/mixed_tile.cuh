#pragma once
// Stages of kinds 4 and 5 of the mixed work on small blocks, as a whole in shared memory. Included by mixed_cuda.cu
// only.
//
// A thread block brings the old values of a few places, with what lies around the block, and then does group after
// group in place, a thread a column of cells: groups before it are new, those behind it old. A thread keeps what it
// read below and at a cell, so of 27 values it reads 18.
#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_shape.cuh"
#include "kernels/mixed/mixed_view.cuh"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail {

template <bool Wide>
class TileWalk {
 public:
  __device__ TileWalk(const CoupleParameters& p, const BlockView& block, double* shared)
      : p_(p),
        block_(block),
        shared_(shared),
        n_(block.cells(2)),
        row_(p.shape.row),
        plane_(row_ * (block.cells(1) + 2)),
        group_(p.shape.places * p.shape.place),
        first_place_(static_cast<int>(blockIdx.x) % p.mixed.parts * p.shape.places),
        of_part_(min(p.shape.places, p.mixed.m - first_place_)) {}

  __device__ void run() const {
    bring();
    support::copies_commit();
    const int t = static_cast<int>(threadIdx.x), x = t % p_.shape.width, place = t / p_.shape.width % p_.shape.places,
              y = t / p_.shape.width / p_.shape.places;
    const bool is_cell = x < block_.cells(0) && y < block_.cells(1) && place < of_part_;
    const int at = place * p_.shape.place + (y + 1) * row_ + x + 1;
    support::copies_wait_but<0>();
#pragma unroll 1
    for (int group = 0; group < kGroups; ++group) {
      __syncthreads();
      const bool is_mine = is_cell && group + first_place_ + place > 0;  // variable 0 is new already
      double* const out = block_.fresh(group * p_.mixed.m + first_place_ + (is_mine ? place : 0), x, y, 0);
      double* u[kGroups];  // the column of the groups from this one on, in the plane below the block
#pragma unroll
      for (int away = 0; away < kGroups; ++away) u[away] = shared_ + (group + away) % kGroups * group_ + at;
      if constexpr (Wide) {
        if (is_mine) column27(u, out);
      } else {
        double values[kTileMost];
        if (is_mine) column7(u, out, values);
        __syncthreads();  // those beside a cell see what it was
#pragma unroll
        for (int z = 0; z < kTileMost; ++z)
          if (is_mine && z < n_) u[0][(z + 1) * plane_] = values[z];
      }
    }
  }

 private:
  static constexpr int kColumns = 9;

  /// Brings old values, a thread a column of all groups; kind 4 looks at no edges and corners. Variable 0 is new
  /// already: where it is looked at in the block, it is as a group before others.
  __device__ void bring() const {
    const int m = p_.mixed.m;
    const int cols = block_.cells(0) + 2, brought = cols * (block_.cells(1) + 2);
    for (int k = static_cast<int>(threadIdx.x); k < of_part_ * brought; k += static_cast<int>(blockDim.x)) {
      const int place = k / brought, x = k % brought % cols - 1, y = k % brought / cols - 1;
      const int variable = first_place_ + place;
      double* const to = shared_ + place * p_.shape.place + (y + 1) * row_ + x + 1;
      const Around column = block_.column<2>(x, y, 0);
      const bool inside = block_.inside(x, y), is_first = variable == 0 && inside, ends = Wide || inside;
      if (!Wide && (x < 0 || x == block_.cells(0)) && (y < 0 || y == block_.cells(1))) continue;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const int v = variable + g * m;
        double* const of_group = to + g * group_;
        if (ends) support::copy_small<8>(of_group, block_.old(v, x, y, -1));
        if (ends) support::copy_small<8>(of_group + (n_ + 1) * plane_, block_.old(v, x, y, n_));
        const double* from = g == 0 && is_first ? block_.fresh(0, x, y, 0) : column.at + v * column.chunk;
        const int step = g == 0 && is_first ? block_.step<2>() : column.row;
        for (int z = 1; z <= n_; ++z, from += step) support::copy_small<8>(of_group + z * plane_, from);
      }
    }
  }
  [[nodiscard]] __device__ static constexpr int away(int k) {
    return (k / 3 - 1) * (k / 3 - 1) + (k % 3 - 1) * (k % 3 - 1);
  }
  [[nodiscard]] __device__ int beside(int k) const {
    return (k % 3 - 1) * row_ + k / 3 - 1;
  }

  /// Kind 5. A cell that differs along k axes comes from the group k groups on.
  __device__ void column27(double* const (&u)[kGroups], double* out) const {
    double below[kColumns], here[kColumns];
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      below[k] = u[away(k) + 1][beside(k)];
      here[k] = u[away(k) + 1][plane_ + beside(k)];
    }
    for (int z = 0, level = plane_; z < n_; ++z, level += plane_, out += block_.step<2>()) {
      double sum = 0.0;
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        const double next = u[away(k) + 1][level + plane_ + beside(k)];
        sum = k == 0 ? below[k] : sum + below[k];
        sum = sum + u[away(k)][level + beside(k)] + next;
        below[k] = here[k], here[k] = next;
      }
      const double value = p_.range(p_.divisor.divide(sum));
      u[0][level] = value;  // no other column looks at this group in this stage
      *out = value;
    }
  }
  /// Kind 4.
  __device__ void column7(double* const (&u)[kGroups], double* out, double (&values)[kTileMost]) const {
    double before = u[0][0] * u[3][0], cell = u[0][plane_], here = cell * u[3][plane_];
#pragma unroll
    for (int z = 0; z < kTileMost; ++z) {
      if (z >= n_) continue;
      const double *const c = u[0] + (z + 1) * plane_, *const px = u[1] + (z + 1) * plane_,
                          *const py = u[2] + (z + 1) * plane_;
      const double next = c[plane_], behind = next * u[3][(z + 2) * plane_];
      const double sum =
          c[-1] * px[-1] + c[-row_] * py[-row_] + before + cell * cell + behind + c[row_] * py[row_] + c[1] * px[1];
      values[z] = p_.range(seventh(sum) * (p_.range.a1 + cell));
      out[z * block_.step<2>()] = values[z];
      before = here, here = behind, cell = next;
    }
  }

  const CoupleParameters& p_;
  const BlockView& block_;
  double* shared_;  ///< [group][place][z][y][x]
  int n_, row_, plane_, group_;
  int first_place_, of_part_;
};

template <bool Wide>
__global__ void __launch_bounds__(kTileThreads, 2) couple_tile(const __grid_constant__ CoupleParameters p) {
  extern __shared__ double tile[];
  __shared__ Around pieces[kPieces];
  const BlockView block(p.mixed, static_cast<int>(blockIdx.x) / p.mixed.parts, pieces);
  TileWalk<Wide>(p, block, tile).run();
}

}  // namespace amrbench::kernels::detail
