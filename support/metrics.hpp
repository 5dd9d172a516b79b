#pragma once
// Times of phases and counters of one rank, and their reduction over ranks.
//
// Times are exclusive: while a phase is nested in another, the clock runs for the inner one only, so that the phases of
// a run add up to its time. Open the run with a timer of Phase::other; what no other timer covers lands there.
// Ownership: one Metrics object a run, handed on by reference. Not thread-safe: timers belong to the rank's main
// thread. Cost: two clock readings and a few additions a timer (about 50 ns).
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace amrbench::support {

class Communicator;
struct Heartbeat;

/// What a run spends its time on; the names are those of the run record.
enum class Phase : std::uint8_t { stencil, halo, refine, balance, migrate, checksum, output, checkpoint, other };
inline constexpr std::size_t kPhases = 9;
[[nodiscard]] std::string_view phase_name(Phase phase);

/// One phase over all ranks.
struct PhaseSummary {
  double min_s = 0;
  double mean_s = 0;
  double max_s = 0;
  std::int64_t calls = 0;  ///< the most of any rank
};

/// One counter over all ranks.
struct CounterSummary {
  std::int64_t sum = 0;
  std::int64_t max = 0;
};

struct MetricsSummary {
  std::array<PhaseSummary, kPhases> phases{};
  std::map<std::string, CounterSummary> counters;
  [[nodiscard]] const PhaseSummary& phase(Phase p) const { return phases[static_cast<std::size_t>(p)]; }
  /// Zeros for a counter that nobody touched.
  [[nodiscard]] CounterSummary counter(const std::string& name) const;
};

class Metrics {
 public:
  /// Seconds from some fixed moment, never going back.
  using Clock = double (*)();
  static double steady_seconds();

  explicit Metrics(Clock clock = &steady_seconds) : clock_(clock) {}
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// Exclusive seconds so far; the time of a running timer is included up to its last start, stop or nesting.
  [[nodiscard]] double seconds(Phase p) const { return seconds_[static_cast<std::size_t>(p)]; }
  [[nodiscard]] std::int64_t calls(Phase p) const { return calls_[static_cast<std::size_t>(p)]; }
  /// Sum of all phases.
  [[nodiscard]] double total_seconds() const;

  /// Adds to a counter, which is 0 at first.
  void count(std::string_view name, std::int64_t n = 1);
  /// Keeps the largest value seen.
  void count_max(std::string_view name, std::int64_t n);
  [[nodiscard]] std::int64_t counter(std::string_view name) const;

  /// Everything back to zero; no timer may be running (throws std::logic_error).
  void reset();
  /// From now on keeps `to` at the phase and step of this rank (support/watch.hpp); null: nobody looks. It must outlive
  /// the last timer.
  void publish(Heartbeat* to) { heart_ = to; }
  /// The step that begins, counted from 1.
  void begin_step(std::int64_t step);
  /// Over ranks, on every rank; counters may differ from rank to rank. Collective.
  [[nodiscard]] MetricsSummary reduce(const Communicator& comm) const;

 private:
  friend class PhaseTimer;
  void enter(Phase p);
  void leave();
  void charge();
  void beat();

  Clock clock_;
  Heartbeat* heart_ = nullptr;
  double mark_ = 0;  // when time was last charged
  std::vector<Phase> running_;
  std::array<double, kPhases> seconds_{};
  std::array<std::int64_t, kPhases> calls_{};
  std::map<std::string, std::int64_t, std::less<>> counters_;
};

/// Counts one call of a phase and its exclusive time from construction to destruction. Timers of one Metrics must nest.
class [[nodiscard]] PhaseTimer {
 public:
  PhaseTimer(Metrics& metrics, Phase p) : metrics_(metrics) { metrics_.enter(p); }
  ~PhaseTimer() { metrics_.leave(); }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  Metrics& metrics_;
};

}  // namespace amrbench::support
