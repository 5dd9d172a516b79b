#pragma once
// Handles and typed helpers over MPI.
//
// Purpose: nobody above this room writes MPI_Init, frees a communicator, or looks at an error code.
// Ownership: every class here owns what it made and frees it once; all are move-only or fixed in place. A handle that
// outlives MPI_Finalize is dropped silently.
// Errors: communicators made here return error codes instead of aborting; `mpi_check` turns a code into RunError. A
// rank that throws leaves its partners waiting, so main() must end a failed program with MPI_Abort. Threads: FUNNELED;
// call everything here from the thread that made the Environment. Counts: MPI 3 counts are 32-bit. `mpi_count` refuses
// larger ones with a RunError that says how many were asked for; a count is in elements, not bytes, so 2^31 - 1 doubles
// (16 GiB) go into one message. "Collective" means: every rank of the communicator must call, in the same order.
// Source: MPI standard 3.1, chapters 5 (collectives), 7 (topologies, neighbourhood collectives).
#include <mpi.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/error.hpp"

namespace amrbench::support {

/// Throws RunError "<what>: <MPI's text>" unless code is MPI_SUCCESS.
void mpi_check(int code, std::string_view what = "MPI");

/// n as an MPI count; RunError "<what>: ..." when n > 2^31 - 1.
int mpi_count(std::size_t n, std::string_view what = "MPI message");

/// MPI_Init_thread(FUNNELED) at construction, MPI_Finalize at destruction; does neither when MPI already ran. RunError
/// when the library offers less than FUNNELED. Collective over the job.
class Environment {
 public:
  Environment(int& argc, char**& argv);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  bool owner_ = false;
};

/// An owned communicator.
class Communicator {
 public:
  Communicator() = default;
  /// A duplicate of `comm`: messages in it never match those of its origin. Collective.
  static Communicator duplicate(MPI_Comm comm);
  /// Takes over `comm`, which is freed with this object.
  static Communicator adopt(MPI_Comm comm);
  /// A duplicate of MPI_COMM_WORLD. Collective over the job.
  static Communicator world() { return duplicate(MPI_COMM_WORLD); }

