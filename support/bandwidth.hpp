#pragma once
// Copy bandwidth of the machine: the roofline that every run is held against.
//
// All ranks copy at the same time with all their threads, dst[i] = src[i] over doubles. Each element counts 16 bytes,
// one read and one write; the read for ownership that a plain store causes is not counted. Plain and non-temporal
// stores are tried; the better kind counts. Method: threads touch their own stretch first; a barrier before each
// repetition; a repetition's time is that of the slowest rank; the median over repetitions is reported. Source:
// McCalpin's STREAM Copy, with buffers sized from the last-level cache.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace amrbench::support {

class Communicator;

struct CopyOptions {
  int repetitions = 7;          ///< timed ones, >= 5; one more goes before them untimed
  std::int64_t bytes_node = 0;  ///< both buffers of all ranks of a node; 0 = by copy_bytes_node()
};

struct CopyKind {
  std::string name;  ///< "plain", "non-temporal (AVX-512)" and the like
  double bytes_per_s = 0;
};

struct CopyBandwidth {
  double bytes_per_s = 0;       ///< of the better kind, summed over all ranks
  std::vector<CopyKind> kinds;  ///< each kind tried
  std::int64_t bytes_rank = 0;  ///< both buffers of this rank
  int ranks_node = 1;           ///< ranks on this rank's node
  int threads = 1;              ///< OpenMP threads a rank
};

/// Bytes of both buffers of a node: four times the last-level cache (less, and part of the copy stays in it), but at
/// least 512 MiB; at most 256 MiB a thread of the node's ranks, for a virtual machine of few processors shows all of a
/// large cache, and pages it has not touched yet may come at a fraction of a GB/s; and at most a quarter of the
/// available memory (0 = not known).
[[nodiscard]] std::int64_t copy_bytes_node(std::int64_t last_level_cache, std::int64_t available_memory, int threads);

/// The largest cache of processor 0.
struct LastLevelCache {
  std::int64_t bytes = 0;  ///< 0 where the system does not tell
  int processors = 1;      ///< that share it
};
/// folder: where the system describes its caches.
[[nodiscard]] LastLevelCache last_level_cache(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

/// Measures. Collective over `comm`, which should be all ranks of the run; same result on every rank but for bytes_rank
/// and ranks_node. Takes well under a second on a usual machine. RunError when there is no memory.
[[nodiscard]] CopyBandwidth measure_copy_bandwidth(const Communicator& comm, const CopyOptions& options = {});

/// dst[0..n) = src[0..n), with stores that go past the caches where the build's instruction set has them. dst aligned
/// to 64 bytes; the buffers must not overlap. One thread.
void copy_non_temporal(double* dst, const double* src, std::size_t n);
/// What copy_non_temporal uses: "AVX-512", "AVX", "SSE2", or "" when it is a plain copy.
[[nodiscard]] const char* non_temporal_kind();

}  // namespace amrbench::support
