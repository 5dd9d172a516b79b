#include "amr/cuda/cuda_device.hpp"

#include <bit>
#include <string_view>

namespace amrbench::amr {

namespace {

constexpr std::size_t kMarks = 512;
constexpr std::size_t kSmallestPiece = 4096;
constexpr std::array<std::string_view, kDeviceParts> kCounters{"device_faces_ns", "device_stencil_ns", "device_wait_ns",
                                                               "device_between_ns"};

}  // namespace

void DeviceClock::mark(DevicePart part, const support::CudaStream& stream) {
  if (marks_.empty()) marks_.resize(kMarks);
  Mark& m = marks_[head_++ % kMarks];
  m.part = part;
  m.event.record(stream);
}

void DeviceClock::collect(support::Metrics& metrics, bool all) {
  constexpr double kNanoseconds = 1e9;
  // Half of the ring may stay under way: no stage may wait because the clock does. What is over is taken at once.
  while (head_ - tail_ > 1) {
    const Mark& from = marks_[tail_ % kMarks];
    const Mark& to = marks_[(tail_ + 1) % kMarks];
    if (!all && head_ - tail_ <= kMarks / 2 && !to.event.complete()) break;
    ++tail_;
    to.event.synchronize();
    metrics.count(kCounters[static_cast<std::size_t>(to.part)],
                  static_cast<std::int64_t>(to.event.seconds_since(from.event) * kNanoseconds));
  }
}

StagingPool::Piece& StagingPool::take(std::size_t bytes) {
  Piece* best = nullptr;
  for (const auto& piece : pieces_) {
    if (piece->memory.size() < bytes || piece->filling || !piece->copied.complete()) continue;
    if (best == nullptr || piece->memory.size() < best->memory.size()) best = piece.get();
  }
  if (best == nullptr) {
    best = pieces_.emplace_back(std::make_unique<Piece>()).get();
    best->memory.resize_discard(std::bit_ceil(std::max(bytes, kSmallestPiece)));
  }
  best->filling = true;
  return *best;
}

std::size_t StagingPool::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& piece : pieces_) bytes += piece->memory.bytes();
  return bytes;
}

CudaDevice::CudaDevice(const support::Communicator& comm, const std::string& transport)
    : CudaDevice(comm, transport, support::choose_device(comm)) {}

CudaDevice::CudaDevice(const support::Communicator& comm, const std::string& transport,
                       const support::DeviceChoice& choice)
    : gpus_(choice.gpus),
      side_(support::CudaStream::Priority::high),
      link_(support::make_cuda_link(comm, transport, choice.own)) {}

void CudaDevice::order(const support::CudaStream& from, const support::CudaStream& to) {
  order_.record(from);
  order_.hold(to);
}

void CudaDevice::report(support::Metrics& metrics) {
  metrics.count("device_launches", launches_);
  launches_ = 0;
  metrics.count("device_link_bytes", link_->bytes_sent() - reported_bytes_);
  reported_bytes_ = link_->bytes_sent();
}

}  // namespace amrbench::amr
