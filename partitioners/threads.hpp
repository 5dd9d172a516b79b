#pragma once
// How many threads a call uses.
#include <omp.h>

namespace amrbench::partitioners {

/// `threads` if positive, else all that OpenMP offers.
inline int team_size(int threads) {
  return threads > 0 ? threads : omp_get_max_threads();
}

}  // namespace amrbench::partitioners
