#pragma once
// What fields and stage of one rank share of its GPU: which one it is, two streams, the link to other ranks, pinned
// memory for lists on their way, and counts and times of what is done there. Only in builds with CUDA.
#include <algorithm>
#include <array>
#include <cstddef>
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

/// What the main stream's time went to, by events in it. `between`: from the end of a stage to the begin of the next.
enum class DevicePart : std::uint8_t { faces, stencil, wait, between };
inline constexpr std::size_t kDeviceParts = 4;

/// Times parts of stages without waiting for them: marks are events; what lies between two of them is charged to a part
/// once both are complete, so that the parts add up to the time from the first stage's begin to the last mark. Counters
/// device_<part>_ns of the metrics.
class DeviceClock {
 public:
  /// A stage begins: the time since the last mark, if there is one, lay between stages.
  void begin(const support::CudaStream& stream) { mark(DevicePart::between, stream); }
  /// The time since the last mark belongs to `part`.
  void mark(DevicePart part, const support::CudaStream& stream);
  /// Moves complete times into the metrics; with `all`, waits for the rest.
  void collect(support::Metrics& metrics, bool all);

 private:
  struct Mark {
    support::CudaEvent event{true};
    DevicePart part = DevicePart::stencil;
  };
  std::vector<Mark> marks_;  ///< a ring, of which [tail_, head_) wait; the last one stays for the one after it
  std::size_t head_ = 0, tail_ = 0;
};

/// Pinned memory for copies to the device that the host does not wait for. It grows to what is under way at once, which
/// the stage bounds (CudaStage::mesh_is_new), and is kept.
class StagingPool {
 public:
  struct Piece {
    support::PinnedBuffer<std::byte> memory;
    support::CudaEvent copied;
    bool filling = false;  ///< taken, and the copy out of it not yet in a stream
  };
  /// A piece of at least `bytes` bytes that nobody fills and no copy uses.
  [[nodiscard]] Piece& take(std::size_t bytes);
  /// The copy out of a piece taken is in `stream`.
  static void give(Piece& piece, const support::CudaStream& stream) {
    piece.copied.record(stream);
    piece.filling = false;
  }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::vector<std::unique_ptr<Piece>> pieces_;
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
  [[nodiscard]] StagingPool& staging() { return staging_; }
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
  StagingPool staging_;
  std::int64_t launches_ = 0;
  std::int64_t reported_bytes_ = 0;
};

/// A list of the host's in device memory. The host never waits: the list passes through pinned memory of the device's
/// pool, and copy and growth take place in the order of its main stream, so that kernels put there before still read
/// the list before. So a refinement of many passes is planned while the GPU is busy with stages.
template <class T>
class DeviceList {
 public:
  /// Where the caller writes a list of n; send() copies it then.
  [[nodiscard]] std::span<T> prepare(std::size_t n, CudaDevice& device) {
    memory_.reserve(n * sizeof(T), device.main());
    piece_ = n == 0 ? nullptr : &device.staging().take(n * sizeof(T));
    list_ = n == 0 ? std::span<T>() : std::span<T>(reinterpret_cast<T*>(piece_->memory.data()), n);
    return list_;
  }
  /// Copies what was prepared, in the order of the main stream.
  const T* send(CudaDevice& device) {
    if (piece_ != nullptr) {
      support::copy_to_device(static_cast<T*>(memory_.data()), static_cast<const T*>(list_.data()), list_.size(),
                              device.main());
      StagingPool::give(*piece_, device.main());
      piece_ = nullptr;
    }
    return data();
  }
  /// Both, for a vector or span that lies elsewhere, of what a T can hold.
  template <class List>
  const T* store(const List& list, CudaDevice& device) {
    const std::span<T> to = prepare(list.size(), device);
#pragma omp parallel for schedule(static) if (list.size() > kSerial)
    for (std::size_t i = 0; i < list.size(); ++i) to[i] = static_cast<T>(list[i]);
    return send(device);
  }
  [[nodiscard]] const T* data() const {
    return static_cast<const T*>(memory_.data());
  }
  [[nodiscard]] std::size_t bytes() const {
    return memory_.bytes();
  }

 private:
  static constexpr std::size_t kSerial = 4096;  ///< fewer elements are not worth a team of threads
  support::StreamRegion memory_;
  StagingPool::Piece* piece_ = nullptr;  ///< being filled
  std::span<T> list_;
};

}  // namespace amrbench::amr
