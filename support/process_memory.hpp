#pragma once
// Memory of this process and of its node, as the system reports it.
#include <cstdint>

namespace amrbench::support {

/// The most memory this process ever had resident, in bytes (Linux: VmHWM; else getrusage). 0 when the system does not
/// say. Of one rank: not collective.
[[nodiscard]] std::int64_t peak_resident_bytes();

/// Forgets the peak so far: from now on peak_resident_bytes() tells the most since this call (Linux). False when the
/// system does not let it be forgotten; the peak then stays that of the whole process. Of one rank: not collective.
bool reset_peak_resident();

/// Memory of this process that is resident now, in bytes. 0 when the system does not say. Of one rank: not collective.
[[nodiscard]] std::int64_t resident_bytes();

/// Memory of the node that could still be had without swapping, in bytes (Linux: MemAvailable), or what the control
/// group of this process has left, if that is less. 0 when not known.
[[nodiscard]] std::int64_t available_memory_bytes();

/// Swap that is free, in bytes; 0 within a control group that limits memory.
[[nodiscard]] std::int64_t free_swap_bytes();

/// Bytes of address space that this process may still take (RLIMIT_AS, ulimit -v); the largest number without a limit.
[[nodiscard]] std::int64_t address_space_left();

/// Memory of the node, in bytes. 0 when not known.
[[nodiscard]] std::int64_t total_memory_bytes();

}  // namespace amrbench::support
