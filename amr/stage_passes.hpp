#pragma once
// How a thread walks its stretch of the curve: in groups of blocks, each group a few chunks at a time
// (docs/decisions/0003-stencil-schedule.md says why).
#include <cstddef>
#include <string_view>

#include "kernels/layout.hpp"

namespace amrbench::amr {

struct StagePasses {
  explicit StagePasses(const kernels::BlockLayout& layout);
  int chunks = 1;          ///< computed at once
  std::size_t blocks = 1;  ///< a group; no more cells than raw sums take between two flushes
  std::size_t ahead = 1;   ///< blocks from that which is computed to that which is fetched
};

/// Of a core's first-level cache; 32 KiB where the system does not say.
[[nodiscard]] std::size_t first_level_bytes();

/// Do results that make up `bytes` on this rank leave the caches that its threads may count on before they are read
/// again? Then they need not pass through them: on the machines at hand that is faster even where more of a shared
/// cache would still hold them. `stores`: DeviceConfig::stores.
[[nodiscard]] bool streams_results(std::size_t bytes, std::string_view stores);

}  // namespace amrbench::amr
