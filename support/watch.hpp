#pragma once
// An orderly end for runs that fail: one line that names rank, phase and step, from whichever rank can still say it.
//
// Ranks of a node share a page. Each keeps its heartbeat there, and a thread of each looks ten times a second whether
// the next rank of its node is still there: a rank that was killed cannot speak for itself. Where no rank of the node
// gets on, the only one asleep is named, else the one that has been still for longest. Who speaks first takes the word
// of the whole node, so that there is one line; the others end without one. Ownership: a Watch lives as long as the
// rank works, from after MPI_Init to before MPI_Finalize; one a process. Its thread makes no MPI call. Cost: a wake-up
// every 100 ms; none for the rank's own threads but the heartbeat. Limits: a rank alone on its node is not seen when it
// is killed (its launcher says so); ranks of different nodes do not know of each other's lines.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "support/heartbeat.hpp"
#include "support/mpi.hpp"

namespace amrbench::support {

/// Has a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, an exception that nobody catches) say its line before the
/// process dies of it. Signals that have a handler already are left alone; Open MPI, started later, leaves these alone
/// and does not print its stack traces. Of the process, before MPI_Init.
void speak_of_crashes();

class Watch {
 public:
  /// Collective over `world`. Where memory cannot be shared each rank watches over itself alone.
  explicit Watch(const Communicator& world);
  /// From now on this rank may go without a word. Not collective.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] Heartbeat& heartbeat();
  /// Ends the run once no rank of the node has begun or ended a phase for so many seconds, or one has been stopped for
  /// 10 s (or that limit, if it is less). 0, as at first: never.
  void set_hang_limit(double seconds) { hang_limit_s_.store(seconds, std::memory_order_relaxed); }

  /// "rank 3, phase halo, step 17": of this rank, or as if of `rank`, where ranks are at the same place.
  [[nodiscard]] std::string place(int rank = -1) const;
  /// Writes "amrbench: error: <text>" to standard error, unless a rank of this node has spoken.
  void speak(std::string_view text);

 private:
  struct Slot;
  struct Board;
  void run();
  void look_at_next(double elapsed_s);
  void look_for_hang(double elapsed_s);
  [[nodiscard]] std::optional<std::size_t> asleep_alone() const;
  [[noreturn]] void end(std::size_t slot, std::string_view why);

  int rank_ = 0;
  std::size_t mine_ = 0;   ///< slot of this rank
  std::size_t slots_ = 1;  ///< ranks of this node
  std::unique_ptr<Board> board_;
  std::atomic<double> hang_limit_s_{0};
  double idle_s_ = 0, newest_s_ = 0, stopped_s_ = 0, spoken_s_ = 0, terminated_s_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace amrbench::support
