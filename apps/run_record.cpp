#include "apps/run_record.hpp"

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace amrbench::apps {

namespace {

using support::CsvCell;

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

Json totals_to_json(const RunRecord& record) {
  const amr::RunTotals& t = record.totals;
  return {{"time_s", record.time_s},
          {"steps", t.steps},
          {"stages", t.stages},
          {"cell_updates", t.cell_updates},
          {"block_stages", t.block_stages},
          {"blocks_final", t.blocks},
          {"blocks_mean", t.blocks_mean()},
          {"blocks_max", t.blocks_max},
          {"blocks_by_level", t.blocks_by_level},
          {"blocks_split", t.blocks_split},
          {"blocks_merged", t.blocks_merged},
          {"refine_steps", t.refine_steps},
          {"memory_bytes_max_rank", record.memory_bytes_max_rank},
          {"memory_growth_bytes_max_rank", record.memory_growth_bytes_max_rank}};
}

Json to_json(const std::array<support::PhaseSummary, support::kPhases>& phases) {
  Json json = Json::object();
  for (std::size_t i = 0; i < support::kPhases; ++i) {
    const support::PhaseSummary& p = phases[i];
    json[std::string(support::phase_name(static_cast<support::Phase>(i)))] = {
        {"min_s", p.min_s}, {"mean_s", p.mean_s}, {"max_s", p.max_s}, {"calls", p.calls}};
  }
  return json;
}

Json to_json(const RunRates& r) {
  return {{"cell_updates_per_s", r.cell_updates_per_s},
          {"bytes_per_s", r.bytes_per_s},
          {"copy_bandwidth_bytes_per_s", r.copy_bandwidth_bytes_per_s},
          {"roofline_fraction", r.roofline_fraction}};
}

Json to_json(const std::string& policy, const loadbalance::BalanceTotals& b) {
  return {{"policy", policy},
          {"rebalances", b.rebalances},
          {"blocks_migrated", b.blocks_migrated},
          {"bytes_migrated", b.bytes_migrated},
          {"bytes_migrated_least", b.bytes_migrated_least},
          {"imbalance_mean", b.imbalance_mean()},
          {"imbalance_max", b.imbalance_max}};
}

Json to_json(const std::string& method, const RunPartition& p) {
  return {{"method", method},
          {"degree_max", p.degree_max},
          {"edge_cut_max", p.edge_cut_max},
          {"edge_cut_total", p.edge_cut_total},
          {"comm_bytes_max", p.comm_bytes_max},
          {"nodes", p.nodes.nodes},
          {"node_degree_max", p.nodes.degree_max},
          {"node_messages_max", p.nodes.messages_max},
          {"node_edge_cut_max", p.nodes.edge_cut_max},
          {"node_edge_cut_total", p.nodes.edge_cut_total},
          {"node_comm_bytes_max", p.nodes.bytes_max},
          {"node_comm_bytes_total", p.nodes.bytes_total}};
}

Json to_json(const RunDevice& d) {
  return {{"backend", d.device.backend}, {"transport", d.device.transport},
          {"gpus", d.device.gpus},       {"launches_per_step", d.launches_per_step},
          {"stencil_s", d.stencil_s},    {"faces_s", d.faces_s},
          {"wait_s", d.wait_s},          {"between_s", d.between_s},
          {"link_bytes", d.link_bytes},  {"memory_bytes_max_rank", d.memory_bytes_max_rank}};
}

Json to_json(const RunCheckpointTotals& c) {
  return {{"count", c.count},
          {"bytes", c.bytes},
          {"bytes_per_s", c.bytes_per_s},
          {"disk_bytes_per_s", c.disk_bytes_per_s},
          {"disk_fraction", c.disk_fraction},
          {"restarts", c.restarts},
          {"restart_step", c.restart_step}};
}

Json to_json(const RunField& f) {
  return {{"variable", f.variable}, {"sum", f.sum}, {"sum_squares", f.sum_squares},
          {"min", f.min},           {"max", f.max}, {"checksum_hex", f.checksum_hex}};
}

Json to_json(const SeriesRow& r) {
  return {{"step", r.step},
          {"refinements", r.refinements},
          {"blocks", r.blocks},
          {"blocks_by_level", r.blocks_by_level},
          {"imbalance", r.decision.imbalance},
          {"decision", loadbalance::action_name(r.decision.action)},
          {"imbalance_after", r.decision.imbalance_after},
          {"blocks_migrated", r.blocks_migrated},
          {"stage_s", r.stage_s},
          {"refine_s", r.refine_s},
          {"balance_s", r.balance_s}};
}

}  // namespace

RunRates derive_rates(std::int64_t cell_updates, double time_s, double copy_bandwidth_bytes_per_s) {
  constexpr double kBytesPerUpdate = 16;
  RunRates rates;
  rates.cell_updates_per_s = ratio(static_cast<double>(cell_updates), time_s);
  rates.bytes_per_s = kBytesPerUpdate * rates.cell_updates_per_s;
  rates.copy_bandwidth_bytes_per_s = copy_bandwidth_bytes_per_s;
  rates.roofline_fraction = ratio(rates.bytes_per_s, copy_bandwidth_bytes_per_s);
  return rates;
}

Json to_json(const RunRecord& record) {
  Json fields = Json::array();
  for (const RunField& f : record.fields) fields.push_back(to_json(f));
  Json findings = Json::array();
  for (const amr::Finding& f : record.findings)
    findings.push_back({{"name", f.name}, {"value", f.value}, {"unit", f.unit}});
  Json series = Json::array();
  for (const SeriesRow& r : record.series) series.push_back(to_json(r));
  Json provenance = support::to_json(record.provenance);
  provenance["notes"] = record.notes;
  return {{"schema", RunRecord::kSchema},
          {"program", record.program},
          {"version", record.version},
          {"valid", record.valid},
          {"config", Json::parse(record.config)},
          {"provenance", provenance},
          {"totals", totals_to_json(record)},
          {"phases", to_json(record.phases)},
          {"rates", to_json(record.rates)},
          {"balance", to_json(record.policy, record.balance)},
          {"partition", to_json(record.method, record.partition)},
          {"device", to_json(record.device)},
          {"checkpoint", to_json(record.checkpoint)},
          {"fields", fields},
          {"findings", findings},
          {"mesh_crc_hex", record.mesh_crc_hex},
          {"series", series}};
}

std::vector<CsvCell> to_csv_cells(const RunRecord& record) {
  constexpr std::array<std::string_view, 5> kOfObjects{"fields", "findings", "config.object", "config.work", "series"};
  std::vector<CsvCell> cells;
  const Json json = to_json(record);
  for (const auto& item : json.items()) {
    support::flatten(item.key(), item.value(), kOfObjects, cells);
    if (item.key() != "fields") continue;
    // The first variable's cells, also when there is none: columns do not depend on values.
    const Json none = to_json(RunField{});
    for (const auto& cell : none.items()) {
      const bool present = !record.fields.empty();
      cells.push_back(
          {"fields.0." + cell.key(), present ? support::cell_text(item.value().front().at(cell.key())) : ""});
    }
  }
  return cells;
}

void write_run_record(const std::filesystem::path& folder, const RunRecord& record, support::Existing existing) {
  const std::string json = to_json(record).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  support::write_file_atomically(folder / "run.csv", support::to_csv(to_csv_cells(record)), existing);
  // Last: with it the run is done. Without it there is no record at all.
  try {
    support::write_file_atomically(folder / "run.json", json, existing);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(folder / "run.csv", ignored);
    throw;
  }
}

}  // namespace amrbench::apps
