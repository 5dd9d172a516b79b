// `amrbench info`.
#include <fmt/ostream.h>
#include <mpi.h>
#include <omp.h>

#include <array>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "apps/build_info.hpp"
#include "apps/commands.hpp"
#include "apps/memory_estimate.hpp"

namespace amrbench::apps {

namespace {

struct Processor {
  std::string model = "unknown";
  unsigned logical = 0;
  unsigned cores = 0;  ///< physical; 0 when the system does not tell
};

std::string value_of(const std::string& line) {
  const auto colon = line.find(':');
  const auto begin = line.find_first_not_of(" \t", colon + 1);
  return colon == std::string::npos || begin == std::string::npos ? "" : line.substr(begin);
}

Processor processor() {
  Processor result;
  result.logical = std::thread::hardware_concurrency();
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> cores;
  std::string package;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") && result.model == "unknown") result.model = value_of(line);
    if (line.starts_with("physical id")) package = value_of(line);
    if (line.starts_with("core id")) cores.insert(package + "/" + value_of(line));
  }
  result.cores = static_cast<unsigned>(cores.size());
  return result;
}

/// Bytes of a field of /proc/meminfo; 0 when the system does not tell.
double memory(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":")) return std::stod(value_of(line)) * 1024;
  return 0;
}

/// First line of the library's own description; allowed before MPI_Init.
std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  return fmt::format("{} (MPI {}.{})", all.substr(0, all.find_first_of(",\n")), version, subversion);
}

void line(std::ostream& out, std::string_view name, const std::string& value) {
  fmt::print(out, "  {:<12} {}\n", name, value);
}

}  // namespace

void info_command(std::ostream& out) {
  const BuildInfo build = build_info();
  fmt::print(out, "amrbench {}\n\nBuild\n", build.version);
  line(out, "commit", build.commit);
  line(out, "type", build.build_type);
  line(out, "compiler", build.compiler);
  line(out, "flags", build.flags);
  line(out, "MPI", mpi_library());
  line(out, "OpenMP", fmt::format("{}", _OPENMP));

  const Processor cpu = processor();
  fmt::print(out, "\nMachine\n");
  line(out, "processor", cpu.model);
  line(out, "cores",
       cpu.cores == 0 ? fmt::format("{} logical", cpu.logical)
                      : fmt::format("{} physical, {} logical", cpu.cores, cpu.logical));
  line(out, "threads", fmt::format("{} by default for one rank (OpenMP)", omp_get_max_threads()));
  line(out, "memory",
       fmt::format("{}, {} available", format_bytes(memory("MemTotal")), format_bytes(memory("MemAvailable"))));

  fmt::print(out, "\nBack ends\n");
  line(out, "cpu", "built");
  line(out, "cuda", "not built");
}

}  // namespace amrbench::apps
