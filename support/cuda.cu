#include <string>

#include "support/cuda.hpp"
#include "support/error.hpp"

namespace amrbench::support {

namespace {

std::string gib(std::size_t bytes) {
  const auto tenths = static_cast<long long>(static_cast<double>(bytes) / (1 << 30) * 100.0 + 0.5);
  const std::string rest = std::to_string(tenths % 100);
  return std::to_string(tenths / 100) + (rest.size() < 2 ? ".0" : ".") + rest + " GiB";
}

/// The message for memory that is not there: how much was wanted, how much there was.
[[noreturn]] void throw_out_of_memory(std::size_t bytes, std::string_view what = "") {
  static_cast<void>(cudaGetLastError());
  std::size_t free = 0, total = 0;
  int device = 0;
  cudaGetDevice(&device);
  cudaMemGetInfo(&free, &total);
  static_cast<void>(cudaGetLastError());
  throw RunError("GPU " + std::to_string(device) + " is out of memory: " + gib(bytes) + " more are needed" +
                 (what.empty() ? "" : " for " + std::string(what)) + ", " + gib(free) + " of " + gib(total) +
                 " are free");
}

}  // namespace

void cuda_check(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw RunError(std::string(call) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

void cuda_check_launch(std::string_view kernel) {
  cuda_check(cudaGetLastError(), kernel);
}

void require_device_memory(std::size_t bytes, std::string_view what) {
  std::size_t free = 0, total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (bytes > free) throw_out_of_memory(bytes, what);
}

CudaStream::CudaStream(Priority priority) {
  int least = 0, greatest = 0;
  cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  const int level = priority == Priority::high ? greatest : least;
  cuda_check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, level), "cudaStreamCreateWithPriority");
}
CudaStream::~CudaStream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}
void CudaStream::synchronize() const {
  cuda_check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

CudaEvent::CudaEvent(bool timed) {
  cuda_check(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming), "cudaEventCreate");
}
CudaEvent::~CudaEvent() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}
void CudaEvent::record(const CudaStream& stream) {
  cuda_check(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
}
void CudaEvent::synchronize() const {
  cuda_check(cudaEventSynchronize(event_), "cudaEventSynchronize");
}
bool CudaEvent::complete() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  cuda_check(status, "cudaEventQuery");
  return true;
}
void CudaEvent::hold(const CudaStream& stream) const {
  cuda_check(cudaStreamWaitEvent(stream.get(), event_, 0), "cudaStreamWaitEvent");
}
double CudaEvent::seconds_since(const CudaEvent& start) const {
  float milliseconds = 0.0F;
  cuda_check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

void* DeviceMemory::allocate(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory(bytes);
  cuda_check(status, "cudaMalloc");
  return data;
}
void DeviceMemory::release(void* data) noexcept {
  cudaFree(data);
}

void* PinnedMemory::allocate(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    throw RunError("no pinned host memory: " + gib(bytes) + " are needed");
  }
  cuda_check(status, "cudaHostAlloc");
  return data;
}
void PinnedMemory::release(void* data) noexcept {
  cudaFreeHost(data);
}

StreamRegion::~StreamRegion() {
  if (data_ != nullptr) cudaFree(data_);  // waits for all users
}
void* StreamRegion::reserve(std::size_t bytes, const CudaStream& stream) {
  if (bytes <= bytes_) return data_;
  const std::size_t roomy = data_ == nullptr ? bytes : bytes + bytes / 2;
  if (data_ == nullptr) {
    // Else the pool would hand its memory back to the system whenever the host waits for a stream.
    int device = 0;
    cudaMemPool_t pool = nullptr;
    std::uint64_t keep = UINT64_MAX;
    cuda_check(cudaGetDevice(&device), "cudaGetDevice");
    cuda_check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
    cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
  } else {
    cuda_check(cudaFreeAsync(std::exchange(data_, nullptr), stream.get()), "cudaFreeAsync");
  }
  bytes_ = 0;
  const cudaError_t status = cudaMallocAsync(&data_, roomy, stream.get());
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory(roomy);
  cuda_check(status, "cudaMallocAsync");
  bytes_ = roomy;
  return data_;
}

DeviceShape current_device_shape() {
  int device = 0, value = 0;
  DeviceShape shape;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  const auto ask = [&](cudaDeviceAttr attribute) {
    cuda_check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
    return value;
  };
  shape.multiprocessors = ask(cudaDevAttrMultiProcessorCount);
  shape.capability = ask(cudaDevAttrComputeCapabilityMajor) * 10;
  shape.capability += ask(cudaDevAttrComputeCapabilityMinor);
  shape.shared_bytes = static_cast<std::size_t>(ask(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  return shape;
}

}  // namespace amrbench::support
