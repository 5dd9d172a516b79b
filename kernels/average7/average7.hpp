#pragma once
// The 7-point average over one block, faces read where they lie (docs/architecture.md; document 001, 5.3.3).
#include <array>

#include "kernels/layout.hpp"
#include "kernels/stage_sum.hpp"

namespace amrbench::kernels {

/// What the stencil of one block reads and writes. `in` and `out` are block_values() doubles, aligned to 64 bytes, not
/// overlapping; faces[f] is what lies behind face f. Buffers behind every pointer must be readable kPadding doubles
/// past their last value.
struct BlockArgs {
  const double* in = nullptr;
  double* out = nullptr;
  std::array<FaceView, 6> faces;
};

/// What the stencil of a run of chunks reads; every pointer stands at the first of them.
struct ChunkInput {
  const double* in = nullptr;
  std::array<FaceView, 6> faces;
};

/// Neighbouring chunks of one block. While they are computed, what `next` names (as many chunks of another block, or
/// these again) is fetched into the second-level cache, faces included.
struct ChunkArgs {
  const ChunkInput* input = nullptr;
  double* out = nullptr;
  int chunks = 1;
  const ChunkInput* next = nullptr;
  /// Stores past the caches: call stream_fence() before other threads read. Else through them.
  bool streams = false;
};

/// Runs the stencil on the chunks of args; a summing kernel also adds every new value to `sums`, which are
/// StageSum::raw() of the first chunk, by the two magic numbers of StageSum::magic(). Plain kernels ignore both.
using Average7 = void (*)(const BlockLayout&, const ChunkArgs&, RawSum* sums, SumMagic magic);

/// The kernels for a layout, compiled for its lanes and, where rows are short, its edges.
struct Average7Kernel {
  Average7 plain = nullptr;
  Average7 summing = nullptr;
  int vector_length = 1;  ///< of the raw sums
  int patterns = 1;       ///< raw sums a chunk
};
[[nodiscard]] Average7Kernel select_average7(const BlockLayout& layout);

/// All chunks of one block; with `sum` (StageSum::reserve first) by a summing kernel. For callers without a schedule of
/// their own.
void run_block(Average7 kernel, const BlockLayout& layout, const BlockArgs& args, StageSum* sum, bool streams = false);

/// Serial reference, one cell at a time in plain loops; the kernels must agree with it bit for bit.
void average7_reference(const BlockLayout& layout, const BlockArgs& args);

}  // namespace amrbench::kernels
