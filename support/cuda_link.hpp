#pragma once
// How values in device memory get from rank to rank.
//
//   nccl     NCCL: sends and receives in the stream's order; the host waits for nothing. One GPU a rank
//   mpi      an MPI library that takes device memory; the host waits until it may be read, then for the messages
//   staged   copies to pinned host memory, MPI messages, copies back, piece by piece as they come. Works everywhere
//
// One exchange at a time. Ownership: the caller owns all device memory, which must live until the stream's work is
// done.
// Errors: RunError. Only in builds with CUDA.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/cuda.hpp"
#include "support/link_piece.hpp"
#include "support/mpi.hpp"

namespace amrbench::support {

class CudaLink {
 public:
  virtual ~CudaLink() = default;
  CudaLink(const CudaLink&) = delete;
  CudaLink& operator=(const CudaLink&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Starts an exchange behind what is in `stream`. Pieces for one rank arrive in their order, of the same sizes as
  /// they were sent; pieces of no elements travel not at all. Both lists are kept until finish(). Collective over the
  /// ranks that are named.
  template <class V>
  void start(const V* send, std::span<const LinkPiece> sends, V* receive, std::span<const LinkPiece> receives,
             const CudaStream& stream) {
    static_assert(std::is_trivially_copyable_v<V>);
    start_elements(reinterpret_cast<const std::byte*>(send), sends, reinterpret_cast<std::byte*>(receive), receives,
                   sizeof(V), stream);
  }
  /// What is put into the stream from now on finds the values received. The host may wait.
  virtual void finish() = 0;
  /// Exchanges to come reach so far in their buffers: what they need is made once, not larger and larger. No exchange
  /// is under way.
  virtual void reserve(std::size_t send_bytes, std::size_t receive_bytes);

  /// Sent so far.
  [[nodiscard]] std::int64_t bytes_sent() const { return bytes_sent_; }
  /// Of buffers on the device and pinned on the host.
  [[nodiscard]] virtual std::size_t memory_bytes() const { return 0; }

 protected:
  CudaLink() = default;
  /// An exchange under way.
  struct Exchange {
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
    std::size_t element = 0;  ///< bytes
    std::vector<LinkPiece> sends, receives;
    const CudaStream* stream = nullptr;
  };
  virtual void begin() = 0;
  [[nodiscard]] const Exchange& exchange() const { return exchange_; }

 private:
  void start_elements(const std::byte* send, std::span<const LinkPiece> sends, std::byte* receive,
                      std::span<const LinkPiece> receives, std::size_t element, const CudaStream& stream);

  Exchange exchange_;
  std::int64_t bytes_sent_ = 0;
};

/// Was this program built with NCCL?
[[nodiscard]] bool nccl_built();
/// Does the MPI library say that it takes device memory?
[[nodiscard]] bool mpi_takes_device_memory();

/// The link that `transport` names: nccl, mpi, staged, or auto: nccl where it is built and each of several ranks has a
/// GPU of its own, else mpi where the library says so, else staged. InputError when it cannot be had. Collective.
[[nodiscard]] std::unique_ptr<CudaLink> make_cuda_link(const Communicator& comm, const std::string& transport,
                                                       bool own_gpus);

/// In cuda_link_nccl.cpp; nothing where it is not built. Collective.
[[nodiscard]] std::unique_ptr<CudaLink> make_nccl_link(const Communicator& comm);

}  // namespace amrbench::support
