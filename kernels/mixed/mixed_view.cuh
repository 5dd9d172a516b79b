#pragma once
// How the kernels of kernels/mixed/mixed_cuda.hpp see a block: its old values and those around it, where they lie, and
// its new ones. Included by mixed_cuda.cu only.
#include "kernels/mixed/mixed_cuda.hpp"
#include "support/async_copy.cuh"

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
  int places, columns;      ///< of a thread block: places, and columns of cells, rows or threads a place
  int depth;                ///< cells of a column at a time in stages of kinds 0, 2 and 3
  support::DeviceSlots out;
  int cells_ahead = 1 << 20;  ///< in a column, from the values that are read to those that are prefetched
  unsigned int ahead = 0;     ///< from a thread block to the one whose old values are prefetched; 0 = none
};

/// One of the 27 pieces around a block: its first cell in chunk 0, and its steps.
struct Around {
  const double* at;
  int chunk, row, plane;
};

/// Cells from the one whose values are read to the one whose are prefetched: the time of a cell is a third of what
/// memory takes.
inline constexpr int kCellsAhead = 2;

/// Thread blocks ahead, for which p.parts must be known: what is prefetched by then is small beside the cache, and
/// takes longer to be asked for than to come.
inline unsigned int thread_blocks_ahead(const MixedParameters& p) {
  constexpr std::size_t kBytes = 1 << 20;
  return static_cast<unsigned int>(1 + kBytes * static_cast<std::size_t>(p.parts) /
                                           (p.layout.block_values() * sizeof(double)));
}
/// Asks memory for old values that the thread block `ahead` of this one will need: its share of those of its block.
__device__ inline void prefetch_ahead(const MixedParameters& p) {
  const unsigned int next = blockIdx.x + p.ahead, parts = static_cast<unsigned int>(p.parts);
  if (p.ahead == 0 || next >= gridDim.x || threadIdx.x != 0) return;
  const unsigned int number = next / parts, part = next % parts;
  const auto block = p.blocks == nullptr ? static_cast<std::int32_t>(number) : p.blocks[number];
  const double* const from = p.around.piece(p.around.sources[std::int64_t{block} * kPieces + kPieces / 2]);
  const auto pairs = static_cast<unsigned int>(p.layout.block_values()) / 2;
  const unsigned int begin = part * pairs / parts, end = (part + 1) * pairs / parts;
  support::prefetch_bulk(from + 2 * begin, 2 * sizeof(double) * (end - begin));
}

/// The block of a thread block: old values, its own and those around it, and its new ones. A variable is a chunk.
class BlockView {
 public:
  /// All threads call. `pieces`: shared memory.
  __device__ BlockView(const MixedParameters& p, int number, Around* pieces)
      : n_{p.layout.cells[0], p.layout.cells[1], p.layout.cells[2]},
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
  /// An old value; coordinates -1 .. n.
  [[nodiscard]] __device__ const double* old(int variable, int x, int y, int z) const {
    const Around& piece = pieces_[Surroundings::index(side<0>(x), side<1>(y), side<2>(z))];
    return piece.at + variable * piece.chunk + (side<0>(x) == 0 ? x : 0) + (side<1>(y) == 0 ? y * piece.row : 0) +
           (side<2>(z) == 0 ? z * piece.plane : 0);
  }
  /// A new value of the block.
  [[nodiscard]] __device__ double* fresh(int variable, int x, int y, int z) const {
    return out_ + variable * chunk_ + (z * n_[1] + y) * n_[0] + x;
  }
  /// Old values from cell (x, y, z) on along an axis, which may lie beside the block: of variable 0.
  template <int Axis>
  [[nodiscard]] __device__ Around column(int x, int y, int z) const {
    const Around& piece = pieces_[Surroundings::index(side<0>(x), side<1>(y), side<2>(z))];
    return {old(0, x, y, z), piece.chunk, Axis == 0 ? 1 : Axis == 1 ? piece.row : piece.plane, 0};
  }
  /// From one plane to the next of old values at (x, y), which may lie beside the block.
  [[nodiscard]] __device__ int plane_step(int x, int y) const {
    return pieces_[Surroundings::index(side<0>(x), side<1>(y), 0)].plane;
  }
  [[nodiscard]] __device__ bool inside(int x, int y) const { return side<0>(x) == 0 && side<1>(y) == 0; }
  /// From a cell of the block to the next.
  template <int Axis>
  [[nodiscard]] __device__ int step() const {
    return Axis == 0 ? 1 : Axis == 1 ? n_[0] : n_[1] * n_[0];
  }
  [[nodiscard]] __device__ int cells(int axis) const { return n_[axis]; }
  /// Of a variable from variable 0, in the block.
  [[nodiscard]] __device__ int offset(int variable) const { return variable * static_cast<int>(chunk_); }

 private:
  template <int Axis>
  [[nodiscard]] __device__ int side(int c) const {
    return DeviceSurroundings::side(c, n_[Axis]);
  }
  int n_[3];
  std::int64_t chunk_;
  const Around* pieces_;
  double* out_;
};

/// A column of cells of a place: old and new values of its variable of group 0, and from there to the next group and to
/// the next cell.
struct OwnColumn {
  const double* old;
  double* fresh;
  int group, cell;
};
template <int Axis>
__device__ OwnColumn own_column(const BlockView& block, int m, int place, int x, int y, int z) {
  return {block.old(place, x, y, z), block.fresh(place, x, y, z), block.offset(m), block.step<Axis>()};
}

}  // namespace amrbench::kernels::detail
