#include "support/run_record.hpp"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace amrbench::support {

namespace {

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

Json to_json(const RunTotals& t) {
  return {{"time_s", t.time_s},
          {"steps", t.steps},
          {"stages", t.stages},
          {"cell_updates", t.cell_updates},
          {"block_stages", t.block_stages},
          {"blocks_final", t.blocks_final},
          {"blocks_mean", t.blocks_mean},
          {"blocks_max", t.blocks_max},
          {"blocks_by_level", t.blocks_by_level},
          {"blocks_split", t.blocks_split},
          {"blocks_merged", t.blocks_merged},
          {"refine_steps", t.refine_steps},
          {"memory_bytes_max_rank", t.memory_bytes_max_rank}};
}

Json to_json(const std::array<PhaseSummary, kPhases>& phases) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kPhases; ++i) {
    const PhaseSummary& p = phases[i];
    json[std::string(phase_name(static_cast<Phase>(i)))] = {
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

Json to_json(const RunBalance& b) {
  return {{"policy", b.policy},
          {"rebalances", b.rebalances},
          {"blocks_migrated", b.blocks_migrated},
          {"bytes_migrated", b.bytes_migrated},
          {"imbalance_mean", b.imbalance_mean},
          {"imbalance_max", b.imbalance_max}};
}

Json to_json(const RunPartition& p) {
  return {{"method", p.method},
          {"degree_max", p.degree_max},
          {"edge_cut_max", p.edge_cut_max},
          {"edge_cut_total", p.edge_cut_total},
          {"comm_bytes_max", p.comm_bytes_max}};
}

Json to_json(const RunDevice& d) {
  return {{"backend", d.backend},
          {"transport", d.transport},
          {"gpus", d.gpus},
          {"launches_per_step", d.launches_per_step},
          {"stencil_s", d.stencil_s},
          {"faces_s", d.faces_s},
          {"wait_s", d.wait_s},
          {"between_s", d.between_s},
          {"link_bytes", d.link_bytes},
          {"memory_bytes_max_rank", d.memory_bytes_max_rank}};
}

Json to_json(const RunField& f) {
  return {{"variable", f.variable}, {"sum", f.sum}, {"sum_squares", f.sum_squares},
          {"min", f.min},           {"max", f.max}, {"checksum_hex", f.checksum_hex}};
}

/// A plain value as a cell: strings bare, doubles as short as they read back equal.
std::string cell_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_float()) {
    const auto x = value.get<double>();
    return std::isfinite(x) ? fmt::format("{}", x) : "";
  }
  if (value.is_null()) return "";
  return value.dump();
}

void flatten(const std::string& name, const Json& value, std::vector<CsvCell>& cells) {
  if (value.is_object()) {
    for (const auto& item : value.items()) {
      flatten(name.empty() ? item.key() : name + "." + item.key(), item.value(), cells);
    }
    return;
  }
  if (!value.is_array()) {
    cells.push_back({name, cell_text(value)});
    return;
  }
  const bool of_objects = name == "fields" || name == "config.object" || (!value.empty() && value.front().is_object());
  if (of_objects) {
    cells.push_back({name + ".count", std::to_string(value.size())});
    return;
  }
  std::string joined;
  for (const Json& element : value) {
    if (!joined.empty()) joined += ';';
    joined += cell_text(element);
  }
  cells.push_back({name, joined});
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

}  // namespace

RunRates derive_rates(const RunTotals& totals, double copy_bandwidth_bytes_per_s) {
  constexpr double kBytesPerUpdate = 16;
  RunRates rates;
  rates.cell_updates_per_s = ratio(static_cast<double>(totals.cell_updates), totals.time_s);
  rates.bytes_per_s = kBytesPerUpdate * rates.cell_updates_per_s;
  rates.copy_bandwidth_bytes_per_s = copy_bandwidth_bytes_per_s;
  rates.roofline_fraction = ratio(rates.bytes_per_s, copy_bandwidth_bytes_per_s);
  return rates;
}

Json to_json(const RunRecord& record) {
  Json fields = Json::array();
  for (const RunField& f : record.fields) fields.push_back(to_json(f));
  Json provenance = to_json(record.provenance);
  provenance["notes"] = record.notes;
  return {{"schema", RunRecord::kSchema},
          {"program", record.program},
          {"version", record.version},
          {"valid", record.valid},
          {"config", Json::parse(record.config)},
          {"provenance", provenance},
          {"totals", to_json(record.totals)},
          {"phases", to_json(record.phases)},
          {"rates", to_json(record.rates)},
          {"balance", to_json(record.balance)},
          {"partition", to_json(record.partition)},
          {"device", to_json(record.device)},
          {"fields", fields},
          {"mesh_crc_hex", record.mesh_crc_hex}};
}

std::vector<CsvCell> to_csv_cells(const RunRecord& record) {
  std::vector<CsvCell> cells;
  const Json json = to_json(record);
  for (const auto& item : json.items()) {
    flatten(item.key(), item.value(), cells);
    if (item.key() != "fields") continue;
    // The first variable's cells, also when there is none: columns do not depend on values.
    const Json none = to_json(RunField{});
    for (const auto& cell : none.items()) {
      const bool present = !record.fields.empty();
      cells.push_back({"fields.0." + cell.key(), present ? cell_text(item.value().front().at(cell.key())) : ""});
    }
  }
  return cells;
}

std::string to_csv(const RunRecord& record) {
  std::string header;
  std::string row;
  for (const CsvCell& cell : to_csv_cells(record)) {
    if (!header.empty()) {
      header += ',';
      row += ',';
    }
    header += quoted(cell.name);
    row += quoted(cell.value);
  }
  return header + '\n' + row + '\n';
}

void write_run_record(const std::filesystem::path& folder, const RunRecord& record, Existing existing) {
  write_file_atomically(folder / "run.json", to_json(record).dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                        existing);
  write_file_atomically(folder / "run.csv", to_csv(record), existing);
}

}  // namespace amrbench::support
