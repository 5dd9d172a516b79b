#pragma once
// Lists that all threads make together and that stand as if one had made them.
#include <omp.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace amrbench::support {

/// Appends to `to` what body(begin, end, list) appends to its list for each of the stretches [begin, end) of [0, n),
/// one a thread, in the stretches' order. Fewer than `serial` items are one stretch: they are not worth waking a team.
/// O(n) for the bodies, by all threads, and O(list) for one.
template <class T, class Body>
void append_by_threads(std::vector<T>& to, std::size_t n, const Body& body, std::size_t serial = 4096) {
  if (n < serial) {
    body(std::size_t{0}, n, to);
    return;
  }
  std::vector<std::vector<T>> parts(omp_get_max_threads());
#pragma omp parallel
  {
    const std::size_t t = omp_get_thread_num(), threads = omp_get_num_threads();
    std::vector<T> mine;  // on a stack of its own: no line of the cache is shared while it grows
    body(n * t / threads, n * (t + 1) / threads, mine);
    parts[t] = std::move(mine);
  }
  std::size_t more = 0;
  for (const auto& part : parts) more += part.size();
  to.reserve(to.size() + more);
  for (const auto& part : parts) to.insert(to.end(), part.begin(), part.end());
}

}  // namespace amrbench::support
