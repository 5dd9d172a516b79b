#include "apps/orb_command.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/device_report.hpp"
#include "apps/orb_gpu_run.hpp"
#include "apps/orb_summary.hpp"
#include "apps/output_file.hpp"
#include "apps/thread_count.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/inputs/weight_range.hpp"
#include "partitioners/orb/distributed.hpp"
#include "partitioners/orb/orb.hpp"
#include "partitioners/orb/roofline.hpp"
#include "partitioners/weights.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"
#include "support/provenance.hpp"

namespace amrbench::apps {

namespace {

namespace orb = partitioners;
using support::InputError;
using support::Json;

void refuse_weights(const OrbArguments& arguments, bool weighted) {
  if (weighted && arguments.method.starts_with("seed-"))
    throw InputError(fmt::format("--method {}: takes no weights; auto and multiway do", arguments.method));
}

/// The points that this rank makes or reads, with their weights.
template <class T>
orb::PointSlice<T> load(const OrbArguments& arguments, const orb::InputSpec& spec, const support::Communicator& comm) {
  if (spec.n > 0) check_orb_size(comm, arguments, spec.n, spec.dim);  // before points are made
  auto slice = orb::load_slice<T>(comm, spec, arguments.threads);
  if (slice.dim == 0) throw InputError(fmt::format("--input {}: a graph has no points to cut", arguments.input));
  if (slice.dim != 2 && slice.dim != 3)
    throw InputError(fmt::format("--input {}: {} dimensions; orb cuts points of 2 or 3", arguments.input, slice.dim));
  if (!arguments.weights.empty()) {
    slice.weights = orb::load_weights(comm, arguments.weights, slice.size, slice.first, slice.here());
    slice.weighted = true;
  }
  refuse_weights(arguments, slice.weighted);
  check_orb_size(comm, arguments, slice.size, slice.dim);
  for (const std::string& note : orb::check_weight_range(comm, slice.weights, slice.size, orb::kOrbWeightBits))
    if (comm.is_root()) fmt::print(stderr, "amrbench: note: {}\n", note);
  return slice;
}

template <class T, int Dim>
OrbSummary run(const OrbArguments& arguments, const orb::PointSlice<T>& slice) {
  orb::OrbOptions options{.leaves = static_cast<std::uint32_t>(arguments.leaves),
                          .threads = arguments.threads,
                          .method = arguments.method,
                          .side_tolerance = arguments.side_tolerance};
  OrbSummary summary;
  summary.n = slice.size;
  orb::OrbResult<T, Dim> result;
  for (int repeat = 0; repeat < arguments.repeat; ++repeat) {
    orb::orb<T, Dim>({slice.points.span(), Dim}, slice.weights, options, result);
    summary.times_s.push_back(result.time_s);
    if (repeat == 0 || result.time_s <= *std::min_element(summary.times_s.begin(), summary.times_s.end()))
      summary.levels = result.levels;
  }
  take_orb_median(summary);
  sum_up_orb(result.tree, summary);
  summary.labels_hash = orb::labels_hash(result.labels.span());
  write_orb_numbers(arguments.labels_file, result.labels.span(), arguments.force);
  write_orb_numbers(arguments.permutation_file, result.permutation.span(), arguments.force);
  if (arguments.roofline) summary.roofline = orb::measure_orb_roofline<T>(omp_get_max_threads());
  return summary;
}

/// Over ranks; times are those of the slowest.
template <class T, int Dim>
OrbSummary run_on_ranks(const OrbArguments& arguments, const orb::PointSlice<T>& slice,
                        const support::Communicator& comm) {
  const orb::OrbOptions options{.leaves = static_cast<std::uint32_t>(arguments.leaves),
                                .threads = arguments.threads,
                                .side_tolerance = arguments.side_tolerance};
  OrbSummary summary;
  summary.n = slice.size;
  summary.ranks = comm.size();
  orb::OrbDistributed<T, Dim> result;
  for (int repeat = 0; repeat < arguments.repeat; ++repeat) {
    result = orb::orb_distributed<T, Dim>(comm, {slice.points.span(), Dim}, slice.weights, options, std::move(result));
    const double cut_s = support::all_max(comm, result.cut_s);
    const double move_s = support::all_max(comm, result.move_s);
    summary.times_s.push_back(cut_s + move_s);
    summary.levels = {{.level = 0,
                       .levels = orb::orb_depth(options.leaves),
                       .passes = result.passes,
                       .cut_s = cut_s,
                       .move_s = move_s}};
    summary.labels_hash = support::all_sum(comm, orb::labels_hash(result.labels.span(), slice.first));
    if (repeat + 1 == arguments.repeat) sum_up_orb(result.tree, summary);
  }
  take_orb_median(summary);
  return summary;
}

template <class T, int Dim>
OrbSummary run_either_way(const OrbArguments& arguments, const orb::PointSlice<T>& slice,
                          const support::Communicator& comm) {
  if (arguments.backend == "cuda") return run_orb_on_gpus<T, Dim>(arguments, slice, comm);
  return comm.size() > 1 ? run_on_ranks<T, Dim>(arguments, slice, comm) : run<T, Dim>(arguments, slice);
}

template <class T>
OrbSummary load_and_run(const OrbArguments& arguments, const orb::InputSpec& spec, const support::Communicator& comm) {
  const auto slice = load<T>(arguments, spec, comm);
  OrbSummary summary =
      slice.dim == 3 ? run_either_way<T, 3>(arguments, slice, comm) : run_either_way<T, 2>(arguments, slice, comm);
  summary.dim = slice.dim;
  summary.weighted = slice.weighted;
  return summary;
}

Json levels_json(const OrbSummary& summary, double copy) {
  Json levels = Json::array();
  for (const orb::OrbLevel& level : summary.levels)
    levels.push_back({{"level", level.level},
                      {"levels", level.levels},
                      {"passes", level.passes},
                      {"cut_s", level.cut_s},
                      {"move_s", level.move_s},
                      {"bytes", level.bytes},
                      {"predicted_s", copy > 0 ? level.bytes / copy : 0}});
  return levels;
}

Json to_json(const OrbSummary& summary, const OrbArguments& arguments, const support::Provenance& provenance,
             double copy) {
  Json json{{"schema", 1},
            {"program", "amrbench orb"},
            {"input", arguments.input},
            {"dim", summary.dim},
            {"coordinates", arguments.single ? "float" : "double"},
            {"weights", arguments.weights.empty() && summary.weighted ? "input" : arguments.weights},
            {"backend", arguments.backend},
            {"ranks", summary.ranks},
            {"method", arguments.method},
            {"side_tolerance", arguments.side_tolerance},
            {"n", summary.n},
            {"leaves", arguments.leaves},
            {"count_min", summary.count_min},
            {"count_max", summary.count_max},
            {"weight_min", summary.weight_min},
            {"weight_max", summary.weight_max},
            {"tree_hash", fmt::format("{:016x}", summary.tree_hash)},
            {"labels_hash", fmt::format("{:016x}", summary.labels_hash)},
            {"time_s", summary.time_s},
            {"times_s", summary.times_s},
            {"copy_bandwidth_bytes_per_s", copy},
            {"levels", levels_json(summary, copy)}};
  if (arguments.roofline) {
    const orb::OrbRoofline& r = summary.roofline;
    json["roofline"] = {{"operations_a_value", orb::OrbRoofline::kOperationsAValue},
                        {"intensity_operations_a_byte", r.intensity()},
                        {"cache_operations_per_s", r.cache_operations_per_s},
                        {"memory_operations_per_s", r.memory_operations_per_s},
                        {"memory_bytes_per_s", r.memory_bytes_per_s},
                        {"roof_operations_per_s", r.roof(copy)},
                        {"memory_bound", r.memory_bound(copy)}};
  }
  if (arguments.backend == "cuda") {
    const OrbDeviceTimes& d = summary.device;
    json["device"] = {{"gpus", d.gpus},
                      {"transport", d.transport},
                      {"host_to_device_s", d.host_to_device_s},
                      {"check_s", d.check_s},
                      {"bytes_sent", d.bytes_sent}};
    for (const auto& [name, seconds] : d.phases) json["device"][name + "_s"] = seconds;
  }
  json["provenance"] = support::to_json(provenance);
  return json;
}

void print(const OrbSummary& summary, const OrbArguments& arguments, double copy) {
  fmt::print("points        {}\nleaves        {}\npoints a leaf {} to {}\nweight a leaf {:.6g} to {:.6g}\n", summary.n,
             arguments.leaves, summary.count_min, summary.count_max, summary.weight_min, summary.weight_max);
  fmt::print("tree hash     {:016x}\nlabels hash   {:016x}\ntime          {:.4f} s (median of {})\n", summary.tree_hash,
             summary.labels_hash, summary.time_s, summary.times_s.size());
  if (arguments.backend == "cuda")
    fmt::print("on           {} GPU{}, copied there in {:.4f} s\n", summary.device.gpus,
               summary.device.gpus == 1 ? "" : "s", summary.device.host_to_device_s);
  if (!arguments.roofline) return;
  const orb::OrbRoofline& r = summary.roofline;
  fmt::print("\nCounting x <= cut: {:.0f} operations a value, {:.2f} a byte\n", orb::OrbRoofline::kOperationsAValue,
             r.intensity());
  fmt::print("copy bandwidth {:.1f} GB/s, counting reads {:.1f} GB/s, counting in cache {:.1f} Gop/s\n", copy / 1e9,
             r.memory_bytes_per_s / 1e9, r.cache_operations_per_s / 1e9);
  fmt::print("roof {:.1f} Gop/s ({} bound), reached from memory {:.1f} Gop/s\n\n", r.roof(copy) / 1e9,
             r.memory_bound(copy) ? "memory" : "processor", r.memory_operations_per_s / 1e9);
  fmt::print("levels   passes   GB moved   at copy bandwidth   cuts      moves\n");
  for (const orb::OrbLevel& level : summary.levels)
    fmt::print("{:>2} to {:<2} {:>6} {:>10.2f} {:>16.4f} s {:>9.4f} s {:>8.4f} s\n", level.level,
               level.level + level.levels - 1, level.passes, level.bytes / 1e9, level.bytes / copy, level.cut_s,
               level.move_s);
}

/// What only one process does.
void refuse_on_ranks(const OrbArguments& arguments) {
  if (arguments.method != "auto")
    throw InputError(fmt::format("--method {}: several ranks have one method; leave it out", arguments.method));
  if (arguments.roofline) throw InputError("--roofline: only on one rank");
  if (!arguments.labels_file.empty() || !arguments.permutation_file.empty())
    throw InputError("--labels, --permutation: only on one rank");
}

/// What only CPUs do.
void refuse_on_gpus(const OrbArguments& arguments) {
  refuse_weights(arguments, !arguments.weights.empty());
  if (arguments.roofline) throw InputError("--roofline: only with --backend cpu");
  for (const std::string_view method : {"auto", "multiway", "seed-cells", "seed-level", "seed-warp"})
    if (arguments.method == method) return;
  throw InputError(
      fmt::format("--method {}: with --backend cuda there are auto, multiway, seed-cells, seed-level and seed-warp",
                  arguments.method));
}

void check_files(const OrbArguments& arguments, const orb::InputSpec& spec) {
  const NamedFile outputs[] = {
      {"--json", arguments.json}, {"--labels", arguments.labels_file}, {"--permutation", arguments.permutation_file}};
  const NamedFile inputs[] = {{"--input", spec.path}, {"--weights", orb::weights_path(arguments.weights)}};
  check_output_files(outputs, inputs, arguments.force);
}

}  // namespace

int orb_command(const OrbArguments& arguments, const MpiSession& mpi) {
  const auto comm = support::Communicator::world();
  const orb::InputSpec spec = orb::parse_input(arguments.input, arguments.dim);
  orb::check_together(comm, [&] {
    if (comm.is_root()) check_files(arguments, spec);
  });
  if (comm.size() > 1) refuse_on_ranks(arguments);
  if (arguments.backend == "cuda") {
    refuse_on_gpus(arguments);
    refuse_without_gpus(comm);
  }
  set_threads_and_tell(comm, arguments.threads);
  const OrbSummary summary =
      arguments.single ? load_and_run<float>(arguments, spec, comm) : load_and_run<double>(arguments, spec, comm);
  amr::DeviceConfig device;
  device.backend = arguments.backend;
  const double copy = arguments.roofline || !arguments.json.empty() ? measure_roofline(comm, device) : 0;
  auto provenance = support::collect_provenance(comm, arguments.words);
  name_device(device, provenance);
  if (mpi.rank() != 0) return 0;
  print(summary, arguments, copy);
  if (!arguments.json.empty()) {
    support::write_file_atomically(
        arguments.json,
        to_json(summary, arguments, provenance, copy).dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
        arguments.force ? support::Existing::replace : support::Existing::refuse);
  }
  return 0;
}

}  // namespace amrbench::apps
