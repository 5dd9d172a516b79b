#include "support/progress.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "support/metrics.hpp"
#include "support/mpi.hpp"

namespace amrbench::support {

namespace {

constexpr double kTerminalInterval = 0.1;
constexpr double kPlainInterval = 5.0;

int terminal_width(std::FILE* out) {
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// Does somebody watch? An MPI launcher may give its ranks a terminal of their own whatever it writes to itself, so
/// under one only AMRBENCH_TERMINAL=1 (set by scripts/run, which can tell) says yes.
bool watched() {
  const char* told = std::getenv("AMRBENCH_TERMINAL");
  if (told != nullptr) return std::string_view(told) == "1";
  const bool launched = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
  return !launched && isatty(fileno(stdout)) != 0;
}

}  // namespace

std::string format_duration(double seconds) {
  const auto s = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Progress::Progress(const Communicator& comm)
    : Progress(stdout,
               !comm.is_root() ? Mode::silent
               : watched()     ? Mode::terminal
                               : Mode::plain,
               kPlainInterval, terminal_width(stdout), &Metrics::steady_seconds) {}

Progress::Progress(std::FILE* out, Mode mode, double interval_s, int width, Clock clock)
    : out_(out),
      mode_(mode),
      interval_s_(mode == Mode::terminal ? kTerminalInterval : interval_s),
      width_(width),
      clock_(clock) {}

Progress::~Progress() {
  if (open_line_) std::fputc('\n', out_);
}

bool Progress::due() const {
  return mode_ != Mode::silent && (!written_ || clock_() - last_s_ >= interval_s_);
}

void Progress::update(const std::string& text, bool is_last) {
  if (mode_ == Mode::silent) return;
  if (due() || is_last) write(text);
}

void Progress::finish(const std::string& text) {
  if (mode_ == Mode::silent) return;
  if (!written_ || text != last_text_) write(text);
  if (open_line_) std::fputc('\n', out_);
  open_line_ = false;
  std::fflush(out_);
}

void Progress::write(const std::string& text) {
  last_text_ = text;
  if (mode_ == Mode::terminal) {
    // Return, text, erase to the end; one column stays free so that the cursor does not wrap.
    const auto room = static_cast<std::size_t>(std::max(width_ - 1, 1));
    fmt::print(out_, "\r{}\x1b[K", last_text_.substr(0, room));
    open_line_ = true;
  } else {
    fmt::print(out_, "{}\n", last_text_);
  }
  std::fflush(out_);
  written_ = true;
  last_s_ = clock_();
}

}  // namespace amrbench::support
