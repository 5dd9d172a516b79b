#pragma once
// Stages of kinds 4 and 5 of the mixed work by planes in shared memory. Included by mixed_cuda.cu only.
//
// A thread block takes a place of a block and walks along z, all four groups at once: a group is a plane or two behind
// the one before it (CoupleOrder), so that it finds the new values of the groups before it and the old ones of those
// after it above, below and beside its cells. Each group has a ring of planes with what lies around the block; the next
// plane comes by small asynchronous copies meanwhile. Every value is read once, where a pass a group would read all
// four. What limits it are reads of shared memory, 27 a value in stages of kind 5, and instructions: so addresses are
// sums of bytes, and few registers are needed, so that threads are many.
#include <utility>

#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_shape.cuh"
#include "kernels/mixed/mixed_tile.cuh"
#include "kernels/mixed/mixed_view.cuh"
#include "support/async_copy.cuh"

namespace amrbench::kernels::detail {

/// A thread block has a place of a block, a thread a column of cells. In shared memory values are [group][plane of the
/// ring][y][x], with what lies around the block; the first of a row of cells is aligned to 16 bytes. All offsets there
/// are in bytes. Ring: planes of a group; if that is one more than a step needs, the next plane comes while a step
/// runs.
template <bool Wide, int Phases, int Ring>
class CoupleWalk {
 public:
  __device__ CoupleWalk(const CoupleParameters& p, const BlockView& block, double* shared)
      : p_(p),
        block_(block),
        place_(static_cast<int>(blockIdx.x) % p.mixed.m),
        shared_(reinterpret_cast<char*>(shared) + kValue),
        row_(kValue * p.shape.row),
        plane_(kValue * p.shape.plane),
        brings_(brought(static_cast<int>(threadIdx.x), block.cells(0), block.cells(1))) {
    const int thread = static_cast<int>(threadIdx.x), x = thread % p.shape.width, y = thread / p.shape.width;
    is_cell_ = x < block.cells(0) && y < block.cells(1);
    if (is_cell_) to_ = block.fresh(place_, x, y, 0);
    centre_ = is_cell_ ? offset(x, y) : offset(0, 0);
    brought_ = offset(brings_.x, brings_.y);
    const Around column = block.column<2>(brings_.x, brings_.y, 0);
    from_ = column.at + place_ * column.chunk;
    from_group_ = p.mixed.m * column.chunk;
    from_plane_ = column.row;
  }

  __device__ void run() {
    const int n = block_.cells(2);
    bring_end(-1);
    for (int z = 0; z <= (kAhead ? 1 : 0); ++z) bring(z);
    support::copies_commit();
    if constexpr (!Wide) {
      support::copies_wait_but<0>();
      __syncthreads();
#pragma unroll
      for (int g = 0; g < kGroups; ++g) before_[g] = value(g * Ring * plane_, centre_);
    }
#pragma unroll 1
    for (int z = 0; z < n + Order::kLast; ++z) {
      if constexpr (!kAhead) {  // the plane that the last group has just left is the next one's
        __syncthreads();
        bring(z + 1);
        support::copies_commit();
      }
      support::copies_wait_but<0>();
      __syncthreads();
      if constexpr (kAhead) {
        bring(z + 2);
        support::copies_commit();
      }
      advance<0>(z);
      __syncthreads();
      advance<1>(z);
      if constexpr (Phases == 4) {
        __syncthreads();
        advance<2>(z);
        __syncthreads();
        advance<3>(z);
      }
      to_ += block_.template step<2>();
    }
  }

 private:
  using Order = CoupleOrder<Phases>;
  static constexpr bool kAhead = Ring != Order::kRing;
  static constexpr int kValue = static_cast<int>(sizeof(double));

  /// Of a column; x and y from -1 on.
  [[nodiscard]] __device__ int offset(int x, int y) const {
    return kValue * (x + 1) + (y + 1) * row_;
  }
  /// Of plane z of a group, z from -1 on.
  [[nodiscard]] __device__ int plane(int group, int z) const {
    return (group * Ring + static_cast<int>(static_cast<unsigned int>(z + 1) % Ring)) * plane_;
  }
  [[nodiscard]] __device__ double value(int plane, int column) const {
    return *reinterpret_cast<const double*>(shared_ + plane + column);
  }

