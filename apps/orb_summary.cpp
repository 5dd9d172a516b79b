#include "apps/orb_summary.hpp"

#include <fmt/format.h>

#include "partitioners/check_together.hpp"
#include "partitioners/inputs/memory_check.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

using support::InputError;

void check_orb_size(const support::Communicator& comm, const OrbArguments& arguments, std::uint64_t n, int dim) {
  if (arguments.leaves > n)
    throw InputError(fmt::format("--leaves {}: there are only {} points; a leaf needs a point", arguments.leaves, n));
  if (comm.size() == 1 && n > std::numeric_limits<std::uint32_t>::max())
    throw InputError(fmt::format("--input {}: {} points; one process takes at most 2^32 - 1", arguments.input, n));
  // Points, labels, and the method's copy of points with their numbers; weights as given and as integers; the tree.
  const double point = dim * (arguments.single ? 4.0 : 8.0);
  const double a_point =
      point + 4 + (arguments.backend == "cpu" ? point + 4 : 0) + (arguments.weights.empty() ? 0 : 2 * 8.0);
  const double a_leaf = 2.0 * sizeof(partitioners::OrbCell<double, 3>) + 4;
  const double bytes = a_point * static_cast<double>(n) / comm.size() + a_leaf * static_cast<double>(arguments.leaves);
  const double share = partitioners::memory_share(comm);
  partitioners::check_together(comm, [&] { partitioners::check_memory("--input " + arguments.input, bytes, share); });
}

void write_orb_numbers(const std::string& path, std::span<const std::uint32_t> values, bool replace) {
  if (path.empty()) return;
  support::write_file_atomically(path, {reinterpret_cast<const char*>(values.data()), values.size_bytes()},
                                 replace ? support::Existing::replace : support::Existing::refuse);
}

void take_orb_median(OrbSummary& summary) {
  std::vector<double> sorted = summary.times_s;
  std::sort(sorted.begin(), sorted.end());
  summary.time_s = sorted[(sorted.size() - 1) / 2];
}

}  // namespace amrbench::apps
