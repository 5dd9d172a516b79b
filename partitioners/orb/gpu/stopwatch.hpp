#pragma once
// Where the time of a stream goes. Internal to OrbGpu.
#include <vector>

#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Time of a stream between marks, by kind.
class Stopwatch {
 public:
  explicit Stopwatch(const support::CudaStream& stream) : stream_(stream) {}
  void mark(double* sum) {
    if (used_ == events_.size()) events_.emplace_back(true);
    events_[used_].record(stream_);
    ++used_;
    sums_.push_back(sum);
  }
  /// Adds the time before each mark since the one before to its sum; waits.
  void close() {
    for (std::size_t k = 0; k < used_; ++k) {
      events_[k].synchronize();
      if (k > 0 && sums_[k] != nullptr) *sums_[k] += events_[k].seconds_since(events_[k - 1]);
    }
  }
  [[nodiscard]] double total() const { return used_ > 1 ? events_[used_ - 1].seconds_since(events_[0]) : 0; }
  void reset() {
    used_ = 0;
    sums_.clear();
  }

 private:
  const support::CudaStream& stream_;
  std::vector<support::CudaEvent> events_;
  std::vector<double*> sums_;
  std::size_t used_ = 0;
};

}  // namespace amrbench::partitioners::gpu
