#include "amr/growth.hpp"

#include <fmt/format.h>

#include "support/error.hpp"
#include "support/process_memory.hpp"

namespace amrbench::amr {

Growth::Growth(const support::Communicator& comm, const kernels::BlockLayout& layout) {
  constexpr double kBuffers = 2;
  const double here = static_cast<double>(comm.split_node().size()) / comm.size();
  bytes_per_block_ = here * kBuffers * static_cast<double>(layout.block_values() * sizeof(double));
}

void Growth::check(std::int64_t more) const {
  constexpr double kGib = 1024.0 * 1024 * 1024, kMuch = 0.125 * kGib;
  const double bytes = bytes_per_block_ * static_cast<double>(more);
  if (bytes < kMuch) return;
  const auto left = static_cast<double>(support::available_memory_bytes() + support::free_swap_bytes());
  if (left > 0 && bytes > left)
    throw support::RunError(fmt::format(
        "a refinement makes {} blocks more than there have been, {:.1f} GiB of the {:.1f} GiB that the node "
        "has left; use more nodes or a lower mesh.max_level",
        more, bytes / kGib, left / kGib));
}

}  // namespace amrbench::amr
