#pragma once
// The 7-point average over one block, faces read where they lie (DESIGN.md, decision 2; document 001, 5.3 stencil
// overlap).
#include <array>

#include "kernels/layout.hpp"
#include "kernels/stage_sum.hpp"

namespace amrbench::kernels {

/// What one block's kernel reads and writes. `in` and `out` are block_values() doubles, aligned to 64 bytes, not
/// overlapping; faces[f] is what lies behind face f. Buffers behind every pointer must be readable kPadding doubles
/// past their last value.
struct BlockArgs {
  const double* in = nullptr;
  double* out = nullptr;
  std::array<FaceView, 6> faces;
};

/// Runs the stencil on one block; with `sum` also adds every new value to it (StageSum::reserve first).
using Average7 = void (*)(const BlockLayout&, const BlockArgs&, StageSum* sum);

/// The kernels for a layout, compiled for its lanes and (4, 8, 16 or any) row length. Index 1 stores past the caches
/// (call stream_fence() before other threads read), index 0 through them.
struct Average7Kernel {
  std::array<Average7, 2> plain{};
  std::array<Average7, 2> summing{};
  int vector_length = 1;  ///< of the raw sums
  int patterns = 1;       ///< raw sums a chunk
};
[[nodiscard]] Average7Kernel select_average7(const BlockLayout& layout);

/// Serial reference, one cell at a time in plain loops; the kernels must agree with it bit for bit.
void average7_reference(const BlockLayout& layout, const BlockArgs& args);

}  // namespace amrbench::kernels
