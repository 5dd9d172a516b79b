// `amrbench partition`: from the command line to rows of measures and the files asked for.
#include "apps/partition_command.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/partition_files.hpp"
#include "apps/partition_record.hpp"
#include "apps/partition_run.hpp"
#include "partitioners/graph_file.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/point_input.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

namespace fs = std::filesystem;
using partitioners::Partitioner;
using partitioners::PartitionResult;
using partitioners::PointInput;
using support::InputError;
using support::Json;

/// Files that could not be written are found before any work.
void check_outputs(const PartitionArguments& arguments) {
  const std::pair<const char*, const std::string*> outputs[] = {{"--json", &arguments.json},
                                                                {"--csv", &arguments.csv},
                                                                {"--parts-file", &arguments.parts_file},
                                                                {"--picture", &arguments.picture},
                                                                {"--vtk", &arguments.vtk}};
  std::set<fs::path> taken;
  for (const auto& [option, name] : outputs) {
    if (name->empty()) continue;
    const fs::path path(*name);
    std::error_code error;
    if (!taken.insert(fs::absolute(path, error).lexically_normal()).second)
      throw InputError(fmt::format("{} {}: another option writes this file", option, *name));
    if (fs::is_directory(path, error)) throw InputError(fmt::format("{} {}: is a folder", option, *name));
    if (fs::exists(fs::symlink_status(path, error)) && !arguments.force)
      throw InputError(fmt::format("{} {}: exists; --force replaces it", option, *name));
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error))
      throw InputError(fmt::format("{} {}: there is no folder {}", option, *name, folder.string()));
  }
  const bool single = arguments.methods.size() == 1 && arguments.parts.size() == 1;
  for (std::size_t k = 2; k < std::size(outputs); ++k)
    if (!outputs[k].second->empty() && !single)
      throw InputError(fmt::format("{} shows one partition: give one method and one part count", outputs[k].first));
  if (!arguments.picture.empty() && !pictures_available())
    throw InputError(
        "--picture: this build has no libpng; install libpng-dev, then configure and build again (cmake --preset "
        "release)");
}

PointInput load(const PartitionArguments& arguments) {
  PointInput input = partitioners::load_input(arguments.input, arguments.threads);
  if (!arguments.graph.empty()) {
    if (input.graph) throw InputError(fmt::format("--graph {}: the input has a graph already", arguments.graph));
    input.graph = partitioners::read_graph_file(arguments.graph).graph;
    if (input.graph->vertices() != input.size)
      throw InputError(
          fmt::format("--graph {}: {} vertices for {} points", arguments.graph, input.graph->vertices(), input.size));
  }
  if (!arguments.weights.empty()) input.weights = partitioners::load_weights(arguments.weights, input.size);
  if (arguments.nodes > 0 && !input.graph)
    throw InputError("--nodes measures edges between nodes, and this input has no graph; --graph FILE gives one");
  if (!arguments.picture.empty() && input.dim != 2)
    throw InputError(
        fmt::format("--picture: {} has {} dimensions; pictures show 2, --vtk shows 2 and 3", input.name, input.dim));
  if (!arguments.vtk.empty() && input.dim != 2 && input.dim != 3)
    throw InputError(fmt::format("--vtk: {} has {} dimensions; must be 2 or 3", input.name, input.dim));
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
  json["weights"] = !arguments.weights.empty() ? arguments.weights : input.weights.empty() ? "unit" : "input";
  return json;
}

/// Collective.
Json describe(const support::Communicator& comm, const PartitionArguments& arguments, const PointInput& input,
              std::span<const PartitionRow> rows) {
  Json json{{"schema", 1}, {"program", "amrbench"}, {"command", "partition"}};
  json["input"] = describe_input(arguments, input);
  json["options"] = {{"splitter", arguments.splitter},
                     {"bucket", arguments.bucket},
                     {"threads", omp_get_max_threads()},
                     {"repetitions", arguments.repetitions},
                     {"nodes", arguments.nodes > 0 ? Json(arguments.nodes) : Json(nullptr)},
                     {"previous", arguments.previous.empty() ? Json(nullptr) : Json(arguments.previous)}};
  json["rows"] = Json::array();
  for (const PartitionRow& row : rows) json["rows"].push_back(to_json(row));
  json["provenance"] = to_json(support::collect_provenance(comm, arguments.words));
  json["provenance"]["notes"] = input.notes;
  return json;
}

