// `amrbench partition`: from the command line to rows of measures and the files asked for.
#include "apps/partition/command.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "apps/machine_file.hpp"
#include "apps/output_file.hpp"
#include "apps/partition/dynamic.hpp"
#include "apps/partition/files.hpp"
#include "apps/partition/memory.hpp"
#include "apps/partition/record.hpp"
#include "apps/partition/run.hpp"
#include "apps/thread_count.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/even_shares.hpp"
#include "partitioners/inputs/graph_file.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/inputs/weight_range.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/splitter.hpp"
#include "partitioners/weights.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using partitioners::Partitioner;
using partitioners::PointInput;
using support::InputError;
using support::Json;

constexpr int kBadInput = 2;

/// A method that refused its input.
struct RefusedRow {
  std::string method;
  int parts;
  std::string reason;
};

/// Parts in two levels have their nodes; --nodes cannot say something else.
void check_part_counts(const PartitionArguments& arguments) {
  for (const PartCount& count : arguments.parts)
    if (arguments.nodes > 0 && count.nodes > 0 && count.nodes != arguments.nodes)
      throw InputError(fmt::format("--nodes {}: --parts {}x{} has {} nodes; leave --nodes out", arguments.nodes,
                                   count.nodes, count.parts / count.nodes, count.nodes));
}

bool is_sphere(const partitioners::InputSpec& spec) {
  using Form = partitioners::InputSpec::Form;
  return spec.form == Form::sphere || spec.form == Form::sphere_adaptive;
}

/// Files that could not be written are found before any work.
void check_outputs(const PartitionArguments& arguments, const partitioners::InputSpec& spec) {
  const NamedFile outputs[] = {{"--json", arguments.json},
                               {"--csv", arguments.csv},
                               {"--parts-file", arguments.parts_file},
                               {"--picture", arguments.picture},
                               {"--vtk", arguments.vtk}};
  const NamedFile inputs[] = {{"--input", spec.path},
                              {"--weights", partitioners::weights_path(arguments.weights)},
                              {"--graph", arguments.graph},
                              {"--machine", arguments.machine},
                              {"--previous", arguments.previous}};
  check_output_files(outputs, inputs, arguments.force);
  const bool single = arguments.methods.size() == 1 && arguments.parts.size() == 1;
  for (const NamedFile& file : std::span(outputs).subspan(2))
    if (!file.name.empty() && !single)
      throw InputError(fmt::format("{} shows one partition: give one method and one part count", file.option));
  if (!arguments.picture.empty() && !pictures_available())
    throw InputError(
        "--picture: this build has no libpng; install libpng-dev, then configure and build again (cmake --preset "
        "release)");
}

/// --graph FILE, on rank 0.
void load_graph(const support::Communicator& comm, const PartitionArguments& arguments, PartitionInput& input) {
  if (arguments.graph.empty()) return;
  if (input.has_graph) throw InputError(fmt::format("--graph {}: the input has a graph already", arguments.graph));
  input.has_graph = true;
  partitioners::check_together(comm, [&] {
    if (!comm.is_root()) return;
    input.points.graph = partitioners::read_graph_file(arguments.graph).graph;
    if (input.points.graph->vertices() != input.points.size)
      throw InputError(fmt::format("--graph {}: {} vertices for {} points", arguments.graph,
                                   input.points.graph->vertices(), input.points.size));
  });
}

/// Splitter octree takes cells for blocks of one level: their centres in half cells.
void make_blocks(const PartitionArguments& arguments, PartitionInput& input) {
  partitioners::PointInput& points = input.points;
  if (arguments.splitter != "octree" || !points.grid) return;
  input.unit = 2;
  for (double& x : points.points) x *= input.unit;
  points.blocks = partitioners::BlockGrid{.dim = points.dim};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(points.dim); ++axis)
    points.blocks->root[axis] = static_cast<std::uint32_t>(points.grid->extent[axis]);
}

