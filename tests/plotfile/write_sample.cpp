// Runs a configuration and writes the last state as plotfile DIR/plt<step> beside DIR/expected.json, which says what a
// reader must find. Prints what the plotfile cost.
//
//   write_sample CONFIG.toml DIR
#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "amr/field_store.hpp"
#include "amr/plotfile/plotfile.hpp"
#include "amr/simulation.hpp"
#include "apps/config_toml.hpp"
#include "loadbalance/balancer.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench {
namespace {

namespace fs = std::filesystem;

/// A leaf and one of its values.
struct Leaf {
  std::array<std::int64_t, 3> coord;
  std::int64_t level, rank, block;
  std::array<std::int64_t, 3> cell;  ///< within the block
  std::int64_t variable;
  double value;
};

std::vector<Leaf> leaves(const amr::Mesh<3>& mesh, const amr::FieldStore& fields) {
  const kernels::BlockLayout& l = fields.layout();
  std::vector<Leaf> mine;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto& c = mesh.coord(i);
    Leaf leaf{{c[0], c[1], c[2]}, mesh.level(i), mesh.comm().rank(), i, {}, 0, 0.0};
    std::uint64_t dice = support::mix64(mesh.keys()[i]);
    for (int d = 0; d < 3; ++d, dice >>= 16) leaf.cell[d] = std::int64_t((dice & 0xffff) % l.cells[d]);
    leaf.variable = std::int64_t(dice % l.variables);
    leaf.value = fields.block(i)[l.offset(int(leaf.variable), int(leaf.cell[0]), int(leaf.cell[1]), int(leaf.cell[2]))];
    mine.push_back(leaf);
  }
  return support::all_gather_v(mesh.comm(), std::span<const Leaf>(mine));
}

nlohmann::json expected(const apps::Config& config, const amr::Simulation<3>& run, double time) {
  nlohmann::json json{{"root", config.mesh.root},
                      {"block", config.mesh.block},
                      {"variables", config.fields.variables},
                      {"time", time},
                      {"fields", nlohmann::json::array()},
                      {"leaves", nlohmann::json::array()}};
  // Doubles as text of 17 digits: exact, and JSON parsers leave it alone.
  for (const auto& s : run.statistics()) {
    json["fields"].push_back({{"sum", fmt::format("{:.17g}", s.sum().to_double())},
                              {"squares", fmt::format("{:.17g}", s.sum_squares().to_double())},
                              {"min", fmt::format("{:.17g}", s.min())},
                              {"max", fmt::format("{:.17g}", s.max())}});
  }
  for (const Leaf& leaf : leaves(run.mesh(), host_fields(run.fields()))) {
    json["leaves"].push_back({{"level", leaf.level},
                              {"coord", leaf.coord},
                              {"rank", leaf.rank},
                              {"block", leaf.block},
                              {"cell", leaf.cell},
                              {"variable", leaf.variable},
                              {"value", fmt::format("{:.17g}", leaf.value)}});
  }
  return json;
}

double bytes_below(const fs::path& folder) {
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += double(entry.file_size());
  }
  return bytes;
}

void write_sample(const fs::path& config_file, const fs::path& dir) {
  std::ifstream file(config_file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const apps::Config config = apps::parse_toml(text, config_file.string());
  const auto comm = support::Communicator::world();
  loadbalance::Balancer balancer(config.balance, config.partition);
  support::Metrics metrics;
  workloads::Averages workload(config);
  amr::Simulation run(comm, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload, balancer,
                      metrics);
  double now = 0.0;
  std::int64_t last = 0;
  run.run([&](std::int64_t step, double time, const amr::RunTotals&) {
    last = step;
    now = time;
  });
  const fs::path plotfile = dir / fmt::format("plt{:05}", last);
  support::barrier(comm);
  const auto begin = std::chrono::steady_clock::now();
  amr::write_plotfile(plotfile, run.mesh(), run.fields(), amr::PlotInfo{}, last, now);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const nlohmann::json json = expected(config, run, now);
  if (!comm.is_root()) return;
  std::ofstream(dir / "expected.json") << json.dump(1) << '\n';
  const double bytes = bytes_below(plotfile);
  fmt::print("{} blocks, {:.0f} bytes in {:.4f} s: {:.3f} GB/s\n", run.mesh().global_size(), bytes, seconds,
             bytes / seconds * 1e-9);
}

}  // namespace
}  // namespace amrbench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: write_sample CONFIG.toml DIR\n", stderr);
    return 2;
  }
  try {
    const amrbench::support::Environment environment(argc, argv);
    amrbench::write_sample(argv[1], argv[2]);
  } catch (const std::exception& e) {
    fmt::print(stderr, "write_sample: {}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}
