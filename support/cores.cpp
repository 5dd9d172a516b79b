#include "support/cores.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "support/cgroup.hpp"
#include "support/mpi.hpp"
#include "support/provenance.hpp"

namespace amrbench::support {

namespace {

std::string cores_of(int n) {
  return fmt::format("{} core{}", n, n == 1 ? "" : "s");
}

std::string threads_of(int n) {
  return fmt::format("{} thread{}", n, n == 1 ? "" : "s");
}

/// What lets each rank use `cores` cores, as words of the launcher's command.
std::string how_to_give(LaunchKind kind, int cores, bool all) {
  switch (kind) {
    case LaunchKind::open_mpi:
      return all ? "add --bind-to none to mpirun" : fmt::format("add --map-by slot:PE={} to mpirun", cores);
    case LaunchKind::hydra:
      return all ? "add -bind-to none to mpiexec" : fmt::format("add -bind-to core:{} to mpiexec", cores);
    case LaunchKind::intel:
      return all ? "set I_MPI_PIN=off" : fmt::format("set I_MPI_PIN_DOMAIN={}", cores);
    case LaunchKind::slurm:
      return fmt::format("add --cpus-per-task={} to srun", cores);
    case LaunchKind::none:
      break;
  }
  return fmt::format("let it use {}", cores_of(cores));
}

/// Threads and cores that do not fit, in one line; empty where they do.
std::string note_of(const Placement& p, const LaunchedBy& launched, int asked) {
  const int whole = std::max(1, static_cast<int>(launched.may_use.count()));
  const int fair = std::max(1, whole / p.ranks_node);
  const bool bound = p.binding != Binding::none;
  if (p.threads > p.cores) {
    if (bound && p.threads <= whole)
      return fmt::format("{} of a rank take turns on {}, all that it may use: {}, or take --threads {}",
                         threads_of(p.threads), cores_of(p.cores),
                         how_to_give(launched.kind, p.threads, p.ranks_node * p.threads > whole || p.ranks_node == 1),
                         p.suits);
    return fmt::format("{} of a rank take turns on {}, all that it may use: take --threads {}", threads_of(p.threads),
                       cores_of(p.cores), p.suits);
  }
  if (p.threads > p.share && p.ranks_shared > 1)
    return fmt::format("{} of a rank take turns: {} ranks share {}; take --threads {}", threads_of(p.threads),
                       p.ranks_shared, cores_of(p.cores), p.suits);
  if (p.threads > p.share)
    return fmt::format("{} of a rank take turns: its control group gets the time of {}; take --threads {}",
                       threads_of(p.threads), cores_of(p.share), p.suits);
  if (p.threads > p.suits && 4 * p.threads >= 3 * p.share)
    return fmt::format(
        "{} on the {} of a rank that computes on a GPU: some hosts are several times slower with that; take "
        "--threads {}",
        threads_of(p.threads), cores_of(p.share), p.suits);
  // Bound to few, and others lie idle. Who asks for threads knows how many.
  const bool known = launched.kind == LaunchKind::open_mpi || launched.kind == LaunchKind::hydra;
  if (asked == 0 && bound && known && fair >= 2 * p.cores)
    return fmt::format("a rank may use {}, though there are {} for {} rank{} of this node: {}", cores_of(p.cores),
                       whole, p.ranks_node, p.ranks_node == 1 ? "" : "s",
                       how_to_give(launched.kind, fair, p.ranks_node == 1));
  return {};
}

CpuMask all_processors() {
  CpuMask mask;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  for (long cpu = 0; cpu < std::clamp<long>(online, 1, static_cast<long>(mask.size())); ++cpu) mask.set(cpu);
  return mask;
}

/// The affinity mask of this process. With OMP_PROC_BIND the first thread is tied to its place before main(): then the
/// places say what the process may use.
CpuMask own_mask() {
  CpuMask mask;
  const int places = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
  for (int place = 0; place < places; ++place) {
    std::vector<int> cpus(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, cpus.data());
    for (const int cpu : cpus)
      if (cpu >= 0 && cpu < static_cast<int>(mask.size())) mask.set(cpu);
  }
  if (mask.any()) return mask;
  constexpr int kMost = static_cast<int>(mask.size());
  cpu_set_t* const set = CPU_ALLOC(kMost);
  if (set != nullptr) {
    CPU_ZERO_S(CPU_ALLOC_SIZE(kMost), set);
    if (sched_getaffinity(0, CPU_ALLOC_SIZE(kMost), set) == 0)
      for (int cpu = 0; cpu < kMost; ++cpu)
        if (CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(kMost), set)) mask.set(cpu);
    CPU_FREE(set);
  }
  return mask.any() ? mask : all_processors();
}

/// The process that started this one, where that is a launcher: its mask was not narrowed for a rank.
LaunchedBy find_launcher() {
  LaunchedBy launched{LaunchKind::none, all_processors()};
  const std::string folder = fmt::format("/proc/{}/", getppid());
  std::ifstream comm(folder + "comm");
  std::string name;
  std::getline(comm, name);
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_one_of({"slurmstepd"})) {
    launched.kind = LaunchKind::slurm;  // its own mask is the node's, not the job's
    return launched;
  }
  if (!is_one_of({"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte", "mpiexec.hydra",
                  "hydra_pmi_proxy", "hydra_bstrap_proxy"}))
    return launched;
  const std::string library = mpi_library();
  launched.kind = library.starts_with("Open MPI") ? LaunchKind::open_mpi
                  : library.starts_with("Intel")  ? LaunchKind::intel
                                                  : LaunchKind::hydra;
  std::ifstream status(folder + "status");
  constexpr std::string_view kKey = "Cpus_allowed_list:\t";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kKey))
      if (const CpuMask mask = parse_cpu_list(std::string_view(line).substr(kKey.size())); mask.any())
        launched.may_use = mask;
  return launched;
}

}  // namespace

