#include "apps/partition/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/csv_cells.hpp"

namespace amrbench::apps {

namespace {

using partitioners::PartitionQuality;
using support::Json;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class T>
Json or_null(bool known, T value) {
  return known ? Json(value) : Json(nullptr);
}

/// What refinement found and how long it took; null where none was asked for.
void add_refinement(const PartitionRow& row, Json& json) {
  const bool refined = row.refined.has_value();
  const RefinedRow none;
  const RefinedRow& r = refined ? *row.refined : none;
  json["refine_rounds"] = or_null(refined, r.result.rounds);
  json["refine_moves"] = or_null(refined, r.result.moves);
  json["refine_time_s"] = or_null(refined, median(r.times_s));
  json["unrefined_edge_cut_max"] = or_null(refined, r.result.before.edge_cut_max);
  json["unrefined_edge_cut_total"] = or_null(refined, r.result.before.edge_cut_total);
  json["unrefined_comm_volume_max"] = or_null(refined && r.volumes, r.result.before.volume_max);
  json["unrefined_comm_volume_total"] = or_null(refined && r.volumes, r.result.before.volume_total);
}

using partitioners::RankStages;
struct Stage {
  std::string_view column, words;
  double RankStages::*seconds;
};
constexpr Stage kStages[] = {
    {"top_nodes_s", "top nodes", &RankStages::top_nodes_s}, {"balancing_s", "balancing", &RankStages::balancing_s},
    {"transfer_s", "transfer", &RankStages::transfer_s},    {"subtrees_s", "subtrees", &RankStages::subtrees_s},
    {"traversal_s", "traversal", &RankStages::traversal_s}, {"return_s", "return", &RankStages::return_s}};

bool has_stages(const PartitionRow& row) {
  return !row.stages.empty() && row.stages.front().known();
}

/// Median over repetitions.
double stage_seconds(const PartitionRow& row, const Stage& stage) {
  std::vector<double> seconds;
  for (const RankStages& s : row.stages) seconds.push_back(s.*stage.seconds);
  return median(seconds);
}

void add_stages(const PartitionRow& row, Json& json) {
  const bool known = has_stages(row);
  for (const Stage& stage : kStages) json[std::string(stage.column)] = or_null(known, stage_seconds(row, stage));
  json["transfer_rounds"] = known ? Json(row.stages.back().transfer_rounds) : Json(nullptr);
}

/// Of a machine's model; null where there is none.
void add_model(const PartitionRow& row, Json& json) {
  const bool known = row.model.has_value();
  const partitioners::ModelledCost cost = row.model.value_or(partitioners::ModelledCost{});
  json["model_comp_s"] = or_null(known, cost.comp_s);
  json["model_comm_s"] = or_null(known, cost.comm_s);
  json["model_bsp_s"] = or_null(known, cost.bsp_s);
  json["model_overlap_s"] = or_null(known, cost.overlap_s);
  json["model_total_s"] = or_null(known, cost.total_s);
  json["model_threads_s"] = or_null(known && cost.threads_s > 0, cost.threads_s);
}

/// A line under a row of the table.
std::string stages_line(const PartitionRow& row) {
  if (!has_stages(row)) return "";
  std::string line = "  ";
  for (const Stage& stage : kStages) line += fmt::format("{} {:.4g} s, ", stage.words, stage_seconds(row, stage));
  return line + fmt::format("{} rounds\n", row.stages.back().transfer_rounds);
}

}  // namespace

Json to_json(const PartitionRow& row) {
  const PartitionQuality& q = row.quality;
  const bool graph = q.has_graph;
  Json json{{"method", row.method},
            {"parts", q.parts},
            {"load_max", q.load_max},
            {"load_mean", q.load_mean},
            {"load_min", q.load_min},
            {"imbalance", or_null(q.load_mean > 0, q.load_max / q.load_mean)},
            {"empty_parts", q.empty_parts},
            {"degree_max", or_null(graph, q.degree_max)},
            {"degree_mean", or_null(graph, q.degree_mean)},
            {"edge_cut_max", or_null(graph, q.edge_cut_max)},
            {"edge_cut_total", or_null(graph, q.edge_cut_total)},
            {"comm_volume_max", or_null(graph, q.comm_volume_max)},
            {"comm_volume_total", or_null(graph, q.comm_volume_total)},
            {"boundary_max", or_null(graph, q.boundary_max)},
            {"boundary_total", or_null(graph, q.boundary_total)},
            {"pieces_max", or_null(graph, q.pieces_max)},
            {"pieces_total", or_null(graph, q.pieces_total)}};
  const bool two = row.nodes.has_value();
  const partitioners::NodeQuality none;
  const partitioners::NodeQuality& n = two ? *row.nodes : none;
  json["nodes"] = or_null(two, n.nodes);
  json["node_load_max"] = or_null(two, n.across.load_max);
  json["node_degree_max"] = or_null(two, n.across.degree_max);
  json["node_messages_max"] = or_null(two, n.messages_max);
  json["node_edge_cut_max"] = or_null(two, n.across.edge_cut_max);
  json["node_edge_cut_total"] = or_null(two, n.across.edge_cut_total);
  json["node_comm_volume_max"] = or_null(two, n.across.comm_volume_max);
  json["node_comm_volume_total"] = or_null(two, n.across.comm_volume_total);
  add_refinement(row, json);
  add_model(row, json);
  json["moved_weight"] = or_null(row.moved_weight.has_value(), row.moved_weight.value_or(0));
  json["curve_length"] = or_null(row.curve_length.has_value(), row.curve_length.value_or(0));
  json["curve_jumps"] = or_null(row.curve_jumps.has_value(), row.curve_jumps.value_or(0));
  json["time_s"] = median(row.times_s);
  json["time_min_s"] = row.times_s.empty() ? 0 : *std::min_element(row.times_s.begin(), row.times_s.end());
  json["time_max_s"] = row.times_s.empty() ? 0 : *std::max_element(row.times_s.begin(), row.times_s.end());
  json["repetitions"] = row.times_s.size();
  add_stages(row, json);
  json["memory_bytes"] = row.memory_bytes;
  json["resident_growth_bytes"] = row.resident_growth_bytes;
  return json;
}

std::string to_csv(std::span<const PartitionRow> rows) {
  std::vector<Json> lines;
  for (const PartitionRow& row : rows) lines.push_back(to_json(row));
  return support::rows_to_csv(lines);
}

std::string to_table(std::span<const PartitionRow> rows) {
  constexpr std::string_view kHeader = "{:<16} {:>8} {:>12} {:>12} {:>7} {:>9} {:>11} {:>10} {:>8} {:>10} {:>12}\n";
  std::string text = fmt::format(fmt::runtime(kHeader), "method", "parts", "load max", "load mean", "degree", "cut max",
                                 "cut total", "volume", "pieces", "time s", "memory B");
  for (const PartitionRow& row : rows) {
    const PartitionQuality& q = row.quality;
    const auto count = [&](std::int64_t value) { return q.has_graph ? fmt::format("{}", value) : std::string("-"); };
    text += fmt::format(fmt::runtime(kHeader), row.method, q.parts, fmt::format("{:.8g}", q.load_max),
                        fmt::format("{:.8g}", q.load_mean), count(q.degree_max), count(q.edge_cut_max),
                        count(q.edge_cut_total), count(q.comm_volume_max), count(q.pieces_max),
                        fmt::format("{:.4g}", median(row.times_s)), row.memory_bytes);
    text += stages_line(row);
  }
  return text;
}

}  // namespace amrbench::apps
