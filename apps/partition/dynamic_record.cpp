#include "apps/partition/dynamic_record.hpp"

#include <omp.h>

#include <nlohmann/json.hpp>

#include "apps/partition/record.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

namespace {

using support::Json;

Json row_json(const DynamicRow& r) {
  const bool compared = r.new_tree_s.has_value();
  const auto when = [](bool known, auto value) { return known ? Json(value) : Json(nullptr); };
  return {{"round", r.round},
          {"erased", r.erased},
          {"inserted", r.inserted},
          {"moved", r.moved},
          {"erase_s", r.erase_s},
          {"insert_s", r.insert_s},
          {"move_s", r.move_s},
          {"adjust_s", r.adjust_s},
          {"rebuild_s", r.rebuild_s},
          {"cut_s", r.cut_s},
          {"updates_per_s", r.updates_per_s()},
          {"splits", r.adjusted.splits},
          {"merges", r.adjusted.merges},
          {"lifts", r.adjusted.lifts},
          {"rebuilds", r.adjusted.rebuilds},
          {"rebuilt_points", r.adjusted.rebuilt_points},
          {"depth", r.depth},
          {"depth_bound", r.depth_bound},
          {"leaves", r.leaves},
          {"memory_bytes", r.memory_bytes},
          {"load_max", r.quality.load_max},
          {"load_mean", r.quality.load_mean},
          {"edge_cut_max", when(r.quality.has_graph, r.quality.edge_cut_max)},
          {"edge_cut_total", when(r.quality.has_graph, r.quality.edge_cut_total)},
          {"moved_weight", r.moved_weight},
          {"new_tree_s", when(compared, r.new_tree_s.value_or(0))},
          {"new_load_max", when(compared, r.new_quality.load_max)},
          {"new_edge_cut_max", when(compared && r.new_quality.has_graph, r.new_quality.edge_cut_max)},
          {"new_edge_cut_total", when(compared && r.new_quality.has_graph, r.new_quality.edge_cut_total)},
          {"new_moved_weight", when(compared, r.new_moved_weight)}};
}

std::vector<Json> rows_json(std::span<const DynamicRow> rows) {
  std::vector<Json> lines;
  for (const DynamicRow& row : rows) lines.push_back(row_json(row));
  return lines;
}

}  // namespace

std::string dynamic_csv(std::span<const DynamicRow> rows) {
  return support::rows_to_csv(rows_json(rows));
}

Json dynamic_record(const support::Communicator& comm, const PartitionArguments& arguments, const DynamicInput& input,
                    std::span<const DynamicRow> rows) {
  Json json{{"schema", 1}, {"program", "amrbench"}, {"command", "partition --dynamic"}};
  json["input"] = {{"name", input.name}, {"points", input.points}, {"dim", input.dim}};
  json["options"] = {{"method", arguments.methods[0]},     {"parts", arguments.parts[0].parts},
                     {"rounds", arguments.dynamic_rounds}, {"batch", arguments.batch},
                     {"shift", arguments.shift},           {"splitter", arguments.splitter},
                     {"bucket", arguments.bucket},         {"merge", arguments.dynamic_merge},
                     {"balance", arguments.balance},       {"rebuild", arguments.dynamic_rebuild},
                     {"slices", arguments.slices},         {"compare", arguments.dynamic_compare},
                     {"cut_every", arguments.cut_every},   {"neighbours", arguments.neighbours},
                     {"threads", omp_get_max_threads()}};
  json["rows"] = rows_json(rows);
  json["provenance"] = to_json(support::collect_provenance(comm, arguments.words));
  json["provenance"]["notes"] = input.notes;
  return json;
}

}  // namespace amrbench::apps
