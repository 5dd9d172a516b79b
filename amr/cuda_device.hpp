#pragma once
// What fields and stage of one rank share of its GPU: which one it is, streams, the link to other ranks, and counts and
// times of what is done there. Only in builds with CUDA.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "amr/stage.hpp"
#include "support/cuda.hpp"
#include "support/cuda_choice.hpp"
#include "support/cuda_link.hpp"
#include "support/metrics.hpp"

namespace amrbench::amr {

/// Parts of a stage, timed by events in the main stream.
enum class DevicePart : std::uint8_t { faces, stencil, wait };
inline constexpr std::size_t kDeviceParts = 3;

/// Times parts of stages without waiting for them: marks are events; what lies between two of them is charged to a part
/// once both are complete. Counters device_<part>_ns of the metrics.
class DeviceClock {
 public:
  /// The time since the last mark belongs to `part`.
  void begin(const support::CudaStream& stream);
  void mark(DevicePart part, const support::CudaStream& stream);
  /// Moves complete times into the metrics; with `all`, waits for the rest.
  void collect(support::Metrics& metrics, bool all);

 private:
  struct Mark {
    support::CudaEvent event{true};
    DevicePart part = DevicePart::stencil;
    bool first = false;
  };
  Mark& next();
  std::vector<Mark> marks_;  ///< a ring, of which [tail_, head_) wait
  std::size_t head_ = 0, tail_ = 0;
};

class CudaDevice {
 public:
  /// Chooses a device and makes it current. InputError on all ranks when there is none or the transport cannot be had.
  /// Collective.
  CudaDevice(const support::Communicator& comm, const std::string& transport);

  [[nodiscard]] const support::CudaStream& main() const { return main_; }
  /// Of higher priority: packing and messages.
  [[nodiscard]] const support::CudaStream& side() const { return side_; }
  [[nodiscard]] support::CudaLink& link() { return *link_; }
  [[nodiscard]] DeviceClock& clock() { return clock_; }
  [[nodiscard]] StageDevice description() const { return {"cuda", std::string(link_->name()), gpus_}; }

  /// Room for n elements, contents undefined. Waits for both streams when the memory has to be made anew.
  template <class T>
  void reserve(support::DeviceBuffer<T>& buffer, std::size_t n) {
    if (n * sizeof(T) > buffer.bytes()) {
      side_.synchronize();
      main_.synchronize();
    }
    buffer.resize_discard(n);
  }

  /// `to` goes on only after what is in `from` now.
  void order(const support::CudaStream& from, const support::CudaStream& to);
  /// One more kernel, for the metrics.
  void count_launches(int n) { launches_ += n; }
  /// Counters device_launches, device_link_bytes; then from 0 again.
  void report(support::Metrics& metrics);

 private:
  CudaDevice(const support::Communicator& comm, const std::string& transport, const support::DeviceChoice& choice);

  int gpus_ = 1;
  support::CudaStream main_, side_;
  support::CudaEvent order_;
  std::unique_ptr<support::CudaLink> link_;
  DeviceClock clock_;
  std::int64_t launches_ = 0;
  std::int64_t reported_bytes_ = 0;
};

/// A list of the host's in device memory. The host goes on while the list is under way, and while kernels of the stages
/// before still read the list before: the copy passes through pinned memory of its own, in the order of the stream. So
/// a refinement is planned while the GPU is busy with stages.
template <class T>
class DeviceList {
 public:
  /// Copies `list` in the order of `stream`; waits only for the copy before, and when memory has to grow.
  const T* store(std::span<const T> list, const support::CudaStream& stream) {
    copied_.synchronize();
    if (list.size() * sizeof(T) > device_.bytes()) stream.synchronize();
    device_.resize_discard(list.size());
    host_.resize_discard(list.size());
    if (list.empty()) return device_.data();
#pragma omp parallel for schedule(static) if (list.size() > kSerial)
    for (std::size_t i = 0; i < list.size(); ++i) host_[i] = list[i];
    support::copy_to_device(device_.data(), static_cast<const T*>(host_.data()), list.size(), stream);
    copied_.record(stream);
    return device_.data();
  }
  [[nodiscard]] const T* data() const {
    return device_.data();
  }
  [[nodiscard]] std::size_t bytes() const {
    return device_.bytes();
  }

 private:
  static constexpr std::size_t kSerial = 4096;  ///< fewer elements are not worth a team of threads
  support::DeviceBuffer<T> device_;
  support::PinnedBuffer<T> host_;
  support::CudaEvent copied_;
};

}  // namespace amrbench::amr
