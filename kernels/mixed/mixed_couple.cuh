#pragma once
// Stages of kinds 4 and 5 of the mixed work by planes in shared memory. Included by mixed_cuda.cu only.
//
// A thread block takes a few places of a block and walks along z, all four groups at once: group g is a plane behind
// group g - 1, so that it finds the new values of the groups before it and the old ones of those after it above, below
// and beside its cells. Each group has a ring of planes with what lies around the block; the next plane comes by small
// asynchronous copies meanwhile. Every value is read once, where a pass a group would read all four.
#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_shape.cuh"
#include "kernels/mixed/mixed_view.cuh"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail {

/// One thread block, a thread a column of cells and a place. Ring: planes of a group. Kept: threads have registers for
/// where the columns lie that they bring.
template <bool Wide, int Ring, bool Kept>
class CoupleWalk {
 public:
  __device__ CoupleWalk(const CoupleParameters& p, const BlockView& block, double* shared)
      : p_(p),
        block_(block),
        shared_(shared),
        cols_(block.cells(0) + 2),
        around_(cols_ * (block.cells(1) + 2)),
        place_values_(p.shape.place),
        plane_(place_values_ * p.shape.places) {
    const int thread = static_cast<int>(threadIdx.x), nx = block.cells(0);
    const int first_place = static_cast<int>(blockIdx.x) % p.mixed.parts * p.shape.places,
              of_part = min(p.shape.places, p.mixed.m - first_place);
    // Rows of cells of one place after the other.
    const int width = p.shape.width, x = thread % width, in_part = thread / width % p.shape.places,
              y = thread / width / p.shape.places;
    place_ = first_place + in_part;
    is_cell_ = x < nx && in_part < of_part && y < block.cells(1);
    centre_ = is_cell_ ? in_part * place_values_ + (y + 1) * cols_ + x + 1 : 0;
    cell_ = y * nx + x;
    // Places one after the other.
    brings_first_ = thread % p.shape.of_place;
    const int brought_place = thread / p.shape.of_place;
    brings_last_ = brought_place < of_part ? around_ : 0;
    brings_to_ = brought_place * place_values_ + brings_first_;
    brings_variable_ = first_place + min(brought_place, of_part - 1);
#pragma unroll
    for (int s = 0; s < kBrought; ++s) {
      if (!Kept || !brings(s)) continue;
      const Around from = block.column<2>(x_of(s) - 1, y_of(s) - 1, 0);
      brought_[s] = {from.at, from.chunk, from.row};
    }
  }

  __device__ void run() {
    const int n = block_.cells(2);
    for (int z = -1; z <= (Ring == 7 ? 1 : 0); ++z) bring(z);
    support::copies_commit();
    if constexpr (!Wide) {
      support::copies_wait_but<0>();
      __syncthreads();
#pragma unroll
      for (int g = 0; g < kGroups; ++g) before_[g] = shared_[g * Ring * plane_ + centre_];
    }
    for (int z = 0; z < n + kGroups - 1; ++z) {
      if constexpr (Ring == 6) {  // the plane that the last group has just left is the next one's
        __syncthreads();
        bring(z + 1);
        support::copies_commit();
      }
      support::copies_wait_but<0>();
      __syncthreads();
      if constexpr (Ring == 7) {
        bring(z + 2);
        support::copies_commit();
      }
      advance<0>(z);
      __syncthreads();
      advance<1>(z - 1);
      __syncthreads();
      advance<2>(z - 2);
      __syncthreads();
      advance<3>(z - 3);
    }
  }

