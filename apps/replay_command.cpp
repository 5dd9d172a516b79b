#include "apps/replay_command.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "apps/config_check.hpp"
#include "apps/machine_file.hpp"
#include "apps/output_file.hpp"
#include "apps/text_file.hpp"
#include "apps/thread_count.hpp"
#include "loadbalance/replay/lbaf_export.hpp"
#include "loadbalance/replay/replay.hpp"
#include "support/atomic_file.hpp"
#include "support/csv_cells.hpp"
#include "support/error.hpp"
#include "support/progress.hpp"
#include "support/provenance.hpp"

namespace amrbench::apps {

namespace {

using loadbalance::ReplayRow;
using loadbalance::Strategy;
using support::InputError;
using support::Json;

std::vector<Strategy> strategies_of(const ReplayArguments& a) {
  std::vector<Strategy> strategies;
  for (const int ranks : a.ranks)
    for (const std::string& partition : a.partitions)
      for (const std::string& slices : a.slices)
        for (const std::string& weights : a.weights)
          for (const std::string& policy : a.policies)
            for (const int nodes : a.nodes) {
              Strategy s;
              s.ranks = ranks;
              s.partition.method = partition;
              s.partition.splitter = a.splitter;
              s.partition.slices = slices;
              s.partition.rename = a.rename;
              s.partition.nodes = nodes;
              s.balance.policy = policy;
              s.balance.weights = weights;
              s.balance.threshold = a.threshold;
              s.balance.every = a.every;
              strategies.push_back(s);
            }
  return strategies;
}

Json to_json(const ReplayRow& row, const std::string& machine) {
  const Json none(nullptr);
  const bool searched = row.optimum_s > 0.0;
  return {{"ranks", row.strategy.ranks},
          {"partition", row.strategy.partition.method},
          {"slices", row.strategy.partition.slices},
          {"policy", row.strategy.balance.policy},
          {"weights", row.strategy.balance.weights},
          {"machine", machine},
          {"levels", row.strategy.partition.nodes == 0 ? 1 : 2},
          {"nodes", row.halo.nodes.nodes},
          {"time_s", row.times.total()},
          {"stencil_s", row.times.stencil_s},
          {"halo_s", row.times.halo_s},
          {"refine_s", row.times.refine_s},
          {"balance_s", row.times.balance_s},
          {"migrate_s", row.times.migrate_s},
          {"stencil_max_s", row.stencil_max_s},
          {"halo_max_s", row.halo_max_s},
          {"rebalances", row.totals.rebalances},
          {"blocks_migrated", row.totals.blocks_migrated},
          {"bytes_migrated", row.totals.bytes_migrated},
          {"bytes_migrated_least", row.totals.bytes_migrated_least},
          {"imbalance_mean", row.totals.imbalance_mean()},
          {"imbalance_max", row.totals.imbalance_max},
          {"degree_max", row.halo.degree_max},
          {"edge_cut_max", row.halo.edge_cut_max},
          {"comm_bytes_max", row.halo.bytes_max},
          {"node_degree_max", row.halo.nodes.degree_max},
          {"node_messages_max", row.halo.nodes.messages_max},
          {"node_edge_cut_max", row.halo.nodes.edge_cut_max},
          {"node_edge_cut_total", row.halo.nodes.edge_cut_total},
          {"node_comm_bytes_max", row.halo.nodes.bytes_max},
          {"node_comm_bytes_total", row.halo.nodes.bytes_total},
          {"halo_bytes", row.halo_bytes},
          {"node_halo_bytes", row.node_halo_bytes},
          {"ideal_s", row.ideal_s},
          {"optimum_s", searched ? Json(row.optimum_s) : none},
          {"optimum_cuts", searched ? Json(row.optimum_cuts) : none},
          {"optimum_exact", searched ? Json(row.optimum_exact) : none},
          {"regret", searched ? Json(row.regret) : none}};
}

/// Of all rows, a line a refinement.
std::string series_csv(const std::vector<ReplayRow>& rows) {
  std::vector<Json> lines;
  for (const ReplayRow& row : rows)
    for (const loadbalance::ReplayStep& s : row.series)
      lines.push_back({{"ranks", row.strategy.ranks},
                       {"partition", row.strategy.partition.method},
                       {"slices", row.strategy.partition.slices},
                       {"policy", row.strategy.balance.policy},
                       {"weights", row.strategy.balance.weights},
                       {"levels", row.strategy.partition.nodes == 0 ? 1 : 2},
                       {"step", s.step},
                       {"blocks", s.blocks},
                       {"imbalance", s.imbalance},
                       {"cut", s.has_cut ? 1 : 0},
                       {"segment_s", s.segment_s},
                       {"balancing_s", s.balancing_s}});
  return support::rows_to_csv(lines);
}

void print_table(const std::vector<ReplayRow>& rows) {
  constexpr std::string_view kLine = "{:>6} {:<16} {:<8} {:<15} {:<8} {:>10} {:>8} {:>8} {:>10} {:>8} {:>10} {:>8}\n";
  fmt::print(fmt::runtime(kLine), "ranks", "partition", "slices", "policy", "weights", "time s", "stencil", "cuts",
             "moved", "imbal.", "optimum s", "regret");
  for (const ReplayRow& row : rows) {
    const auto percent = [](double share) { return fmt::format("{:.2f} %", 100.0 * share); };
    fmt::print(fmt::runtime(kLine), row.strategy.ranks, row.strategy.partition.method, row.strategy.partition.slices,
               row.strategy.balance.policy, row.strategy.balance.weights, fmt::format("{:.5g}", row.times.total()),
               row.times.total() > 0.0 ? percent(row.times.stencil_s / row.times.total()) : "-", row.totals.rebalances,
               row.totals.blocks_migrated, fmt::format("{:.3f}", row.totals.imbalance_mean()),
               row.optimum_s > 0.0 ? fmt::format("{:.5g}", row.optimum_s) : "-",
               row.optimum_s > 0.0 ? percent(row.regret) : "-");
  }
}

int export_command(const ReplayArguments& arguments, const loadbalance::ReplayRequest& request) {
  constexpr int kMostFiles = 65536;
  if (arguments.exported[0] != "lbaf")
    throw InputError(fmt::format("--export {}: unknown format; there is lbaf", arguments.exported[0]));
  if (request.strategies.size() != 1 || request.strategies[0].ranks > kMostFiles)
    throw InputError(fmt::format("--export: give one combination of at most {} ranks", kMostFiles));
  for (int rank = 0; rank < request.strategies[0].ranks; ++rank)
    check_output_file("--export", fmt::format("{}.{}.json", arguments.exported[1], rank), arguments.force);
  const int phases = loadbalance::export_lbaf(arguments.trace, request.strategies[0], request.machine,
                                              arguments.exported[1], arguments.force);
  fmt::print("{} phases of {} ranks\n{}.0.json\n", phases, request.strategies[0].ranks, arguments.exported[1]);
  return 0;
}

}  // namespace

void need_one_process(const MpiSession& mpi, std::string_view command) {
  if (mpi.size() > 1) throw InputError(fmt::format("{}: works in one process; start it without mpiexec", command));
}

int replay_command(const ReplayArguments& arguments, const MpiSession& mpi) {
  need_one_process(mpi, "replay");
  check_output_files(std::array{NamedFile{"--json", arguments.json}, NamedFile{"--csv", arguments.csv},
                                NamedFile{"--series", arguments.series}},
                     std::array{NamedFile{"TRACE", arguments.trace}, NamedFile{"--machine", arguments.machine}},
                     arguments.force);
  const auto comm = support::Communicator::world();
  set_threads_and_tell(comm, arguments.threads);
  loadbalance::ReplayRequest request;
  request.strategies = strategies_of(arguments);
  request.optimum = !arguments.no_optimum;
  if (!arguments.machine.empty()) request.machine = read_machine(arguments.machine);
  if (arguments.ranks_per_node > 0) request.machine.ranks_per_node = arguments.ranks_per_node;
  if (!arguments.exported.empty()) return export_command(arguments, request);
  support::Progress progress(comm);
  const double start = support::Metrics::steady_seconds();
  const std::vector<ReplayRow> rows = loadbalance::replay(arguments.trace, request, [&](double share) {
    if (progress.due()) progress.update(fmt::format("replayed {:.0f} %", 100.0 * share), false);
  });
  const double seconds = support::Metrics::steady_seconds() - start;
  progress.finish(fmt::format("replayed 100 % in {:.1f} s", seconds));
  print_table(rows);
  std::vector<Json> lines;
  for (const ReplayRow& row : rows) lines.push_back(to_json(row, request.machine.name));
  const auto existing = arguments.force ? support::Existing::replace : support::Existing::refuse;
  if (!arguments.csv.empty()) support::write_file_atomically(arguments.csv, support::rows_to_csv(lines), existing);
  if (!arguments.series.empty()) support::write_file_atomically(arguments.series, series_csv(rows), existing);
  if (arguments.json.empty()) return 0;
  Json json{{"schema", 1}, {"program", "amrbench"}, {"command", "replay"}, {"trace", arguments.trace}};
  json["options"] = {{"splitter", arguments.splitter},
                     {"rename", arguments.rename},
                     {"threshold", arguments.threshold},
                     {"every", arguments.every},
                     {"machine", write_machine(request.machine)}};
  json["seconds"] = seconds;
  json["rows"] = lines;
  json["provenance"] = to_json(support::collect_provenance(comm, arguments.words));
  support::write_file_atomically(arguments.json, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                                 existing);
  return 0;
}

}  // namespace amrbench::apps
