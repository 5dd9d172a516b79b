#include "partitioners/slices.hpp"

#include <algorithm>
#include <utility>

#include "partitioners/threads.hpp"

namespace amrbench::partitioners {
namespace {

/// Points i with middle (2 i + 1) / 2: part p starts at the first i with (2 i + 1) * parts >= 2 * n * p.
template <class Index>
void slice_counts(std::span<const Index> order, int parts, int team, std::vector<std::int32_t>& part) {
  const auto n = static_cast<Mass>(order.size());
  const auto start = [&](int p) {
    const Mass twice = (2 * n * p + parts - 1) / parts;  // least 2 i + 1
    return static_cast<std::size_t>(twice / 2);
  };
#pragma omp parallel for num_threads(team) schedule(static)
  for (int p = 0; p < parts; ++p) {
    for (std::size_t i = start(p); i < start(p + 1); ++i) part[order[i]] = p;
  }
}

}  // namespace

template <class Index>
std::vector<std::int32_t> slice_order(std::span<const Index> order, std::span<const std::uint64_t> weights, int parts,
                                      int threads) {
  const int team = team_size(threads);
  const std::size_t n = order.size();
  std::vector<std::int32_t> part(n);
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  const std::size_t chunks = weights.empty() ? 0 : (n + kChunk - 1) / kChunk;
  std::vector<std::uint64_t> before(chunks);
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t i = c * kChunk; i < std::min(n, (c + 1) * kChunk); ++i) before[c] += weights[order[i]];
  }
  std::uint64_t total = 0;
  for (auto& b : before) total += std::exchange(b, total);
  if (total == 0) {
    slice_counts(order, parts, team, part);
    return part;
  }
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::size_t c = 0; c < chunks; ++c) {
    std::uint64_t sum = before[c];
    for (std::size_t i = c * kChunk; i < std::min(n, (c + 1) * kChunk); ++i) {
      const std::uint64_t w = weights[order[i]];
      part[order[i]] = slice_at(2 * static_cast<Mass>(sum) + w, total, parts);
      sum += w;
    }
  }
  return part;
}

template std::vector<std::int32_t> slice_order(std::span<const std::uint32_t>, std::span<const std::uint64_t>, int,
                                               int);
template std::vector<std::int32_t> slice_order(std::span<const std::uint64_t>, std::span<const std::uint64_t>, int,
                                               int);

}  // namespace amrbench::partitioners
