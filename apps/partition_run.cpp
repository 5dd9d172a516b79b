#include "apps/partition_run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <span>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/bounded_exchange.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using partitioners::Partitioner;
using partitioners::PartitionOptions;
using partitioners::PartitionResult;
using partitioners::PointInput;
using partitioners::Problem;
using partitioners::RankResult;
using support::Communicator;

constexpr std::size_t kMessageBytes = std::size_t{1} << 24;

/// The curve as its order tells it, on points with coordinates.
void measure_curve(const PointInput& input, const PartitionResult& result, PartitionRow& row) {
  const std::size_t n = result.order.size();
  if (input.dim == 0 || n == 0 || n != input.size) return;
  const partitioners::PointView<double> points = input.problem().points;
  double length = 0;
  std::int64_t jumps = 0;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const double* a = points[result.order[k]];
    const double* b = points[result.order[k + 1]];
    double square = 0;
    for (int d = 0; d < input.dim; ++d) square += (b[d] - a[d]) * (b[d] - a[d]);
    length += std::sqrt(square);
    if (square > 1.0) ++jumps;  // cells are 1 wide: face neighbours are 1 apart
  }
  row.curve_length = length;
  if (input.grid) row.curve_jumps = jumps;
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

/// Everybody's elements on rank 0, in rank order; nothing on the others.
template <class T>
std::vector<T> gather(const Communicator& comm, std::span<const T> mine) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size())), received;
  counts[0] = mine.size();
  std::vector<T> all;
  partitioners::exchange_in_rounds<T>(comm, mine, counts, kMessageBytes, all, received);
  return all;
}

/// One partition over ranks, gathered on rank 0.
void run_on_ranks(const Communicator& comm, const PointInput& input, Partitioner& partitioner,
                  const PartitionOptions& options, int repetitions, PartitionRow& row, PartitionResult& result) {
  const auto rank = static_cast<std::size_t>(comm.rank()), ranks = static_cast<std::size_t>(comm.size());
  const std::size_t begin = input.size * rank / ranks, end = input.size * (rank + 1) / ranks;
  const Problem all = input.problem();
  const auto dim = static_cast<std::size_t>(all.points.dim);
  Problem mine;
  mine.points = {all.points.data.subspan(begin * dim, (end - begin) * dim), all.points.dim};
  if (!all.weights.empty()) mine.weights = all.weights.subspan(begin, end - begin);
  RankResult here;
  time_calls(comm, repetitions, row, [&] { here = partitioner.partition_on_ranks(comm, mine, options); });
  row.memory_bytes = support::all_max(comm, static_cast<std::uint64_t>(here.memory_bytes));
  result.part = gather<std::int32_t>(comm, here.part);
  const std::vector<std::uint64_t> position = gather<std::uint64_t>(comm, here.position);
  result.order.resize(position.size());
  for (std::size_t i = 0; i < position.size(); ++i) result.order[position[i]] = static_cast<std::uint32_t>(i);
}

}  // namespace

PartitionRow run_row(const Communicator& comm, const PartitionArguments& arguments, const PointInput& input,
                     const std::string& method, Partitioner& partitioner, int parts, PartitionResult& result) {
  const Problem problem = input.problem();
  const PartitionOptions options{
      .parts = parts, .threads = arguments.threads, .bucket = arguments.bucket, .splitter = arguments.splitter};
  PartitionRow row;
  row.method = method;
  result = {};
  if (comm.size() > 1) {
    if (input.dim == 0)
      throw support::InputError(fmt::format("method {} works on points, and {} has none", method, input.name));
    run_on_ranks(comm, input, partitioner, options, arguments.repetitions, row, result);
    if (!comm.is_root()) return row;
  } else {
    PartitionOptions parts_alone = options;
    parts_alone.order = false;
    time_calls(comm, arguments.repetitions, row, [&] { result = partitioner.partition(problem, parts_alone); });
    row.memory_bytes = result.memory_bytes;
    if (partitioner.order_costs() && input.dim > 0) result = partitioner.partition(problem, options);
  }
  if (result.part.size() != input.size)
    throw support::InputError(fmt::format("method {} works on points, and {} has none", method, input.name));
  const partitioners::Graph* graph = problem.graph;
  row.quality = partitioners::measure_quality(result.part, parts, problem.weights, graph, arguments.threads);
  if (arguments.nodes > 0)
    row.nodes = partitioners::measure_nodes(result.part, parts, partitioners::group_parts(parts, arguments.nodes),
                                            arguments.nodes, problem.weights, *graph, arguments.threads);
  measure_curve(input, result, row);
  return row;
}

}  // namespace amrbench::apps
