#include "amr/cuda_link.hpp"

#if defined(AMRBENCH_NCCL)

#include <nccl.h>

#include "support/error.hpp"

namespace amrbench::amr {

namespace {

void nccl_check(ncclResult_t status, std::string_view call) {
  if (status == ncclSuccess) return;
  throw support::RunError(std::string(call) + ": " + ncclGetErrorString(status));
}

/// An owned communicator of NCCL over the ranks of an MPI one.
class NcclComm {
 public:
  explicit NcclComm(const support::Communicator& comm) {
    ncclUniqueId id{};
    std::string error;
    if (comm.is_root()) {
      const ncclResult_t status = ncclGetUniqueId(&id);
      if (status != ncclSuccess) error = std::string("ncclGetUniqueId: ") + ncclGetErrorString(status);
    }
    support::agree_on_error(comm, error);
    id = support::broadcast(comm, id);
    nccl_check(ncclCommInitRank(&comm_, comm.size(), id, comm.rank()), "ncclCommInitRank");
  }
  ~NcclComm() {
    if (comm_ != nullptr) ncclCommDestroy(comm_);
  }
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;
  [[nodiscard]] ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
};

class NcclLink final : public CudaLink {
 public:
  explicit NcclLink(const support::Communicator& comm) : comm_(comm) {
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
  void connect(const support::Communicator& comm) {
    const support::CudaStream stream;
    const std::size_t ranks = std::size_t(comm.size());
    support::DeviceBuffer<double> values(2 * ranks);
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
      nccl_check(ncclSend(x.send + p.at, p.count, ncclDouble, p.rank, comm_.get(), x.stream->get()), "ncclSend");
    for (const LinkPiece& p : x.receives)
      nccl_check(ncclRecv(x.receive + p.at, p.count, ncclDouble, p.rank, comm_.get(), x.stream->get()), "ncclRecv");
    nccl_check(ncclGroupEnd(), "ncclGroupEnd");
  }

  NcclComm comm_;
};

}  // namespace

bool nccl_built() {
  return true;
}

std::unique_ptr<CudaLink> make_nccl_link(const support::Communicator& comm) {
  return std::make_unique<NcclLink>(comm);
}

}  // namespace amrbench::amr

#endif
