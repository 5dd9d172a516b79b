// Bisection by weights on a GPU: checks it against the CPU, then times it beside bisection without weights.
//
//   orb_weighted_cuda_bench [--max-log2 20..31] [--json FILE] [--tuning FIRST,SAMPLES]
//                           [--no-check | --small-check | --variants | --once LOG2 [--repeat K]]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/orb_cuda_data.hpp"
#include "support/error.hpp"
#include "support/page_buffer.hpp"

namespace {

using namespace amrbench;
using namespace amrbench::bench;
using namespace amrbench::partitioners;
using Json = nlohmann::ordered_json;

constexpr std::uint32_t kLeaves = 4096;
constexpr int kRepeats = 3;

const char* const kWeightNames[] = {"uniform", "heavy", "half zero", "zero", "one huge"};

/// Weights by their name's number in kWeightNames.
void weigh_points(int kind, std::uint64_t seed, std::span<double> weights) {
  make_weights(seed, 0, weights);
  const auto n = static_cast<std::int64_t>(weights.size());
  if (kind == 4) weights[weights.size() / 3] = 1e9 * static_cast<double>(n);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    double& w = weights[static_cast<std::size_t>(i)];
    if (kind == 1) w = 1 / std::sqrt(w + 1e-9);  // a power law without a finite variance
    if (kind == 2) w = w < 0.5 ? 0 : w;
    if (kind == 3) w = 0;
  }
}

/// Tree, labels, permutation and points against the CPU's.
template <class T, int Dim>
bool check(PointKind input, std::size_t n, std::uint32_t leaves, int kind, const OrbGpuTuning& tuning) {
  const auto points = made<T, Dim>(input, n, 1);
  std::vector<double> weights(n);
  weigh_points(kind, 2, weights);
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, weights, {.leaves = leaves}, cpu, unit_box<T, Dim>());
  support::DeviceBuffer<T> device;
  support::DeviceBuffer<double> device_weights;
  upload<T>(device, points);
  upload<double>(device_weights, weights);
  OrbGpu<T, Dim> gpu(n, {.leaves = leaves, .permutation = true, .labels = true, .weighted = true, .tuning = tuning});
  const auto& tree = gpu.run(device.data(), unit_box<T, Dim>(), device_weights.data());
  const std::string wrong = differences<T, Dim>(gpu, tree, cpu, points);
  const OrbGpuTimes& t = gpu.times();
  std::printf("%s input %d dim %d %s n %9zu leaves %5u weights %-9s tuning %d,%g rounds %d%s passes %d%s\n",
              wrong.empty() ? "ok  " : "FAIL", static_cast<int>(input), Dim, sizeof(T) == 4 ? "float " : "double", n,
              leaves, kWeightNames[kind], tuning.first_round ? 1 : 0, tuning.samples, t.rounds,
              t.first_round ? " first" : "", t.passes, wrong.c_str());
  std::fflush(stdout);
  return wrong.empty();
}

bool check_all() {
  bool good = true;
  for (const PointKind input : {PointKind::uniform, PointKind::cluster, PointKind::plummer, PointKind::field}) {
    good = check<float, 3>(input, 3000001, kLeaves, 0, {}) && good;
    good = check<float, 3>(input, 2000003, 3001, 1, {.samples = 2}) && good;
    good = check<float, 3>(input, 1500000, kLeaves, 2, {}) && good;
    good = check<double, 3>(input, 1500000, 1021, 0, {}) && good;
    good = check<float, 3>(input, 1500000, kLeaves, 0, {.first_round = false}) && good;
    good = check<double, 2>(input, 700000, 127, 4, {}) && good;
    good = check<float, 2>(input, 900000, 509, 3, {}) && good;
  }
  return good;
}

/// Every kernel once or twice on few points.
bool check_small() {
  bool good = check<float, 3>(PointKind::uniform, 34001, 100, 0, {});
  good = check<float, 3>(PointKind::cluster, 17001, 50, 2, {.samples = 2}) && good;
  good = check<float, 3>(PointKind::uniform, 17001, 50, 1, {}) && good;
  good = check<double, 2>(PointKind::plummer, 8300, 31, 4, {}) && good;
  good = check<float, 3>(PointKind::uniform, 20000, 7, 0, {.first_round = false}) && good;
  good = check<double, 3>(PointKind::uniform, 9000, 3, 3, {.first_round = false}) && good;
  return good;
}

template <class Run>
OrbGpuTimes median_of(Run&& run, int repeats) {
  std::vector<OrbGpuTimes> all;
  for (int k = 0; k <= repeats; ++k) {
    const OrbGpuTimes times = run();
    if (k > 0 || repeats == 0) all.push_back(times);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.total_s < b.total_s; });
  return all[all.size() / 2];
}

class Suite {
 public:
  explicit Suite(const OrbGpuTuning& tuning) : tuning_(tuning) {}

