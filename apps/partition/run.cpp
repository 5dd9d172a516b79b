#include "apps/partition/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/even_shares.hpp"
#include "partitioners/inputs/graph_file.hpp"
#include "partitioners/quality_ranks.hpp"
#include "partitioners/refine/refine.hpp"
#include "partitioners/two_level.hpp"
#include "support/error.hpp"
#include "support/metrics.hpp"

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

double seconds_since(double start) {
  return support::Metrics::steady_seconds() - start;
}

/// Refinement as asked for, on rank 0, which has the graph and the weights of all.
class RowRefinement {
 public:
  /// Makes the graph if there is something to refine. Collective.
  RowRefinement(const Communicator& comm, const PartitionArguments& arguments, PartitionInput& input)
      : arguments_(arguments), input_(input) {
    if (!asked()) return;
    need_graph(comm, arguments, input);
    weights_ = partitioners::on_root<double>(comm, input.points.weights);
  }
  [[nodiscard]] bool asked() const { return arguments_.refine > 0; }

  partitioners::RefineResult refine(int parts, std::span<const std::int32_t> group_of,
                                    std::span<std::int32_t> part) const {
    return partitioners::refine_partition(
        *input_.points.graph, weights_, parts,
        {.rounds = arguments_.refine,
         .goal = arguments_.refine_goal == "volume" ? partitioners::RefineGoal::volume : partitioners::RefineGoal::cut,
         .tolerance = arguments_.refine_tolerance,
         .threads = arguments_.threads,
         .group_of = group_of},
        part);
  }

  /// Between the levels of parts in two levels: time that is not the method's.
  void refine_nodes(int nodes, std::span<std::int32_t> node) {
    if (!asked()) return;
    const double start = support::Metrics::steady_seconds();
    refine(nodes, {}, node);
    node_seconds_ += seconds_since(start);
  }
  /// Seconds of refine_nodes() since this was last asked.
  double take_node_seconds() { return std::exchange(node_seconds_, 0.0); }

 private:
  const PartitionArguments& arguments_;
  const PartitionInput& input_;
  std::vector<double> weights_;
  double node_seconds_ = 0;
};

/// Calls run() as often as asked and notes the times of the slowest rank, without those of refinement within.
template <class Run>
void time_calls(const Communicator& comm, int repetitions, RowRefinement& refinement, PartitionRow& row, Run&& run) {
  std::vector<double> within;
  for (int k = 0; k < repetitions; ++k) {
    // Measured once: giving memory back to the system before every call would make them all pay for getting it again.
    const auto growth = k == 0 ? std::make_optional<partitioners::ResidentGrowth>() : std::nullopt;
    support::barrier(comm);
    const double start = support::Metrics::steady_seconds();
    run();
    const double seconds = seconds_since(start);
    within.push_back(support::all_max(comm, refinement.take_node_seconds()));
    row.times_s.push_back(support::all_max(comm, seconds) - within.back());
    if (growth) row.resident_growth_bytes = support::all_max(comm, static_cast<std::uint64_t>(growth->bytes()));
  }
  if (refinement.asked()) row.refined.emplace().times_s = std::move(within);
}

