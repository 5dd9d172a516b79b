// apps/run_record.hpp: names, derived rates, CSV, and files that are written whole or not at all.
#include "apps/run_record.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT: mkdtemp is POSIX

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/error.hpp"

namespace amrbench::apps {
namespace {

using support::CsvCell;
using support::Existing;
using support::RunError;

namespace fs = std::filesystem;

RunRecord sample() {
  RunRecord record;
  record.version = "0.1.0";
  record.valid = true;
  const Json config = {{"mesh", {{"dim", 3}, {"root", {2, 2, 4}}}},
                       {"run", {{"name", "a, \"b\""}, {"overlap", true}}},
                       {"object", {{{"shape", "sphere"}}, {{"shape", "cylinder_x"}}}}};
  record.config = config.dump();
  record.provenance.commit = "unknown";
  record.provenance.ranks = 2;
  record.time_s = 2.5;
  record.memory_bytes_max_rank = 1 << 30;
  record.totals = {10, 200, 1'000'000'000, 4000, 27, 30, {0, 3, 24}, 5, 2, 4, 9};
  record.phases[static_cast<std::size_t>(support::Phase::halo)] = {0.1, 0.2, 0.3, 7};
  record.rates = derive_rates(record.totals.cell_updates, record.time_s, 32e9);
  record.policy = "every";
  record.balance = {3, 12, 4096, 2048, 4.2, 1.25, 4};
  record.method = "hilbert";
  record.partition = {1, 20, 30, 8192, {2, 1, 3, 12, 15, 4096, 8000}};
  record.fields = {{0, 512.0, 0.1, -1.0, 1.0, "0x1p+9"}, {1, 2.0, 3.0, 4.0, 5.0, "0x1p+1"}};
  record.mesh_crc_hex = "00ff";
  return record;
}

/// A new folder, removed with what is in it.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "amrbench-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string csv_of(const RunRecord& record) {
  return support::to_csv(to_csv_cells(record));
}

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> result;
  for (const auto& item : json.items()) result.push_back(item.key());
  return result;
}

TEST(RunRecord, HasTheNamesOfSchema1InOrder) {
  const Json json = to_json(sample());
  using Names = std::vector<std::string>;
  EXPECT_EQ(keys(json),
            (Names{"schema", "program", "version", "valid", "config", "provenance", "totals", "phases", "rates",
                   "balance", "partition", "device", "checkpoint", "fields", "findings", "mesh_crc_hex", "series"}));
  EXPECT_EQ(keys(json["totals"]),
            (Names{"time_s", "steps", "stages", "cell_updates", "block_stages", "blocks_final", "blocks_mean",
                   "blocks_max", "blocks_by_level", "blocks_split", "blocks_merged", "refine_steps",
                   "memory_bytes_max_rank", "memory_growth_bytes_max_rank"}));
  EXPECT_EQ(keys(json["phases"]),
            (Names{"stencil", "halo", "refine", "balance", "migrate", "checksum", "output", "checkpoint", "other"}));
  EXPECT_EQ(keys(json["phases"]["halo"]), (Names{"min_s", "mean_s", "max_s", "calls"}));
  EXPECT_EQ(keys(json["rates"]),
            (Names{"cell_updates_per_s", "bytes_per_s", "copy_bandwidth_bytes_per_s", "roofline_fraction"}));
  EXPECT_EQ(keys(json["balance"]), (Names{"policy", "rebalances", "blocks_migrated", "bytes_migrated",
                                          "bytes_migrated_least", "imbalance_mean", "imbalance_max"}));
  EXPECT_EQ(keys(json["partition"]), (Names{"method", "degree_max", "edge_cut_max", "edge_cut_total", "comm_bytes_max",
                                            "nodes", "node_degree_max", "node_messages_max", "node_edge_cut_max",
                                            "node_edge_cut_total", "node_comm_bytes_max", "node_comm_bytes_total"}));
  EXPECT_EQ(keys(json["fields"][1]), (Names{"variable", "sum", "sum_squares", "min", "max", "checksum_hex"}));
  EXPECT_EQ(keys(json["device"]), (Names{"backend", "transport", "gpus", "launches_per_step", "stencil_s", "faces_s",
                                         "wait_s", "between_s", "link_bytes", "memory_bytes_max_rank"}));
  EXPECT_EQ(keys(json["checkpoint"]),
            (Names{"count", "bytes", "bytes_per_s", "disk_bytes_per_s", "disk_fraction", "restarts", "restart_step"}));
  EXPECT_EQ(json["checkpoint"]["restart_step"], -1);
  EXPECT_EQ(json["device"]["backend"], "cpu");
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["valid"], true);
  EXPECT_EQ(json["totals"]["blocks_by_level"], (std::vector<int>{0, 3, 24}));
  EXPECT_EQ(json["totals"]["memory_bytes_max_rank"], 1 << 30);
  EXPECT_EQ(json["phases"]["halo"]["max_s"], 0.3);
  EXPECT_EQ(json["totals"]["time_s"], 2.5);
  EXPECT_EQ(json["totals"]["blocks_final"], 27);
  EXPECT_EQ(json["totals"]["blocks_mean"], 20.0);
  EXPECT_EQ(json["totals"]["blocks_max"], 30);
  EXPECT_EQ(json["totals"]["refine_steps"], 4);
  EXPECT_EQ(json["balance"]["policy"], "every");
  EXPECT_EQ(json["balance"]["rebalances"], 3);
  EXPECT_EQ(json["balance"]["bytes_migrated"], 4096);
  EXPECT_EQ(json["balance"]["bytes_migrated_least"], 2048);
  EXPECT_DOUBLE_EQ(json["balance"]["imbalance_mean"].get<double>(), 1.05);
  EXPECT_EQ(json["balance"]["imbalance_max"], 1.25);
  EXPECT_EQ(json["partition"]["method"], "hilbert");
  EXPECT_EQ(json["partition"]["comm_bytes_max"], 8192);
  EXPECT_EQ(json["partition"]["nodes"], 2);
  EXPECT_EQ(json["partition"]["node_messages_max"], 3);
  EXPECT_EQ(json["partition"]["node_edge_cut_total"], 15);
  EXPECT_EQ(json["partition"]["node_comm_bytes_max"], 4096);
  EXPECT_EQ(json["partition"]["node_comm_bytes_total"], 8000);
  EXPECT_EQ(json["fields"][0]["checksum_hex"], "0x1p+9");
}