  /// Points and weights on the device.
  void fill(PointKind input, const char* name, int kind, std::uint64_t n) {
    input_ = name;
    kind_ = kind;
    host_.grow(n * 3);
    make_points<float>(input, 3, 1, 0, host_.span().first(n * 3));
    upload<float>(points_, host_.span().first(n * 3));
    fill_weights(kind, n);
  }
  void fill_weights(int kind, std::uint64_t n) {
    kind_ = kind;
    host_weights_.grow(n);
    weigh_points(kind, 2, host_weights_.span().first(n));
    upload<double>(weights_, host_weights_.span().first(n));
  }

  /// A row with weights; its seconds, 0 where there is no memory.
  double weighted(std::uint64_t n, bool labels_only, const OrbGpuTuning& tuning, int repeats = kRepeats) {
    return time(n, labels_only, true, tuning, repeats);
  }
  /// Rows with and without weights.
  void beside(std::uint64_t n, bool labels_only) {
    OrbGpuTuning usual;
    const double without = time(n, labels_only, false, usual, kRepeats);
    const double with = time(n, labels_only, true, tuning_, kRepeats);
    if (with > 0 && without > 0) std::printf("  with weights / without: %.2f\n", with / without);
  }
  /// The same points and weights on the CPU.
  bool same_as_cpu(std::uint64_t n) {
    OrbResult<float, 3> cpu;
    orb<float, 3>({host_.span().first(n * 3), 3}, host_weights_.span().first(n), {.leaves = kLeaves}, cpu,
                  unit_box<float, 3>());
    OrbGpu<float, 3> gpu(n,
                         {.leaves = kLeaves, .permutation = true, .labels = true, .weighted = true, .tuning = tuning_});
    const auto& tree = gpu.run(points_.data(), unit_box<float, 3>(), weights_.data());
    const auto labels = download(gpu.labels(), n);
    const auto order = download(gpu.permutation(), n);
    const bool good = tree_hash(tree) == tree_hash(cpu.tree) && labels_hash(labels) == labels_hash(cpu.labels.span()) &&
                      std::equal(order.begin(), order.end(), cpu.permutation.begin());
    std::printf("%s tree, labels and permutation of 2^%.2f points as on the CPU (%.3f s there, all cores)\n",
                good ? "ok  " : "FAIL", std::log2(static_cast<double>(n)), cpu.time_s);
    rows_.push_back({{"input", input_},
                     {"weights", kWeightNames[kind_]},
                     {"method", "CPU multiway"},
                     {"n", n},
                     {"leaves", kLeaves},
                     {"outputs", "labels,permutation"},
                     {"time_s", cpu.time_s}});
    return good;
  }
  [[nodiscard]] const Json& rows() const { return rows_; }

 private:
  static OrbGpuOptions options(bool labels_only, bool weighted, const OrbGpuTuning& tuning) {
    return {.leaves = kLeaves, .points = !labels_only, .labels = labels_only, .weighted = weighted, .tuning = tuning};
  }

  double time(std::uint64_t n, bool labels_only, bool with, const OrbGpuTuning& tuning, int repeats) {
    const char* const outputs = labels_only ? "labels" : "points";
    Json row{{"input", input_},
             {"weights", with ? kWeightNames[kind_] : "none"},
             {"n", n},
             {"leaves", kLeaves},
             {"outputs", outputs}};
    OrbGpuTimes t;
    try {
      OrbGpu<float, 3> gpu(n, options(labels_only, with, tuning));
      t = median_of(
          [&] {
            gpu.run(points_.data(), unit_box<float, 3>(), with ? weights_.data() : nullptr);
            return gpu.times();
          },
          repeats);
    } catch (const support::RunError& error) {
      std::printf("%s weights %s %s n %llu: %s\n", input_.c_str(), with ? kWeightNames[kind_] : "none", outputs,
                  static_cast<unsigned long long>(n), error.what());
      row["error"] = error.what();
      rows_.push_back(row);
      return 0;
    }
    std::printf(
        "%-8s weights %-9s %-6s n 2^%-5.2f %9.3f ms = weights %.2f sample %.2f classify %.2f resolve %.2f move %.2f "
        "labels "
        "%.2f  rounds %d%s in brackets %.1f%% passes %d tuning %d,%g\n",
        input_.c_str(), with ? kWeightNames[kind_] : "none", outputs, std::log2(static_cast<double>(n)),
        1e3 * t.total_s, 1e3 * t.weights_s, 1e3 * t.sample_s, 1e3 * t.classify_s, 1e3 * t.resolve_s, 1e3 * t.move_s,
        1e3 * t.labels_s, t.rounds, t.first_round ? " first" : "",
        100.0 * static_cast<double>(t.stopped) / static_cast<double>(n), t.passes, tuning.first_round ? 1 : 0,
        tuning.samples);
    std::fflush(stdout);
    row.update({{"time_s", t.total_s},
                {"weights_s", t.weights_s},
                {"sample_s", t.sample_s},
                {"classify_s", t.classify_s},
                {"resolve_s", t.resolve_s},
                {"move_s", t.move_s},
                {"labels_s", t.labels_s},
                {"rounds", t.rounds},
                {"first_round", t.first_round},
                {"stopped", t.stopped},
                {"passes", t.passes},
                {"tuning", {{"first_round", tuning.first_round}, {"samples", tuning.samples}}}});
    rows_.push_back(row);
    return t.total_s;
  }

