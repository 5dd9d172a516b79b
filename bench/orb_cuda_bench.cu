// Orthogonal recursive bisection on one GPU: checked against the CPU, then measured.
//   orb_cuda_bench [--max-log2 31] [--json FILE] [--check-only] [--small-check] [--once LOG2] [--no-check]
//                  [--input KIND] [--tuning FIRST,AGAIN,SIGMAS,SAMPLES] [--variants] [--no-seeds]
// Prints a line a check and a row a measurement; status 1 when a check fails. Times are CUDA events over the whole run,
// median of 5 after one untimed (the document's methods: one run); points lie on the GPU before. --small-check: few
// points, for tools that slow a GPU down; --once: nothing but one run of 2^LOG2 points of --input (uniform), for
// profilers;
// --tuning: OrbGpuTuning of the measured runs; --variants: nothing but several of them, on the headline's points, and
// a last line that names the fastest; --no-seeds: without the document's methods.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/orb_cuda_check.hpp"
#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/orb.hpp"
#include "support/cuda.hpp"
#include "support/error.hpp"
#include "support/page_buffer.hpp"

namespace {

using namespace amrbench;
using namespace amrbench::bench;
using namespace amrbench::partitioners;
using Json = nlohmann::ordered_json;

struct Measured {
  double time_s = 0;
  OrbGpuTimes times;
  double least_s = 0, most_s = 0;
};

template <class T, int Dim>
Measured measure(const support::DeviceBuffer<T>& points, std::uint64_t n, const OrbGpuOptions& options, int repeats) {
  OrbGpu<T, Dim> gpu(n, options);
  const auto box = unit_box<T, Dim>();
  std::vector<std::pair<double, OrbGpuTimes>> runs;
  for (int k = 0; k <= repeats; ++k) {
    gpu.run(points.data(), box);
    if (k > 0 || repeats == 0) runs.emplace_back(gpu.times().total_s, gpu.times());
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return {runs[runs.size() / 2].first, runs[runs.size() / 2].second, runs.front().first, runs.back().first};
}

/// As --tuning takes it.
std::string text_of(const OrbGpuTuning& tuning) {
  char text[80];
  std::snprintf(text, sizeof(text), "%d,%d,%g,%g", tuning.first_round ? 1 : 0, tuning.again ? 1 : 0, tuning.sigmas,
                tuning.samples);
  return text;
}

Json row(const char* input, const char* outputs, std::uint64_t n, const OrbGpuOptions& options, const Measured& m) {
  const OrbGpuTimes& t = m.times;
  std::printf(
      "%-8s %-10s %-16s n 2^%-5.2f leaves %5u  %9.3f ms (%.1f-%.1f) = sample %.2f classify %.2f resolve %.2f move %.2f "
      "labels "
      "%.2f small %.2f  rounds %d again %d in brackets %.1f%% passes %d sides %g tuning %s\n",
      input, std::string(options.method).c_str(), outputs, std::log2(static_cast<double>(n)), options.leaves,
      1e3 * m.time_s, 1e3 * m.least_s, 1e3 * m.most_s, 1e3 * t.sample_s, 1e3 * t.classify_s, 1e3 * t.resolve_s,
      1e3 * t.move_s, 1e3 * t.labels_s, 1e3 * t.small_s, t.rounds, t.again,
      100.0 * static_cast<double>(t.stopped) / static_cast<double>(n), t.passes, options.side_tolerance,
      text_of(options.tuning).c_str());
  std::fflush(stdout);
  return {{"input", input},
          {"method", options.method},
          {"outputs", outputs},
          {"n", n},
          {"leaves", options.leaves},
          {"side_tolerance", options.side_tolerance},
          {"time_s", m.time_s},
          {"least_s", m.least_s},
          {"most_s", m.most_s},
          {"sample_s", t.sample_s},
          {"classify_s", t.classify_s},
          {"resolve_s", t.resolve_s},
          {"move_s", t.move_s},
          {"labels_s", t.labels_s},
          {"small_s", t.small_s},
          {"rounds", t.rounds},
          {"again", t.again},
          {"stopped", t.stopped},
          {"passes", t.passes},
          {"first_round", t.first_round},
          {"tuning", text_of(options.tuning)}};
}

constexpr std::uint32_t kLeaves = 4096;
constexpr std::uint64_t kHeadline = std::uint64_t{1} << 30;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The tree of the first n points as the CPU makes it, and how long it took there.
bool same_as_cpu(const char* input, const support::DeviceBuffer<float>& points, std::span<const float> host,
                 std::uint64_t n, const OrbGpuTuning& tuning, Json& rows) {
  OrbResult<float, 3> cpu;
  orb<float, 3>({host.first(n * 3), 3}, {}, {.leaves = kLeaves, .permutation = false}, cpu, unit_box<float, 3>());
  OrbGpu<float, 3> gpu(n, {.leaves = kLeaves, .points = false, .labels = true, .tuning = tuning});
  const OrbTree<float, 3>& tree = gpu.run(points.data(), unit_box<float, 3>());
  const auto labels = download(gpu.labels(), n);
  const bool good = tree_hash(tree) == tree_hash(cpu.tree) && labels_hash(labels) == labels_hash(cpu.labels.span());
  std::printf("%s %s: tree and labels of 2^%.2f points as on the CPU (%.3f s there, all cores)\n",
              good ? "ok  " : "FAIL", input, std::log2(static_cast<double>(n)), cpu.time_s);
  std::fflush(stdout);
  rows.push_back({{"input", input},
                  {"method", "CPU multiway"},
                  {"n", n},
                  {"leaves", kLeaves},
                  {"outputs", "labels"},
                  {"time_s", cpu.time_s}});
  return good;
}

/// Without a CPU's result: leaves have the counts of the tree, and every point lies in its leaf's box.
bool plausible(const support::DeviceBuffer<float>& points, std::span<const float> host, std::uint64_t n) {
  OrbGpu<float, 3> gpu(n, {.leaves = kLeaves, .points = false, .labels = true});
  const OrbTree<float, 3>& tree = gpu.run(points.data(), unit_box<float, 3>());
  const auto labels = download(gpu.labels(), n);
  std::vector<std::uint64_t> counts(kLeaves, 0);
  std::uint64_t outside = 0;
#pragma omp parallel reduction(+ : outside)
  {
    std::vector<std::uint64_t> mine(kLeaves, 0);
#pragma omp for
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint32_t leaf = labels[i];
      if (leaf >= kLeaves) {
        ++outside;
        continue;
      }
      ++mine[leaf];
      const OrbBox<float, 3>& box = tree.cells[tree.leaf_cell[leaf]].box;
      for (std::size_t a = 0; a < 3; ++a)
        outside += host[i * 3 + a] < box.lower[a] || host[i * 3 + a] > box.upper[a] ? 1U : 0U;
    }
#pragma omp critical
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) counts[leaf] += mine[leaf];
  }
  bool good = outside == 0;
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) {
    const std::uint64_t ideal = n / kLeaves;
    good =
        good && counts[leaf] == tree.cells[tree.leaf_cell[leaf]].count && (n % kLeaves != 0 || counts[leaf] == ideal);
  }
  std::printf("%s leaves of 2^%.2f points: counts, boxes\n", good ? "ok  " : "FAIL", std::log2(static_cast<double>(n)));
  return good;
}

