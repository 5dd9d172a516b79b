// Orthogonal recursive bisection over GPUs, a rank each: checked, then measured. Started by mpiexec on 1, 2, 4 ranks,
// one after another, with one record:
//   mpiexec -n 4 orb_gpus_bench [--strong 30] [--weak 29] [--check 24] [--repeats 5] [--transport auto] [--only-check]
//                               [--only uniform] [--weighted] [--json FILE]
// --strong: log2 of the points of all ranks together; --weak: of each; --check: of all ranks together, whose tree and
// labels must be the CPU's. --weighted: random weights. Times are CUDA events of the slowest rank from a barrier on,
// median of the repeats after two untimed runs; points lie on the GPUs before, and are not checked within the time.
// Rows are added to the record, if there is one, and must have its trees; status 1 when anything differs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/gpus/distributed.hpp"
#include "partitioners/orb/orb.hpp"
#include "support/cuda.hpp"
#include "support/cuda_choice.hpp"
#include "support/cuda_info.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace {

using namespace amrbench;
using namespace amrbench::partitioners;
using Json = nlohmann::ordered_json;
using support::Communicator;

constexpr std::uint32_t kLeaves = 4096;

struct Arguments {
  int strong = 30, weak = 29, check = 24, repeats = 5;
  std::string transport = "auto";
  std::string only;  ///< one kind of points
  std::string json;
  bool only_check = false;
  bool weighted = false;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Times of a run, the largest of all ranks.
struct Run {
  std::array<double, 9> s{};  ///< as kNames
  std::uint64_t bytes_sent = 0, bytes_sent_max = 0;
};
constexpr std::array<const char*, 9> kNames{"total",   "weights", "cut",   "pack", "exchange",
                                            "subtree", "labels",  "check", "wall"};

class Bench {
 public:
  Bench(const Communicator& comm, const Arguments& arguments)
      : comm_(comm), arguments_(arguments), choice_(support::choose_device(comm)) {}

  /// Tree and labels of few points are the CPU's.
  void check() {
    for (const PointKind kind : {PointKind::uniform, PointKind::plummer, PointKind::cluster}) {
      if (!wanted(kind)) continue;
      const std::uint64_t n = std::uint64_t{1} << arguments_.check;
      fill(kind, n);
      OrbGpus<float, 3> gpus(comm_, options(true));
      const std::uint64_t tree = tree_hash(run_once(gpus));
      std::vector<std::uint32_t> labels(mine_);
      if (mine_ > 0)
        support::cuda_check(cudaMemcpy(labels.data(), gpus.labels(), mine_ * sizeof(std::uint32_t), cudaMemcpyDefault),
                            "cudaMemcpy");
      const std::uint64_t hash = support::all_sum(comm_, labels_hash(labels, gpus.first()));
      bool good = true;
      if (comm_.is_root()) {
        std::vector<float> all(3 * n);
        make_points<float>(kind, 3, kSeed, 0, all);
        std::vector<double> weights(arguments_.weighted ? n : 0);
        make_weights(kSeed, 0, weights);
        OrbResult<float, 3> cpu;
        orb<float, 3>({all, 3}, weights, {.leaves = kLeaves, .permutation = false}, cpu);
        good = tree == tree_hash(cpu.tree) && hash == labels_hash(cpu.labels.span());
        fmt::print("{} {} 2^{} points on {} ranks, {} GPUs, transport {}: tree and labels as on the CPU; passes {}\n",
                   good ? "ok  " : "FAIL", name(kind), arguments_.check, comm_.size(), choice_.gpus, gpus.transport(),
                   gpus.times().passes);
        std::fflush(stdout);
      }
      good_ = support::all_of_ranks(comm_, good) && good_;
    }
  }

  void measure() {
    const std::uint64_t strong = std::uint64_t{1} << arguments_.strong;
    const std::uint64_t weak = (std::uint64_t{1} << arguments_.weak) * static_cast<unsigned>(comm_.size());
    for (const PointKind kind : {PointKind::uniform, PointKind::plummer, PointKind::cluster}) {
      if (!wanted(kind)) continue;
      fill(kind, strong);
      row("strong", kind, strong, false);
      if (kind == PointKind::uniform) row("strong", kind, strong, true);
    }
    if (!wanted(PointKind::uniform)) return;
    fill(PointKind::uniform, weak);
    row("weak", PointKind::uniform, weak, false);
  }