  OrbGpuTuning tuning_;
  std::string input_;
  int kind_ = 0;
  support::PageBuffer<float> host_;
  support::PageBuffer<double> host_weights_;
  support::DeviceBuffer<float> points_;
  support::DeviceBuffer<double> weights_;
  Json rows_ = Json::array();
};

constexpr std::uint64_t power(int log2) {
  return std::uint64_t{1} << static_cast<unsigned>(log2);
}

/// Tunings of the weighted method at one size; prints the fastest.
void variants(Suite& suite, int log2) {
  const std::uint64_t n = power(log2);
  suite.fill(PointKind::uniform, "uniform", 0, n);
  OrbGpuTuning best;
  double best_s = 1e30;
  const auto both = [&](const OrbGpuTuning& tuning) {
    const double seconds = suite.weighted(n, false, tuning) + suite.weighted(n, true, tuning);
    if (seconds <= 0 || seconds >= best_s) return;
    best_s = seconds;
    best = tuning;
  };
  for (const double samples : {0.5, 1.0, 2.0}) both({.samples = samples});
  suite.weighted(power(std::min(log2, 28)), false, {.first_round = false}, 1);
  std::printf("fastest: --tuning %d,%g\n", best.first_round ? 1 : 0, best.samples);
}

bool measure(Suite& suite, int max_log2, const OrbGpuTuning& tuning) {
  const std::uint64_t most = power(max_log2);
  suite.fill(PointKind::uniform, "uniform", 0, most);
  for (int log2 = 20; log2 <= max_log2; log2 += 2) suite.beside(power(log2), false);
  for (const int log2 : {std::min(28, max_log2), max_log2}) suite.beside(power(log2), true);
  OrbGpuTuning levels = tuning;
  levels.first_round = false;
  for (const int log2 : {20, 24, std::min(28, max_log2)}) suite.weighted(power(log2), false, levels, 1);
  const bool good = suite.same_as_cpu(power(std::min(26, max_log2)));
  const std::uint64_t n = power(std::min(26, max_log2));
  for (int kind = 1; kind < 5; ++kind) {
    suite.fill_weights(kind, n);
    suite.weighted(n, false, tuning);
  }
  suite.fill(PointKind::cluster, "cluster", 0, n);
  suite.beside(n, false);
  suite.fill(PointKind::plummer, "plummer", 0, n);
  suite.beside(n, false);
  return good;
}

struct Arguments {
  int max_log2 = 28;
  int once = 0;
  int repeat = 0;  ///< with once: runs after the first
  std::string json;
  bool small = false, all_variants = false, unchecked = false;
  OrbGpuTuning tuning;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool more = k + 1 < argc;
    if (word == "--max-log2" && more) {
      arguments.max_log2 = std::atoi(argv[++k]);
    } else if (word == "--once" && more) {
      arguments.once = std::atoi(argv[++k]);
    } else if (word == "--repeat" && more) {
      arguments.repeat = std::atoi(argv[++k]);
    } else if (word == "--json" && more) {
      arguments.json = argv[++k];
    } else if (word == "--tuning" && more) {
      OrbGpuTuning& t = arguments.tuning;
      int first = 0;
      if (std::sscanf(argv[++k], "%d,%lf", &first, &t.samples) != 2 || !(t.samples > 0)) return false;
      t.first_round = first != 0;
    } else if (word == "--small-check") {
      arguments.small = true;
    } else if (word == "--variants") {
      arguments.all_variants = true;
    } else if (word == "--no-check") {
      arguments.unchecked = true;
    } else {
      return false;
    }
  }
  return arguments.max_log2 >= 20 && arguments.max_log2 <= 31 && arguments.once >= 0 && arguments.once <= 31;
}

int run(const Arguments& arguments) {
  Suite suite(arguments.tuning);
  if (arguments.once > 0) {
    suite.fill(PointKind::uniform, "uniform", 0, power(arguments.once));
    suite.weighted(power(arguments.once), false, arguments.tuning, arguments.repeat);
    return 0;
  }
  bool good = true;
  if (arguments.small) {
    good = check_small();
  } else if (arguments.all_variants) {
    variants(suite, arguments.max_log2);
  } else {
    good = arguments.unchecked || check_all();
    good = measure(suite, arguments.max_log2, arguments.tuning) && good;
  }
  std::printf(good ? "All checks passed.\n" : "CHECKS FAILED\n");
  if (!arguments.json.empty()) {
    cudaDeviceProp properties{};
    support::cuda_check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    const Json record{{"schema", 1},
                      {"program", "orb_weighted_cuda_bench"},
                      {"gpu", properties.name},
                      {"checks_passed", good},
                      {"rows", suite.rows()}};
    std::ofstream(arguments.json) << record.dump(2) << '\n';
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fprintf(
        stderr,
        "usage: orb_weighted_cuda_bench [--max-log2 20..31] [--json FILE] [--tuning FIRST,SAMPLES]\n"
        "                               [--no-check | --small-check | --variants | --once LOG2 [--repeat K]]\n");
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orb_weighted_cuda_bench: %s\n", error.what());
    return 1;
  }
}
