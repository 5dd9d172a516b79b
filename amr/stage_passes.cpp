#include "amr/stage_passes.hpp"

#include <omp.h>
#include <unistd.h>

#include <algorithm>

#include "kernels/stage_sum.hpp"
#include "support/bandwidth.hpp"

namespace amrbench::amr {

namespace {

/// Most of a second-level cache of 1 to 2 MiB; a pass over a group should fit beside what streams through.
constexpr std::size_t kGroupBytes = std::size_t{1} << 20;
/// Chunks of small blocks are computed several at once, until they are this much: the work of finding faces is then
/// small beside the stencil's.
constexpr std::size_t kPassBytes = std::size_t{32} << 10;
/// What is fetched ahead, at least: memory answers while less than that is computed.
constexpr std::size_t kAheadBytes = std::size_t{16} << 10;

/// The most that a processor is taken to have of a last-level cache: a virtual machine sees few of those that share it.
constexpr std::int64_t kMostOfLast = 32 << 20;

#ifdef _SC_LEVEL1_DCACHE_SIZE
constexpr int kFirstLevel = _SC_LEVEL1_DCACHE_SIZE, kSecondLevel = _SC_LEVEL2_CACHE_SIZE;
#else
constexpr int kFirstLevel = -1, kSecondLevel = -1;
#endif
/// Of a core's cache as the system tells it, else as usual.
std::size_t cache_bytes(int level, std::size_t usual) {
  const long bytes = level < 0 ? 0 : sysconf(level);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : usual;
}

/// Results of a thread that are found in caches by the next stage: twice a core's second-level cache, or, where few
/// processors share a large last one, a quarter of its part of that; values and results together are twice as much.
std::size_t kept_bytes() {
  const support::LastLevelCache last = support::last_level_cache();
  return std::max<std::size_t>(2 * cache_bytes(kSecondLevel, 1 << 20),
                               std::min(last.bytes / last.processors, kMostOfLast) / 4);
}

}  // namespace

std::size_t first_level_bytes() {
  return cache_bytes(kFirstLevel, 32 << 10);
}

StagePasses::StagePasses(const kernels::BlockLayout& layout) {
  const std::size_t chunk_bytes = layout.chunk_values() * sizeof(double);
  chunks = static_cast<int>(std::clamp<std::size_t>(kPassBytes / chunk_bytes, 1, layout.chunks));
  const std::size_t by_cache = kGroupBytes / (chunks * chunk_bytes);
  const std::size_t by_sums = kernels::StageSum::kMaxCells / layout.block_cells();
  blocks = std::max<std::size_t>(1, std::min(by_cache, by_sums));
  ahead = (kAheadBytes + chunks * chunk_bytes - 1) / (chunks * chunk_bytes);
}

bool streams_results(std::size_t bytes, std::string_view stores) {
  static const std::size_t kept = kept_bytes();
  const bool large = bytes > kept * std::size_t(omp_get_max_threads());
  return stores == "streamed" || (stores == "auto" && large);
}

}  // namespace amrbench::amr
