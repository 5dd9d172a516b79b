#pragma once
// The program's life under MPI: start, end, and an orderly end after a failure.
#include <mpi.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "support/mpi.hpp"
#include "support/watch.hpp"

namespace amrbench::apps {

/// MPI_Init_thread(FUNNELED) at birth, MPI_Finalize at death; neither when MPI already runs. One a process; collective.
class MpiSession {
 public:
  /// Throws support::RunError when the library offers less than FUNNELED.
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Says what ended the run, once. Its heartbeat is for the metrics of a run.
  [[nodiscard]] support::Watch& watch() const { return *watch_; }

  /// Runs `produce` on rank 0 and gives its text to every rank. A support::InputError it throws is thrown on every
  /// rank; any other exception becomes a support::RunError on every rank. Collective.
  std::string from_first_rank(const std::function<std::string()>& produce) const;

  /// Called by a rank that failed: do all ranks fail, within `patience`? Then they may end quietly together, with the
  /// largest of their statuses, which is left in `status`. False: the others are elsewhere and may wait for this one
  /// for ever, so abort. Once a session.
  bool all_failed(int& status, std::chrono::milliseconds patience);

 private:
  support::Environment environment_;
  MPI_Comm failures_ = MPI_COMM_NULL;  ///< a failing rank must not meet a running one's messages
  std::array<int, 2> failure_status_{};
  std::unique_ptr<support::Watch> watch_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace amrbench::apps
