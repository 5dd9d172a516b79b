#include "amr/stage_passes.hpp"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <numeric>

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

}  // namespace

/// Surely: twice a core's second-level cache, or, where few processors share a large last one, a quarter of its part of
/// that; values and results together are twice as much. Perhaps: all of that part.
const HeldBytes& held_bytes() {
  static const HeldBytes held = [] {
    const support::LastLevelCache last = support::last_level_cache();
    const auto part = static_cast<std::size_t>(std::min(last.bytes / last.processors, kMostOfLast));
    const std::size_t surely = std::max(2 * cache_bytes(kSecondLevel, 1 << 20), part / 4);
    return HeldBytes{surely, std::max(surely, part)};
  }();
  return held;
}

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

std::size_t thread_bytes(const kernels::BlockLayout& layout, std::size_t blocks) {
  return blocks * layout.block_values() * sizeof(double) / static_cast<std::size_t>(omp_get_max_threads());
}

StoreChoice::StoreChoice(std::string_view stores, int period, HeldBytes held)
    : held_(held), fixed_(stores != "auto"), streams_(stores == "streamed") {
  for (auto& best : best_) best.resize(static_cast<std::size_t>(period));
}

void StoreChoice::mesh_changed(std::size_t bytes) {
  bytes_ = std::max<std::size_t>(bytes, 1);
  if (fixed_) return;
  if (bytes_ <= held_.surely || bytes_ > held_.perhaps) {
    streams_ = bytes_ > held_.perhaps;
    trying_ = false;
    tried_bytes_ = 0;
    return;
  }
  if (trying_ || (bytes_ <= tried_bytes_ / 2 * 3 && tried_bytes_ <= bytes_ / 2 * 3)) return;
  trying_ = true;
  tried_bytes_ = bytes_;
  at_ = 0;
  for (auto& best : best_) std::fill(best.begin(), best.end(), std::numeric_limits<double>::infinity());
}

void StoreChoice::took(double seconds) {
  if (!trying_) return;
  const std::size_t way = at_ / stages_of_way(), stage = at_ % stages_of_way(), period = best_[0].size();
  double& best = best_.at(way)[stage % period];
  if (stage >= period) best = std::min(best, seconds / static_cast<double>(bytes_));
  if (++at_ < 2 * stages_of_way()) return;
  trying_ = false;
  const auto sum = [](const std::vector<double>& all) { return std::accumulate(all.begin(), all.end(), 0.0); };
  streams_ = sum(best_[0]) <= sum(best_[1]);
}

}  // namespace amrbench::amr