CpuMask parse_cpu_list(std::string_view text) {
  CpuMask mask;
  while (!text.empty()) {
    std::size_t low = 0, high = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), low);
    if (error != std::errc{}) return {};
    high = low;
    if (end != text.data() + text.size() && *end == '-') {
      const auto second = std::from_chars(end + 1, text.data() + text.size(), high);
      if (second.ec != std::errc{}) return {};
      end = second.ptr;
    }
    for (std::size_t cpu = low; cpu <= high && cpu < mask.size(); ++cpu) mask.set(cpu);
    text.remove_prefix(end - text.data());
    if (!text.empty()) text.remove_prefix(1);  // the comma
  }
  return mask;
}

std::string binding_name(Binding binding) {
  return binding == Binding::none ? "none" : binding == Binding::exclusive ? "exclusive" : "shared";
}

Placement decide_placement(std::span<const RankCores> node, std::size_t mine, const LaunchedBy& launched, int asked,
                           bool gpus) {
  const RankCores& own = node[mine];
  Placement p;
  p.ranks_node = static_cast<int>(node.size());
  p.cores = std::max(1, static_cast<int>(own.may_use.count()));
  p.ranks_shared = 0;
  int in_group = 0;
  std::vector<int> users(own.may_use.size(), 0);
  for (const RankCores& rank : node) {
    const CpuMask common = rank.may_use & own.may_use;
    if (common.any()) ++p.ranks_shared;
    if (rank.limit > 0 && rank.limit_group == own.limit_group) ++in_group;
    for (std::size_t cpu = common._Find_first(); cpu < common.size(); cpu = common._Find_next(cpu)) ++users[cpu];
  }
  p.ranks_shared = std::max(1, p.ranks_shared);
  // A core that k ranks may use is 1/k core to each: shares of a node add up to its cores, however masks overlap.
  double share = 0;
  for (const int n : users)
    if (n > 0) share += 1.0 / n;
  if (own.limit > 0) share = std::min(share, own.limit / std::max(1, in_group));
  constexpr double kRounding = 1e-6;
  p.share = std::max(1, static_cast<int>(share + kRounding));
  const bool less = (launched.may_use & ~own.may_use).any();
  p.binding = !less ? Binding::none : p.ranks_shared > 1 ? Binding::shared : Binding::exclusive;
  constexpr int kAlways = 16;  // threads on a node, with which no host has stood still
  p.suits = gpus ? std::min(p.share, std::max(p.share - p.share / 2, kAlways / p.ranks_node)) : p.share;
  p.threads = asked > 0 ? asked : p.suits;
  p.note = note_of(p, launched, asked);
  return p;
}

Placement find_placement(const Communicator& comm, int asked, bool gpus) {
  const CgroupLimits limits = cgroup_limits();
  const RankCores own{own_mask(), limits.cpus, std::hash<std::string>{}(limits.cpu_group)};
  const Communicator here = comm ? comm.split_node() : Communicator();
  const std::vector<RankCores> node = comm ? all_gather(here, own) : std::vector<RankCores>{own};
  if (asked <= 0 && std::getenv("OMP_NUM_THREADS") != nullptr) asked = omp_get_max_threads();
  return decide_placement(node, here.rank(), find_launcher(), asked, gpus);
}

}  // namespace amrbench::support
