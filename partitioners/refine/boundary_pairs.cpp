#include "partitioners/refine/boundary_pairs.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "partitioners/threads.hpp"

namespace amrbench::partitioners::refine {

namespace {

/// A vertex at the boundary of two parts, one of them its own.
struct BorderEntry {
  std::int32_t low;
  std::int32_t high;
  std::int32_t vertex;
};

/// What one stretch of the candidates found.
struct BorderChunk {
  std::vector<BorderEntry> entries;
  std::vector<std::int32_t> border;
};

constexpr std::size_t kChunk = 4096;  ///< candidates looked at by one thread at a time

void look_at(const PartState& state, std::int32_t v, std::span<const std::int32_t> group_of, FewParts& few,
             BorderChunk& chunk) {
  const std::int32_t p = state.part_of(v);
  few.clear();
  for (const std::int32_t w : neighbours(state.graph(), v)) {
    const std::int32_t q = state.part_of(w);
    if (q == p || !few.insert(q)) continue;
    if (!group_of.empty() && group_of[static_cast<std::size_t>(p)] != group_of[static_cast<std::size_t>(q)]) continue;
    chunk.entries.push_back({std::min(p, q), std::max(p, q), v});
  }
  if (!few.all().empty()) chunk.border.push_back(v);
}

/// Entries by their lower part: those of p are [first[p] .. first[p + 1]).
struct SortedEntries {
  std::vector<std::size_t> first;
  std::vector<BorderEntry> entries;
};

SortedEntries sort_entries(const std::vector<BorderChunk>& chunks, std::size_t parts, int threads) {
  SortedEntries sorted;
  sorted.first.assign(parts + 1, 0);
  for (const BorderChunk& chunk : chunks)
    for (const BorderEntry& e : chunk.entries) ++sorted.first[static_cast<std::size_t>(e.low) + 1];
  std::partial_sum(sorted.first.begin(), sorted.first.end(), sorted.first.begin());
  sorted.entries.resize(sorted.first.back());
  std::vector<std::size_t> next(sorted.first.begin(), sorted.first.end() - 1);
  for (const BorderChunk& chunk : chunks)
    for (const BorderEntry& e : chunk.entries) sorted.entries[next[static_cast<std::size_t>(e.low)]++] = e;
#pragma omp parallel for schedule(dynamic, 8) num_threads(team_size(threads))
  for (std::size_t p = 0; p < parts; ++p)
    std::sort(sorted.entries.begin() + static_cast<std::ptrdiff_t>(sorted.first[p]),
              sorted.entries.begin() + static_cast<std::ptrdiff_t>(sorted.first[p + 1]),
              [](const BorderEntry& a, const BorderEntry& b) {
                return std::tie(a.high, a.vertex) < std::tie(b.high, b.vertex);
              });
  return sorted;
}

}  // namespace

BoundaryPairs find_pairs(const PartState& state, std::span<const std::int32_t> candidates,
                         std::span<const std::int32_t> group_of, int threads) {
  const std::size_t count = candidates.size();
  std::vector<BorderChunk> chunks((count + kChunk - 1) / kChunk);
#pragma omp parallel num_threads(team_size(threads))
  {
    FewParts few;
#pragma omp for schedule(dynamic)
    for (std::size_t c = 0; c < chunks.size(); ++c)
      for (std::size_t i = c * kChunk; i < std::min(count, (c + 1) * kChunk); ++i)
        look_at(state, candidates[i], group_of, few, chunks[c]);
  }
  const SortedEntries sorted = sort_entries(chunks, state.parts(), threads);
  BoundaryPairs found;
  for (const BorderChunk& chunk : chunks)
    found.border.insert(found.border.end(), chunk.border.begin(), chunk.border.end());
  found.vertices.reserve(sorted.entries.size());
  for (const BorderEntry& e : sorted.entries) {
    if (found.pairs.empty() || found.pairs.back().low != e.low || found.pairs.back().high != e.high)
      found.pairs.push_back({e.low, e.high, found.vertices.size(), found.vertices.size()});
    found.vertices.push_back(e.vertex);
    found.pairs.back().last = found.vertices.size();
  }
  return found;
}

std::vector<std::vector<std::size_t>> colour_pairs(const BoundaryPairs& found, std::size_t parts) {
  std::vector<std::size_t> turn(found.pairs.size());
  std::iota(turn.begin(), turn.end(), std::size_t{0});
  const auto length = [&](std::size_t k) { return found.pairs[k].last - found.pairs[k].first; };
  std::sort(turn.begin(), turn.end(),
            [&](std::size_t a, std::size_t b) { return length(a) != length(b) ? length(a) > length(b) : a < b; });
  // Classes that a part is in already, a bit each.
  std::vector<std::vector<std::uint64_t>> taken(parts);
  std::vector<std::vector<std::size_t>> classes;
  for (const std::size_t k : turn) {
    auto& low = taken[static_cast<std::size_t>(found.pairs[k].low)];
    auto& high = taken[static_cast<std::size_t>(found.pairs[k].high)];
    const auto used = [&](std::size_t word) {
      return (word < low.size() ? low[word] : 0) | (word < high.size() ? high[word] : 0);
    };
    std::size_t word = 0;
    while (~used(word) == 0) ++word;
    const auto bit = static_cast<std::size_t>(std::countr_one(used(word)));
    for (auto* const classes_of : {&low, &high}) {
      if (classes_of->size() <= word) classes_of->resize(word + 1, 0);
      (*classes_of)[word] |= std::uint64_t{1} << bit;
    }
    const std::size_t colour = 64 * word + bit;
    if (colour >= classes.size()) classes.resize(colour + 1);
    classes[colour].push_back(k);
  }
  return classes;
}

}  // namespace amrbench::partitioners::refine
