// `amrbench info`.
#include <fmt/ostream.h>
#include <mpi.h>
#include <omp.h>

#include <fstream>
#include <set>
#include <string>
#include <thread>

#if defined(AMRBENCH_CUDA)
#include "support/cuda_link.hpp"
#endif
#include "amr/checkpoint/part.hpp"
#include "apps/commands.hpp"
#include "apps/memory_estimate.hpp"
#include "support/cuda_info.hpp"
#include "support/process_memory.hpp"
#include "support/provenance.hpp"

namespace amrbench::apps {

namespace {

/// Physical cores; 0 when the system does not tell.
std::size_t physical_cores() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> cores;
  std::string package;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("physical id")) package = line;
    if (line.starts_with("core id")) cores.insert(package + line);
  }
  return cores.size();
}

std::string mpi_with_version() {
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  return fmt::format("{} (MPI {}.{})", support::mpi_library(), version, subversion);
}

void line(std::ostream& out, std::string_view name, const std::string& value) {
  fmt::print(out, "  {:<12} {}\n", name, value);
}

}  // namespace

void info_command(std::ostream& out) {
  const support::BuildInfo build = support::build_info();
  fmt::print(out, "amrbench {}\n\nBuild\n", build.version);
  line(out, "commit", build.commit + (build.dirty ? "+changes" : ""));
  line(out, "type", build.build_type);
  line(out, "compiler", build.compiler);
  line(out, "flags", build.flags);
  line(out, "MPI", mpi_with_version());
  line(out, "OpenMP", fmt::format("{}", _OPENMP));
  line(out, "checkpoints", amr::has_checkpoints() ? "HDF5, xxHash" : "not built; they need HDF5 and xxHash");

  const std::size_t cores = physical_cores();
  const unsigned logical = std::thread::hardware_concurrency();
  fmt::print(out, "\nMachine\n");
  line(out, "processor", support::cpu_model());
  line(out, "cores",
       cores == 0 ? fmt::format("{} logical", logical) : fmt::format("{} physical, {} logical", cores, logical));
  line(out, "threads", fmt::format("{} by default for one rank (OpenMP)", omp_get_max_threads()));
  line(out, "memory",
       fmt::format("{}, {} available", format_bytes(static_cast<double>(support::total_memory_bytes())),
                   format_bytes(static_cast<double>(support::available_memory_bytes()))));

  fmt::print(out, "\nBack ends\n");
  line(out, "cpu", "built");
  const support::CudaInfo cuda = support::cuda_info();
  line(out, "cuda",
       cuda.built ? fmt::format("built with CUDA {}; driver: {}{}", cuda.toolkit, cuda.driver,
                                cuda.problem.empty() ? "" : "; unusable: " + cuda.problem)
                  : "not built; AMRBENCH_CUDA=ON scripts/run builds it (needs a CUDA toolkit, 12.0 or later)");
#if defined(AMRBENCH_CUDA)
  line(out, "transports",
       support::nccl_built() ? "nccl, mpi (where the library says so), staged"
                             : "mpi (where the library says so), staged; nccl is not built");
#endif
  for (const support::CudaDeviceInfo& device : cuda.devices) {
    line(out, fmt::format("GPU {}", device.index),
         fmt::format("{}, compute capability {}.{}, {} multiprocessors, {}{}", device.name, device.capability / 10,
                     device.capability % 10, device.multiprocessors, format_bytes(device.memory_bytes),
                     device.supported() ? "" : ", not supported"));
  }
}

}  // namespace amrbench::apps
