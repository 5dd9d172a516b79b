#pragma once
// The run record: everything a run reports, as plain data, as JSON, and as one line of CSV.
//
// Schema 1. Names of the members are the names in the files (docs/run-record.md); they are stable: a later version may
// add some, a change of meaning raises `schema`. JSON is the source, CSV is flattened from it. Numbers that are not
// finite become null in JSON and an empty cell in CSV, because JSON has no such numbers.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/atomic_file.hpp"
#include "support/metrics.hpp"
#include "support/provenance.hpp"

namespace amrbench::support {

/// A cell update is one cell times one variable times one stage.
struct RunTotals {
  double time_s = 0;  ///< wall time of the run, set-up excluded, slowest rank
  std::int64_t steps = 0;
  std::int64_t stages = 0;
  std::int64_t cell_updates = 0;
  std::int64_t block_stages = 0;  ///< blocks present, summed over stages
  std::int64_t blocks_final = 0;
  double blocks_mean = 0;                     ///< block_stages / stages
  std::int64_t blocks_max = 0;                ///< most after any refinement, the start included
  std::vector<std::int64_t> blocks_by_level;  ///< at the end; index = level
  std::int64_t blocks_split = 0;
  std::int64_t blocks_merged = 0;
  std::int64_t refine_steps = 0;
  std::int64_t memory_bytes_max_rank = 0;  ///< peak resident memory of the largest rank
};

struct RunRates {
  double cell_updates_per_s = 0;
  double bytes_per_s = 0;                 ///< 16 bytes an update: one read and one write of a double
  double copy_bandwidth_bytes_per_s = 0;  ///< measured beside the run
  double roofline_fraction = 0;           ///< bytes_per_s / copy_bandwidth_bytes_per_s
};

/// The rates that follow from the totals; 0 where a divisor is 0.
[[nodiscard]] RunRates derive_rates(const RunTotals& totals, double copy_bandwidth_bytes_per_s);

struct RunBalance {
  std::string policy;
  std::int64_t rebalances = 0;
  std::int64_t blocks_migrated = 0;
  std::int64_t bytes_migrated = 0;
  double imbalance_mean = 0;  ///< of max / mean of the blocks a rank, over refinements
  double imbalance_max = 0;
};

struct RunPartition {
  std::string method;
  std::int64_t degree_max = 0;      ///< most neighbour ranks of any rank
  std::int64_t edge_cut_max = 0;    ///< most faces between ranks of any rank
  std::int64_t edge_cut_total = 0;  ///< all faces between ranks
  std::int64_t comm_bytes_max = 0;  ///< most bytes a rank sends in one exchange
};

/// What computed; zeros but for `backend` on the CPU.
struct RunDevice {
  std::string backend = "cpu";
  std::string transport = "none";          ///< how GPUs exchanged values
  int gpus = 0;                            ///< of all ranks
  double launches_per_step = 0;            ///< kernels; of the rank with most
  double stencil_s = 0;                    ///< GPU time by events, of the slowest rank: stencil
  double faces_s = 0;                      ///< faces and ghosts made on the GPU
  double wait_s = 0;                       ///< the GPU had nothing to do but to wait for messages
  double between_s = 0;                    ///< from the end of stages to the begin of the next ones
  std::int64_t link_bytes = 0;             ///< sent to other ranks, by all ranks
  std::int64_t memory_bytes_max_rank = 0;  ///< most GPU memory of any rank
};

struct RunField {
  int variable = 0;
  double sum = 0;
  double sum_squares = 0;
  double min = 0;
  double max = 0;
  std::string checksum_hex;
};

struct RunRecord {
  static constexpr int kSchema = 1;
  std::string program = "amrbench";
  std::string version;
  bool valid = false;
  std::string config = "{}";  ///< the configuration as resolved, as JSON text
  Provenance provenance;
  std::vector<std::string> notes;  ///< what a reader of the result should know; provenance.notes in the files
  RunTotals totals;
  std::array<PhaseSummary, kPhases> phases{};
  RunRates rates;
  RunBalance balance;
  RunPartition partition;
  RunDevice device;
  std::vector<RunField> fields;
  std::string mesh_crc_hex;
};

[[nodiscard]] Json to_json(const RunRecord& record);

/// One name and one value of the CSV form.
struct CsvCell {
  std::string name;
  std::string value;
};

/// The record as cells. Objects are flattened with dots; an array of plain values becomes one cell with semicolons
/// between them; an array of objects becomes `<name>.count` and, for `fields` only, the cells of its first entry as
/// `fields.0.<name>`. So columns depend on the keys of config and provenance, never on values.
[[nodiscard]] std::vector<CsvCell> to_csv_cells(const RunRecord& record);
/// A header line and a row, quoted after RFC 4180, each ended by a line feed.
[[nodiscard]] std::string to_csv(const RunRecord& record);

/// run.json and run.csv in `folder`, which must exist. RunError as above. Call on one rank.
void write_run_record(const std::filesystem::path& folder, const RunRecord& record,
                      Existing existing = Existing::refuse);

}  // namespace amrbench::support