  /// Starts to bring plane z of all groups, with what lies around it. Planes come in order.
  __device__ void bring(int z) {
    if (z >= block_.cells(2)) {
      if (z == block_.cells(2)) bring_end(z);
      return;
    }
    char* const to = shared_ + plane(0, z) + brought_;
    const int group = Ring * plane_;
    if (brings_.cells == 2) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) support::copy_small<16>(to + g * group, from_ + g * from_group_);
    } else if (brings_.cells == 1) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) support::copy_small<8>(to + g * group, from_ + g * from_group_);
    }
    from_ += from_plane_;
  }
  /// The plane below or above the block, whose rows may lie anywhere.
  __device__ void bring_end(int z) const {
    char* const to = shared_ + plane(0, z) + brought_;
#pragma unroll 1
    for (int k = 0; k < kGroups * brings_.cells; ++k) {
      const int g = k % kGroups, dx = k / kGroups;
      support::copy_small<8>(to + g * Ring * plane_ + dx * kValue,
                             block_.old(place_ + g * p_.mixed.m, brings_.x + dx, brings_.y, z));
    }
  }

  /// A phase of step z: its groups, each in its plane, where there is one.
  template <int Phase>
  __device__ void advance(int z) {
    const auto for_each = [&](auto&& f) {
      [&]<int... I>(std::integer_sequence<int, I...>) {
        (f(std::integral_constant<int, Phase + I * Phases>{}), ...);
      }
      (std::make_integer_sequence<int, kGroups / Phases>{});
    };
    double values[kGroups];
    const bool all = z >= Order::kLast && z < block_.cells(2);  // then nothing stands between the groups
    const auto is_there = [&](int group) {
      return all || static_cast<unsigned int>(z - Order::lag(group)) < static_cast<unsigned int>(block_.cells(2));
    };
    const auto find = [&](auto group) {
      values[group] = Wide ? value27<group>(z - Order::lag(group)) : value7<group>(z - Order::lag(group));
    };
    if (is_cell_) {
      if (all)
        for_each(find);
      else
        for_each([&](auto group) {
          if (is_there(group)) find(group);
        });
    }
    if constexpr (!Wide) __syncthreads();  // those beside a cell see what it was
    if (!is_cell_) return;
    for_each([&](auto group) {
      if (is_there(group)) put<group>(z - Order::lag(group), values[group]);
    });
  }
  /// The new value of the thread's cell in plane z.
  template <int Group>
  __device__ void put(int z, double value) {
    double* const to = to_ + (Group * block_.offset(p_.mixed.m) - Order::lag(Group) * block_.template step<2>());
    const bool is_done = Group == 0 && place_ == 0;  // by first_columns
    if (is_done) value = *to;
    auto* const own = reinterpret_cast<double*>(shared_ + plane(Group, z) + centre_);
    if constexpr (!Wide) before_[Group] = *own;
    *own = value;
    if (!is_done) *to = value;
  }
  /// A cell that differs along k axes comes from the group k groups on.
  template <int Group>
  [[nodiscard]] __device__ double value27(int z) const {
    const int rows[3] = {centre_ - row_, centre_, centre_ + row_};
    int below[kGroups], level[kGroups], above[kGroups];
#pragma unroll
    for (int k = 0; k < kGroups; ++k) {
      below[k] = plane((Group + k) % kGroups, z - 1);
      level[k] = plane((Group + k) % kGroups, z);
      above[k] = plane((Group + k) % kGroups, z + 1);
    }
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
      const int dx = k / 3 - 1, dy = k % 3 - 1, away = dx * dx + dy * dy, row = rows[dy + 1];
      const auto beside = [&](int plane) { return value(plane, row + dx * kValue); };
      sum = k == 0 ? beside(below[away + 1]) : sum + beside(below[away + 1]);
      sum = sum + beside(level[away]) + beside(above[away + 1]);
    }
    return p_.range(p_.divisor.divide(sum));
  }
  template <int Group>
  [[nodiscard]] __device__ double value7(int z) const {
    const int u = plane(Group, z), px = plane((Group + 1) % kGroups, z), py = plane((Group + 2) % kGroups, z);
    const int pz = (Group + 3) % kGroups, dx = kValue, before_row = centre_ - row_, behind_row = centre_ + row_;
    const double cell = value(u, centre_), before = before_[Group] * value(plane(pz, z - 1), centre_);
    const double behind = value(plane(Group, z + 1), centre_) * value(plane(pz, z + 1), centre_);
    const double sum = value(u, centre_ - dx) * value(px, centre_ - dx) + value(u, before_row) * value(py, before_row) +
                       before + cell * cell + behind + value(u, behind_row) * value(py, behind_row) +
                       value(u, centre_ + dx) * value(px, centre_ + dx);
    return p_.range(seventh(sum) * (p_.range.a1 + cell));
  }

  const CoupleParameters& p_;
  const BlockView& block_;
  int place_;
  char* shared_;
  int row_, plane_;
  Brought brings_;        ///< of each plane and group
  int brought_, centre_;  ///< there, in a plane: what the thread brings; its own column
  bool is_cell_;
  double* to_ = nullptr;         ///< new values of the first group, in plane z of step z
  const double* from_;           ///< what comes next of the first group
  int from_group_, from_plane_;  ///< steps from there
  double before_[kGroups];       ///< what the cells below were (kind 4)
};

template <bool Wide, int Phases, int Ring>
__global__ void __launch_bounds__(kCoupleMost, 1) couple_planes(const __grid_constant__ CoupleParameters p) {
  extern __shared__ double2 planes[];
  __shared__ Around pieces[kPieces];
  const BlockView block(p.mixed, static_cast<int>(blockIdx.x) / p.mixed.parts, pieces);
  CoupleWalk<Wide, Phases, Ring>(p, block, &planes->x).run();
}

template <bool Wide>
void launch_couple(CoupleParameters p, int count, const support::CudaStream& stream) {
  const CoupleShape& shape = p.shape;
  p.mixed.parts = (p.mixed.m + shape.places - 1) / shape.places;
  const auto go = [&](auto kernel) {
    support::cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.bytes)),
        "shared memory of the mixed work");
    const auto grid = static_cast<unsigned int>(count) * static_cast<unsigned int>(p.mixed.parts);
    kernel<<<grid, shape.threads, shape.bytes, stream.get()>>>(p);
    support::cuda_check_launch("mixed");
  };
  if (shape.tile) return go(couple_tile<Wide>);
  if (shape.ring == 8) return go(couple_planes<Wide, 2, 8>);
  shape.ring == 7 ? go(couple_planes<Wide, 4, 7>) : go(couple_planes<Wide, 4, 6>);
}

}  // namespace amrbench::kernels::detail