/// From memory that the system pages, and from pinned memory.
Json send(support::DeviceBuffer<float>& device, std::span<const float> host) {
  device.resize_discard(host.size());
  double start = seconds();
  upload<float>(device, host);
  const double pageable = static_cast<double>(host.size_bytes()) / (seconds() - start);
  const std::size_t some = std::min<std::size_t>(host.size(), std::size_t{1} << 28);
  support::PinnedBuffer<float> pinned(some);
  std::copy_n(host.data(), some, pinned.data());
  start = seconds();
  upload<float>(device, std::span<const float>(pinned.data(), some));
  const double fast = static_cast<double>(some * sizeof(float)) / (seconds() - start);
  std::printf("host to device: pageable %.1f GB/s, pinned %.1f GB/s\n", pageable / 1e9, fast / 1e9);
  return {{"pageable_bytes_per_s", pageable}, {"pinned_bytes_per_s", fast}};
}

class Suite {
 public:
  Suite(int max_log2, const OrbGpuTuning& tuning, bool seeds)
      : largest_(std::uint64_t{1} << max_log2),
        headline_(std::min(kHeadline, largest_)),
        tuning_(tuning),
        seeds_(seeds) {}

  /// Rows of the headline's points with several tunings.
  void variants() {
    fill(PointKind::uniform, headline_);
    upload<float>(points_, host_.span().first(headline_ * 3));
    OrbGpuTuning best;
    double best_s = 1e30;
    const auto both = [&](const OrbGpuTuning& tuning) {
      tuning_ = tuning;
      const std::size_t before = rows_.size();
      time("uniform", headline_, "points", {.leaves = kLeaves}, 3);
      time("uniform", headline_, "labels", {.leaves = kLeaves, .points = false, .labels = true}, 3);
      double sum = 0;
      for (std::size_t k = before; k < rows_.size(); ++k) sum += rows_[k].value("time_s", 1e30);
      if (sum < best_s) {
        best_s = sum;
        best = tuning;
      }
    };
    both({});
    OrbGpuTuning next;
    for (const double sigmas : {3.5, 4.3}) {
      next.sigmas = sigmas;
      both(next);
    }
    next = best;
    for (const double samples : {0.7, 1.5}) {
      next.samples = samples;
      both(next);
    }
    std::printf("fastest: --tuning %s\n", text_of(best).c_str());
  }

