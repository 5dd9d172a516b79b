#include "support/provenance.hpp"

#include <fmt/core.h>
#include <omp.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "build_info.hpp"
#include "support/cores.hpp"
#include "support/mpi.hpp"
#include "support/process_memory.hpp"

namespace amrbench::support {

namespace {

std::string host_name() {
  std::array<char, 256> text{};
  return gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "unknown";
}

}  // namespace

BuildInfo build_info() {
  return {.version = AMRBENCH_VERSION,
          .commit = AMRBENCH_COMMIT,
          .dirty = AMRBENCH_COMMIT_DIRTY,
          .compiler = AMRBENCH_COMPILER,
          .flags = AMRBENCH_CXX_FLAGS,
          .build_type = AMRBENCH_BUILD_TYPE};
}

// "model name" of the first processor; x86 has it, other machines may not.
std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  mpi_check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string all(text.data(), static_cast<std::size_t>(length));
  // Open MPI appends package and build host after a comma: not wanted in a published result.
  return all.substr(0, all.find_first_of(",\n"));
}

std::string shell_line(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

std::string format_utc(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

Provenance collect_provenance(const Communicator& comm, const std::vector<std::string>& arguments, bool with_host) {
  Provenance p;
  const BuildInfo build = build_info();
  p.version = build.version;
  p.commit = build.commit;
  p.dirty = build.dirty;
  p.compiler = build.compiler;
  p.flags = build.flags;
  p.build_type = build.build_type;
  p.mpi = mpi_library();
  p.cpu = broadcast_string(comm, cpu_model());
  p.cores_node = broadcast(comm, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  p.memory_node_bytes = broadcast(comm, total_memory_bytes());
  p.nodes = all_sum(comm, comm.split_node().is_root() ? 1 : 0);
  p.ranks = comm.size();
  p.threads = broadcast(comm, omp_get_max_threads());
  const Placement placement = find_placement(comm, 0);
  p.ranks_node = all_max(comm, placement.ranks_node);
  p.cores_rank = all_min(comm, placement.cores);
  p.binding = binding_name(static_cast<Binding>(all_max(comm, static_cast<int>(placement.binding))));
  p.launch = broadcast_string(comm, shell_line(arguments));
  p.time_utc = format_utc(broadcast(comm, static_cast<std::int64_t>(std::time(nullptr))));
  if (with_host) p.host = broadcast_string(comm, host_name());
  return p;
}

Json to_json(const Provenance& p) {
  Json json{{"version", p.version},
            {"commit", p.commit},
            {"dirty", p.dirty},
            {"compiler", p.compiler},
            {"flags", p.flags},
            {"build_type", p.build_type},
            {"mpi", p.mpi},
            {"cuda", p.cuda},
            {"cpu", p.cpu},
            {"gpu", p.gpu},
            {"cores_node", p.cores_node},
            {"memory_node_bytes", p.memory_node_bytes},
            {"nodes", p.nodes},
            {"ranks", p.ranks},
            {"threads", p.threads},
            {"ranks_node", p.ranks_node},
            {"cores_rank", p.cores_rank},
            {"binding", p.binding},
            {"launch", p.launch},
            {"time_utc", p.time_utc}};
  if (!p.host.empty()) json["host"] = p.host;
  return json;
}

}  // namespace amrbench::support