 private:
  /// Starts to bring plane z of all groups, with what lies around it.
  __device__ void bring(int z) const {
    if (z > block_.cells(2)) return;
    double* const to = shared_ + (z + 1) % Ring * plane_ + brings_to_;
    const bool is_known = Kept && z >= 0 && z < block_.cells(2);
#pragma unroll
    for (int s = 0; s < kBrought; ++s) {
      if (!brings(s)) continue;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const double* const from =
            is_known ? brought_[s].at + (brings_variable_ + g * p_.mixed.m) * brought_[s].chunk + z * brought_[s].plane
                     : block_.old(brings_variable_ + g * p_.mixed.m, x_of(s) - 1, y_of(s) - 1, z);
        support::copy_small<8>(to + g * Ring * plane_ + s * p_.shape.of_place, from);
      }
    }
  }
  [[nodiscard]] __device__ bool brings(int s) const {
    return column_of(s) < brings_last_;
  }
  /// The column, counted from what lies before the block, of which the thread brings values.
  [[nodiscard]] __device__ int column_of(int s) const {
    return brings_first_ + s * p_.shape.of_place;
  }
  [[nodiscard]] __device__ int x_of(int s) const {
    return column_of(s) % cols_;
  }
  [[nodiscard]] __device__ int y_of(int s) const {
    return column_of(s) / cols_;
  }
  /// Plane z of the group `away` groups on.
  template <int Group>
  [[nodiscard]] __device__ const double* plane(int away, int z) const {
    return shared_ + ((Group + away) % kGroups * Ring + (z + 1) % Ring) * plane_;
  }
  /// Plane z of a group, where there is one.
  template <int Group>
  __device__ void advance(int z) {
    const bool is_mine = is_cell_ && z >= 0 && z < block_.cells(2), is_first = Group == 0 && place_ == 0;
    double* const to = block_.fresh(Group * p_.mixed.m + place_, 0, 0, z) + cell_;
    double value = 0.0;
    if (is_mine) value = is_first ? *to : Wide ? value27<Group>(z) : value7<Group>(z);
    if constexpr (!Wide) __syncthreads();  // those beside a cell see what it was
    if (!is_mine) return;
    double* const own = shared_ + (Group * Ring + (z + 1) % Ring) * plane_ + centre_;
    if constexpr (!Wide) before_[Group] = *own;
    *own = value;
    if (!is_first) *to = value;  // that was done by first_columns
  }
  /// A cell that differs along k axes comes from the group k groups on.
  template <int Group>
  [[nodiscard]] __device__ double value27(int z) const {
    const double *below[kGroups], *level[kGroups], *above[kGroups];
#pragma unroll
    for (int k = 0; k < kGroups; ++k) {
      below[k] = plane<Group>(k, z - 1) + centre_;
      level[k] = plane<Group>(k, z) + centre_;
      above[k] = plane<Group>(k, z + 1) + centre_;
    }
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
      const int dx = k / 3 - 1, dy = k % 3 - 1, away = dx * dx + dy * dy, at = dy * cols_ + dx;
      sum = k == 0 ? below[away + 1][at] : sum + below[away + 1][at];
      sum = sum + level[away][at] + above[away + 1][at];
    }
    return p_.range(p_.divisor.divide(sum));
  }
  template <int Group>
  [[nodiscard]] __device__ double value7(int z) const {
    const int dx = 1, dy = cols_;
    const double* const u = plane<Group>(0, z) + centre_;
    const double *const px = plane<Group>(1, z) + centre_, *const py = plane<Group>(2, z) + centre_;
    const double before = before_[Group] * plane<Group>(3, z - 1)[centre_];
    const double behind = plane<Group>(0, z + 1)[centre_] * plane<Group>(3, z + 1)[centre_];
    const double sum =
        u[-dx] * px[-dx] + u[-dy] * py[-dy] + before + u[0] * u[0] + behind + u[dy] * py[dy] + u[dx] * px[dx];
    return p_.range(seventh(sum) * (p_.range.a1 + u[0]));
  }

  const CoupleParameters& p_;
  const BlockView& block_;
  double* shared_;
  int cols_, around_, place_values_,
      plane_;  ///< in shared memory: of a row, a place, a place with what is beside it, a plane
  int place_ = 0, centre_ = 0, cell_ = 0;
  bool is_cell_ = false;  ///< are there the thread's place and column?
  int brings_first_ = 0, brings_last_ = 0, brings_to_ = 0, brings_variable_ = 0;
  /// Columns of cells that the thread brings, of variable 0, and their steps.
  struct Brought {
    const double* at = nullptr;
    int chunk = 0, plane = 0;
  };
  Brought brought_[kBrought];
  double before_[kGroups];  ///< what the cells below were (kind 4)
};

template <bool Wide, int Ring, int Threads, int Resident>
__global__ void __launch_bounds__(Threads, Resident) couple_planes(const __grid_constant__ CoupleParameters p) {
  extern __shared__ double planes[];
  __shared__ Around pieces[kPieces];
  const BlockView block(p.mixed, static_cast<int>(blockIdx.x) / p.mixed.parts, pieces);
  CoupleWalk<Wide, Ring, (Threads < 1024)>(p, block, planes).run();
}

template <bool Wide>
void launch_couple_planes(const CoupleParameters& p, int count, const support::CudaStream& stream) {
  if (p.shape.ring == 6) return launch_couple(couple_planes<Wide, 6, 1024, 1>, p, count, stream);
  if constexpr (Wide)
    if (p.shape.threads <= 256) return launch_couple(couple_planes<Wide, 7, 256, 2>, p, count, stream);
  if (p.shape.threads <= 640) return launch_couple(couple_planes<Wide, 7, 640, 1>, p, count, stream);
  launch_couple(couple_planes<Wide, 7, 1024, 1>, p, count, stream);
}

}  // namespace amrbench::kernels::detail
