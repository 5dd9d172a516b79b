#pragma once
// How the kernels of kernels/mixed/mixed_cuda.hpp see a block: its old values and those around it, where they lie, and
// its new ones. Included by mixed_cuda.cu only.
#include "kernels/mixed/mixed_cuda.hpp"

namespace amrbench::kernels::detail {

inline constexpr int kPieces = 27, kGroups = 4;

struct MixedParameters {
  BlockLayout layout;
  DeviceSurroundings around;
  const std::int32_t* blocks;
  const double* constants;  ///< a1, then a0 (kernels/mixed/mixed.hpp)
  int m;                    ///< variables of a group
  int kind;                 ///< stage % 6
  int parts;                ///< thread blocks a block
  int places, columns;      ///< of a thread block in stages of kinds 0 to 3
  int depth;                ///< cells of a column at a time
  support::DeviceSlots out;
};

/// One of the 27 pieces around a block: its first cell in chunk 0, and its steps.
struct Around {
  const double* at;
  int chunk, row, plane;
};

/// Where a variable lies in a block.
struct Place {
  int chunk, lane;
};

/// The block of a thread block: old values, its own and those around it, and its new ones.
class BlockView {
 public:
  /// All threads call. `pieces`: shared memory.
  __device__ BlockView(const MixedParameters& p, int number, Around* pieces)
      : n_{p.layout.cells[0], p.layout.cells[1], p.layout.cells[2]},
        lanes_(p.layout.lanes),
        chunk_(static_cast<std::int64_t>(p.layout.chunk_values())),
        pieces_(pieces) {
    const int block = p.blocks == nullptr ? number : p.blocks[number], t = static_cast<int>(threadIdx.x);
    if (t < kPieces) {
      const PieceSource source = p.around.sources[std::int64_t{block} * kPieces + t];
      const DeviceSurroundings::Steps& steps = p.around.steps[source.kind];
      pieces[t] = {p.around.piece(source), static_cast<int>(steps.chunk), steps.row, steps.plane};
    }
    out_ = p.out.at(block);
    __syncthreads();
  }
  [[nodiscard]] __device__ Place place(int variable) const { return {variable / lanes_, variable % lanes_}; }
  /// An old value; coordinates -1 .. n.
  [[nodiscard]] __device__ const double* old(Place v, int x, int y, int z) const {
    const Around& piece = pieces_[Surroundings::index(side<0>(x), side<1>(y), side<2>(z))];
    return piece.at + v.chunk * piece.chunk + v.lane + (side<0>(x) == 0 ? x * lanes_ : 0) +
           (side<1>(y) == 0 ? y * piece.row : 0) + (side<2>(z) == 0 ? z * piece.plane : 0);
  }
  /// A new value of the block.
  [[nodiscard]] __device__ double* fresh(Place v, int x, int y, int z) const {
    return out_ + v.chunk * chunk_ + v.lane + ((z * n_[1] + y) * n_[0] + x) * lanes_;
  }
  /// Old values from cell (x, y, z) on along an axis, which may lie beside the block: of chunk 0, lane 0.
  template <int Axis>
  [[nodiscard]] __device__ Around column(int x, int y, int z) const {
    const Around& piece = pieces_[Surroundings::index(side<0>(x), side<1>(y), side<2>(z))];
    return {old({0, 0}, x, y, z), piece.chunk, Axis == 0 ? lanes_ : Axis == 1 ? piece.row : piece.plane, 0};
  }
  /// From one plane to the next of old values at (x, y), which may lie beside the block.
  [[nodiscard]] __device__ int plane_step(int x, int y) const {
    return pieces_[Surroundings::index(side<0>(x), side<1>(y), 0)].plane;
  }
  [[nodiscard]] __device__ bool inside(int x, int y) const { return side<0>(x) == 0 && side<1>(y) == 0; }
  /// From a cell of the block to the next.
  template <int Axis>
  [[nodiscard]] __device__ int step() const {
    return Axis == 0 ? lanes_ : Axis == 1 ? n_[0] * lanes_ : n_[1] * n_[0] * lanes_;
  }
  [[nodiscard]] __device__ int cells(int axis) const { return n_[axis]; }
  /// Of a variable from variable 0, in the block.
  [[nodiscard]] __device__ int offset(Place v) const { return v.chunk * static_cast<int>(chunk_) + v.lane; }

 private:
  template <int Axis>
  [[nodiscard]] __device__ int side(int c) const {
    return DeviceSurroundings::side(c, n_[Axis]);
  }
  int n_[3];
  int lanes_;
  std::int64_t chunk_;
  const Around* pieces_;
  double* out_;
};

/// A column in its block: places of the variables in old values and in new ones are the same.
struct OwnColumn {
  const double* old;
  double* fresh;
  int first, second, group[kGroups];  ///< offsets: variables 0 and 1, and the one of each group

  __device__ OwnColumn(const BlockView& block, int m, int place, int x, int y, int z)
      : old(block.old({0, 0}, x, y, z)), fresh(block.fresh({0, 0}, x, y, z)) {
    first = block.offset(block.place(0));
    second = block.offset(block.place(1));
#pragma unroll
    for (int g = 0; g < kGroups; ++g) group[g] = block.offset(block.place(g * m + place));
  }
};

}  // namespace amrbench::kernels::detail
