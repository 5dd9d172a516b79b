#include "apps/run_simulation.hpp"

#include "support/error.hpp"

namespace amrbench::apps {

int run_simulation(const amr::Config&, const RunOptions&) {
  throw support::RunError("the simulation is not linked in");
}

}  // namespace amrbench::apps
