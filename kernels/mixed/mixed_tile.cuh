#pragma once
// Stages of kinds 4 and 5 of the mixed work on small blocks, as a whole in shared memory. Included by
// mixed_couple.cuh only.
//
// A thread block brings the old values of a place or two, with what lies around the block, and then does group after
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
        shared_(shared + 1),
        n_(block.cells(2)),
        row_(p.shape.row),
        plane_(p.shape.plane),
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

  /// Brings old values; kind 4 looks at no edges and corners. Variable 0 is new already: where it is looked at in the
  /// block, it is as a group before others.
  __device__ void bring() const {
    const int nx = block_.cells(0), ny = block_.cells(1), m = p_.mixed.m;
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const auto to = [&](int place, int x, int y, int z) {
      return shared_ + place * p_.shape.place + (z + 1) * plane_ + (y + 1) * row_ + x + 1;
    };
    const auto for_each_group = [&](int place, auto&& f) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) f(first_place_ + place + g * m, g * group_);
    };
    // Pairs of cells of the block, one behind the other as they are in memory.
    const double* const own = block_.old(0, 0, 0, 0);
    for (int k = thread; k < nx / 2 * ny * n_; k += threads) {
      const int row = k / (nx / 2), x = (k - row * (nx / 2)) * 2, z = row / ny, y = row - z * ny;
      for (int place = 0; place < of_part_; ++place)
        for_each_group(place, [&](int v, int group) {
          const double* const from = v == 0 ? block_.fresh(0, x, y, z) : own + block_.offset(v) + 2 * k;
          support::copy_small<16>(to(place, x, y, z) + group, from);
        });
    }
    // Columns beside the block, by the threads that have fewest pairs.
    const int beside = cells_beside(nx, ny);
    for (int k = threads - 1 - thread; k < of_part_ * beside; k += threads) {
      const int place = k / beside;
      const Brought at = brought_beside(k - place * beside, nx, ny);
      if (!Wide && (at.x < 0 || at.x == nx) && (at.y < 0 || at.y == ny)) continue;
      const Around column = block_.column<2>(at.x, at.y, 0);
      for_each_group(place, [&](int v, int group) {
        double* const of_group = to(place, at.x, at.y, 0) + group;
        if (Wide) support::copy_small<8>(of_group - plane_, block_.old(v, at.x, at.y, -1));
        if (Wide) support::copy_small<8>(of_group + n_ * plane_, block_.old(v, at.x, at.y, n_));
        const double* from = column.at + v * column.chunk;
        for (int z = 0; z < n_; ++z, from += column.row) support::copy_small<8>(of_group + z * plane_, from);
      });
    }
    // The planes below and above.
    for (int k = thread; k < 2 * of_part_ * nx * ny; k += threads) {
      const int row = k / nx, x = k - row * nx, y = row % ny, place = row / ny / 2, z = row / ny % 2 == 0 ? -1 : n_;
      for_each_group(
          place, [&](int v, int group) { support::copy_small<8>(to(place, x, y, z) + group, block_.old(v, x, y, z)); });
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
  double* shared_;  ///< [group][place][z][y][x]; the first of a row of cells is aligned to 16 bytes
  int n_, row_, plane_, group_;
  int first_place_, of_part_;
};

template <bool Wide>
__global__ void __launch_bounds__(kTileThreads, 4) couple_tile(const __grid_constant__ CoupleParameters p) {
  extern __shared__ double2 tile[];
  __shared__ Around pieces[kPieces];
  const BlockView block(p.mixed, static_cast<int>(blockIdx.x) / p.mixed.parts, pieces);
  TileWalk<Wide>(p, block, &tile->x).run();
}

}  // namespace amrbench::kernels::detail
