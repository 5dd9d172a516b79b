#include "support/process_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "support/cgroup.hpp"

namespace amrbench::support {

namespace {

/// The value of "name:   123 kB" in a /proc file, in bytes; 0 when there is none.
std::int64_t proc_bytes(const char* file, const std::string& name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind(name + ":", 0) == 0) return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t peak_resident_bytes() {
  const std::int64_t bytes = proc_bytes("/proc/self/status", "VmHWM");
  if (bytes > 0) return bytes;
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::int64_t>(usage.ru_maxrss) * 1024 : 0;
}

std::int64_t resident_bytes() {
  return proc_bytes("/proc/self/status", "VmRSS");
}

bool reset_peak_resident() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // proc(5): resets the peak resident set size
  return file.good();
}

std::int64_t available_memory_bytes() {
  const std::int64_t node = proc_bytes("/proc/meminfo", "MemAvailable");
  const std::int64_t group = cgroup_limits().available;
  return group >= 0 && node > 0 ? std::min(node, std::max<std::int64_t>(group, 1)) : node;
}

std::int64_t free_swap_bytes() {
  return cgroup_limits().memory >= 0 ? 0 : proc_bytes("/proc/meminfo", "SwapFree");
}

std::int64_t address_space_left() {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(kUnlimited)) return kUnlimited;
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit.rlim_cur) - proc_bytes("/proc/self/status", "VmSize"),
                                0);
}

std::int64_t total_memory_bytes() {
  return proc_bytes("/proc/meminfo", "MemTotal");
}

}  // namespace amrbench::support