  Communicator(Communicator&& other) noexcept { swap(other); }
  Communicator& operator=(Communicator&& other) noexcept {
    Communicator(std::move(other)).swap(*this);
    return *this;
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  void swap(Communicator& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(rank_, other.rank_);
    std::swap(size_, other.size_);
  }

  /// MPI_Comm_dup. Collective.
  [[nodiscard]] Communicator dup() const { return duplicate(comm_); }
  /// Ranks of one colour (>= 0) together, ordered by (key, rank). Collective.
  [[nodiscard]] Communicator split(int color, int key = 0) const;
  /// The ranks that share this rank's node memory. Collective.
  [[nodiscard]] Communicator split_node() const;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] explicit operator bool() const { return comm_ != MPI_COMM_NULL; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

/// A set of MPI requests that must complete before their buffers go. Not thread-safe.
/// The destructor waits for what is still under way, except while an exception unwinds the stack: waiting for a partner
/// that never answers would hide the error, and the program is about to abort.
class Requests {
 public:
  Requests();
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// Place for one more request; valid until the next call of add().
  MPI_Request* add();
  void reserve(std::size_t n) { requests_.reserve(n); }
  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  /// Waits for all of them, then forgets them.
  void wait_all();
  /// True, and forgotten, once all of them are complete. Drives MPI's progress.
  bool test_all();

 private:
  std::vector<MPI_Request> requests_;
  int exceptions_at_start_ = 0;
};

// ---- Datatypes ------------------------------------------------------------------------------------------------------

template <class T>
concept MpiArithmetic = std::is_arithmetic_v<T> && !std::same_as<T, bool> && sizeof(T) <= 8;

/// MPI's name of an arithmetic type.
template <MpiArithmetic T>
MPI_Datatype mpi_type() {
  if constexpr (std::same_as<T, float>) {
    return MPI_FLOAT;
  } else if constexpr (std::same_as<T, double>) {
    return MPI_DOUBLE;
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 1 ? MPI_INT8_T : sizeof(T) == 2 ? MPI_INT16_T : sizeof(T) == 4 ? MPI_INT32_T : MPI_INT64_T;
  } else {
    return sizeof(T) == 1 ? MPI_UINT8_T : sizeof(T) == 2 ? MPI_UINT16_T : sizeof(T) == 4 ? MPI_UINT32_T : MPI_UINT64_T;
  }
}

/// An owned, committed datatype of `bytes` opaque bytes: lets counts be counted in structs.
class BytesType {
 public:
  explicit BytesType(std::size_t bytes);
  ~BytesType();
  BytesType(const BytesType&) = delete;
  BytesType& operator=(const BytesType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

template <class T>
concept Trivial = std::is_trivially_copyable_v<T>;

// ---- Collectives (all of them collective over `comm`) ---------------------------------------------------------------

void barrier(const Communicator& comm);

/// values[i] = op over ranks of values[i], on every rank. Spans of one length on every rank.
template <MpiArithmetic T>
void all_reduce(const Communicator& comm, std::span<T> values, MPI_Op op) {
  mpi_check(MPI_Allreduce(MPI_IN_PLACE, values.data(), mpi_count(values.size(), "MPI_Allreduce"), mpi_type<T>(), op,
                          comm.get()),
            "MPI_Allreduce");
}
template <MpiArithmetic T>
void all_sum(const Communicator& comm, std::span<T> values) {
  all_reduce(comm, values, MPI_SUM);
}
template <MpiArithmetic T>
void all_max(const Communicator& comm, std::span<T> values) {
  all_reduce(comm, values, MPI_MAX);
}
template <MpiArithmetic T>
void all_min(const Communicator& comm, std::span<T> values) {
  all_reduce(comm, values, MPI_MIN);
}
template <MpiArithmetic T>
[[nodiscard]] T all_sum(const Communicator& comm, T value) {
  all_reduce(comm, std::span<T>(&value, 1), MPI_SUM);
  return value;
}
template <MpiArithmetic T>
[[nodiscard]] T all_max(const Communicator& comm, T value) {
  all_reduce(comm, std::span<T>(&value, 1), MPI_MAX);
  return value;
}
template <MpiArithmetic T>
[[nodiscard]] T all_min(const Communicator& comm, T value) {
  all_reduce(comm, std::span<T>(&value, 1), MPI_MIN);
  return value;
}
/// True on every rank when `value` is true on any / on all of them.
[[nodiscard]] bool any_of_ranks(const Communicator& comm, bool value);
[[nodiscard]] bool all_of_ranks(const Communicator& comm, bool value);

/// Sum of `value` over the ranks before this one; 0 on rank 0.
template <MpiArithmetic T>
[[nodiscard]] T exclusive_sum(const Communicator& comm, T value) {
  T before{};
  mpi_check(MPI_Exscan(&value, &before, 1, mpi_type<T>(), MPI_SUM, comm.get()), "MPI_Exscan");
  return comm.rank() == 0 ? T{} : before;
}

/// The same for each of some values, as many on every rank.
template <MpiArithmetic T>
[[nodiscard]] std::vector<T> exclusive_sums(const Communicator& comm, std::span<const T> values) {
  std::vector<T> before(values.size());
  mpi_check(MPI_Exscan(values.data(), before.data(), mpi_count(values.size(), "MPI_Exscan"), mpi_type<T>(), MPI_SUM,
                       comm.get()),
            "MPI_Exscan");
  if (comm.rank() == 0) before.assign(values.size(), T{});
  return before;
}

/// One value a rank, in rank order, on every rank. T may be any trivially copyable struct.
template <Trivial T>
[[nodiscard]] std::vector<T> all_gather(const Communicator& comm, const T& value) {
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  const BytesType type(sizeof(T));
  mpi_check(MPI_Allgather(&value, 1, type.get(), all.data(), 1, type.get(), comm.get()), "MPI_Allgather");
  return all;
}

/// Pieces of one array, a piece a rank, in the order of ranks. Lengths and offsets must stay below 2^31 elements.
struct RankPieces {
  std::vector<int> counts, offsets;
  std::size_t total = 0;

  void add(std::size_t n) {
    offsets.push_back(mpi_count(total, "pieces of ranks"));
    counts.push_back(mpi_count(n, "pieces of ranks"));
    total += n;
  }
};

/// Everybody's piece on every rank, whose lengths all know.
template <Trivial T>
[[nodiscard]] std::vector<T> all_gather_pieces(const Communicator& comm, const T* mine, const RankPieces& pieces) {
  std::vector<T> all(pieces.total);
  const BytesType type(sizeof(T));
  mpi_check(MPI_Allgatherv(mine, pieces.counts[static_cast<std::size_t>(comm.rank())], type.get(), all.data(),
                           pieces.counts.data(), pieces.offsets.data(), type.get(), comm.get()),
            "MPI_Allgatherv");
  return all;
}

/// Everybody's values one after another in rank order, on every rank. The total must stay below 2^31 elements.
template <Trivial T>
[[nodiscard]] std::vector<T> all_gather_v(const Communicator& comm, std::span<const T> values) {
  RankPieces pieces;
  for (const std::size_t n : all_gather(comm, values.size())) pieces.add(n);
  return all_gather_pieces(comm, values.data(), pieces);
}

/// One value to each rank: send[r] goes to rank r, the result's [r] came from rank r. send.size() == comm.size().
template <Trivial T>
[[nodiscard]] std::vector<T> all_to_all(const Communicator& comm, std::span<const T> send) {
  std::vector<T> recv(send.size());
  const BytesType type(sizeof(T));
  mpi_check(MPI_Alltoall(send.data(), 1, type.get(), recv.data(), 1, type.get(), comm.get()), "MPI_Alltoall");
  return recv;
}

/// A piece of `send` to each rank, and one of `recv` from each; both sides know their lengths.
template <Trivial T>
void all_to_all_pieces(const Communicator& comm, const T* send, const RankPieces& to, T* recv, const RankPieces& from) {
  const BytesType type(sizeof(T));
  mpi_check(MPI_Alltoallv(send, to.counts.data(), to.offsets.data(), type.get(), recv, from.counts.data(),
                          from.offsets.data(), type.get(), comm.get()),
            "MPI_Alltoallv");
}

/// Pieces of different lengths: the first send_counts[0] elements of `send` go to rank 0, and so on; pieces received
/// stand one after another in `recv`, by rank, their lengths in the result. Two collectives: lengths, then data.
template <Trivial T>
std::vector<int> all_to_all_v(const Communicator& comm, std::span<const T> send, std::span<const int> send_counts,
                              std::vector<T>& recv) {
  RankPieces to, from;
  for (const int n : send_counts) to.add(static_cast<std::size_t>(n));
  for (const int n : all_to_all(comm, send_counts)) from.add(static_cast<std::size_t>(n));
  recv.resize(from.total);
  all_to_all_pieces(comm, send.data(), to, recv.data(), from);
  return from.counts;
}

/// root's value, on every rank.
template <Trivial T>
[[nodiscard]] T broadcast(const Communicator& comm, T value, int root = 0) {
  const BytesType type(sizeof(T));
  mpi_check(MPI_Bcast(&value, 1, type.get(), root, comm.get()), "MPI_Bcast");
  return value;
}
/// root's string, on every rank.
[[nodiscard]] std::string broadcast_string(const Communicator& comm, std::string value, int root = 0);

/// Ends an attempt that may have failed on some ranks: when any rank passes a non-empty message, every rank throws
/// RunError with the message and the number of the lowest such rank.
void agree_on_error(const Communicator& comm, const std::string& message);
/// Runs `work` on rank 0; what it throws ends all ranks, as a RunError. Collective.
template <class Work>
void run_on_root(const Communicator& comm, Work&& work) {
  agree_on_error(comm, comm.is_root() ? failure_of(work) : std::string());
}

// ---- Neighbourhoods -------------------------------------------------------------------------------------------------

/// A communicator that knows this rank's neighbours, for neighbourhood collectives.
class DistGraph {
 public:
  DistGraph() = default;
  /// neighbors: distinct ranks of `parent`, not this one; may be empty. Symmetric: a lists b exactly when b lists a
  /// (not checked here, because that would cost a message to every rank; see is_symmetric). The order given is the
  /// order of the pieces in the collectives. Collective over `parent`. RunError on a repeated or impossible rank.
  DistGraph(const Communicator& parent, std::vector<int> neighbors);

  [[nodiscard]] const Communicator& comm() const { return comm_; }
  [[nodiscard]] std::span<const int> neighbors() const { return neighbors_; }
  [[nodiscard]] int degree() const { return static_cast<int>(neighbors_.size()); }
  /// Do all lists name each other? O(ranks) memory and messages: for tests. Collective.
  [[nodiscard]] bool is_symmetric() const;

  /// send[i] goes to neighbour i, the result's [i] came from neighbour i. send.size() == degree(). Collective.
  template <Trivial T>
  [[nodiscard]] std::vector<T> exchange(std::span<const T> send) const {
    require_pieces(send.size());
    std::vector<T> recv(send.size());
    const BytesType type(sizeof(T));
    // MPICH takes no null pointer, even where there is no neighbour.
    std::array<T, 2> none{};
    const void* const from = send.empty() ? &none[0] : send.data();
    void* const to = send.empty() ? &none[1] : recv.data();
    mpi_check(MPI_Neighbor_alltoall(from, 1, type.get(), to, 1, type.get(), comm_.get()), "MPI_Neighbor_alltoall");
    return recv;
  }

  /// Pieces of different lengths: the first send_counts[0] elements of `send` go to neighbour 0, and so on; pieces
  /// received stand one after another in `recv`, their lengths in the result. Two collectives: lengths, then data.
  template <Trivial T>
  std::vector<std::size_t> exchange_v(std::span<const T> send, std::span<const std::size_t> send_counts,
                                      std::vector<T>& recv) const {
    const std::vector<std::size_t> recv_counts = exchange(send_counts);
    std::size_t total = 0;
    for (const std::size_t n : recv_counts) total += n;
    recv.resize(total);
    const BytesType type(sizeof(T));
    exchange_bytes(send.data(), send_counts, recv.data(), recv_counts, sizeof(T), type.get());
    return recv_counts;
  }

 private:
  void require_pieces(std::size_t n) const;
  void exchange_bytes(const void* send, std::span<const std::size_t> send_counts, void* recv,
                      std::span<const std::size_t> recv_counts, std::size_t size, MPI_Datatype type) const;

  Communicator comm_;
  std::vector<int> neighbors_;
};

}  // namespace amrbench::support
