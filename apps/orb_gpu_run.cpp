#include "apps/orb_gpu_run.hpp"

#include "support/cuda_info.hpp"
#include "support/error.hpp"

#if defined(AMRBENCH_CUDA)
#include <chrono>

#include "partitioners/orb/gpus/distributed.hpp"
#include "support/cuda.hpp"
#include "support/cuda_choice.hpp"
#endif

namespace amrbench::apps {

void refuse_without_gpus(const support::Communicator& comm) {
  const std::string problem = support::cuda_info().problem;
  if (support::any_of_ranks(comm, !problem.empty()))
    throw support::InputError("--backend cuda: " + (problem.empty() ? "another rank has no usable GPU" : problem));
}

#if defined(AMRBENCH_CUDA)

namespace {

namespace orb = partitioners;

template <class V>
std::vector<V> on_host(const V* device, std::size_t n) {
  std::vector<V> host(n);
  if (n > 0) support::cuda_check(cudaMemcpy(host.data(), device, n * sizeof(V), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}

/// Times of the run just made, the largest of all ranks'.
void take_times(const support::Communicator& comm, const orb::OrbGpusTimes& times, bool weighted, OrbSummary& summary) {
  const auto most = [&](double seconds) { return support::all_max(comm, seconds); };
  OrbDeviceTimes& d = summary.device;
  d.check_s = most(times.check_s);
  d.bytes_sent = support::all_sum(comm, times.bytes_sent);
  d.phases = {{"cut", most(times.cut_s)},
              {"pack", most(times.pack_s)},
              {"exchange", most(times.exchange_s)},
              {"subtree", most(times.subtree_s)},
              {"labels", most(times.labels_s)}};
  if (weighted) d.phases.insert(d.phases.begin(), {"weights", most(times.weights_s)});
  double cut = 0, move = 0;
  for (const auto& [name, seconds] : d.phases)
    (name == "pack" || name == "exchange" || name == "labels" ? move : cut) += seconds;
  summary.levels = {{.level = 0,
                     .levels = orb::orb_depth(static_cast<std::uint32_t>(summary.leaves)),
                     .passes = times.passes,
                     .cut_s = cut,
                     .move_s = move}};
}

/// Values on this rank's GPU; adds the seconds it took. RunError on all ranks where one lacks memory.
template <class V>
support::DeviceBuffer<V> upload(const support::Communicator& comm, std::span<const V> values, double& seconds) {
  support::DeviceBuffer<V> device;
  std::string problem;
  const auto start = std::chrono::steady_clock::now();
  try {
    device.resize_discard(values.size());
    if (!values.empty())
      support::cuda_check(cudaMemcpy(device.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
                          "cudaMemcpy");
    // A small copy from pageable memory may still be under way, and streams do not wait for it.
    support::cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  } catch (const support::RunError& error) {
    problem = error.what();
  }
  support::agree_on_error(comm, problem);
  seconds += support::all_max(comm, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return device;
}

}  // namespace

template <class T, int Dim>
OrbSummary run_orb_on_gpus(const OrbArguments& arguments, const orb::PointSlice<T>& slice,
                           const support::Communicator& comm) {
  const support::DeviceChoice choice = support::choose_device(comm);
  const std::uint64_t here = slice.here();
  OrbSummary summary;
  summary.n = slice.size;
  summary.leaves = arguments.leaves;
  summary.ranks = comm.size();
  summary.device.gpus = choice.gpus;
  const auto device = upload<T>(comm, slice.points.span(), summary.device.host_to_device_s);
  support::DeviceBuffer<double> device_weights;
  if (slice.weighted) device_weights = upload<double>(comm, slice.weights, summary.device.host_to_device_s);
  orb::OrbGpusOptions options;
  options.leaves = static_cast<std::uint32_t>(arguments.leaves);
  options.side_tolerance = arguments.side_tolerance;
  options.method = arguments.method == "auto" ? "multiway" : arguments.method;
  options.labels = true;
  options.ids = !arguments.permutation_file.empty();
  options.weighted = slice.weighted;
  options.own_gpu = choice.own;
  orb::OrbGpus<T, Dim> gpus(comm, options);
  summary.device.transport = gpus.transport();
  for (int repeat = 0; repeat < arguments.repeat; ++repeat) {
    const orb::OrbTree<T, Dim>& tree = gpus.run(device.data(), here, device_weights.data());
    const double time_s = support::all_max(comm, gpus.times().total_s);
    if (summary.times_s.empty() || time_s <= *std::min_element(summary.times_s.begin(), summary.times_s.end()))
      take_times(comm, gpus.times(), options.weighted, summary);
    summary.times_s.push_back(time_s);
    if (repeat + 1 == arguments.repeat) sum_up_orb(tree, summary);
  }
  take_orb_median(summary);
  const std::vector<std::uint32_t> labels = on_host(gpus.labels(), here);
  summary.labels_hash = support::all_sum(comm, orb::labels_hash(labels, gpus.first()));
  write_orb_numbers(arguments.labels_file, labels, arguments.force);
  if (options.ids) write_orb_numbers(arguments.permutation_file, on_host(gpus.pieces()[0].ids, here), arguments.force);
  return summary;
}

#else

template <class T, int Dim>
OrbSummary run_orb_on_gpus(const OrbArguments& /*arguments*/, const partitioners::PointSlice<T>& /*slice*/,
                           const support::Communicator& /*comm*/) {
  throw support::InputError("--backend cuda: this program was built without CUDA");
}

#endif

template OrbSummary run_orb_on_gpus<float, 2>(const OrbArguments&, const partitioners::PointSlice<float>&,
                                              const support::Communicator&);
template OrbSummary run_orb_on_gpus<float, 3>(const OrbArguments&, const partitioners::PointSlice<float>&,
                                              const support::Communicator&);
template OrbSummary run_orb_on_gpus<double, 2>(const OrbArguments&, const partitioners::PointSlice<double>&,
                                               const support::Communicator&);
template OrbSummary run_orb_on_gpus<double, 3>(const OrbArguments&, const partitioners::PointSlice<double>&,
                                               const support::Communicator&);

}  // namespace amrbench::apps
