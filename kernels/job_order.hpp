#pragma once
// Jobs on faces in the order of what they do. Kernels work out once where the cells of a kind of job lie, and do many
// of that kind one behind the other.
#include <array>
#include <numeric>
#include <span>
#include <vector>

namespace amrbench::kernels {

/// Where the jobs of each key begin in a list that is ordered by key; the last entry is their number.
template <std::size_t Keys>
using JobStarts = std::array<int, Keys + 1>;

/// Copies jobs in the order of key(job), below Keys; those of one key stay in their order. O(jobs).
template <std::size_t Keys, class Job, class Key>
JobStarts<Keys> order_jobs(std::span<const Job> jobs, std::span<Job> ordered, const Key& key) {
  JobStarts<Keys> starts{};
  for (const Job& job : jobs) ++starts[key(job) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  JobStarts<Keys> next = starts;
  for (const Job& job : jobs) ordered[static_cast<std::size_t>(next[key(job)]++)] = job;
  return starts;
}

}  // namespace amrbench::kernels