  /// False when a result is wrong.
  bool run() {
    fill(PointKind::uniform, largest_);
    host_to_device_ = send(points_, host_.span().first(largest_ * 3));
    for (const std::uint64_t n : sizes()) time("uniform", n, "points", {.leaves = kLeaves});
    for (const std::uint64_t n : sizes())
      if (n >= headline_) time("uniform", n, "labels", {.leaves = kLeaves, .points = false, .labels = true});
    time("uniform", headline_, "points,ids,labels", {.leaves = kLeaves, .permutation = true, .labels = true});
    bool good = same_as_cpu("uniform", points_, host_.span(), headline_, tuning_, rows_);
    if (largest_ > headline_) good = plausible(points_, host_.span(), largest_) && good;
    const struct {
      const char* name;
      PointKind kind;
      std::uint64_t n;
    } others[] = {{"cluster", PointKind::cluster, headline_},
                  {"plummer", PointKind::plummer, headline_},
                  {"field", PointKind::field, headline_ / 16}};  // the host needs a microsecond for one of its points
    for (const char* method : {"seed-level", "seed-warp", "seed-cells"}) {
      if (!seeds_) break;
      time("uniform", headline_, "points,ids", {.leaves = kLeaves, .method = method}, 0);
    }
    for (const auto& other : others) {
      fill(other.kind, other.n);
      upload<float>(points_, host_.span().first(other.n * 3));
      time(other.name, other.n, "points", {.leaves = kLeaves});
      time(other.name, other.n, "labels", {.leaves = kLeaves, .points = false, .labels = true});
      if (other.kind == PointKind::cluster)  // a tolerance that leaves many of its cells to noise
        time(other.name, other.n, "points", {.leaves = kLeaves, .side_tolerance = 1 / 16.});
      good = same_as_cpu(other.name, points_, host_.span(), other.n, tuning_, rows_) && good;
    }
    return good;
  }
  [[nodiscard]] const Json& rows() const { return rows_; }
  [[nodiscard]] const Json& host_to_device() const { return host_to_device_; }

 private:
  [[nodiscard]] std::vector<std::uint64_t> sizes() const {
    std::vector<std::uint64_t> all;
    for (std::uint64_t n = std::uint64_t{1} << 20; n < largest_; n *= 4) all.push_back(n);
    if (all.empty() || all.back() < headline_) all.push_back(headline_);
    if (largest_ > headline_) all.push_back(largest_);
    return all;
  }
  void fill(PointKind kind, std::uint64_t n) {
    const double start = seconds();
    host_.grow(n * 3);
    make_points<float>(kind, 3, 1, 0, host_.span().first(n * 3));
    std::printf("made 2^%.2f points in %.1f s\n", std::log2(static_cast<double>(n)), seconds() - start);
  }
  /// A row; one that says why where there is no memory.
  void time(const char* input, std::uint64_t n, const char* outputs, OrbGpuOptions options, int repeats = 5) {
    options.tuning = tuning_;
    try {
      rows_.push_back(row(input, outputs, n, options, measure<float, 3>(points_, n, options, repeats)));
    } catch (const support::RunError& error) {
      std::printf("%s %s %s n %llu: %s\n", input, std::string(options.method).c_str(), outputs,
                  static_cast<unsigned long long>(n), error.what());
      rows_.push_back(
          {{"input", input}, {"method", options.method}, {"outputs", outputs}, {"n", n}, {"error", error.what()}});
    }
    std::fflush(stdout);
  }

