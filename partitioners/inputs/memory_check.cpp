#include "partitioners/inputs/memory_check.hpp"

#include <fmt/format.h>

#include <limits>

#include "support/error.hpp"
#include "support/process_memory.hpp"

namespace amrbench::partitioners {

double memory_share(const support::Communicator& comm) {
  const int there = comm.size() > 1 ? comm.split_node().size() : 1;
  const auto left = static_cast<double>(support::available_memory_bytes()) / there;
  return left > 0 ? left + static_cast<double>(support::resident_bytes()) : std::numeric_limits<double>::infinity();
}

void check_memory(const std::string& name, double bytes, double share) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  if (bytes > share)
    throw support::InputError(fmt::format("{}: takes {:.1f} GiB on a rank, whose share of the node's memory is {:.1f}",
                                          name, bytes / kGib, share / kGib));
}

}  // namespace amrbench::partitioners
