#include "apps/run_progress.hpp"

#include <fmt/core.h>

#include "support/progress.hpp"

namespace amrbench::apps {

std::string format_progress(const ProgressState& state) {
  std::string text = fmt::format("step {}", state.step);
  if (state.steps > 0) text += fmt::format("/{}", state.steps);
  text += ", blocks";
  for (const std::int64_t n : state.blocks_by_level) text += fmt::format(" {}", n);
  if (state.elapsed_s > 0) {
    text += fmt::format(", {:.3g} cell updates/s, remesh {:.1f} %",
                        static_cast<double>(state.cell_updates) / state.elapsed_s,
                        100.0 * state.remesh_s / state.elapsed_s);
    if (state.steps > 0 && state.step > 0) {
      const auto ahead = static_cast<double>(state.steps - state.step);
      text +=
          fmt::format(", {} left", support::format_duration(state.elapsed_s * ahead / static_cast<double>(state.step)));
    }
  }
  return text;
}

}  // namespace amrbench::apps