/// --machine FILE. Every rank reads it.
partitioners::CostRates rates_of(const PartitionArguments& arguments, bool has_graph) {
  if (!has_graph && arguments.graph.empty())
    throw InputError(
        "--machine models what edges between parts cost, and this input has none; --graph FILE gives them");
  const loadbalance::Machine machine = read_machine(arguments.machine);
  partitioners::CostRates rates{.work_s = machine.update_s,
                                .latency_s = machine.latency_s,
                                .byte_s = machine.byte_s,
                                .edge_bytes = arguments.edge_bytes,
                                .comp_phases = arguments.phases[0],
                                .comm_phases = arguments.phases[1],
                                .overlap_phases = arguments.phases[2]};
  if (const std::vector<double>& costs = arguments.thread_costs; !costs.empty()) {
    constexpr double kMostThreads = 1 << 20;
    if (!(costs[0] >= 1 && costs[0] <= kMostThreads) || costs[0] != std::floor(costs[0]))
      throw InputError(
          fmt::format("--thread-costs: {} threads; must be an integer from 1 to {}", costs[0], kMostThreads));
    if (!(machine.cache_bytes > 0))
      throw InputError(fmt::format("{}: --thread-costs needs its cache_bytes, above 0", arguments.machine));
    rates.threads = static_cast<int>(costs[0]);
    rates.cache_bytes = machine.cache_bytes;
    rates.touched_bytes = costs[1];
    rates.fill_s = costs[2];
    rates.syncs = costs[3];
    rates.sync_s = costs[4];
  }
  return rates;
}

PartitionInput load(const support::Communicator& comm, const PartitionArguments& arguments,
                    partitioners::InputSpec spec) {
  using Form = partitioners::InputSpec::Form;
  PartitionInput input;
  input.spec = std::move(spec);
  input.has_graph = input.spec.form == Form::grid || input.spec.form == Form::graph || input.spec.mesh();
  if (arguments.nodes > 0 && !input.has_graph && arguments.graph.empty())
    throw InputError("--nodes measures edges between nodes, and this input has no graph; --graph FILE gives one");
  if (!arguments.machine.empty()) input.rates = rates_of(arguments, input.has_graph);
  if (!arguments.thread_costs.empty() && arguments.machine.empty())
    throw InputError("--thread-costs goes with a model of a machine: give --machine FILE");
  if (arguments.refine > 0 && !input.has_graph && arguments.graph.empty())
    throw InputError("--refine lowers cuts of a graph, and this input has none; --graph FILE gives one");
  const bool made = input.spec.form == Form::generated || input.spec.form == Form::grid;
  if (made) check_partition_size(comm, arguments, input.spec.n, input);  // before points are made
  input.points = partitioners::load_slice<double>(comm, input.spec, arguments.threads);
  partitioners::PointInput& points = input.points;
  if (!made) check_partition_size(comm, arguments, points.size, input);
  if (!arguments.picture.empty() && points.dim != 2 && !is_sphere(input.spec))
    throw InputError(fmt::format("--picture: {} has {} dimensions; pictures show 2 and spheres, --vtk shows 2 and 3",
                                 points.name, points.dim));
  if (!arguments.vtk.empty() && points.dim != 2 && points.dim != 3)
    throw InputError(fmt::format("--vtk: {} has {} dimensions; must be 2 or 3", points.name, points.dim));
  load_graph(comm, arguments, input);
  if (!arguments.weights.empty()) {
    points.weights = partitioners::load_weights(comm, arguments.weights, points.size, points.first, points.here());
    points.weighted = true;
  }
  if (!arguments.previous.empty())
    input.previous = partitioners::load_parts(comm, arguments.previous, points.size, points.here());
  for (std::string& note :
       partitioners::check_weight_range(comm, points.weights, points.size, partitioners::kWeightBits))
    points.notes.push_back(std::move(note));
  make_blocks(arguments, input);
  return input;
}

Json describe_input(const PartitionArguments& arguments, const PointInput& input) {
  Json json{{"name", input.name}, {"points", input.size}, {"dim", input.dim}};
  json["extent"] = nullptr;
  json["stencil"] = nullptr;
  if (input.grid) {
    Json extent = Json::array();
    for (int axis = 0; axis < input.grid->dim; ++axis)
      extent.push_back(input.grid->extent[static_cast<std::size_t>(axis)]);
    json["extent"] = extent;
    json["stencil"] = input.grid->stencil;
  }
  json["edges"] = input.graph ? Json(input.graph->edges()) : Json(nullptr);
  json["weights"] = !arguments.weights.empty() ? arguments.weights : input.weighted ? "input" : "unit";
  return json;
}

