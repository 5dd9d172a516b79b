#pragma once
// How much memory the fields of a run need, before it runs.
#include <cstddef>
#include <string>

#include "apps/config.hpp"

namespace amrbench::apps {

/// Bytes of field data (both buffers), as doubles since bounds may exceed 64 bits. Keys, plans and face buffers come on
/// top: some per cent for blocks of 8^3 cells and more.
struct MemoryEstimate {
  int variables_padded = 0;   ///< variables with the padding lanes of their last chunk
  double block_bytes = 0;     ///< one block
  double initial_blocks = 0;  ///< root mesh, before the first refinement
  double bound_blocks = 0;    ///< every block at max_level: reached by mesh.uniform, never exceeded otherwise
  double initial_bytes = 0, bound_bytes = 0;                    ///< all ranks together
  double initial_bytes_per_rank = 0, bound_bytes_per_rank = 0;  ///< the rank with most blocks when balanced
};

/// ranks >= 1; more ranks than blocks is legal. Not collective. O(1).
MemoryEstimate estimate_memory(const Config& config, int ranks);

/// The estimate in a few lines for --dry-run, each starting with `prefix`.
std::string describe_memory(const Config& config, int ranks, const std::string& prefix);

/// "1.5 GiB": three digits, binary unit.
std::string format_bytes(double bytes);

}  // namespace amrbench::apps