TEST(RunRecord, DerivesRates) {
  const RunRates rates = derive_rates(1'000'000'000, 2.5, 32e9);
  EXPECT_DOUBLE_EQ(rates.cell_updates_per_s, 4e8);
  EXPECT_DOUBLE_EQ(rates.bytes_per_s, 6.4e9);
  EXPECT_DOUBLE_EQ(rates.roofline_fraction, 0.2);
  const RunRates none = derive_rates(0, 0, 0);
  EXPECT_EQ(none.cell_updates_per_s, 0);
  EXPECT_EQ(none.roofline_fraction, 0);
}

TEST(RunRecord, CsvHasOneCellAValueAndStableColumns) {
  std::map<std::string, std::string> cells;
  for (const CsvCell& cell : to_csv_cells(sample())) {
    EXPECT_TRUE(cells.emplace(cell.name, cell.value).second) << cell.name << " twice";
  }
  EXPECT_EQ(cells.at("valid"), "true");
  EXPECT_EQ(cells.at("config.mesh.root"), "2;2;4");
  EXPECT_EQ(cells.at("config.object.count"), "2");
  EXPECT_EQ(cells.at("totals.blocks_by_level"), "0;3;24");
  EXPECT_EQ(cells.at("phases.halo.mean_s"), "0.2");
  EXPECT_EQ(cells.at("fields.count"), "2");
  EXPECT_EQ(cells.at("fields.0.sum_squares"), "0.1");
  EXPECT_EQ(cells.count("fields.1.sum"), 0U);
  const std::string csv = csv_of(sample());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_EQ(csv.rfind("schema,program,version,valid,config.mesh.dim,", 0), 0U) << csv;
  EXPECT_NE(csv.find("\"a, \"\"b\"\"\""), std::string::npos) << csv;

  RunRecord other = sample();  // other values, fewer of them: same columns
  other.fields.clear();
  other.totals.blocks_by_level.clear();
  Json config = Json::parse(other.config);
  config["object"] = Json::array();
  other.config = config.dump();
  other.rates.roofline_fraction = std::numeric_limits<double>::quiet_NaN();
  const std::string other_csv = csv_of(other);
  EXPECT_EQ(other_csv.substr(0, other_csv.find('\n')), csv.substr(0, csv.find('\n')));
}

TEST(RunRecord, WritesBothFilesAndOverwritesNothing) {
  const Folder folder;
  write_run_record(folder.path(), sample());
  EXPECT_EQ(Json::parse(read(folder.path() / "run.json")), to_json(sample()));
  EXPECT_EQ(read(folder.path() / "run.csv"), csv_of(sample()));
  EXPECT_EQ(folder.files(), 2U);  // nothing temporary stays
  RunRecord changed = sample();
  changed.valid = false;
  EXPECT_THROW(write_run_record(folder.path(), changed), RunError);
  EXPECT_EQ(read(folder.path() / "run.csv"), csv_of(sample()));
  write_run_record(folder.path(), changed, Existing::replace);
  EXPECT_EQ(Json::parse(read(folder.path() / "run.json"))["valid"], false);
  EXPECT_EQ(folder.files(), 2U);
}

TEST(RunRecord, NamesAFileThatCannotBeWritten) {
  const Folder folder;
  const fs::path missing = folder.path() / "no-such-folder";
  try {
    write_run_record(missing, sample());
    FAIL() << "no error";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find((missing / "run.csv").string()), std::string::npos) << error.what();
  }
  fs::create_directory(folder.path() / "taken");
  EXPECT_THROW(support::write_file_atomically(folder.path() / "taken", "x", Existing::replace), RunError);
  EXPECT_EQ(folder.files(), 1U);
}

TEST(RunRecord, NotANumberIsNull) {
  RunRecord record = sample();
  record.fields[0].sum = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Json::parse(to_json(record).dump())["fields"][0]["sum"].is_null());
  for (const CsvCell& cell : to_csv_cells(record)) {
    if (cell.name == "fields.0.sum") {
      EXPECT_EQ(cell.value, "");
    }
  }
}

}  // namespace
}  // namespace amrbench::apps