/// Collective.
Json describe(const support::Communicator& comm, const PartitionArguments& arguments, const PointInput& input,
              std::span<const PartitionRow> rows, std::span<const RefusedRow> refused) {
  Json json{{"schema", 1}, {"program", "amrbench"}, {"command", "partition"}};
  json["input"] = describe_input(arguments, input);
  json["options"] = {{"splitter", arguments.splitter},
                     {"bucket", arguments.bucket},
                     {"slices", arguments.slices},
                     {"side_tolerance", arguments.side_tolerance},
                     {"chart", arguments.chart},
                     {"dim", arguments.dim > 0 ? Json(arguments.dim) : Json(nullptr)},
                     {"threads", omp_get_max_threads()},
                     {"repetitions", arguments.repetitions},
                     {"message_bytes", arguments.message_bytes},
                     {"nodes", arguments.nodes > 0 ? Json(arguments.nodes) : Json(nullptr)},
                     {"machine", arguments.machine.empty() ? Json(nullptr) : Json(arguments.machine)},
                     {"edge_bytes", arguments.edge_bytes},
                     {"phases", arguments.phases},
                     {"thread_costs", arguments.thread_costs.empty() ? Json(nullptr) : Json(arguments.thread_costs)},
                     {"refine", arguments.refine},
                     {"refine_goal", arguments.refine_goal},
                     {"refine_tolerance", arguments.refine_tolerance},
                     {"previous", arguments.previous.empty() ? Json(nullptr) : Json(arguments.previous)}};
  json["rows"] = Json::array();
  for (const PartitionRow& row : rows) json["rows"].push_back(to_json(row));
  json["refused"] = Json::array();
  for (const RefusedRow& row : refused)
    json["refused"].push_back({{"method", row.method}, {"parts", row.parts}, {"reason", row.reason}});
  json["provenance"] = to_json(support::collect_provenance(comm, arguments.words));
  json["provenance"]["notes"] = input.notes;
  return json;
}

std::string parts_text(std::span<const std::int32_t> part) {
  std::string text;
  for (const std::int32_t p : part) text += fmt::format("{}\n", p);
  return text;
}

/// Pictures and parts of the one partition there is; rank 0 gets everything for them. Collective.
void write_views(const support::Communicator& comm, const PartitionArguments& arguments, const PartitionInput& input,
                 FoundParts found) {
  const auto existing = arguments.force ? support::Existing::replace : support::Existing::refuse;
  const bool drawn = !arguments.picture.empty() || !arguments.vtk.empty();
  if (!drawn && arguments.parts_file.empty()) return;
  const std::vector<std::int32_t> part = partitioners::on_root<std::int32_t>(comm, found.part);
  const std::vector<std::uint64_t> position =
      partitioners::on_root<std::uint64_t>(comm, drawn ? found.position : std::vector<std::uint64_t>{});
  std::string picture, vtk;
  partitioners::check_together(comm, [&] {  // nothing is written before all of it is known to be possible
    if (!comm.is_root() || !drawn) return;
    std::vector<std::uint32_t> order(position.size());
    for (std::size_t i = 0; i < position.size(); ++i) order[position[i]] = static_cast<std::uint32_t>(i);
    const auto all = partitioners::load_slice<double>(support::Communicator(), input.spec, arguments.threads);
    const Drawing drawing{.points = {all.points.span(), all.dim},
                          .grid = all.grid ? &*all.grid : nullptr,
                          .part = part,
                          .order = order,
                          .sphere = is_sphere(input.spec),
                          .curve = arguments.draw == "curve"};
    if (!arguments.picture.empty()) picture = png_picture(drawing, arguments.pixels);
    if (!arguments.vtk.empty()) vtk = vtk_file(drawing);
  });
  if (!comm.is_root()) return;
  if (!arguments.parts_file.empty()) support::write_file_atomically(arguments.parts_file, parts_text(part), existing);
  if (!arguments.picture.empty()) support::write_file_atomically(arguments.picture, picture, existing);
  if (!arguments.vtk.empty()) support::write_file_atomically(arguments.vtk, vtk, existing);
}

