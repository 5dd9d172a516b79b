#pragma once
// The run record: everything a run reports, as plain data, as JSON, and as one line of CSV.
//
// Schema 1. The names in the files (docs/run-record.md) are stable: a later version may add some, a change of meaning
// raises `schema`. JSON is the source, CSV is flattened from it (support/csv_cells.hpp). Numbers that are not finite
// become null in JSON and an empty cell in CSV, because JSON has no such numbers.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "amr/simulation.hpp"
#include "amr/workload.hpp"
#include "apps/run_series.hpp"
#include "loadbalance/balancer.hpp"
#include "loadbalance/nodes.hpp"
#include "support/atomic_file.hpp"
#include "support/csv_cells.hpp"
#include "support/metrics.hpp"
#include "support/provenance.hpp"

namespace amrbench::apps {

using support::Json;

struct RunRates {
  double cell_updates_per_s = 0;          ///< a cell update is one cell times one variable times one stage
  double bytes_per_s = 0;                 ///< 16 bytes an update: one read and one write of a double
  double copy_bandwidth_bytes_per_s = 0;  ///< measured beside the run
  double roofline_fraction = 0;           ///< bytes_per_s / copy_bandwidth_bytes_per_s
};

/// The rates that follow; 0 where a divisor is 0.
[[nodiscard]] RunRates derive_rates(std::int64_t cell_updates, double time_s, double copy_bandwidth_bytes_per_s);

struct RunPartition {
  std::int64_t degree_max = 0;      ///< most neighbour ranks of any rank
  std::int64_t edge_cut_max = 0;    ///< most faces between ranks of any rank
  std::int64_t edge_cut_total = 0;  ///< all faces between ranks
  std::int64_t comm_bytes_max = 0;  ///< most bytes a rank sends in one exchange
  loadbalance::NodeTraffic nodes;   ///< and between nodes
};

/// What computed; zeros but for the back end's name on the CPU.
struct RunDevice {
  amr::StageDevice device;
  double launches_per_step = 0;            ///< kernels; of the rank with most
  double stencil_s = 0;                    ///< GPU time by events, of the slowest rank: stencil
  double faces_s = 0;                      ///< faces and ghosts made on the GPU
  double wait_s = 0;                       ///< the GPU had nothing to do but to wait for messages
  double between_s = 0;                    ///< from the end of stages to the begin of the next ones
  std::int64_t link_bytes = 0;             ///< sent to other ranks, by all ranks
  std::int64_t memory_bytes_max_rank = 0;  ///< most GPU memory of any rank
};

/// What a run spent on checkpoints, those before a restart included.
struct RunCheckpointTotals {
  std::int64_t count = 0;
  std::int64_t bytes = 0;          ///< of all of them
  double bytes_per_s = 0;          ///< by the longest time of a rank in phase checkpoint
  double disk_bytes_per_s = 0;     ///< that the disk takes from all ranks together, measured after the run
  double disk_fraction = 0;        ///< bytes_per_s / disk_bytes_per_s
  std::int64_t restarts = 0;       ///< how often the run was gone on with
  std::int64_t restart_step = -1;  ///< steps done at the last of them; -1: none
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
  support::Provenance provenance;
  std::vector<std::string> notes;          ///< what a reader of the result should know; provenance.notes in the files
  double time_s = 0;                       ///< wall time of the run, set-up excluded, slowest rank
  std::int64_t memory_bytes_max_rank = 0;  ///< peak resident memory of the largest rank
  std::int64_t memory_growth_bytes_max_rank = 0;  ///< that peak less what was resident before the first refinement
  amr::RunTotals totals;
  std::array<support::PhaseSummary, support::kPhases> phases{};
  RunRates rates;
  std::string policy;
  loadbalance::BalanceTotals balance;
  std::string method;
  RunPartition partition;
  RunDevice device;
  RunCheckpointTotals checkpoint;
  std::vector<RunField> fields;
  std::vector<amr::Finding> findings;  ///< of the workload
  std::string mesh_crc_hex;
  std::vector<SeriesRow> series;
};

[[nodiscard]] Json to_json(const RunRecord& record);

/// The record as cells. Of `fields` the count and the cells of the first entry, as `fields.0.<name>`. Columns depend on
/// the keys of config and provenance, never on values.
[[nodiscard]] std::vector<support::CsvCell> to_csv_cells(const RunRecord& record);

/// run.csv and run.json in `folder`, which must exist: both, run.json last, or none. RunError as
/// write_file_atomically(). Call on one rank.
void write_run_record(const std::filesystem::path& folder, const RunRecord& record,
                      support::Existing existing = support::Existing::refuse);

}  // namespace amrbench::apps