/// In one process, or where there is only a graph, which lies on rank 0.
void run_on_root(const Communicator& comm, const PartitionArguments& arguments, const PartitionInput& input,
                 const std::string& method, Partitioner& partitioner, PartitionOptions options,
                 RowRefinement& refinement, PartitionRow& row, FoundParts& found) {
  const partitioners::Problem problem = input.points.problem();
  const std::uint64_t here = input.points.here();
  PartitionResult result;
  options.order = false;
  const auto refuse = [&] {
    throw InputError(fmt::format("method {} works on points, and {} has none", method, input.points.name));
  };
  time_calls(comm, arguments.repetitions, refinement, row, [&] {
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

/// The longest of any rank, stage by stage.
partitioners::RankStages slowest(const Communicator& comm, const partitioners::RankStages& mine) {
  std::array<double, 6> s{mine.top_nodes_s, mine.balancing_s, mine.transfer_s,
                          mine.subtrees_s,  mine.traversal_s, mine.return_s};
  support::all_max(comm, std::span<double>(s));
  return {s[0], s[1], s[2], s[3], s[4], s[5], mine.transfer_rounds};
}

void run_on_ranks(const Communicator& comm, const PartitionArguments& arguments, const PartitionInput& input,
                  Partitioner& partitioner, const PartitionOptions& options, RowRefinement& refinement,
                  PartitionRow& row, FoundParts& found) {
  const partitioners::Problem mine = input.points.problem();
  if (partitioner.runs_on_ranks(options)) {
    PartitionOptions parts_alone = options;
    parts_alone.order = false;
    partitioners::RankResult here;
    std::vector<partitioners::RankStages> stages;
    time_calls(comm, arguments.repetitions, refinement, row, [&] {
      here = partitioner.partition_on_ranks(comm, mine, parts_alone);
      stages.push_back(here.stages);
    });
    for (const partitioners::RankStages& s : stages) row.stages.push_back(slowest(comm, s));
    row.memory_bytes = support::all_max(comm, static_cast<std::uint64_t>(here.memory_bytes));
    if (support::any_of_ranks(comm, here.position.size() != here.part.size()))
      here = partitioner.partition_on_ranks(comm, mine, options);
    found = {std::move(here.part), std::move(here.position)};
    return;
  }
  time_calls(comm, arguments.repetitions, refinement, row,
             [&] { found.part = partitioners::assign(comm, partitioner, mine, options).part; });
  row.memory_bytes = row.resident_growth_bytes;
}

/// Refines what the method found, as often as it was called; parts of one node stay on it.
void refine_parts(const Communicator& comm, const PartitionArguments& arguments, const PartitionInput& input,
                  const PartCount& count, const RowRefinement& refinement, PartitionRow& row, FoundParts& found) {
  const std::vector<std::int32_t> unrefined = partitioners::on_root<std::int32_t>(comm, found.part);
  const std::vector<std::int32_t> node_of =
      count.nodes > 0 ? partitioners::group_parts(count.parts, count.nodes) : std::vector<std::int32_t>{};
  std::vector<std::int32_t> part;
  partitioners::check_together(comm, [&] {
    if (!comm.is_root()) return;
    RefinedRow& refined = *row.refined;
    refined.volumes = arguments.refine_goal == "volume";
    for (double& seconds : refined.times_s) {
      part = unrefined;
      const double start = support::Metrics::steady_seconds();
      refined.result = refinement.refine(count.parts, node_of, part);
      seconds += seconds_since(start);
    }
    row.memory_bytes = std::max(row.memory_bytes, refined.result.memory_bytes);
  });
  found.part = partitioners::cut_anew(comm, std::move(part), input.points.here());
}

/// Measures that need the graph: rank 0 makes them of everybody's parts.
void measure_graph(const Communicator& comm, const PartitionArguments& arguments, PartitionInput& input,
                   const PartCount& count, const FoundParts& found, PartitionRow& row) {
  const int parts = count.parts;
  const int nodes = count.nodes > 0 ? count.nodes : arguments.nodes;
  need_graph(comm, arguments, input);
  const std::vector<std::int32_t> part = partitioners::on_root<std::int32_t>(comm, found.part);
  const std::vector<std::int32_t> node_of =
      nodes > 0 ? partitioners::group_parts(parts, nodes) : std::vector<std::int32_t>{};
  const partitioners::PartitionQuality loads = row.quality;
  if (comm.is_root()) {
    row.quality = partitioners::measure_quality(part, parts, {}, &*input.points.graph, arguments.threads);
    if (nodes > 0)
      row.nodes = partitioners::measure_nodes(part, parts, node_of, nodes, {}, *input.points.graph, arguments.threads);
  }
  if (!arguments.machine.empty()) {
    const std::vector<double> weights = partitioners::on_root<double>(comm, input.points.weights);
    if (comm.is_root())
      row.model = partitioners::modelled_cost(
          partitioners::measure_shares(part, parts, weights, *input.points.graph, arguments.threads), input.rates);
  }
  // Loads are known from the ranks' own points.
  const auto take_loads = [](const partitioners::PartitionQuality& from, partitioners::PartitionQuality& to) {
    to.load_max = from.load_max;
    to.load_mean = from.load_mean;
    to.load_min = from.load_min;
  };
  if (comm.is_root()) take_loads(loads, row.quality);
  if (nodes == 0) return;
  std::vector<std::int32_t> node(found.part.size());
  for (std::size_t i = 0; i < node.size(); ++i) node[i] = node_of[static_cast<std::size_t>(found.part[i])];
  const auto of_nodes = partitioners::measure_loads(comm, node, nodes, input.points.weights, input.points.weighted);
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
          .chart = partitioners::chart_from_name(arguments.chart, "--chart"),
          .message_bytes = arguments.message_bytes};
}

PartitionRow run_row(const Communicator& comm, const PartitionArguments& arguments, PartitionInput& input,
                     const std::string& method, Partitioner& partitioner, const PartCount& count, FoundParts& found) {
  const int parts = count.parts;
  const PartitionOptions options = options_of(arguments, parts);
  PartitionRow row;
  row.method = method;
  found = {};
  if (partitioner.needs_graph()) need_graph(comm, arguments, input);
  RowRefinement refinement(comm, arguments, input);
  std::optional<partitioners::TwoLevelPartitioner> two_level;
  if (count.nodes > 0 && refinement.asked())
    two_level.emplace(partitioner, count.nodes,
                      [&](std::span<std::int32_t> node) { refinement.refine_nodes(count.nodes, node); });
  else if (count.nodes > 0)
    two_level.emplace(partitioner, count.nodes);
  Partitioner& used = two_level ? *two_level : partitioner;
  if (comm.size() > 1 && input.points.dim > 0)
    run_on_ranks(comm, arguments, input, used, options, refinement, row, found);
  else
    run_on_root(comm, arguments, input, method, used, options, refinement, row, found);
  if (refinement.asked()) refine_parts(comm, arguments, input, count, refinement, row, found);
  const partitioners::PointInput& points = input.points;
  row.quality = partitioners::measure_loads(comm, found.part, parts, points.weights, points.weighted);
  if (input.has_graph) measure_graph(comm, arguments, input, count, found, row);
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
