#include "support/metrics.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>

#if defined(AMRBENCH_CUDA)
#include <nvtx3/nvToolsExt.h>  // names for profilers' time lines; does nothing without one
#endif

#include "support/heartbeat.hpp"
#include "support/mpi.hpp"

namespace amrbench::support {

std::string_view phase_name(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames{"stencil",  "halo",   "refine",     "balance", "migrate",
                                                         "checksum", "output", "checkpoint", "other"};
  return kNames[static_cast<std::size_t>(phase)];
}

CounterSummary MetricsSummary::counter(const std::string& name) const {
  const auto found = counters.find(name);
  return found == counters.end() ? CounterSummary{} : found->second;
}

double Metrics::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Metrics::total_seconds() const {
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
}

void Metrics::count(std::string_view name, std::int64_t n) {
  const auto found = counters_.find(name);
  if (found == counters_.end()) {
    counters_.emplace(name, n);
  } else {
    found->second += n;
  }
}

void Metrics::count_max(std::string_view name, std::int64_t n) {
  const auto found = counters_.find(name);
  if (found == counters_.end()) {
    counters_.emplace(name, n);
  } else {
    found->second = std::max(found->second, n);
  }
}

std::int64_t Metrics::counter(std::string_view name) const {
  const auto found = counters_.find(name);
  return found == counters_.end() ? 0 : found->second;
}

void Metrics::reset() {
  if (!running_.empty()) throw std::logic_error("metrics reset while a phase is running");
  seconds_.fill(0);
  calls_.fill(0);
  counters_.clear();
}

void Metrics::charge() {
  const double now = clock_();
  if (!running_.empty()) seconds_[static_cast<std::size_t>(running_.back())] += now - mark_;
  mark_ = now;
}

void Metrics::beat() {
  if (heart_ == nullptr) return;
  heart_->last_s.store(mark_, std::memory_order_relaxed);
  heart_->phase.store(running_.empty() ? Heartbeat::kEnd : static_cast<int>(running_.back()),
                      std::memory_order_relaxed);
}

void Metrics::begin_step(std::int64_t step) {
  if (heart_ != nullptr) heart_->step.store(step, std::memory_order_relaxed);
}

void Metrics::enter(Phase p) {
  charge();
#if defined(AMRBENCH_CUDA)
  nvtxRangePushA(phase_name(p).data());  // a name of a literal: ends with a zero
#endif
  running_.push_back(p);
  ++calls_[static_cast<std::size_t>(p)];
  beat();
}

void Metrics::leave() {
  charge();
#if defined(AMRBENCH_CUDA)
  nvtxRangePop();
#endif
  running_.pop_back();
  // An error that unwinds the stack is to be told with the phase that it comes from.
  if (std::uncaught_exceptions() == 0) beat();
}

MetricsSummary Metrics::reduce(const Communicator& comm) const {
  MetricsSummary summary;
  std::array<double, kPhases> least = seconds_;
  std::array<double, kPhases> most = seconds_;
  std::array<double, kPhases> sum = seconds_;
  std::array<std::int64_t, kPhases> calls = calls_;
  all_min(comm, std::span<double>(least));
  all_max(comm, std::span<double>(most));
  all_sum(comm, std::span<double>(sum));
  all_max(comm, std::span<std::int64_t>(calls));
  for (std::size_t p = 0; p < kPhases; ++p) {
    // The quotient may round outside the extremes when all ranks agree.
    const double mean = std::clamp(sum[p] / comm.size(), least[p], most[p]);
    summary.phases[p] = {least[p], mean, most[p], calls[p]};
  }
  // Every rank's names, each ended by a line feed, make the common list.
  std::string mine;
  for (const auto& [name, value] : counters_) mine += name + '\n';
  const std::vector<char> all = all_gather_v(comm, std::span<const char>(mine));
  std::set<std::string> names;
  for (auto at = all.begin(); at != all.end();) {
    const auto end = std::find(at, all.end(), '\n');
    names.emplace(at, end);
    at = end + 1;
  }
  std::vector<std::int64_t> values;
  for (const std::string& name : names) values.push_back(counter(name));
  std::vector<std::int64_t> largest = values;
  all_sum(comm, std::span<std::int64_t>(values));
  all_max(comm, std::span<std::int64_t>(largest));
  std::size_t i = 0;
  for (const std::string& name : names) {
    summary.counters[name] = {values[i], largest[i]};
    ++i;
  }
  return summary;
}

}  // namespace amrbench::support
