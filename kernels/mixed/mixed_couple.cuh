#pragma once
// Stages of kinds 4 and 5 of the mixed work by planes in shared memory. Included by mixed_cuda.cu only.
//
// A thread block takes a few places of a block and walks along z, all four groups at once: group g is a plane behind
// group g - 1, so that it finds the new values of the groups before it and the old ones of those after it above, below
// and beside its cells. Each group has a ring of planes with what lies around the block; the next plane comes by small
// asynchronous copies meanwhile. Every value is read once, where a pass a group would read all four.
#include <algorithm>
#include <bit>

#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_view.cuh"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail {

/// How thread blocks share out a block. Rings: planes kept of each group. A step needs 6; with 7 the next plane may
/// come while it runs.
struct CoupleShape {
  int places = 0;   ///< of a thread block, a power of 2; 0: does not fit
  int threads = 0;  ///< a multiple of 32, at least one a cell of a plane and place, and kBrought with what is around
  int ring = 0;
  std::size_t bytes = 0;
};

inline constexpr int kCoupleMost = 1024, kBrought = 2;

/// `shared`: bytes a thread block may have.
inline CoupleShape couple_shape(const BlockLayout& layout, int m, std::size_t shared) {
  const auto cells = static_cast<int>(layout.face_cells(2));
  const auto ringed = std::size_t(layout.cells[0] + 2) * std::size_t(layout.cells[1] + 2) * kGroups * sizeof(double);
  constexpr std::size_t kFixed = kPieces * sizeof(Around) + 1024;
  const std::size_t half = shared / 2;
  if (cells > kCoupleMost) return {};
  CoupleShape shape;
  shape.ring = ringed * 7 + kFixed <= shared ? 7 : 6;
  if (ringed * 6 + kFixed > shared) return {};
  shape.places = 1;
  while (shape.places < m && 2 * shape.places * cells <= kCoupleMost / 4 &&
         2 * std::size_t(shape.places) * ringed * std::size_t(shape.ring) + kFixed <= half)
    shape.places *= 2;
  const int brought = static_cast<int>(ringed / (kGroups * sizeof(double))) * shape.places;
  shape.threads = (std::max(shape.places * cells, (brought + kBrought - 1) / kBrought) + 31) / 32 * 32;
  shape.bytes = ringed * std::size_t(shape.places) * std::size_t(shape.ring);
  return shape;
}

/// One thread block, a thread a column of cells and a place. Ring: planes of a group. Kept: threads have registers for
/// where the columns lie that they bring.
template <bool Wide, int Ring, bool Kept>
class CoupleWalk {
 public:
  __device__ CoupleWalk(const MixedParameters& p, const BlockView& block, int log_places, double* shared)
      : p_(p),
        block_(block),
        divisor_(p.constants[0] + 27.0),
        places_(1 << log_places),
        log_places_(log_places),
        shared_(shared),
        cols_(block.cells(0) + 2),
        plane_(cols_ * (block.cells(1) + 2) * places_) {
    const int thread = static_cast<int>(threadIdx.x), part = static_cast<int>(blockIdx.x) % p.parts;
    place_ = part * places_ + (thread & (places_ - 1));
    is_there_ = place_ < p.m;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) variables_[g] = block.place(g * p.m + (is_there_ ? place_ : 0));
    const int cell = thread >> log_places_, x = cell % block.cells(0), y = cell / block.cells(0);
    is_cell_ = is_there_ && y < block.cells(1);
    centre_ = is_cell_ ? ((y + 1) * cols_ + x + 1) * places_ + (thread & (places_ - 1)) : 0;
    out_ = cell * p.layout.lanes;
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
    double* const to = shared_ + (z + 1) % Ring * plane_ + static_cast<int>(threadIdx.x);
    const bool is_known = Kept && z >= 0 && z < block_.cells(2);
#pragma unroll
    for (int s = 0; s < kBrought; ++s) {
      if (!brings(s)) continue;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const double* const from = is_known ? brought_[s].at + variables_[g].chunk * brought_[s].chunk +
                                                  variables_[g].lane + z * brought_[s].plane
                                            : block_.old(variables_[g], x_of(s) - 1, y_of(s) - 1, z);
        support::copy_small<8>(to + g * Ring * plane_ + s * static_cast<int>(blockDim.x), from);
      }
    }
  }
  [[nodiscard]] __device__ bool brings(int s) const {
    return is_there_ && static_cast<int>(threadIdx.x) + s * static_cast<int>(blockDim.x) < plane_;
  }
  /// The column, counted from what lies before the block, of which the thread brings values.
  [[nodiscard]] __device__ int column_of(int s) const {
    return (static_cast<int>(threadIdx.x) + s * static_cast<int>(blockDim.x)) >> log_places_;
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
    double* const to = block_.fresh(variables_[Group], 0, 0, z) + out_;
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
      const int dx = k / 3 - 1, dy = k % 3 - 1, away = dx * dx + dy * dy, at = (dy * cols_ + dx) * places_;
      sum = k == 0 ? below[away + 1][at] : sum + below[away + 1][at];
      sum = sum + level[away][at] + above[away + 1][at];
    }
    return ranged(divisor_.divide(sum));
  }
  template <int Group>
  [[nodiscard]] __device__ double value7(int z) const {
    const int dx = places_, dy = cols_ * places_;
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
  int places_, log_places_;
  double* shared_;
  int cols_, plane_, place_ = 0;
  bool is_there_ = false, is_cell_ = false;  ///< is there the thread's place, and its column in the block?
  Place variables_[kGroups];
  int centre_ = 0, out_ = 0;
  /// Columns of cells that the thread brings, of chunk 0, lane 0, and their steps.
  struct Brought {
    const double* at = nullptr;
    int chunk = 0, plane = 0;
  };
  Brought brought_[kBrought];
  double before_[kGroups];  ///< what the cells below were (kind 4)
};

template <bool Wide, int Ring, int Threads, int Resident>
__global__ void __launch_bounds__(Threads, Resident)
    couple_planes(const __grid_constant__ MixedParameters p, int log_places) {
  extern __shared__ double planes[];
  __shared__ Around pieces[kPieces];
  const BlockView block(p, static_cast<int>(blockIdx.x) / p.parts, pieces);
  CoupleWalk<Wide, Ring, (Threads < 1024)>(p, block, log_places, planes).run();
}

template <bool Wide>
void launch_couple_planes(MixedParameters p, const CoupleShape& shape, int count, const support::CudaStream& stream) {
  p.parts = (p.m + shape.places - 1) / shape.places;
  const auto go = [&](auto kernel) {
    support::cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.bytes)),
        "shared memory of the mixed work");
    kernel<<<static_cast<unsigned int>(count) * static_cast<unsigned int>(p.parts), shape.threads, shape.bytes,
             stream.get()>>>(p, std::countr_zero(static_cast<unsigned>(shape.places)));
  };
  if (shape.ring == 6) return go(couple_planes<Wide, 6, 1024, 1>);
  if (shape.threads <= 256) return go(couple_planes<Wide, 7, 256, 2>);
  if (shape.threads <= 512) return go(couple_planes<Wide, 7, 512, 1>);
  go(couple_planes<Wide, 7, 1024, 1>);
}

}  // namespace amrbench::kernels::detail
