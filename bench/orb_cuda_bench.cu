// Orthogonal recursive bisection on one GPU: checked against the CPU, then measured.
//   orb_cuda_bench [--max-log2 30] [--json FILE] [--check-only]
// Prints a line a check and a row a measurement; status 1 when a check fails. Times are CUDA events over the whole run,
// median of 5 after one untimed; points lie on the GPU before.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "partitioners/orb/inputs.hpp"
#include "partitioners/orb/orb.hpp"
#include "partitioners/orb/orb_gpu.hpp"
#include "support/cuda.hpp"

namespace {

using namespace amrbench;
using namespace amrbench::partitioners;
using Json = nlohmann::ordered_json;

template <class T>
void upload(support::DeviceBuffer<T>& device, std::span<const T> host) {
  device.resize_discard(host.size());
  support::cuda_check(cudaMemcpy(device.data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
}

template <class T>
std::vector<T> download(const T* device, std::size_t n) {
  std::vector<T> host(n);
  support::cuda_check(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}

/// One case against the CPU's result: tree, labels, permutation where the method keeps order, points by permutation.
template <class T, int Dim>
bool check(const char* name, const std::vector<T>& points, std::uint32_t leaves, const char* method) {
  const std::size_t n = points.size() / Dim;
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, {}, {.leaves = leaves, .points = true}, cpu);
  support::DeviceBuffer<T> device;
  upload<T>(device, points);
  OrbGpu<T, Dim> gpu(n, {.leaves = leaves, .method = method, .permutation = true, .labels = true});
  const OrbTree<T, Dim>& tree = gpu.run(device.data(), cpu.tree.cells[1].box);
  const bool same_tree = tree_hash(tree) == tree_hash(cpu.tree);
  const auto labels = download(gpu.labels(), n);
  const bool same_labels = std::equal(labels.begin(), labels.end(), cpu.labels.begin());
  auto permutation = download(gpu.permutation(), n);
  const auto moved = download(gpu.points(), n * Dim);
  bool same_points = true;
  for (std::size_t i = 0; i < n && same_points; ++i)
    for (std::size_t a = 0; a < Dim; ++a)
      same_points = same_points && permutation[i] < n && moved[i * Dim + a] == points[permutation[i] * Dim + a];
  if (std::string(method) != "multiway")  // order within a leaf is not defined
    for (const std::uint32_t c : tree.leaf_cell) {
      const auto first = permutation.begin() + static_cast<std::ptrdiff_t>(tree.cells[c].begin);
      std::sort(first, first + static_cast<std::ptrdiff_t>(tree.cells[c].count));
    }
  const bool same_order = std::equal(permutation.begin(), permutation.end(), cpu.permutation.begin());
  const bool good = same_tree && same_labels && same_points && same_order;
  std::printf("%s %-28s %-10s n %9zu leaves %5u rounds %d host cells %u%s%s%s%s\n", good ? "ok  " : "FAIL", name,
              method, n, leaves, gpu.times().rounds, gpu.times().host_cells, same_tree ? "" : " tree",
              same_labels ? "" : " labels", same_points ? "" : " points", same_order ? "" : " order");
  std::fflush(stdout);
  return good;
}

template <class T, int Dim>
std::vector<T> made(OrbInputKind kind, std::size_t n, std::uint64_t seed) {
  std::vector<T> points(n * Dim);
  make_orb_points<T, Dim>(kind, seed, 0, points);
  return points;
}

template <class T>
std::vector<T> lattice(std::size_t values, int edge) {
  std::vector<T> points(values);
  std::uint64_t state = 7;
  for (T& x : points) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    x = static_cast<T>((state >> 33) % static_cast<unsigned>(edge));
  }
  return points;
}

bool check_all() {
  bool good = true;
  const OrbInputKind kinds[] = {OrbInputKind::uniform, OrbInputKind::cluster, OrbInputKind::plummer,
                                OrbInputKind::field};
  const char* names[] = {"uniform", "cluster", "plummer", "field"};
  for (int k = 0; k < 4; ++k) {
    good = check<float, 3>(names[k], made<float, 3>(kinds[k], 3000000, 1), 4096, "multiway") && good;
    good = check<float, 3>(names[k], made<float, 3>(kinds[k], 1000001, 2), 61, "multiway") && good;
    good = check<double, 3>(names[k], made<double, 3>(kinds[k], 1500000, 3), 1021, "multiway") && good;
    good = check<double, 2>(names[k], made<double, 2>(kinds[k], 700000, 4), 127, "multiway") && good;
    good = check<float, 2>(names[k], made<float, 2>(kinds[k], 900000, 5), 4093, "multiway") && good;
    for (const char* method : {"seed-cells", "seed-level", "seed-warp"})
      good = check<float, 3>(names[k], made<float, 3>(kinds[k], 400000, 6), 509, method) && good;
  }
  for (const char* method : {"multiway", "seed-warp"}) {
    good = check<float, 3>("lattice of 16", lattice<float>(600000, 16), 64, method) && good;
    good = check<double, 2>("lattice of 1000", lattice<double>(400000, 1000), 100, method) && good;
    good = check<float, 3>("one place", std::vector<float>(60000, 0.25F), 7, method) && good;
  }
  for (const std::uint32_t leaves : {1U, 2U, 3U, 64U, 65U})
    good = check<float, 3>("uniform", made<float, 3>(OrbInputKind::uniform, 200003, 9), leaves, "multiway") && good;
  good = check<float, 3>("uniform", made<float, 3>(OrbInputKind::uniform, 1000, 9), 1000, "multiway") && good;
  return good;
}

struct Measured {
  double time_s = 0;
  OrbGpuTimes times;
};

template <class T, int Dim>
Measured measure(const support::DeviceBuffer<T>& points, std::uint64_t n, const OrbGpuOptions& options, int repeats) {
  OrbGpu<T, Dim> gpu(n, options);
  OrbBox<T, Dim> box;
  box.upper.fill(T(1));
  std::vector<std::pair<double, OrbGpuTimes>> runs;
  for (int k = 0; k <= repeats; ++k) {
    gpu.run(points.data(), box);
    if (k > 0 || repeats == 0) runs.emplace_back(gpu.times().total_s, gpu.times());
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return {runs[runs.size() / 2].first, runs[runs.size() / 2].second};
}

Json row(const char* input, const char* method, const char* outputs, std::uint64_t n, std::uint32_t leaves,
         const Measured& m) {
  const OrbGpuTimes& t = m.times;
  std::printf(
      "%-8s %-10s %-16s n 2^%-5.2f leaves %5u  %9.3f ms = sample %.2f classify %.2f resolve %.2f move %.2f labels "
      "%.2f  rounds %d in brackets %.1f%% host cells %u passes %d\n",
      input, method, outputs, std::log2(static_cast<double>(n)), leaves, 1e3 * m.time_s, 1e3 * t.sample_s,
      1e3 * t.classify_s, 1e3 * t.resolve_s, 1e3 * t.move_s, 1e3 * t.labels_s, t.rounds,
      100.0 * static_cast<double>(t.stopped) / static_cast<double>(n), t.host_cells, t.passes);
  std::fflush(stdout);
  return {
      {"input", input},           {"method", method},           {"outputs", outputs},     {"n", n},
      {"leaves", leaves},         {"time_s", m.time_s},         {"sample_s", t.sample_s}, {"classify_s", t.classify_s},
      {"resolve_s", t.resolve_s}, {"move_s", t.move_s},         {"labels_s", t.labels_s}, {"rounds", t.rounds},
      {"stopped", t.stopped},     {"host_cells", t.host_cells}, {"passes", t.passes}};
}

double copy_bandwidth() {
  constexpr std::size_t kBytes = std::size_t{4} << 30;
  support::DeviceBuffer<unsigned char> a(kBytes), b(kBytes);
  support::CudaStream stream;
  support::CudaEvent start(true), end(true);
  double best = 0;
  for (int k = 0; k < 6; ++k) {
    start.record(stream);
    support::cuda_check(cudaMemcpyAsync(b.data(), a.data(), kBytes, cudaMemcpyDeviceToDevice, stream.get()), "copy");
    end.record(stream);
    end.synchronize();
    best = std::max(best, 2.0 * kBytes / end.seconds_since(start));
  }
  return best;
}

Json measure_all(int max_log2) {
  Json rows = Json::array();
  const OrbInputKind kinds[] = {OrbInputKind::uniform, OrbInputKind::cluster, OrbInputKind::plummer,
                                OrbInputKind::field};
  const char* names[] = {"uniform", "cluster", "plummer", "field"};
  constexpr std::uint32_t kLeaves = 4096;
  support::PageBuffer<float> host;
  support::DeviceBuffer<float> points;
  const std::uint64_t largest = std::uint64_t{1} << max_log2;
  for (int k = 0; k < 4; ++k) {
    // The costly inputs at a quarter of the size: making them takes the host longer than cutting them.
    const std::uint64_t n = k < 2 ? largest : largest / 4;
    host.grow(n * 3);
    make_orb_points<float, 3>(kinds[k], 1, 0, host.span().first(n * 3));
    const auto sent = std::chrono::steady_clock::now();
    upload<float>(points, host.span().first(n * 3));
    const double send_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - sent).count();
    std::printf("host to device (pageable) %.1f GB/s\n", 12.0 * static_cast<double>(n) / send_s / 1e9);
    for (std::uint64_t m = n; m >= std::uint64_t{1} << 20; m /= 4) {
      rows.push_back(
          row(names[k], "multiway", "points", m, kLeaves, measure<float, 3>(points, m, {.leaves = kLeaves}, 5)));
      if (k > 0 && m <= n / 4) break;
    }
    rows.push_back(row(names[k], "multiway", "labels", n, kLeaves,
                       measure<float, 3>(points, n, {.leaves = kLeaves, .points = false, .labels = true}, 5)));
    if (k != 0) continue;
    rows.push_back(row(names[k], "multiway", "points,ids,labels", n, kLeaves,
                       measure<float, 3>(points, n, {.leaves = kLeaves, .permutation = true, .labels = true}, 5)));
    for (const char* method : {"seed-level", "seed-warp", "seed-cells"})
      rows.push_back(row(names[k], method, "points,ids", n, kLeaves,
                         measure<float, 3>(points, n, {.leaves = kLeaves, .method = method}, 0)));
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  int max_log2 = 30;
  std::string json;
  bool check_only = false;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--max-log2" && k + 1 < argc) max_log2 = std::atoi(argv[++k]);
    if (word == "--json" && k + 1 < argc) json = argv[++k];
    if (word == "--check-only") check_only = true;
  }
  try {
    const bool good = check_all();
    std::printf(good ? "All checks passed.\n" : "CHECKS FAILED\n");
    Json record{{"schema", 1}, {"program", "orb_cuda_bench"}, {"checks_passed", good}};
    cudaDeviceProp properties{};
    support::cuda_check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    record["gpu"] = properties.name;
    if (!check_only) {
      const double copy = copy_bandwidth();
      std::printf("copy bandwidth %.2f TB/s\n", copy / 1e12);
      record["copy_bandwidth_bytes_per_s"] = copy;
      record["rows"] = measure_all(max_log2);
    }
    if (!json.empty()) std::ofstream(json) << record.dump(2) << '\n';
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orb_cuda_bench: %s\n", error.what());
    return 1;
  }
}
