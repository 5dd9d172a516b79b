#pragma once
// What a control group (Linux cgroups, version 1 or 2) leaves this process of its node: containers and batch systems
// limit processors and memory there, and the figures of the node itself do not tell.
#include <cstdint>
#include <filesystem>
#include <string>

namespace amrbench::support {

struct CgroupLimits {
  double cpus = 0;              ///< processors' worth of time that the group gets; 0 = no limit
  std::string cpu_group;        ///< whose limit that is; ranks of one group share it
  std::int64_t memory = -1;     ///< bytes that the group may have in all; -1 = no limit
  std::int64_t available = -1;  ///< bytes of that which are left, page cache counted as free; -1 = no limit
};

/// The tightest limits of this process's groups and the groups above them. `root` stands for / in tests. Not
/// collective; a few small files are read.
[[nodiscard]] CgroupLimits cgroup_limits(const std::filesystem::path& root = "/");

}  // namespace amrbench::support
