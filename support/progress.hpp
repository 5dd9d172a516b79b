#pragma once
// Progress of a run while it works: one line rewritten on a terminal, else a plain line every few seconds.
#include <cstdint>
#include <cstdio>
#include <string>

namespace amrbench::support {

class Communicator;

/// Whole seconds, rounded: "0:07", "12:34", "1:02:03".
[[nodiscard]] std::string format_duration(double seconds);

/// Writes lines to a stream. The stream stays the caller's. Not collective; construct on every rank, it is silent on
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

  /// Is it time to write? Lets the caller skip making a text: only the first one and those after the interval are due.
  /// False when silent.
  [[nodiscard]] bool due() const;
  /// Writes the text if due() or if it is the last one.
  void update(const std::string& text, bool is_last);
  /// Writes the text in any case, unless just this one was written, and ends the line.
  void finish(const std::string& text);

 private:
  void write(const std::string& text);

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