void print_row(std::span<const PartitionRow> rows) {
  const std::string table = to_table(rows.last(1));
  fmt::print("{}", rows.size() == 1 ? table : table.substr(table.find('\n') + 1));
  std::fflush(stdout);
}

struct Found {
  std::vector<PartitionRow> rows;
  std::vector<RefusedRow> refused;
  FoundParts last;
};

/// Every method for every part count. Where there are several, one that refuses costs the others nothing: its line is
/// printed and kept. Collective.
Found run_all(const support::Communicator& comm, const PartitionArguments& arguments, PartitionInput& input,
              std::span<const std::unique_ptr<Partitioner>> makers) {
  Found found;
  const bool several = arguments.methods.size() * arguments.parts.size() > 1;
  for (std::size_t m = 0; m < makers.size(); ++m) {
    const std::string& method = arguments.methods[m];
    // Between the levels refinement works on rank 0, and methods that serve nodes do both levels there.
    const bool gathers_levels =
        (arguments.refine > 0 || makers[m]->serves_nodes()) &&
        std::any_of(arguments.parts.begin(), arguments.parts.end(), [](const PartCount& c) { return c.nodes > 0; });
    if (comm.size() > 1 && comm.is_root() && input.points.dim > 0 &&
        (gathers_levels || !makers[m]->runs_on_ranks(options_of(arguments, 1))))
      fmt::print(stderr, "amrbench: note: method {}: works on one rank; all points are gathered on rank 0\n", method);
    for (const PartCount& count : arguments.parts) {
      try {
        found.rows.push_back(run_row(comm, arguments, input, method, *makers[m], count, found.last));
      } catch (const InputError& error) {
        found.refused.push_back({method, count.parts, error.what()});
        if (!several) throw;
        if (comm.is_root()) fmt::print(stderr, "amrbench: error: {}\n", error.what());
        continue;
      }
      if (comm.is_root()) print_row(found.rows);
    }
  }
  return found;
}

}  // namespace

int partition_command(const PartitionArguments& arguments, const MpiSession& /*mpi*/) {
  if (arguments.dynamic_rounds > 0) return dynamic_command(arguments);
  std::vector<std::unique_ptr<Partitioner>> makers;
  for (const std::string& method : arguments.methods) makers.push_back(partitioners::make_partitioner(method));
  partitioners::check_splitter(arguments.splitter);
  (void)partitioners::slice_rule_from_name(arguments.slices, "--slices");
  check_part_counts(arguments);
  (void)partitioners::chart_from_name(arguments.chart, "--chart");
  const auto comm = support::Communicator::world();
  const partitioners::InputSpec spec = partitioners::parse_input(arguments.input, arguments.dim);
  partitioners::check_together(comm, [&] {
    if (comm.is_root()) check_outputs(arguments, spec);
  });
  set_threads_and_tell(comm, arguments.threads);
  PartitionInput input = load(comm, arguments, spec);
  if (comm.is_root())
    for (const std::string& note : input.points.notes) fmt::print(stderr, "amrbench: note: {}\n", note);

  Found found = run_all(comm, arguments, input, makers);
  if (found.rows.empty()) return kBadInput;  // every method has said why
  const Json record = describe(comm, arguments, input.points, found.rows, found.refused);
  write_views(comm, arguments, input, std::move(found.last));
  const int status = found.refused.empty() ? 0 : kBadInput;
  if (!comm.is_root()) return status;
  const auto existing = arguments.force ? support::Existing::replace : support::Existing::refuse;
  if (!arguments.csv.empty()) support::write_file_atomically(arguments.csv, to_csv(found.rows), existing);
  if (!arguments.json.empty())
    support::write_file_atomically(arguments.json, record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                                   existing);
  return status;
}

}  // namespace amrbench::apps
