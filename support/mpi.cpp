#include "support/mpi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <limits>

#include "support/error.hpp"

namespace amrbench::support {

namespace {

bool mpi_is_running() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

/// Spares a process that no launcher started what Open MPI does for several, which takes longer than most commands of
/// one process: a daemon beside it for ranks it might spawn (we spawn none), and libraries of networks, of which PSM2
/// measures a clock for 0.2 s as it is loaded. And a folder for sessions, which the last process of a user to end
/// removes while another one begins: of 120 commands, six at a time, two ended in MPI_Init. Other MPI libraries do not
/// know the variables; those that are set stay.
void prepare_for_one_process() {
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  for (const char* launched : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID"})
    if (std::getenv(launched) != nullptr) return;
  setenv("OMPI_MCA_mtl", "^psm,psm2,ofi", 0);
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

}  // namespace

void mpi_check(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw RunError(fmt::format("{}: {} (MPI error {})", what,
                             std::string_view(text.data(), static_cast<std::size_t>(length)), code));
}

int mpi_count(std::size_t n, std::string_view what) {
  if (n > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw RunError(fmt::format("{}: {} elements in one message, MPI takes at most {}; use more ranks", what, n,
                               std::numeric_limits<int>::max()));
  }
  return static_cast<int>(n);
}

Environment::Environment(int& argc, char**& argv) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) return;
  prepare_for_one_process();
  int provided = MPI_THREAD_SINGLE;
  mpi_check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  owner_ = true;
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    throw RunError("this MPI library allows no threads (MPI_THREAD_FUNNELED is needed)");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

Environment::~Environment() {
  if (owner_ && mpi_is_running()) MPI_Finalize();
}

Communicator Communicator::adopt(MPI_Comm comm) {
  Communicator result;
  result.comm_ = comm;
  mpi_check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  mpi_check(MPI_Comm_rank(comm, &result.rank_), "MPI_Comm_rank");
  mpi_check(MPI_Comm_size(comm, &result.size_), "MPI_Comm_size");
  return result;
}

Communicator Communicator::duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  mpi_check(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return adopt(copy);
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm part = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split(comm_, color, key, &part), "MPI_Comm_split");
  return adopt(part);
}

Communicator Communicator::split_node() const {
  MPI_Comm part = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part), "MPI_Comm_split_type");
  return adopt(part);
}

Communicator::~Communicator() {
  if (comm_ != MPI_COMM_NULL && mpi_is_running()) MPI_Comm_free(&comm_);
}

Requests::Requests() : exceptions_at_start_(std::uncaught_exceptions()) {}

Requests::~Requests() {
  if (requests_.empty() || std::uncaught_exceptions() > exceptions_at_start_ || !mpi_is_running()) return;
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

MPI_Request* Requests::add() {
  requests_.push_back(MPI_REQUEST_NULL);
  return &requests_.back();
}

void Requests::wait_all() {
  mpi_check(MPI_Waitall(mpi_count(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  requests_.clear();
}

bool Requests::test_all() {
  int done = 0;
  mpi_check(MPI_Testall(mpi_count(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
  if (done != 0) requests_.clear();
  return done != 0;
}

BytesType::BytesType(std::size_t bytes) {
  mpi_check(MPI_Type_contiguous(mpi_count(bytes, "MPI datatype"), MPI_BYTE, &type_), "MPI_Type_contiguous");
  mpi_check(MPI_Type_commit(&type_), "MPI_Type_commit");
}

BytesType::~BytesType() {
  if (type_ != MPI_DATATYPE_NULL && mpi_is_running()) MPI_Type_free(&type_);
}

void barrier(const Communicator& comm) {
  mpi_check(MPI_Barrier(comm.get()), "MPI_Barrier");
}

bool any_of_ranks(const Communicator& comm, bool value) {
  return all_max(comm, value ? 1 : 0) != 0;
}

bool all_of_ranks(const Communicator& comm, bool value) {
  return all_min(comm, value ? 1 : 0) != 0;
}

std::string broadcast_string(const Communicator& comm, std::string value, int root) {
  value.resize(broadcast(comm, value.size(), root));
  mpi_check(MPI_Bcast(value.data(), mpi_count(value.size(), "MPI_Bcast"), MPI_CHAR, root, comm.get()), "MPI_Bcast");
  return value;
}

void agree_on_error(const Communicator& comm, const std::string& message) {
  const int first = all_min(comm, message.empty() ? comm.size() : comm.rank());
  if (first == comm.size()) return;
  throw RunError(broadcast_string(comm, message, first), first);
}

DistGraph::DistGraph(const Communicator& parent, std::vector<int> neighbors) : neighbors_(std::move(neighbors)) {
  std::vector<int> sorted = neighbors_;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool possible = sorted[i] >= 0 && sorted[i] < parent.size() && sorted[i] != parent.rank();
    if (!possible || (i > 0 && sorted[i] == sorted[i - 1])) {
      throw RunError(fmt::format("rank {} lists rank {} as a neighbour {}", parent.rank(), sorted[i],
                                 possible ? "twice" : "(no other rank of this communicator)"));
    }
  }
  sorted.reserve(1);  // some libraries refuse a null list even when it is empty
  const int degree = mpi_count(sorted.size(), "neighbours");
  const int* list = neighbors_.empty() ? sorted.data() : neighbors_.data();
  MPI_Comm graph = MPI_COMM_NULL;
  mpi_check(MPI_Dist_graph_create_adjacent(parent.get(), degree, list, MPI_UNWEIGHTED, degree, list, MPI_UNWEIGHTED,
                                           MPI_INFO_NULL, 0, &graph),
            "MPI_Dist_graph_create_adjacent");
  comm_ = Communicator::adopt(graph);
}

bool DistGraph::is_symmetric() const {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  std::vector<int> mine(ranks, 0);
  std::vector<int> theirs(ranks, 0);
  for (const int n : neighbors_) mine[static_cast<std::size_t>(n)] = 1;
  mpi_check(MPI_Alltoall(mine.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, comm_.get()), "MPI_Alltoall");
  return all_of_ranks(comm_, mine == theirs);
}

void DistGraph::require_pieces(std::size_t n) const {
  if (n != neighbors_.size()) {
    throw RunError(fmt::format("neighbour exchange: {} pieces for {} neighbours", n, neighbors_.size()));
  }
}

void DistGraph::exchange_bytes(const void* send, std::span<const std::size_t> send_counts, void* recv,
                               std::span<const std::size_t> recv_counts, std::size_t size, MPI_Datatype type) const {
  // The "w" form takes byte displacements of pointer width, so only a single piece is limited by MPI's counts.
  struct Side {
    std::vector<int> counts;
    std::vector<MPI_Aint> displacements;
  };
  const auto side = [&](std::span<const std::size_t> lengths) {
    Side s;
    std::size_t at = 0;
    for (const std::size_t n : lengths) {
      s.counts.push_back(mpi_count(n, "MPI_Neighbor_alltoallw"));
      s.displacements.push_back(static_cast<MPI_Aint>(at * size));
      at += n;
    }
    return s;
  };
  const Side out = side(send_counts);
  const Side in = side(recv_counts);
  const std::vector<MPI_Datatype> types(std::max<std::size_t>(neighbors_.size(), 1), type);
  mpi_check(MPI_Neighbor_alltoallw(send, out.counts.data(), out.displacements.data(), types.data(), recv,
                                   in.counts.data(), in.displacements.data(), types.data(), comm_.get()),
            "MPI_Neighbor_alltoallw");
}

}  // namespace amrbench::support
