#include "apps/device_report.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "support/bandwidth.hpp"
#include "support/cuda_info.hpp"

#if defined(AMRBENCH_CUDA)
#include "support/cuda.hpp"
#include "support/cuda_choice.hpp"
#include "support/device_bandwidth.hpp"
#endif

namespace amrbench::apps {

namespace {

#if defined(AMRBENCH_CUDA)
double device_roofline(const support::Communicator& comm) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  static_cast<void>(support::choose_device(comm));
  std::size_t free = 0, total = 0;
  support::cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  // Ranks that share a GPU measure at the same time, each with its share of what is free.
  const std::size_t bytes = std::min(kBytes, free / 4 / std::size_t(comm.size())) / 16 * 16;
  constexpr std::size_t kLeast = std::size_t{1} << 28;
  if (!support::all_of_ranks(comm, bytes >= kLeast || bytes == kBytes)) return 0.0;
  return support::all_sum(comm, support::measure_device_copy(bytes).bytes_per_s);
}
#endif

}  // namespace

double measure_roofline(const support::Communicator& comm, const amr::DeviceConfig& config) {
#if defined(AMRBENCH_CUDA)
  if (config.backend == "cuda") return device_roofline(comm);
#endif
  static_cast<void>(config);
  return support::measure_copy_bandwidth(comm).bytes_per_s;
}

double device_memory_share(const support::Communicator& comm, const amr::DeviceConfig& config) {
#if defined(AMRBENCH_CUDA)
  if (config.backend == "cuda") {
    static_cast<void>(support::choose_device(comm));
    int mine = 0;
    support::cuda_check(cudaGetDevice(&mine), "cudaGetDevice");
    std::size_t free = 0, total = 0;
    support::cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const std::vector<int> all = support::all_gather(comm.split_node(), mine);
    return static_cast<double>(free) / static_cast<double>(std::count(all.begin(), all.end(), mine));
  }
#endif
  static_cast<void>(comm);
  static_cast<void>(config);
  return std::numeric_limits<double>::infinity();
}

RunDevice record_device(const support::MetricsSummary& metrics, const amr::SimulationBase& simulation) {
  constexpr double kNanosecond = 1e-9;
  const auto seconds = [&](const char* name) { return kNanosecond * static_cast<double>(metrics.counter(name).max); };
  RunDevice record;
  record.device = simulation.device();
  record.stencil_s = seconds("device_stencil_ns");
  record.faces_s = seconds("device_faces_ns");
  record.wait_s = seconds("device_wait_ns");
  record.between_s = seconds("device_between_ns");
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, simulation.totals().steps));
  record.launches_per_step = static_cast<double>(metrics.counter("device_launches").max) / steps;
  record.link_bytes = metrics.counter("device_link_bytes").sum;
  record.memory_bytes_max_rank = metrics.counter("device_memory_bytes").max;
  return record;
}

void name_device(const amr::DeviceConfig& config, support::Provenance& provenance) {
  if (config.backend != "cuda") return;
  const support::CudaInfo info = support::cuda_info();
  provenance.cuda = info.toolkit + ", driver for " + info.driver;
  std::set<std::string> names;
  for (const support::CudaDeviceInfo& device : info.devices) names.insert(device.name);
  provenance.gpu.clear();
  for (const std::string& name : names) provenance.gpu += (provenance.gpu.empty() ? "" : ", ") + name;
}

}  // namespace amrbench::apps