  /// Adds the rows to the record. False when a tree is not the one found on other ranks, or a check failed.
  bool finish() {
    bool good = good_;
    if (comm_.is_root() && !arguments_.json.empty()) {
      Json record{{"schema", 1}, {"program", "orb_gpus_bench"}, {"gpu", gpu_name()}, {"rows", Json::array()}};
      if (std::ifstream file(arguments_.json); file) record = Json::parse(file);
      for (Json& row : rows_) {
        for (const Json& other : record["rows"]) {
          if (!same(other, row, {"input", "weights", "n"})) continue;
          if (other["tree_hash"] == row["tree_hash"]) continue;
          good = false;
          fmt::print("FAIL {} n {}: the tree of {} ranks is another one\n", row["input"].get<std::string>(),
                     row["n"].get<std::uint64_t>(), other["ranks"].get<int>());
        }
        set_efficiency(record["rows"], row);
        record["rows"].push_back(row);
      }
      record["checks_passed"] = record.value("checks_passed", true) && good;
      std::ofstream(arguments_.json) << record.dump(2) << '\n';
    }
    return support::all_of_ranks(comm_, good);
  }

 private:
  static constexpr std::uint64_t kSeed = 1;

  static const char* name(PointKind kind) {
    return kind == PointKind::uniform ? "uniform" : kind == PointKind::plummer ? "plummer" : "cluster";
  }
  [[nodiscard]] bool wanted(PointKind kind) const { return arguments_.only.empty() || arguments_.only == name(kind); }
  static bool same(const Json& one, const Json& other, std::initializer_list<const char*> keys) {
    return std::all_of(keys.begin(), keys.end(),
                       [&](const char* key) { return one.value(key, Json()) == other.value(key, Json()); });
  }
  [[nodiscard]] std::string gpu_name() const {
    const support::CudaInfo info = support::cuda_info();
    return info.devices.empty() ? "" : info.devices.front().name;
  }
  [[nodiscard]] OrbGpusOptions options(bool labels) const {
    OrbGpusOptions all;
    all.leaves = kLeaves;
    all.points = !labels;
    all.labels = labels;
    all.weighted = arguments_.weighted;
    all.transport = arguments_.transport;
    all.own_gpu = choice_.own;
    return all;
  }

  /// An error ends all ranks at once, before anything is freed: others may wait for this one.
  const OrbTree<float, 3>& run_once(OrbGpus<float, 3>& gpus) const {
    try {
      return gpus.run(points_.data(), mine_, weights_.data());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "orb_gpus_bench: rank %d: %s\n", comm_.rank(), error.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
      throw;
    }
  }

  /// An even share of n points on each GPU, and their weights.
  void fill(PointKind kind, std::uint64_t n) {
    const auto rank = static_cast<std::uint64_t>(comm_.rank());
    const auto ranks = static_cast<std::uint64_t>(comm_.size());
    const std::uint64_t first = n * rank / ranks;
    mine_ = n * (rank + 1) / ranks - first;
    points_ = {};
    points_.resize_discard(3 * mine_);
    weights_.resize_discard(arguments_.weighted ? mine_ : 0);
    constexpr std::uint64_t kChunk = std::uint64_t{1} << 25;
    host_.resize_discard(3 * std::min(kChunk, mine_));
    host_weights_.resize_discard(arguments_.weighted ? std::min(kChunk, mine_) : 0);
    double copying = 0;
    for (std::uint64_t at = 0; at < mine_; at += kChunk) {
      const std::uint64_t some = std::min(kChunk, mine_ - at);
      make_points<float>(kind, 3, kSeed, first + at, {host_.data(), 3 * some});
      copying += upload(points_.data() + 3 * at, host_.data(), 3 * some);
      if (!arguments_.weighted) continue;
      make_weights(kSeed, first + at, {host_weights_.data(), some});
      copying += upload(weights_.data() + at, host_weights_.data(), some);
    }
    upload_s_ = support::all_max(comm_, copying);
  }
  /// Seconds it took.
  template <class V>
  static double upload(V* to, const V* from, std::uint64_t n) {
    const double start = seconds();
    support::cuda_check(cudaMemcpy(to, from, n * sizeof(V), cudaMemcpyHostToDevice), "cudaMemcpy");
    support::cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return seconds() - start;
  }

