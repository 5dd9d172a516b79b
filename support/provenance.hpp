#pragma once
// Where a result comes from: program, build, machine and launch, for the run record.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace amrbench::support {

class Communicator;

/// JSON whose keys keep the order they were written in.
using Json = nlohmann::ordered_json;

/// What this program was built from and with.
struct BuildInfo {
  std::string version;  ///< "0.1.0"
  std::string commit;   ///< 40 hex digits, "unknown" when built outside a git checkout
  bool dirty = false;   ///< tracked files differed from that commit at the build
  std::string compiler;
  std::string flags;
  std::string build_type;
};
[[nodiscard]] BuildInfo build_info();

/// The MPI library's own words, first line, without where it was built. Allowed before MPI_Init.
[[nodiscard]] std::string mpi_library();
/// Model name of the processor, "unknown" when the system does not say.
[[nodiscard]] std::string cpu_model();

struct Provenance {
  std::string version;
  std::string commit;      ///< 40 hex digits, "unknown" when built outside a git checkout
  bool dirty = false;      ///< tracked files differed from that commit at the build
  std::string compiler;    ///< "GNU 12.2.0"
  std::string flags;       ///< compiler flags of the build
  std::string build_type;  ///< "Release"
  std::string mpi;         ///< the library's own words, first line
  std::string cuda = "none";
  std::string cpu;  ///< model name
  std::string gpu = "none";
  int cores_node = 0;  ///< CPUs (hardware threads) online on rank 0's node
  std::int64_t memory_node_bytes = 0;
  int nodes = 1;
  int ranks = 1;
  int threads = 1;       ///< OpenMP threads a rank
  int ranks_node = 1;    ///< most ranks on any node
  int cores_rank = 1;    ///< cores (as in cores_node) that a rank may use, fewest of any rank
  std::string binding;   ///< "none", "exclusive" or "shared" (support/cores.hpp), the last of these of any rank
  std::string launch;    ///< the program's command line, quoted for a POSIX shell
  std::string time_utc;  ///< "2024-05-31T12:00:00Z"
  std::string host;      ///< rank 0's host name; empty unless asked for
};

/// Fills all of it but cuda and gpu. No host name unless asked for: results get published. arguments: argv, the program
/// first. Collective; strings are those of rank 0, on every rank.
[[nodiscard]] Provenance collect_provenance(const Communicator& comm, const std::vector<std::string>& arguments,
                                            bool with_host = false);

/// Keys are the members' names; host only when not empty.
[[nodiscard]] Json to_json(const Provenance& provenance);

/// Arguments joined so that a POSIX shell reads them back.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& arguments);

/// Seconds since 1970 as "2024-05-31T12:00:00Z".
[[nodiscard]] std::string format_utc(std::int64_t seconds);

}  // namespace amrbench::support
