#pragma once
// Progress of a run while it works: one line rewritten on a terminal, else a plain line every few seconds.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace amrbench::support {

class Communicator;

/// Where a run stands. Plain data.
struct ProgressState {
  std::int64_t step = 0;                      ///< steps done
  std::int64_t steps = 0;                     ///< steps to do; 0 = not known beforehand
  std::vector<std::int64_t> blocks_by_level;  ///< of all ranks; index = level
  double elapsed_s = 0;                       ///< since the first step began
  std::int64_t cell_updates = 0;              ///< of all ranks, since then
  double remesh_s = 0;                        ///< of elapsed_s: refinement, balancing and migration
};

/// "step 40/100, blocks 0 24 156, 1.23e+09 cell updates/s, remesh 4.1 %, 0:12 left". What is not known yet is left out.
[[nodiscard]] std::string format_progress(const ProgressState& state);
/// Whole seconds, rounded: "0:07", "12:34", "1:02:03".
[[nodiscard]] std::string format_duration(double seconds);

/// Writes states to a stream. The stream stays the caller's. Not collective; construct on every rank, it is silent on
/// all but rank 0.
class Progress {
 public:
  using Clock = double (*)();
  enum class Mode { silent, plain, terminal };

  /// To stdout of rank 0. A terminal is recognised by isatty, under an MPI launcher by AMRBENCH_TERMINAL=1 alone.
  explicit Progress(const Communicator& comm);
  /// terminal: rewrites its line at most every 0.1 s, cut to `width` columns; plain: a line at most every `interval_s`.
  Progress(std::FILE* out, Mode mode, double interval_s, int width, Clock clock);
  /// Ends a line left open on a terminal.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Is it time to write? Lets the caller skip gathering a state: only the first state and those after the interval are
  /// due. False when silent.
  [[nodiscard]] bool due() const;
  /// Writes the state if due() or if it is the last one (step == steps > 0).
  void update(const ProgressState& state);
  /// Writes the state in any case, unless just this one was written, and ends the line.
  void finish(const ProgressState& state);

 private:
  void write(const ProgressState& state);

  std::FILE* out_;
  Mode mode_;
  double interval_s_;
  int width_;
  Clock clock_;
  bool written_ = false;
  bool open_line_ = false;
  double last_s_ = 0;
  std::string last_text_;
};

}  // namespace amrbench::support
