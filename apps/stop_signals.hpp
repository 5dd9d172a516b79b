#pragma once
// SIGTERM and SIGUSR1, noted instead of obeyed, for a run that writes checkpoints.

#include <memory>

namespace amrbench::apps {

/// From construction to destruction the two signals are noted. After it SIGTERM does what it did before, and SIGUSR1
/// nothing: a request for a checkpoint that comes when all is computed must not end the run. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Has this process been told to end (SIGTERM)? Stays true.
  [[nodiscard]] bool wants_end() const;
  /// Has it been told to write a checkpoint (SIGUSR1) since the last call?
  [[nodiscard]] bool take_wants_checkpoint();

 private:
  struct Handlers;
  std::unique_ptr<Handlers> before_;
};

}  // namespace amrbench::apps