  std::uint64_t largest_, headline_;
  OrbGpuTuning tuning_;
  bool seeds_;
  support::PageBuffer<float> host_;
  support::DeviceBuffer<float> points_;
  Json rows_ = Json::array();
  Json host_to_device_;
};

int once(int log2, const std::string& input, const OrbGpuTuning& tuning) {
  const std::size_t n = std::size_t{1} << log2;
  const auto kind = point_kind(input);
  if (!kind) throw support::InputError(input + ": there are uniform, cluster, plummer, field and corner");
  support::DeviceBuffer<float> device;
  upload<float>(device, made<float, 3>(*kind, n, 1));
  const OrbGpuOptions options{.leaves = kLeaves, .labels = true, .tuning = tuning};
  row(input.c_str(), "points,labels", n, options, measure<float, 3>(device, n, options, 0));
  return 0;
}

struct Arguments {
  int max_log2 = 31;
  int once = 0;
  std::string input = "uniform";
  std::string json;
  bool check_only = false;
  bool small = false;
  bool unchecked = false;
  bool variants = false;
  bool seeds = true;
  OrbGpuTuning tuning;
};

bool parse_tuning(const std::string& text, OrbGpuTuning& tuning) {
  int first = 0, again = 0;
  if (std::sscanf(text.c_str(), "%d,%d,%lf,%lf", &first, &again, &tuning.sigmas, &tuning.samples) != 4) return false;
  tuning.first_round = first != 0;
  tuning.again = again != 0;
  return tuning.samples > 0 && tuning.sigmas > 0;
}

int run(const Arguments& arguments) {
  if (arguments.once > 0) return once(arguments.once, arguments.input, arguments.tuning);
  bool good = arguments.unchecked || arguments.variants || (arguments.small ? check_small() : check_all());
  if (!arguments.unchecked && !arguments.variants) std::printf(good ? "All checks passed.\n" : "CHECKS FAILED\n");
  if (arguments.check_only || arguments.small) return good ? 0 : 1;
  cudaDeviceProp properties{};
  support::cuda_check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  const double copy = copy_bandwidth();
  std::printf("copy bandwidth %.2f TB/s\n", copy / 1e12);
  Suite suite(arguments.max_log2, arguments.tuning, arguments.seeds);
  if (arguments.variants)
    suite.variants();
  else
    good = suite.run() && good;
  const Json record{
      {"schema", 1},           {"program", "orb_cuda_bench"},        {"gpu", properties.name},
      {"checks_passed", good}, {"copy_bandwidth_bytes_per_s", copy}, {"host_to_device", suite.host_to_device()},
      {"rows", suite.rows()}};
  if (!arguments.json.empty()) std::ofstream(arguments.json) << record.dump(2) << '\n';
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool more = k + 1 < argc;
    if (word == "--max-log2" && more)
      arguments.max_log2 = std::atoi(argv[++k]);
    else if (word == "--once" && more)
      arguments.once = std::atoi(argv[++k]);
    else if (word == "--input" && more)
      arguments.input = argv[++k];
    else if (word == "--json" && more)
      arguments.json = argv[++k];
    else if (word == "--tuning" && more) {
      if (!parse_tuning(argv[++k], arguments.tuning)) {
        std::fprintf(stderr, "orb_cuda_bench: --tuning takes FIRST,AGAIN,SIGMAS,SAMPLES, such as 1,1,3.9,1\n");
        return 2;
      }
    } else if (word == "--variants")
      arguments.variants = true;
    else if (word == "--no-seeds")
      arguments.seeds = false;
    else if (word == "--no-check")
      arguments.unchecked = true;
    else if (word == "--check-only")
      arguments.check_only = true;
    else if (word == "--small-check")
      arguments.small = true;
    else {
      std::fprintf(stderr, "orb_cuda_bench: %s: not an option, or its value is missing\n", word.c_str());
      return 2;
    }
  }
  if (arguments.max_log2 < 20 || arguments.max_log2 > 31 || arguments.once < 0 || arguments.once > 31) {
    std::fprintf(stderr, "orb_cuda_bench: --max-log2 takes 20 to 31, --once at most 31\n");
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orb_cuda_bench: %s\n", error.what());
    return 1;
  }
}
