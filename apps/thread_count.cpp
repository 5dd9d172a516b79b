#include "apps/thread_count.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cstdio>

#include "support/cores.hpp"

namespace amrbench::apps {

std::string set_threads(const support::Communicator& comm, int asked, bool gpus) {
  const support::Placement placement = support::find_placement(comm, asked, gpus);
  omp_set_num_threads(placement.threads);
  const int first = support::all_min(comm, placement.note.empty() ? comm.size() : comm.rank());
  return first == comm.size() ? std::string() : support::broadcast_string(comm, placement.note, first);
}

void set_threads_and_tell(const support::Communicator& comm, int asked) {
  const std::string note = set_threads(comm, asked, false);
  if (!note.empty() && comm.is_root()) fmt::print(stderr, "amrbench: note: {}\n", note);
}

}  // namespace amrbench::apps
