#include "tests/fuzz/targets.hpp"

#include <unistd.h>

#include <fstream>

namespace amrbench::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {{"blocks", &blocks},
                                        {"graph", &graph},
                                        {"input", &input},
                                        {"machine", &machine},
                                        {"manifest", &manifest},
                                        {"miniamr", &miniamr},
                                        {"part", &part},
                                        {"parts", &parts},
                                        {"points_csv", &points_csv},
                                        {"points_raw", &points_raw},
                                        {"raster", &raster},
                                        {"setting", &setting},
                                        {"tetgen", &tetgen},
                                        {"time_series", &time_series},
                                        {"toml", &toml},
                                        {"trace", &trace},
                                        {"weights", &weights}};
  return kTargets;
}

ScratchFile::ScratchFile(std::string_view name, std::string_view bytes)
    : path_(std::filesystem::temp_directory_path() / ("amrbench-fuzz-" + std::to_string(getpid()) + "-")) {
  path_ += name;
  std::ofstream file(path_, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("no scratch file");
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace amrbench::fuzz