  void row(const char* mode, PointKind kind, std::uint64_t n, bool labels) {
    std::vector<Run> runs;
    OrbGpus<float, 3> gpus(comm_, options(labels));
    std::uint64_t hash = 0;
    for (int k = -2; k < arguments_.repeats; ++k) {
      support::barrier(comm_);
      const double start = seconds();
      const OrbTree<float, 3>& tree = run_once(gpus);
      const OrbGpusTimes& t = gpus.times();
      Run run;
      run.s = {t.total_s,  t.weights_s,  t.cut_s,
               t.pack_s,   t.exchange_s, t.subtree_s,
               t.labels_s, t.check_s,    seconds() - start - t.check_s};
      support::all_max(comm_, std::span<double>(run.s));
      run.bytes_sent = support::all_sum(comm_, t.bytes_sent);
      run.bytes_sent_max = support::all_max(comm_, t.bytes_sent);
      if (k >= 0) runs.push_back(run);
      hash = tree_hash(tree);
    }
    good_ = support::all_min(comm_, hash) == support::all_max(comm_, hash) && good_;
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.s[0] < b.s[0]; });
    if (comm_.is_root()) report(mode, kind, n, labels, runs, gpus, hash);
  }

  void report(const char* mode, PointKind kind, std::uint64_t n, bool labels, const std::vector<Run>& runs,
              const OrbGpus<float, 3>& gpus, std::uint64_t hash) {
    const Run& m = runs[runs.size() / 2];
    const OrbGpusTimes& t = gpus.times();
    Json row{{"mode", mode},
             {"input", name(kind)},
             {"outputs", labels ? "labels" : "points"},
             {"n", n},
             {"leaves", kLeaves},
             {"ranks", comm_.size()},
             {"gpus", choice_.gpus},
             {"transport", gpus.transport()},
             {"time_s", m.s[0]},
             {"time_min_s", runs.front().s[0]},
             {"time_max_s", runs.back().s[0]}};
    if (arguments_.weighted) row["weights"] = "random";
    std::string text;
    for (std::size_t k = 1; k < kNames.size(); ++k) {
      row[std::string(kNames[k]) + "_s"] = m.s[k];
      text += fmt::format(" {} {:.2f}", kNames[k], 1e3 * m.s[k]);
    }
    row["bytes_sent"] = m.bytes_sent;
    row["bytes_sent_max_rank"] = m.bytes_sent_max;
    row["passes"] = t.passes;
    row["collectives"] = t.collectives;
    row["subtree_kernels_s"] = t.subtree.total_s;
    row["host_to_device_s"] = upload_s_;
    row["tree_hash"] = fmt::format("{:016x}", hash);
    fmt::print(
        "{:6} {:8} {:6} n 2^{:<5.2f} ranks {} GPUs {} {:6} {:9.3f} ms ({:.3f} to {:.3f}) ={}  sent {:.3f} GB "
        "(a rank at most {:.3f}) passes {} subtree's own {:.2f}\n",
        mode, name(kind), labels ? "labels" : "points", std::log2(static_cast<double>(n)), comm_.size(), choice_.gpus,
        gpus.transport(), 1e3 * m.s[0], 1e3 * runs.front().s[0], 1e3 * runs.back().s[0], text,
        1e-9 * static_cast<double>(m.bytes_sent), 1e-9 * static_cast<double>(m.bytes_sent_max), t.passes,
        1e3 * t.subtree.total_s);
    std::fflush(stdout);
    rows_.push_back(row);
  }

  /// Against the row of one rank.
  static void set_efficiency(const Json& rows, Json& row) {
    for (const Json& one : rows) {
      if (one["ranks"] != 1 || !same(one, row, {"mode", "input", "weights", "outputs"})) continue;
      const double speed_up = one["time_s"].get<double>() / row["time_s"].get<double>();
      const double more = row["n"].get<double>() / one["n"].get<double>();
      const int ranks = row["ranks"].get<int>();
      row["efficiency"] = speed_up * more / ranks;
      fmt::print("{:6} {:8} {:6} {} ranks: {:.2f} times one GPU's points/s, efficiency {:.1f} %\n",
                 row["mode"].get<std::string>(), row["input"].get<std::string>(), row["outputs"].get<std::string>(),
                 ranks, speed_up * more, 100 * speed_up * more / ranks);
    }
  }

  const Communicator& comm_;
  const Arguments& arguments_;
  support::DeviceChoice choice_;
  support::DeviceBuffer<float> points_;
  support::DeviceBuffer<double> weights_;
  support::PinnedBuffer<float> host_;
  support::PinnedBuffer<double> host_weights_;
  std::uint64_t mine_ = 0;
  double upload_s_ = 0;
  bool good_ = true;
  Json rows_ = Json::array();
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--only-check" || word == "--weighted") {
      (word == "--weighted" ? arguments.weighted : arguments.only_check) = true;
      continue;
    }
    if (k + 1 == argc) return false;
    const std::string value = argv[++k];
    if (word == "--strong") {
      arguments.strong = std::atoi(value.c_str());
    } else if (word == "--weak") {
      arguments.weak = std::atoi(value.c_str());
    } else if (word == "--check") {
      arguments.check = std::atoi(value.c_str());
    } else if (word == "--repeats") {
      arguments.repeats = std::atoi(value.c_str());
    } else if (word == "--transport") {
      arguments.transport = value;
    } else if (word == "--only") {
      arguments.only = value;
    } else if (word == "--json") {
      arguments.json = value;
    } else {
      return false;
    }
  }
  const auto log2 = [](int value) { return value >= 13 && value <= 31; };
  return log2(arguments.strong) && log2(arguments.weak) && log2(arguments.check) && arguments.repeats > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const support::Environment mpi(argc, argv);
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "orb_gpus_bench: see the head of bench/orb_gpus.cpp for its options; logarithms are 13 to 31\n");
    return 2;
  }
  try {
    const Communicator comm = Communicator::world();
    Bench bench(comm, arguments);
    bench.check();
    if (!arguments.only_check) bench.measure();
    return bench.finish() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orb_gpus_bench: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 1;
}
