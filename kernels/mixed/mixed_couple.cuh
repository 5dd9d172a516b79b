#pragma once
// Stages of kinds 4 and 5 of the mixed work by planes in shared memory. Included by mixed_cuda.cu only.
//
// A thread block takes a few places of a block and walks along z, all four groups at once: group g is a plane behind
// group g - 1, so that it finds the new values of the groups before it and the old ones of those after it above, below
// and beside its cells. Each group has a ring of planes with what lies around the block; the next plane comes by small
// asynchronous copies meanwhile. Every value is read once, where a pass a group would read all four.
#include <algorithm>

#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_view.cuh"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail {

/// How thread blocks share out a block. Rings: planes kept of each group. A step needs 6; with 7 the next plane may
/// come while it runs.
struct CoupleShape {
  int places = 0;   ///< of a thread block; 0: does not fit
  int threads = 0;  ///< of a place: at least one a cell of a plane, and one for kBrought with what is around
  int ring = 0;
  std::size_t bytes = 0;
};

inline constexpr int kCoupleMost = 1024, kBrought = 2;

/// From a place's plane to the next one's in shared memory: so that a row of the next lies in the banks behind a row.
__host__ __device__ inline int apart(int nx, int values) {
  constexpr int kBanks = 16;  // of doubles
  return nx < kBanks ? values + (nx - values % kBanks + kBanks) % kBanks : values;
}

/// `shared`: bytes a thread block may have.
inline CoupleShape couple_shape(const BlockLayout& layout, int m, std::size_t shared) {
  const auto cells = static_cast<int>(layout.face_cells(2));
  const int brought = (layout.cells[0] + 2) * (layout.cells[1] + 2);
  const auto ringed = std::size_t(apart(layout.cells[0], brought)) * kGroups * sizeof(double);
  constexpr std::size_t kFixed = kPieces * sizeof(Around) + 1024;
  const std::size_t half = shared / 2;
  if (cells > kCoupleMost) return {};
  CoupleShape shape;
  shape.ring = ringed * 7 + kFixed <= shared ? 7 : 6;
  if (ringed * 6 + kFixed > shared) return {};
  shape.threads = std::max(cells, (brought + kBrought - 1) / kBrought);
  shape.places = 1;
  while (shape.places < m && (shape.places + 1) * shape.threads <= kCoupleMost / 4 &&
         std::size_t(shape.places + 1) * ringed * std::size_t(shape.ring) + kFixed <= half)
    ++shape.places;
  shape.bytes = ringed * std::size_t(shape.places) * std::size_t(shape.ring);
  return shape;
}

/// One thread block, a thread a column of cells and a place. Ring: planes of a group. Kept: threads have registers for
/// where the columns lie that they bring.
template <bool Wide, int Ring, bool Kept>
class CoupleWalk {
 public:
  __device__ CoupleWalk(const MixedParameters& p, const BlockView& block, double* shared)
      : p_(p),
        block_(block),
        divisor_(p.constants[0] + 27.0),
        shared_(shared),
        cols_(block.cells(0) + 2),
        around_(cols_ * (block.cells(1) + 2)),
        place_values_(apart(block.cells(0), around_)),
        plane_(place_values_ * p.places) {
    const int thread = static_cast<int>(threadIdx.x), nx = block.cells(0);
    const int first_place = static_cast<int>(blockIdx.x) % p.parts * p.places,
              of_part = min(p.places, p.m - first_place);
    // Rows of cells of one place after the other.
    const int x = thread % nx, in_part = thread / nx % p.places, y = thread / nx / p.places;
    place_ = first_place + in_part;
    is_cell_ = in_part < of_part && y < block.cells(1);
    centre_ = is_cell_ ? in_part * place_values_ + (y + 1) * cols_ + x + 1 : 0;
    cell_ = y * nx + x;
    // Places one after the other.
    brings_first_ = thread % p.columns;
    const int brought_place = thread / p.columns;
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
            is_known ? brought_[s].at + (brings_variable_ + g * p_.m) * brought_[s].chunk + z * brought_[s].plane
                     : block_.old(brings_variable_ + g * p_.m, x_of(s) - 1, y_of(s) - 1, z);
        support::copy_small<8>(to + g * Ring * plane_ + s * p_.columns, from);
      }
    }
  }
  [[nodiscard]] __device__ bool brings(int s) const {
    return column_of(s) < brings_last_;
  }
  /// The column, counted from what lies before the block, of which the thread brings values.
  [[nodiscard]] __device__ int column_of(int s) const {
    return brings_first_ + s * p_.columns;
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
    double* const to = block_.fresh(Group * p_.m + place_, 0, 0, z) + cell_;
    double value = 0.0;
    if (is_mine) value = is_first ? *to : Wide ? value27<Group>(z) : value7<Group>(z);
    if constexpr (!Wide) __syncthreads();  // those beside a cell see what it was
    if (!is_mine) return;
    double* const own = shared_ + (Group * Ring + (z + 1) % Ring) * plane_ + centre_;
    if constexpr (!Wide) before_[Group] = *own;
    *own = value;
    if (!is_first) *to = value;  // that was done by only_first
  }
  [[nodiscard]] __device__ double ranged(double value) const {
    return Range{p_.constants[0], p_.constants[1]}(value);
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
    return ranged(divisor_.divide(sum));
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
    return ranged(seventh(sum) * (p_.constants[0] + u[0]));
  }

  const MixedParameters& p_;
  const BlockView& block_;
  Divisor divisor_;  ///< of kind 5
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
__global__ void __launch_bounds__(Threads, Resident) couple_planes(const __grid_constant__ MixedParameters p) {
  extern __shared__ double planes[];
  __shared__ Around pieces[kPieces];
  const BlockView block(p, static_cast<int>(blockIdx.x) / p.parts, pieces);
  CoupleWalk<Wide, Ring, (Threads < 1024)>(p, block, planes).run();
}

template <bool Wide>
void launch_couple_planes(MixedParameters p, const CoupleShape& shape, int count, const support::CudaStream& stream) {
  p.parts = (p.m + shape.places - 1) / shape.places;
  p.places = shape.places;
  p.columns = shape.threads;
  const int threads = (shape.places * shape.threads + 31) / 32 * 32;
  const auto go = [&](auto kernel) {
    support::cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.bytes)),
        "shared memory of the mixed work");
    kernel<<<static_cast<unsigned int>(count) * static_cast<unsigned int>(p.parts), threads, shape.bytes,
             stream.get()>>>(p);
  };
  if (shape.ring == 6) return go(couple_planes<Wide, 6, 1024, 1>);
  if (threads <= 256) return go(couple_planes<Wide, 7, 256, 2>);
  if (threads <= 512) return go(couple_planes<Wide, 7, 512, 1>);
  go(couple_planes<Wide, 7, 1024, 1>);
}

}  // namespace amrbench::kernels::detail
