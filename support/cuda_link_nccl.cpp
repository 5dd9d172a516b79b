#include "support/cuda_link.hpp"

#if defined(AMRBENCH_NCCL)

#include <nccl.h>

#include <exception>

#include "support/error.hpp"

namespace amrbench::support {

namespace {

void nccl_check(ncclResult_t status, std::string_view call) {
  if (status == ncclSuccess) return;
  throw RunError(std::string(call) + ": " + ncclGetErrorString(status));
}

/// An owned communicator of NCCL over the ranks of an MPI one.
class NcclComm {
 public:
  explicit NcclComm(const Communicator& comm) {
    ncclUniqueId id{};
    std::string error;
    if (comm.is_root()) {
      const ncclResult_t status = ncclGetUniqueId(&id);
      if (status != ncclSuccess) error = std::string("ncclGetUniqueId: ") + ncclGetErrorString(status);
    }
    agree_on_error(comm, error);
    id = broadcast(comm, id);
    nccl_check(ncclCommInitRank(&comm_, comm.size(), id, comm.rank()), "ncclCommInitRank");
  }
  /// While an exception unwinds the stack it waits for no other rank, whose turn may never come: the error would be
  /// hidden. Then kernels that wait for others end, too.
  ~NcclComm() {
    if (comm_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_at_start_)
      ncclCommAbort(comm_);
    else
      ncclCommDestroy(comm_);
  }
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;
  [[nodiscard]] ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
  int exceptions_at_start_ = std::uncaught_exceptions();
};

class NcclLink final : public CudaLink {
 public:
  explicit NcclLink(const Communicator& comm) : comm_(comm) {
    if (comm.size() <= kConnect) connect(comm);
  }
  [[nodiscard]] std::string_view name() const override { return "nccl"; }

  void finish() override {
    ncclResult_t status = ncclSuccess;
    nccl_check(ncclCommGetAsyncError(comm_.get(), &status), "ncclCommGetAsyncError");
    nccl_check(status, "NCCL");
  }

 private:
  /// Up to so many ranks are connected at the start.
  static constexpr int kConnect = 64;

  /// NCCL connects two ranks when they first exchange something, which takes as long as hundreds of stages: each rank
  /// sends every other a value, so that no stage pays for it.
  void connect(const Communicator& comm) {
    const CudaStream stream;
    const std::size_t ranks = std::size_t(comm.size());
    DeviceBuffer<double> values(2 * ranks);
    nccl_check(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < comm.size(); ++rank) {
      if (rank == comm.rank()) continue;
      nccl_check(ncclSend(values.data() + rank, 1, ncclDouble, rank, comm_.get(), stream.get()), "ncclSend");
      nccl_check(ncclRecv(values.data() + ranks + rank, 1, ncclDouble, rank, comm_.get(), stream.get()), "ncclRecv");
    }
    nccl_check(ncclGroupEnd(), "ncclGroupEnd");
    stream.synchronize();
  }

  void begin() override {
    const Exchange& x = exchange();
    if (x.sends.empty() && x.receives.empty()) return;
    nccl_check(ncclGroupStart(), "ncclGroupStart");
    for (const LinkPiece& p : x.sends)
      nccl_check(
          ncclSend(x.send + p.at * x.element, p.count * x.element, ncclChar, p.rank, comm_.get(), x.stream->get()),
          "ncclSend");
    for (const LinkPiece& p : x.receives)
      nccl_check(
          ncclRecv(x.receive + p.at * x.element, p.count * x.element, ncclChar, p.rank, comm_.get(), x.stream->get()),
          "ncclRecv");
    nccl_check(ncclGroupEnd(), "ncclGroupEnd");
  }

  NcclComm comm_;
};

}  // namespace

bool nccl_built() {
  return true;
}

std::unique_ptr<CudaLink> make_nccl_link(const Communicator& comm) {
  return std::make_unique<NcclLink>(comm);
}

}  // namespace amrbench::support

#endif
