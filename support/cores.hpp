#pragma once
// Cores that a rank may use, ranks that share them, and how many threads suit it.
//
// A core is a processor as the system counts them (a hardware thread), here and in the run record. What a rank may use
// is its affinity mask, which launchers set, and its share of a control group's limit. Threads beyond that take turns:
// Open MPI ties each of one or two ranks to one core, threads and all, and says nothing.
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace amrbench::support {

class Communicator;

/// Processors of a node, by number. Larger nodes count as this many.
using CpuMask = std::bitset<4096>;

/// "0-3,8" as a mask; empty where that is no list.
[[nodiscard]] CpuMask parse_cpu_list(std::string_view text);

/// What started the ranks: who set their masks, and how it is told to set others.
enum class LaunchKind : std::uint8_t { none, open_mpi, hydra, intel, slurm };

/// What one rank of a node may use.
struct RankCores {
  CpuMask may_use;
  double limit = 0;               ///< processors' worth of time of its control group; 0 = no limit
  std::uint64_t limit_group = 0;  ///< ranks with the same number share the limit
};

/// What the launcher itself may use, and so could have let its ranks use.
struct LaunchedBy {
  LaunchKind kind = LaunchKind::none;
  CpuMask may_use;  ///< all processors of the node where the launcher is not known
};

enum class Binding : std::uint8_t {
  none,       ///< ranks may use all that their launcher may
  exclusive,  ///< fewer, and no other rank of the node may use these
  shared      ///< fewer, and other ranks may use some of them
};
[[nodiscard]] std::string binding_name(Binding binding);

/// Where a rank stands and what follows.
struct Placement {
  int cores = 1;         ///< that the rank may use
  int share = 1;         ///< of these, after sharing with other ranks and by the control group's limit; at least 1
  int ranks_node = 1;    ///< ranks on its node
  int ranks_shared = 1;  ///< of these, itself included, which may use one of its cores
  Binding binding = Binding::none;
  int suits = 1;     ///< threads that suit it: its share, or on GPUs less
  int threads = 1;   ///< that it should have
  std::string note;  ///< one line with what to add to the command where threads and cores do not fit; else empty
};

/// The decision. `node`: the ranks of a node, this one is node[mine]; `asked`: threads, 0 = what suits; `gpus`: do the
/// ranks compute on GPUs? They then take half of their cores, or 16 on a node where that is more: virtual machines have
/// stood still for most of the time when all of 64 processors were busy (results/reference/h200/refinement_host.txt),
/// and threads spin between the loops of a refinement. Of more, from three fourths on, the note speaks. Pure: O(ranks *
/// processors).
[[nodiscard]] Placement decide_placement(std::span<const RankCores> node, std::size_t mine, const LaunchedBy& launched,
                                         int asked, bool gpus = false);

/// Where this rank stands. `asked` = 0: what OMP_NUM_THREADS says, where it is set, else what suits. Collective; a
/// default Communicator is this process alone.
[[nodiscard]] Placement find_placement(const Communicator& comm, int asked, bool gpus = false);

}  // namespace amrbench::support
