#include "apps/stop_signals.hpp"

#include <csignal>

namespace amrbench::apps {

namespace {

// A handler can reach nothing else.
volatile std::sig_atomic_t told_to_end = 0;         // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t told_to_checkpoint = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void note_signal(int signal) {
  if (signal == SIGTERM)
    told_to_end = 1;
  else
    told_to_checkpoint = 1;
}

}  // namespace

struct StopSignals::Handlers {
  struct sigaction end {};
};

StopSignals::StopSignals() : before_(std::make_unique<Handlers>()) {
  told_to_end = 0;
  told_to_checkpoint = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;  // reads and writes go on
  sigaction(SIGTERM, &action, &before_->end);
  sigaction(SIGUSR1, &action, nullptr);
}

StopSignals::~StopSignals() {
  sigaction(SIGTERM, &before_->end, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGUSR1, &ignore, nullptr);
}

bool StopSignals::wants_end() const {
  return told_to_end != 0;
}

bool StopSignals::take_wants_checkpoint() {
  const bool wants = told_to_checkpoint != 0;
  told_to_checkpoint = 0;
  return wants;
}

}  // namespace amrbench::apps
