#pragma once
// Owners of CUDA's handles and memory. Only in builds with the CUDA back end (AMRBENCH_CUDA).
//
// Ownership: every class owns its handle and frees it; all are move-only. Memory and streams belong to the device that
// was current when they were made; it must be current when they are used. Errors: RunError that names the call and
// CUDA's reason; what has no memory says how much it wanted and how much there was. Kernel faults show at the next
// checked call that waits.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace amrbench::support {

/// Throws RunError "<call>: <reason>" unless status is success; forgets the error, so that a caller may go on.
void cuda_check(cudaError_t status, std::string_view call);
/// After a launch: its configuration was accepted.
void cuda_check_launch(std::string_view kernel);

/// RunError that says how much is needed and how much is free, when the current device has less than `bytes` free.
/// `what` needs it: "the fields of 1000 blocks". Beside allocations, whose errors know only their own size.
void require_device_memory(std::size_t bytes, std::string_view what);

/// A stream that does not wait for the legacy default stream.
class CudaStream {
 public:
  enum class Priority : std::uint8_t { usual, high };
  explicit CudaStream(Priority priority = Priority::usual);
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream();
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  /// Waits for all that was put into it.
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a stream's work; times are in its clock when made with `timed`.
class CudaEvent {
 public:
  explicit CudaEvent(bool timed = false);
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent();
  void record(const CudaStream& stream);
  void synchronize() const;
  /// Is what it was recorded behind done? True before the first record.
  [[nodiscard]] bool complete() const;
  /// `stream` goes on only after this event.
  void hold(const CudaStream& stream) const;
  /// Seconds from `start` to this event; both timed and complete.
  [[nodiscard]] double seconds_since(const CudaEvent& start) const;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Device memory. `release` waits for the device.
struct DeviceMemory {
  [[nodiscard]] static void* allocate(std::size_t bytes);
  static void release(void* data) noexcept;
};
/// Host memory that GPUs reach directly, so that copies run at the bus's speed and beside other work.
struct PinnedMemory {
  [[nodiscard]] static void* allocate(std::size_t bytes);
  static void release(void* data) noexcept;
};

/// Bytes of one of the kinds above.
template <class Memory>
class Region {
 public:
  Region() = default;
  explicit Region(std::size_t bytes) : data_(bytes == 0 ? nullptr : Memory::allocate(bytes)), bytes_(bytes) {}
  Region(Region&& other) noexcept { swap(other); }
  Region& operator=(Region&& other) noexcept {
    swap(other);
    return *this;
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    if (data_ != nullptr) Memory::release(data_);
  }
  void swap(Region& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};
using DeviceRegion = Region<DeviceMemory>;
using PinnedRegion = Region<PinnedMemory>;

/// Device memory given out in a stream's order: growing waits for nothing; what is put into the stream afterwards uses
/// the new memory while kernels before still read the old. A pool of the device keeps what is given back.
class StreamRegion {
 public:
  StreamRegion() = default;
  StreamRegion(StreamRegion&& other) noexcept { swap(other); }
  StreamRegion& operator=(StreamRegion&& other) noexcept {
    swap(other);
    return *this;
  }
  StreamRegion(const StreamRegion&) = delete;
  StreamRegion& operator=(const StreamRegion&) = delete;
  ~StreamRegion();
  void swap(StreamRegion& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  /// At least `bytes` of undefined contents for what is put into `stream` from now on, half more when it has to grow
  /// again. All users so far must come before that in the stream's order.
  void* reserve(std::size_t bytes, const CudaStream& stream);
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// An array in a region. It grows by half more than asked for, so that meshes that grow do not allocate each time.
template <class T, class Memory>
class RegionBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  RegionBuffer() = default;
  explicit RegionBuffer(std::size_t n) : region_(n * sizeof(T)), size_(n) {}
  RegionBuffer(RegionBuffer&& other) noexcept { swap(other); }
  RegionBuffer& operator=(RegionBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  RegionBuffer(const RegionBuffer&) = delete;
  RegionBuffer& operator=(const RegionBuffer&) = delete;
  ~RegionBuffer() = default;
  void swap(RegionBuffer& other) noexcept {
    region_.swap(other.region_);
    std::swap(size_, other.size_);
  }

  /// n elements of undefined values. Frees first what it had, when that is too small: nothing may still use it.
  void resize_discard(std::size_t n) {
    if (n * sizeof(T) > region_.bytes()) {
      const std::size_t roomy = size_ == 0 ? n : n + n / 2;
      region_ = {};
      size_ = 0;
      region_ = Region<Memory>(roomy * sizeof(T));
    }
    size_ = n;
  }
  [[nodiscard]] T* data() { return static_cast<T*>(region_.data()); }
  [[nodiscard]] const T* data() const { return static_cast<const T*>(region_.data()); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return region_.bytes(); }
  [[nodiscard]] T& operator[](std::size_t i) requires(std::is_same_v<Memory, PinnedMemory>) { return data()[i]; }

 private:
  Region<Memory> region_;
  std::size_t size_ = 0;
};

template <class T>
using DeviceBuffer = RegionBuffer<T, DeviceMemory>;
template <class T>
using PinnedBuffer = RegionBuffer<T, PinnedMemory>;

/// Copies in a stream's order; host memory that is not pinned makes the call wait.
template <class T>
void copy_to_device(T* device, const T* host, std::size_t n, const CudaStream& stream) {
  cuda_check(cudaMemcpyAsync(device, host, n * sizeof(T), cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
}
template <class T>
void copy_to_host(T* host, const T* device, std::size_t n, const CudaStream& stream) {
  cuda_check(cudaMemcpyAsync(host, device, n * sizeof(T), cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
}

/// Multiprocessors of the current device, and the most shared memory a thread block of it may ask for.
struct DeviceShape {
  int multiprocessors = 1;
  int capability = 0;
  std::size_t shared_bytes = 0;
};
[[nodiscard]] DeviceShape current_device_shape();

}  // namespace amrbench::support
