#pragma once
// Where a rank is in its run, written by the rank and read at any moment by watchers in other threads and processes.
#include <atomic>
#include <cstdint>

namespace amrbench::support {

/// Lock-free, so that it may lie in memory that processes share, and be read in a signal handler. Written by one
/// thread.
struct alignas(64) Heartbeat {
  static constexpr int kStart = -1;  ///< of `phase`: before the first
  static constexpr int kEnd = -2;    ///< after the last

  std::atomic<double> last_s{0};      ///< when the rank last began or ended a phase, by Metrics::steady_seconds()
  std::atomic<std::int64_t> step{0};  ///< under way, the first is 1; 0 before it
  std::atomic<int> phase{kStart};     ///< a Phase, kStart or kEnd

  static_assert(std::atomic<double>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);
};

}  // namespace amrbench::support
