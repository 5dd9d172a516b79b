#include "partitioners/orb/roofline.hpp"

#include <omp.h>

#include <algorithm>

#include "support/metrics.hpp"

namespace amrbench::partitioners {

namespace {

using support::Metrics;

template <class T>
std::uint32_t count_left(const T* x, std::uint32_t n, T cut) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < n; ++i) count += x[i] <= cut ? 1U : 0U;
  return count;
}

}  // namespace

template <class T>
OrbRoofline measure_orb_roofline(int threads) {
  constexpr std::uint64_t kValues = (std::uint64_t{256} << 20) / sizeof(T);
  constexpr std::uint32_t kPiece = 1 << 16;
  constexpr std::uint32_t kCached = 16384 / sizeof(T);
  constexpr int kCachedRounds = 20000;
  support::PageBuffer<T> column(kValues);
  T* x = column.data();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::uint64_t i = 0; i < kValues; ++i) x[i] = static_cast<T>(i * 2654435761U % 16777216U) / T(16777216);
  OrbRoofline roofline;
  roofline.bytes_a_value = sizeof(T);
  std::uint64_t sum = 0;
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const T cut = static_cast<T>(0.1 * (repeat + 1));
    const double start = Metrics::steady_seconds();
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
    for (std::uint64_t i = 0; i < kValues; i += kPiece) sum += count_left(x + i, kPiece, cut);
    best = std::min(best, Metrics::steady_seconds() - start);
  }
  roofline.memory_bytes_per_s = static_cast<double>(kValues * sizeof(T)) / best;
  roofline.memory_operations_per_s = OrbRoofline::kOperationsAValue * static_cast<double>(kValues) / best;
  best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    double start = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
      const T* mine = x + static_cast<std::uint64_t>(omp_get_thread_num()) * kCached;
      sum += count_left(mine, kCached, T(0.5));
#pragma omp barrier
#pragma omp master
      start = Metrics::steady_seconds();
#pragma omp barrier
      for (int round = 0; round < kCachedRounds; ++round)
        sum += count_left(mine, kCached, static_cast<T>(round) / 20000);
    }
    best = std::min(best, Metrics::steady_seconds() - start);
  }
  roofline.cache_operations_per_s =
      OrbRoofline::kOperationsAValue * static_cast<double>(threads) * kCached * kCachedRounds / best;
  if (sum == 1) roofline.bytes_a_value = 0;  // never: keeps the counts from being dropped
  return roofline;
}

template OrbRoofline measure_orb_roofline<float>(int);
template OrbRoofline measure_orb_roofline<double>(int);

}  // namespace amrbench::partitioners