std::string parts_text(std::span<const std::int32_t> part) {
  std::string text;
  for (const std::int32_t p : part) text += fmt::format("{}\n", p);
  return text;
}

/// Pictures and parts of the one partition there is.
void write_views(const PartitionArguments& arguments, const PointInput& input, const PartitionResult& result) {
  const auto existing = arguments.force ? support::Existing::replace : support::Existing::refuse;
  const Drawing drawing{.points = input.problem().points,
                        .grid = input.grid ? &*input.grid : nullptr,
                        .part = result.part,
                        .order = result.order,
                        .curve = arguments.draw == "curve"};
  if (!arguments.picture.empty())
    support::write_file_atomically(arguments.picture, png_picture(drawing, arguments.pixels), existing);
  if (!arguments.vtk.empty()) support::write_file_atomically(arguments.vtk, vtk_file(drawing), existing);
  if (!arguments.parts_file.empty())
    support::write_file_atomically(arguments.parts_file, parts_text(result.part), existing);
}

/// Over ranks only methods that can.
void check_methods(const PartitionArguments& arguments, std::span<const std::unique_ptr<Partitioner>> makers,
                   const MpiSession& mpi) {
  for (std::size_t m = 0; mpi.size() > 1 && m < makers.size(); ++m) {
    if (!makers[m]->runs_on_ranks())
      throw InputError(fmt::format("--method {}: runs on one rank, not on {}; --threads uses more cores",
                                   arguments.methods[m], mpi.size()));
  }
}

void print_row(std::span<const PartitionRow> rows) {
  const std::string table = to_table(rows.last(1));
  fmt::print("{}", rows.size() == 1 ? table : table.substr(table.find('\n') + 1));
  std::fflush(stdout);
}

}  // namespace

int partition_command(const PartitionArguments& arguments, const MpiSession& mpi) {
  std::vector<std::unique_ptr<Partitioner>> makers;
  for (const std::string& method : arguments.methods) makers.push_back(partitioners::make_partitioner(method));
  check_methods(arguments, makers, mpi);
  check_outputs(arguments);
  if (arguments.threads > 0) omp_set_num_threads(arguments.threads);
  const auto comm = support::Communicator::world();
  const PointInput input = load(arguments);
  if (comm.is_root())
    for (const std::string& note : input.notes) fmt::print(stderr, "amrbench: note: {}\n", note);
  std::vector<std::int32_t> previous;
  if (!arguments.previous.empty()) previous = partitioners::load_parts(arguments.previous, input.size);

  std::vector<PartitionRow> rows;
  PartitionResult result;
  for (std::size_t m = 0; m < makers.size(); ++m) {
    for (const int parts : arguments.parts) {
      rows.push_back(run_row(comm, arguments, input, arguments.methods[m], *makers[m], parts, result));
      if (!comm.is_root()) continue;
      if (!arguments.previous.empty())
        rows.back().moved_weight = partitioners::moved_weight(result.part, previous, input.weights);
      print_row(rows);
    }
  }
  const Json record = describe(comm, arguments, input, rows);
  if (!comm.is_root()) return 0;
  write_views(arguments, input, result);
  const auto existing = arguments.force ? support::Existing::replace : support::Existing::refuse;
  if (!arguments.csv.empty()) support::write_file_atomically(arguments.csv, to_csv(rows), existing);
  if (!arguments.json.empty())
    support::write_file_atomically(arguments.json, record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                                   existing);
  return 0;
}

}  // namespace amrbench::apps
