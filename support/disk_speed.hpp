#pragma once
// How fast a folder's disk takes bytes: what the speed of checkpoints is held against.
#include <cstdint>
#include <filesystem>

#include "support/mpi.hpp"

namespace amrbench::support {

/// Bytes a second, of all ranks together, timed by the slowest: each writes its share of `bytes` to a file of its own,
/// flushes it to the disk and removes it; as `dd conv=fsync` does. 0 where that fails. Collective.
[[nodiscard]] double measure_disk_speed(const Communicator& comm, const std::filesystem::path& folder,
                                        std::int64_t bytes);

}  // namespace amrbench::support
