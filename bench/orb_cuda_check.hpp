#pragma once
// Checks of orb_cuda_bench: bisection on a GPU against the CPU's, a printed line a case.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/orb_cuda_data.hpp"

namespace amrbench::bench {

using namespace partitioners;

/// Bytes a second that a copy on the GPU reads and writes.
inline double copy_bandwidth() {
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

/// One case against the CPU's result: tree, labels, permutation where the method keeps order, points by permutation.
template <class T, int Dim>
bool check(const char* name, const std::vector<T>& points, std::uint32_t leaves, const char* method,
           const OrbGpuTuning& tuning = {}) {
  const std::size_t n = points.size() / Dim;
  OrbResult<T, Dim> cpu;
  orb<T, Dim>({points, Dim}, {}, {.leaves = leaves}, cpu);
  support::DeviceBuffer<T> device;
  upload<T>(device, points);
  OrbGpu<T, Dim> gpu(n, {.leaves = leaves, .method = method, .permutation = true, .labels = true, .tuning = tuning});
  const OrbTree<T, Dim>& tree = gpu.run(device.data(), cpu.tree.cells[1].box);
  const std::string wrong = differences<T, Dim>(gpu, tree, cpu, points, std::string(method) == "multiway");
  const OrbGpuTimes& t = gpu.times();
  std::printf("%s %-28s %-10s n %9zu leaves %5u rounds %d%s again %d%s\n", wrong.empty() ? "ok  " : "FAIL", name,
              method, n, leaves, t.rounds, t.first_round ? " first" : "", t.again, wrong.c_str());
  std::fflush(stdout);
  return wrong.empty();
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

inline bool check_all() {
  bool good = true;
  const PointKind kinds[] = {PointKind::uniform, PointKind::cluster, PointKind::plummer, PointKind::field};
  const char* names[] = {"uniform", "cluster", "plummer", "field"};
  for (int k = 0; k < 4; ++k) {
    good = check<float, 3>(names[k], made<float, 3>(kinds[k], 3000000, 1), 4096, "multiway") && good;
    good = check<float, 3>(names[k], made<float, 3>(kinds[k], 1000001, 2), 61, "multiway") && good;
    good = check<double, 3>(names[k], made<double, 3>(kinds[k], 1500000, 3), 1021, "multiway") && good;
    good = check<double, 2>(names[k], made<double, 2>(kinds[k], 700000, 4), 127, "multiway") && good;
    good = check<float, 2>(names[k], made<float, 2>(kinds[k], 900000, 5), 4093, "multiway") && good;
    good = check<float, 3>(names[k], made<float, 3>(kinds[k], 3000001, 7), 4096, "multiway",
                           {.sigmas = 3, .samples = 2}) &&
           good;
    good = check<float, 3>(names[k], made<float, 3>(kinds[k], 2000001, 8), 3001, "multiway", {.again = false}) && good;
    good = check<float, 3>(names[k], made<float, 3>(kinds[k], 1500001, 9), 4096, "multiway", {.first_round = false}) &&
           good;
    for (const char* method : {"seed-cells", "seed-level", "seed-warp"})
      good = check<float, 3>(names[k], made<float, 3>(kinds[k], 400000, 6), 509, method) && good;
  }
  for (const char* method : {"multiway", "seed-warp"}) {
    good = check<float, 3>("lattice of 16", lattice<float>(600000, 16), 64, method) && good;
    good = check<double, 2>("lattice of 1000", lattice<double>(400000, 1000), 100, method) && good;
    good = check<float, 3>("one place", std::vector<float>(60000, 0.25F), 7, method) && good;
  }
  for (const std::uint32_t leaves : {1U, 2U, 3U, 64U, 65U})
    good = check<float, 3>("uniform", made<float, 3>(PointKind::uniform, 200003, 9), leaves, "multiway") && good;
  good = check<float, 3>("uniform", made<float, 3>(PointKind::uniform, 1000, 9), 1000, "multiway") && good;
  return good;
}

/// Every kernel once or twice on few points.
inline bool check_small() {
  bool good = check<float, 3>("uniform", made<float, 3>(PointKind::uniform, 34001, 1), 100, "multiway");
  good = check<float, 3>("uniform", made<float, 3>(PointKind::uniform, 17001, 2), 50, "multiway", {.samples = 0.25}) &&
         good;
  good = check<double, 2>("plummer", made<double, 2>(PointKind::plummer, 8300, 3), 31, "multiway") && good;
  good = check<float, 3>("6 levels", made<float, 3>(PointKind::uniform, 20000, 4), 70, "multiway",
                         {.first_round = false}) &&
         good;
  good = check<float, 3>("lattice of 16", lattice<float>(15000, 16), 70, "multiway") && good;
  for (const char* method : {"seed-cells", "seed-level", "seed-warp"})
    good = check<float, 3>("cluster", made<float, 3>(PointKind::cluster, 5000, 5), 5, method) && good;
  return good;
}

}  // namespace amrbench::bench
