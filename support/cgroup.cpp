#include "support/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

namespace amrbench::support {

namespace {

namespace fs = std::filesystem;

/// The number of a word; nothing for "max", other text or a file that is missing.
std::optional<std::int64_t> number_of(const std::string& word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  return number_of(word);
}

/// The value behind a name in a file of lines "name value"; 0 when there is none.
std::int64_t value_in(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string word, value; in >> word >> value;)
    if (word == name) return number_of(value).value_or(0);
  return 0;
}

/// Takes what `group` allows where that is less than what is known.
void take_cpus(const fs::path& group, CgroupLimits& limits) {
  std::optional<std::int64_t> quota, period;
  std::ifstream both(group / "cpu.max");
  if (std::string first, second; both >> first >> second) {
    quota = number_of(first);
    period = number_of(second);
  } else {
    quota = number_in(group / "cpu.cfs_quota_us");
    period = number_in(group / "cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return;
  const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
  if (limits.cpus > 0 && limits.cpus <= cpus) return;
  limits.cpus = cpus;
  limits.cpu_group = group.string();
}

void take_memory(const fs::path& group, CgroupLimits& limits) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1 writes nearly 2^63 where there is no limit
  const bool second = fs::exists(group / "memory.current");
  const auto limit = number_in(group / (second ? "memory.max" : "memory.limit_in_bytes"));
  if (!limit || *limit <= 0 || *limit >= kUnlimited) return;
  if (limits.memory < 0 || *limit < limits.memory) limits.memory = *limit;
  const std::int64_t used = number_in(group / (second ? "memory.current" : "memory.usage_in_bytes")).value_or(0);
  const std::int64_t cache = value_in(group / "memory.stat", second ? "inactive_file" : "total_inactive_file");
  const std::int64_t left = std::max<std::int64_t>(0, *limit - used + cache);
  if (limits.available < 0 || left < limits.available) limits.available = left;
}

/// Every group from `path` up to the hierarchy's own root. Inside a container the path may not exist: what does,
/// counts.
template <class F>
void climb(const fs::path& mount, const std::string& path, F&& take) {
  fs::path below = fs::path(path).relative_path();
  for (;; below = below.parent_path()) {
    const fs::path group = below.empty() ? mount : mount / below;
    std::error_code error;
    if (fs::is_directory(group, error)) take(group);
    if (below.empty()) return;
  }
}

}  // namespace

CgroupLimits cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // <number>:<controllers>:<path>; version 2 has number 0 and names no controller.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      for (const fs::path& mount : {mounts, mounts / "unified"}) {
        climb(mount, path, [&](const fs::path& group) { take_cpus(group, limits); });
        climb(mount, path, [&](const fs::path& group) { take_memory(group, limits); });
      }
    }
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      // A hierarchy of several controllers is mounted by all their names, with links for each.
      if (name == "cpu") climb(mounts / name, path, [&](const fs::path& group) { take_cpus(group, limits); });
      if (name == "memory") climb(mounts / name, path, [&](const fs::path& group) { take_memory(group, limits); });
    }
  }
  return limits;
}

}  // namespace amrbench::support
