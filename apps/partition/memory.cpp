#include "apps/partition/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/memory_estimate.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/inputs/memory_check.hpp"
#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

/// So many parts and nodes may always be asked for; more must have points to hold.
constexpr std::uint64_t kFreeParts = std::uint64_t{1} << 20;
/// From so many bytes on a run takes long enough for its user to wonder.
constexpr double kLarge = 4.0 * 1024 * 1024 * 1024;

void check_count(const char* option, std::uint64_t count, std::uint64_t points) {
  const std::uint64_t most = std::max(points, kFreeParts);
  if (count > most)
    throw support::InputError(
        fmt::format("{} {}: there are {} points; at most {} can be asked for", option, count, points, most));
}

}  // namespace

double least_partition_bytes(const PartitionArguments& arguments, const PartitionInput& input, std::uint64_t points,
                             int ranks) {
  using Form = partitioners::InputSpec::Form;
  const bool weighted = !arguments.weights.empty() || input.points.weighted;
  const int dim = std::max(input.spec.dim, input.points.dim);
  const bool grid = input.spec.form == Form::grid;
  // Coordinates, parts, places along a curve and the coordinates in its order; weights, as given, as integers and by
  // part.
  double a_point = 8.0 * dim + 4;
  if (dim > 0 && std::ranges::any_of(arguments.methods, [](const std::string& m) {
        return !m.starts_with("metis") && !m.starts_with("scotch") && !m.starts_with("zoltan");
      }))
    a_point += 8.0 + 8.0 * dim;
  if (weighted) a_point += 3 * 8.0;
  double bytes = a_point * static_cast<double>(points) / ranks;
  // Rank 0 has the graph: where rows begin, neighbours; parts of all points, points by part, a mark each.
  if (grid) bytes += (8.0 + 4.0 * (input.spec.grid.stencil - 1)) * static_cast<double>(points);
  const bool graph = input.has_graph || !arguments.graph.empty();
  if (graph) bytes += (4.0 + 4.0 + 1.0) * static_cast<double>(points);
  // Of a part: where its points begin and end, its load, its counts, two marks a thread.
  const double threads = partitioners::team_size(arguments.threads);
  const double a_part = 16.0 + (graph ? 8.0 + 5 * 8.0 + 8.0 * threads : 0);
  if (arguments.refine > 0) bytes += (1.0 + 4.0 * threads + (weighted ? 8.0 : 0.0)) * static_cast<double>(points);
  int most_parts = 1, most_nodes = arguments.nodes;
  for (const PartCount& count : arguments.parts) {
    most_parts = std::max(most_parts, count.parts);
    most_nodes = std::max(most_nodes, count.nodes);
  }
  return bytes + a_part * most_parts + (a_part + 8.0) * most_nodes;
}

void check_partition_size(const support::Communicator& comm, const PartitionArguments& arguments, std::uint64_t points,
                          const PartitionInput& input) {
  if (points >= partitioners::kMostPoints)
    throw support::InputError(fmt::format("--input {}: at most 2^32 - 1 points can be measured", arguments.input));
  for (const PartCount& count : arguments.parts)
    check_count("--parts", static_cast<std::uint64_t>(count.parts), points);
  check_count("--nodes", static_cast<std::uint64_t>(arguments.nodes), points);
  const double bytes = least_partition_bytes(arguments, input, points, comm.size());
  const double share = partitioners::memory_share(comm);
  partitioners::check_together(comm, [&] { partitioners::check_memory("--input " + arguments.input, bytes, share); });
  if (comm.is_root() && bytes >= kLarge)
    fmt::print(stderr, "amrbench: note: {} points: takes at least {} on rank 0\n", points, format_bytes(bytes));
}

}  // namespace amrbench::apps
