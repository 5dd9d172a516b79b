#include "apps/orb_summary.hpp"

#include <fmt/format.h>

#include "support/atomic_file.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

using support::InputError;

void check_orb_leaves(const OrbArguments& arguments, std::uint64_t n) {
  if (arguments.leaves > n)
    throw InputError(fmt::format("--leaves {}: there are only {} points; a leaf needs a point", arguments.leaves, n));
  if (arguments.leaves == 0) throw InputError("--leaves 0: at least 1 is needed");
}

void write_orb_numbers(const std::string& path, std::span<const std::uint32_t> values) {
  if (path.empty()) return;
  support::write_file_atomically(path, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void take_orb_median(OrbSummary& summary) {
  std::vector<double> sorted = summary.times_s;
  std::sort(sorted.begin(), sorted.end());
  summary.time_s = sorted[(sorted.size() - 1) / 2];
}

}  // namespace amrbench::apps
