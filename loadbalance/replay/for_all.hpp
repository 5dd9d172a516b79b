#pragma once
// A loop over independent jobs by all threads; one job alone keeps the threads for itself. Internal to replay.
#include <cstddef>
#include <exception>

namespace amrbench::loadbalance {

/// job(i) for i = 0 .. n - 1, in any order; throws what one of them threw.
template <class Job>
void for_all(std::size_t n, Job&& job) {
  std::exception_ptr error;
#pragma omp parallel for schedule(dynamic) if (n > 1)
  for (std::size_t i = 0; i < n; ++i) {
    try {
      job(i);
    } catch (...) {
#pragma omp critical(amrbench_for_all)
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace amrbench::loadbalance
