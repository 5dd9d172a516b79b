#include "support/cuda_link.hpp"

#if defined(AMRBENCH_NCCL)

#include <nccl.h>

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
  explicit NcclLink(const Communicator& comm) : comm_(comm) {}
  [[nodiscard]] std::string_view name() const override { return "nccl"; }

  void finish() override {
    ncclResult_t status = ncclSuccess;
    nccl_check(ncclCommGetAsyncError(comm_.get(), &status), "ncclCommGetAsyncError");
    nccl_check(status, "NCCL");
  }

 private:
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
