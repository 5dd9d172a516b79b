#include "support/cuda_link.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "support/error.hpp"

namespace amrbench::support {

namespace {

constexpr int kTag = 81;

std::size_t reach(std::span<const LinkPiece> pieces) {
  std::size_t end = 0;
  for (const LinkPiece& p : pieces) end = std::max(end, p.at + p.count);
  return end;
}

class MpiLink final : public CudaLink {
 public:
  explicit MpiLink(const Communicator& comm) : comm_(comm.dup()) {}
  [[nodiscard]] std::string_view name() const override { return "mpi"; }

  void finish() override {
    // Until now kernels before the exchange may still have read what is received into.
    ready_.synchronize();
    const Exchange& x = exchange();
    const BytesType type(x.element);
    Requests requests;
    for (const LinkPiece& p : x.receives)
      mpi_check(MPI_Irecv(x.receive + p.at * x.element, mpi_count(p.count), type.get(), p.rank, kTag, comm_.get(),
                          requests.add()));
    for (const LinkPiece& p : x.sends)
      mpi_check(MPI_Isend(x.send + p.at * x.element, mpi_count(p.count), type.get(), p.rank, kTag, comm_.get(),
                          requests.add()));
    requests.wait_all();
  }

 private:
  void begin() override { ready_.record(*exchange().stream); }

  Communicator comm_;
  CudaEvent ready_;
};

class StagedLink final : public CudaLink {
 public:
  explicit StagedLink(const Communicator& comm) : comm_(comm.dup()) {}
  [[nodiscard]] std::string_view name() const override { return "staged"; }

  void finish() override {
    const Exchange& x = exchange();
    const BytesType type(x.element);
    std::vector<MPI_Request> sending(x.sends.size(), MPI_REQUEST_NULL);
    for (std::size_t k = 0; k < x.sends.size(); ++k) {
      const LinkPiece& p = x.sends[k];
      downloaded_[k].synchronize();
      mpi_check(MPI_Isend(out_.data() + p.at * x.element, mpi_count(p.count), type.get(), p.rank, kTag, comm_.get(),
                          &sending[k]));
    }
    for (std::size_t left = x.receives.size(); left > 0; --left) {
      int k = MPI_UNDEFINED;
      mpi_check(MPI_Waitany(static_cast<int>(receiving_.size()), receiving_.data(), &k, MPI_STATUS_IGNORE),
                "MPI_Waitany");
      const LinkPiece& p = x.receives[k];
      copy_to_device(x.receive + p.at * x.element, in_.data() + p.at * x.element, p.count * x.element, *x.stream);
    }
    uploaded_.record(*x.stream);
    mpi_check(MPI_Waitall(static_cast<int>(sending.size()), sending.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  void reserve(std::size_t send_bytes, std::size_t receive_bytes) override {
    // The last exchange's values may still be on their way out of the pinned memory.
    uploaded_.synchronize();
    in_.resize_discard(std::max(in_.size(), receive_bytes));
    out_.resize_discard(std::max(out_.size(), send_bytes));
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return in_.bytes() + out_.bytes(); }

 private:
  void begin() override {
    const Exchange& x = exchange();
    reserve(reach(x.sends) * x.element, reach(x.receives) * x.element);
    receiving_.assign(x.receives.size(), MPI_REQUEST_NULL);
    const BytesType type(x.element);
    for (std::size_t k = 0; k < x.receives.size(); ++k) {
      const LinkPiece& p = x.receives[k];
      mpi_check(MPI_Irecv(in_.data() + p.at * x.element, mpi_count(p.count), type.get(), p.rank, kTag, comm_.get(),
                          &receiving_[k]));
    }
    while (downloaded_.size() < x.sends.size()) downloaded_.emplace_back();
    for (std::size_t k = 0; k < x.sends.size(); ++k) {
      const LinkPiece& p = x.sends[k];
      copy_to_host(out_.data() + p.at * x.element, x.send + p.at * x.element, p.count * x.element, *x.stream);
      downloaded_[k].record(*x.stream);
    }
  }

  Communicator comm_;
  PinnedBuffer<std::byte> in_, out_;
  std::vector<MPI_Request> receiving_;
  std::vector<CudaEvent> downloaded_;  ///< one a piece sent
  CudaEvent uploaded_;
};

}  // namespace

void CudaLink::reserve(std::size_t /*send_bytes*/, std::size_t /*receive_bytes*/) {}

void CudaLink::start_elements(const std::byte* send, std::span<const LinkPiece> sends, std::byte* receive,
                              std::span<const LinkPiece> receives, std::size_t element, const CudaStream& stream) {
  exchange_.send = send;
  exchange_.receive = receive;
  exchange_.element = element;
  exchange_.stream = &stream;
  exchange_.sends.clear();
  exchange_.receives.clear();
  const auto has_elements = [](const LinkPiece& p) { return p.count > 0; };
  std::copy_if(sends.begin(), sends.end(), std::back_inserter(exchange_.sends), has_elements);
  std::copy_if(receives.begin(), receives.end(), std::back_inserter(exchange_.receives), has_elements);
  for (const LinkPiece& p : exchange_.sends) bytes_sent_ += static_cast<std::int64_t>(p.count * element);
  begin();
}

bool mpi_takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

#if !defined(AMRBENCH_NCCL)
bool nccl_built() {
  return false;
}
std::unique_ptr<CudaLink> make_nccl_link(const Communicator& /*comm*/) {
  return nullptr;
}
#endif

std::unique_ptr<CudaLink> make_cuda_link(const Communicator& comm, const std::string& transport, bool own_gpus) {
  std::string chosen = transport;
  // A rank alone sends nothing: it need not pay for NCCL's buffers.
  const bool nccl = nccl_built() && own_gpus && comm.size() > 1;
  if (transport == "auto") chosen = nccl ? "nccl" : mpi_takes_device_memory() ? "mpi" : "staged";
  if (chosen == "nccl") {
    if (!nccl_built())
      throw InputError("device.transport = \"nccl\": this program was built without NCCL; use auto or staged");
    if (!own_gpus)
      throw InputError(
          "device.transport = \"nccl\": NCCL wants a GPU for each rank, and ranks share one here; use auto or staged");
    return make_nccl_link(comm);
  }
  if (chosen == "mpi") {
    if (!mpi_takes_device_memory())
      throw InputError(
          "device.transport = \"mpi\": this MPI library does not say that it takes GPU memory; use auto or staged");
    return std::make_unique<MpiLink>(comm);
  }
  if (chosen == "staged") return std::make_unique<StagedLink>(comm);
  throw InputError("device.transport: \"" + transport + "\" is unknown; use auto, nccl, mpi or staged");
}

}  // namespace amrbench::support
