#include "apps/memory_estimate.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "amr/backend.hpp"

namespace amrbench::apps {

namespace {

/// Of a value where fields lie: GPUs hold floats in single precision, the host never does.
std::size_t value_bytes(const Config& config) {
  const bool is_single = config.run.workload == "shallow_water" && config.shallow_water.precision == "single";
  return is_single && config.device.backend == "cuda" ? sizeof(float) : sizeof(double);
}

}  // namespace

MemoryEstimate estimate_memory(const Config& config, int ranks) {
  MemoryEstimate estimate;
  constexpr double kBuffers = 2;
  estimate.initial_blocks = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    estimate.initial_blocks *= config.mesh.root[d];
  }
  const kernels::BlockLayout layout = amr::block_layout(config);
  estimate.variables_padded = layout.lanes * layout.chunks;
  estimate.block_bytes = static_cast<double>(layout.block_values() * value_bytes(config)) * kBuffers;
  estimate.bound_blocks = std::ldexp(estimate.initial_blocks, config.mesh.dim * config.mesh.max_level);
  estimate.initial_bytes = estimate.initial_blocks * estimate.block_bytes;
  estimate.bound_bytes = estimate.bound_blocks * estimate.block_bytes;
  estimate.initial_bytes_per_rank = std::ceil(estimate.initial_blocks / ranks) * estimate.block_bytes;
  estimate.bound_bytes_per_rank = std::ceil(estimate.bound_blocks / ranks) * estimate.block_bytes;
  return estimate;
}

std::string describe_memory(const Config& config, int ranks, const std::string& prefix) {
  const MemoryEstimate e = estimate_memory(config, ranks);
  const auto& b = config.mesh.block;
  std::string text =
      fmt::format("{}memory of a block: {} ({} x {} x {} cells, {} variables stored as {}, 2 buffers)\n", prefix,
                  format_bytes(e.block_bytes), b[0], b[1], b[2], config.fields.variables, e.variables_padded);
  text +=
      fmt::format("{}root mesh: {:.0f} blocks, {}; {} a rank on {} rank{}\n", prefix, e.initial_blocks,
                  format_bytes(e.initial_bytes), format_bytes(e.initial_bytes_per_rank), ranks, ranks == 1 ? "" : "s");
  text += fmt::format("{}{}: {:.0f} blocks, {}; {} a rank\n", prefix,
                      config.mesh.uniform ? "refined to max_level" : "at most, all refined to max_level",
                      e.bound_blocks, format_bytes(e.bound_bytes), format_bytes(e.bound_bytes_per_rank));
  return text;
}

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 9> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0 || bytes >= 99.95) return fmt::format("{:.0f} {}", bytes, kUnits[unit]);
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.995 ? 2 : 1, kUnits[unit]);
}

}  // namespace amrbench::apps
