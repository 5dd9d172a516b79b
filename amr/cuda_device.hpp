#pragma once
// What fields and stage of one rank share of its GPU: which one it is, streams, the link to other ranks, and counts and
// times of what is done there. Only in builds with CUDA.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "amr/cuda_link.hpp"
#include "amr/stage.hpp"
#include "support/cuda.hpp"
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

/// Which GPUs the ranks use.
struct DeviceChoice {
  int gpus = 1;     ///< all ranks together
  bool own = true;  ///< each rank has one of its own
};
/// Makes a GPU of this node the current one: by local rank, modulo their number. InputError on all ranks when one of
/// them has none. Collective.
[[nodiscard]] DeviceChoice choose_device(const support::Communicator& comm);

class CudaDevice {
 public:
  /// Chooses a device and makes it current. InputError on all ranks when there is none or the transport cannot be had.
  /// Collective.
  CudaDevice(const support::Communicator& comm, const std::string& transport);

  [[nodiscard]] const support::CudaStream& main() const { return main_; }
  /// Of higher priority: packing and messages.
  [[nodiscard]] const support::CudaStream& side() const { return side_; }
  [[nodiscard]] CudaLink& link() { return *link_; }
  [[nodiscard]] DeviceClock& clock() { return clock_; }
  [[nodiscard]] StageDevice description() const { return {"cuda", std::string(link_->name()), gpus_}; }

  /// `to` goes on only after what is in `from` now.
  void order(const support::CudaStream& from, const support::CudaStream& to);
  /// One more kernel, for the metrics.
  void count_launches(int n) { launches_ += n; }
  /// Counters device_launches, device_link_bytes; then from 0 again.
  void report(support::Metrics& metrics);

 private:
  CudaDevice(const support::Communicator& comm, const std::string& transport, const DeviceChoice& choice);

  int gpus_ = 1;
  support::CudaStream main_, side_;
  support::CudaEvent order_;
  std::unique_ptr<CudaLink> link_;
  DeviceClock clock_;
  std::int64_t launches_ = 0;
  std::int64_t reported_bytes_ = 0;
};

/// A list of the host's in device memory; it grows when needed. Not pinned: the call returns when the list was read.
template <class T>
const T* upload(support::DeviceBuffer<T>& buffer, std::type_identity_t<std::span<const T>> list,
                const support::CudaStream& stream) {
  buffer.resize_discard(std::max(buffer.size(), list.size()));
  if (!list.empty()) support::copy_to_device(buffer.data(), list.data(), list.size(), stream);
  return buffer.data();
}

}  // namespace amrbench::amr
