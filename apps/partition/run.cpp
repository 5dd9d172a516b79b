#include "apps/partition/run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <span>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/even_shares.hpp"
#include "partitioners/inputs/graph_file.hpp"
#include "partitioners/quality_ranks.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using partitioners::Partitioner;
using partitioners::PartitionOptions;
using partitioners::PartitionResult;
using support::Communicator;
using support::InputError;

/// The graph of a grid is made when it is first needed.
void need_graph(const Communicator& comm, const PartitionArguments& arguments, PartitionInput& input) {
  partitioners::check_together(comm, [&] {
    if (comm.is_root() && input.has_graph && !input.points.graph)
      input.points.graph = partitioners::input_graph(input.spec, arguments.threads);
  });
}

/// Calls run() as often as asked and notes the times of the slowest rank.
template <class Run>
void time_calls(const Communicator& comm, int repetitions, PartitionRow& row, Run&& run) {
  for (int k = 0; k < repetitions; ++k) {
    // Measured once: giving memory back to the system before every call would make them all pay for getting it again.
    const auto growth = k == 0 ? std::make_optional<partitioners::ResidentGrowth>() : std::nullopt;
    support::barrier(comm);
    const auto start = std::chrono::steady_clock::now();
    run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    row.times_s.push_back(support::all_max(comm, seconds));
    if (growth) row.resident_growth_bytes = support::all_max(comm, static_cast<std::uint64_t>(growth->bytes()));
  }
}

/// In one process, or where there is only a graph, which lies on rank 0.
void run_on_root(const Communicator& comm, const PartitionArguments& arguments, const PartitionInput& input,
                 const std::string& method, Partitioner& partitioner, PartitionOptions options, PartitionRow& row,
                 FoundParts& found) {
  const partitioners::Problem problem = input.points.problem();
  const std::uint64_t here = input.points.here();
  PartitionResult result;
  options.order = false;
  const auto refuse = [&] {
    throw InputError(fmt::format("method {} works on points, and {} has none", method, input.points.name));
  };
  time_calls(comm, arguments.repetitions, row, [&] {
    partitioners::check_together(comm, [&] {
      if (!comm.is_root()) return;
      try {
        result = partitioner.partition(problem, options);
      } catch (const InputError&) {
        if (input.points.dim == 0 && !partitioner.needs_graph()) refuse();  // the method speaks of a dimension
        throw;
      }
    });
  });
  partitioners::check_together(comm, [&] {
    if (comm.is_root() && result.part.size() != here) refuse();
  });
  row.memory_bytes = result.memory_bytes;
  options.order = true;
  if (comm.is_root() && partitioner.order_costs() && input.points.dim > 0)
    result = partitioner.partition(problem, options);
  found.position.resize(result.order.size());
  for (std::size_t k = 0; k < result.order.size(); ++k) found.position[result.order[k]] = k;
  found.part = std::move(result.part);
}

void run_on_ranks(const Communicator& comm, const PartitionArguments& arguments, const PartitionInput& input,
                  Partitioner& partitioner, const PartitionOptions& options, PartitionRow& row, FoundParts& found) {
  const partitioners::Problem mine = input.points.problem();
  if (partitioner.runs_on_ranks(options)) {
    PartitionOptions parts_alone = options;
    parts_alone.order = false;
    partitioners::RankResult here;
    time_calls(comm, arguments.repetitions, row,
               [&] { here = partitioner.partition_on_ranks(comm, mine, parts_alone); });
    row.memory_bytes = support::all_max(comm, static_cast<std::uint64_t>(here.memory_bytes));
    if (support::any_of_ranks(comm, here.position.size() != here.part.size()))
      here = partitioner.partition_on_ranks(comm, mine, options);
    found = {std::move(here.part), std::move(here.position)};
    return;
  }
  time_calls(comm, arguments.repetitions, row,
             [&] { found.part = partitioners::assign(comm, partitioner, mine, options).part; });
  row.memory_bytes = row.resident_growth_bytes;
}

/// Measures that need the graph: rank 0 makes them of everybody's parts.
void measure_graph(const Communicator& comm, const PartitionArguments& arguments, PartitionInput& input, int parts,
                   const FoundParts& found, PartitionRow& row) {
  need_graph(comm, arguments, input);
  const std::vector<std::int32_t> part = partitioners::on_root<std::int32_t>(comm, found.part);
  const std::vector<std::int32_t> node_of =
      arguments.nodes > 0 ? partitioners::group_parts(parts, arguments.nodes) : std::vector<std::int32_t>{};
  const partitioners::PartitionQuality loads = row.quality;
  if (comm.is_root()) {
    row.quality = partitioners::measure_quality(part, parts, {}, &*input.points.graph, arguments.threads);
    if (arguments.nodes > 0)
      row.nodes = partitioners::measure_nodes(part, parts, node_of, arguments.nodes, {}, *input.points.graph,
                                              arguments.threads);
  }
  // Loads are known from the ranks' own points.
  const auto take_loads = [](const partitioners::PartitionQuality& from, partitioners::PartitionQuality& to) {
    to.load_max = from.load_max;
    to.load_mean = from.load_mean;
    to.load_min = from.load_min;
  };
  if (comm.is_root()) take_loads(loads, row.quality);
  if (arguments.nodes == 0) return;
  std::vector<std::int32_t> node(found.part.size());
  for (std::size_t i = 0; i < node.size(); ++i) node[i] = node_of[static_cast<std::size_t>(found.part[i])];
  const auto of_nodes =
      partitioners::measure_loads(comm, node, arguments.nodes, input.points.weights, input.points.weighted);
  if (comm.is_root()) take_loads(of_nodes, row.nodes->across);
}

}  // namespace

PartitionOptions options_of(const PartitionArguments& arguments, int parts) {
  return {.parts = parts,
          .threads = arguments.threads,
          .bucket = arguments.bucket,
          .splitter = arguments.splitter,
          .slices = partitioners::slice_rule_from_name(arguments.slices, "--slices"),
          .side_tolerance = arguments.side_tolerance,
          .chart = partitioners::chart_from_name(arguments.chart, "--chart")};
}

PartitionRow run_row(const Communicator& comm, const PartitionArguments& arguments, PartitionInput& input,
                     const std::string& method, Partitioner& partitioner, int parts, FoundParts& found) {
  const PartitionOptions options = options_of(arguments, parts);
  PartitionRow row;
  row.method = method;
  found = {};
  if (partitioner.needs_graph()) need_graph(comm, arguments, input);
  if (comm.size() > 1 && input.points.dim > 0)
    run_on_ranks(comm, arguments, input, partitioner, options, row, found);
  else
    run_on_root(comm, arguments, input, method, partitioner, options, row, found);
  const partitioners::PointInput& points = input.points;
  row.quality = partitioners::measure_loads(comm, found.part, parts, points.weights, points.weighted);
  if (input.has_graph) measure_graph(comm, arguments, input, parts, found, row);
  if (!arguments.previous.empty())
    row.moved_weight = partitioners::moved_weight(comm, found.part, input.previous, points.weights, points.weighted);
  const auto ordered = support::all_sum(comm, static_cast<std::uint64_t>(found.position.size()));
  if (points.dim > 0 && ordered > 0 && ordered == points.size) {
    const auto curve = partitioners::measure_curve(comm, points.problem().points, found.position, input.unit);
    row.curve_length = curve.length;
    if (points.grid) row.curve_jumps = curve.jumps;
  }
  return row;
}

}  // namespace amrbench::apps
