#include "partitioners/refine/part_state.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>

#include "partitioners/threads.hpp"

namespace amrbench::partitioners::refine {

namespace {

/// Sums of the part that vertices in a row belong to: added to the part's own when the part changes.
struct RunOfPart {
  std::int32_t part = kNoPart;
  std::uint64_t load = 0;
  std::int64_t count = 0;
  std::int64_t cut = 0;
  std::int64_t volume = 0;
  static constexpr std::int32_t kNoPart = -1;
};

}  // namespace

PartState::PartState(const Graph& graph, std::vector<std::uint64_t> weights, int parts, RefineGoal goal, int threads,
                     std::span<std::int32_t> part)
    : graph_(graph), weights_(std::move(weights)), goal_(goal), part_(part) {
  const auto n = static_cast<std::size_t>(parts);
  load_.assign(n, 0);
  count_.assign(n, 0);
  cut_.assign(n, 0);
  if (goal_ == RefineGoal::volume) volume_.assign(n, 0);
  if (!weights_.empty()) heaviest_vertex_ = *std::max_element(weights_.begin(), weights_.end());
  count_all(threads);
  total_load_ = std::accumulate(load_.begin(), load_.end(), std::uint64_t{0});
  cut_sum_ = std::accumulate(cut_.begin(), cut_.end(), std::int64_t{0});
  volume_sum_ = std::accumulate(volume_.begin(), volume_.end(), std::int64_t{0});
}

void PartState::count_all(int threads) {
  const auto vertices = static_cast<std::int32_t>(part_.size());
  const bool volumes = goal_ == RefineGoal::volume;
  std::vector<std::vector<std::int32_t>> border(static_cast<std::size_t>(team_size(threads)));
#pragma omp parallel num_threads(team_size(threads))
  {
    std::vector<std::int32_t>& own_border = border[static_cast<std::size_t>(omp_get_thread_num())];
    RunOfPart run;
    FewParts few;
    const auto flush = [&] {  // integers: the order of additions does not matter
      if (run.part == RunOfPart::kNoPart) return;
      const auto p = static_cast<std::size_t>(run.part);
#pragma omp atomic
      load_[p] += run.load;
#pragma omp atomic
      count_[p] += run.count;
#pragma omp atomic
      cut_[p] += run.cut;
      if (!volumes) return;
#pragma omp atomic
      volume_[p] += run.volume;
    };
#pragma omp for schedule(static)
    for (std::int32_t v = 0; v < vertices; ++v) {
      const std::int32_t p = part_of(v);
      if (p != run.part) {
        flush();
        run = {.part = p};
      }
      run.load += weight(v);
      ++run.count;
      few.clear();
      const std::int64_t cut_before = run.cut;
      for (const std::int32_t w : neighbours(graph_, v)) {
        const std::int32_t q = part_of(w);
        if (q == p) continue;
        ++run.cut;
        if (volumes && few.insert(q)) ++run.volume;
      }
      if (run.cut != cut_before) own_border.push_back(v);
    }
    flush();
  }
  for (const auto& own : border) first_border_.insert(first_border_.end(), own.begin(), own.end());
}

std::uint64_t PartState::heaviest_part() const {
  return load_.empty() ? 0 : *std::max_element(load_.begin(), load_.end());
}

BoundaryMeasures PartState::measures() const {
  BoundaryMeasures m;
  m.edge_cut_max = cut_.empty() ? 0 : *std::max_element(cut_.begin(), cut_.end());
  m.edge_cut_total = cut_sum_ / 2;
  m.volume_max = volume_.empty() ? 0 : *std::max_element(volume_.begin(), volume_.end());
  m.volume_total = volume_sum_;
  return m;
}

void PartState::watch(std::int64_t goal_most, std::int64_t cut_most) {
  volume_watch_ = goal_most;
  cut_watch_ = cut_most;
  above_ = 0;
}

void PartState::change(std::vector<std::int64_t>& measure, std::int32_t p, std::int64_t by, std::int64_t most) {
  std::int64_t& value = measure[static_cast<std::size_t>(p)];
  above_ -= value > most ? 1 : 0;
  value += by;
  above_ += value > most ? 1 : 0;
}

std::size_t PartState::memory_bytes() const {
  return weights_.size() * sizeof(std::uint64_t) +
         (load_.size() + count_.size() + cut_.size() + volume_.size()) * sizeof(std::int64_t);
}

void PartState::apply(const VertexMove& move) {
  const std::span<const std::int32_t> row = neighbours(graph_, move.vertex);
  std::int64_t stays = 0, joins = 0;
  for (const std::int32_t w : row) {
    const std::int32_t q = part_of(w);
    stays += q == move.from ? 1 : 0;
    joins += q == move.to ? 1 : 0;
  }
  if (goal_ == RefineGoal::volume)
    volume_change(
        graph_, move, [&](std::int32_t v) { return part_of(v); }, few_,
        [&](std::int32_t p, std::int64_t by) {
          change(volume_, p, by, volume_watch_);
          volume_sum_ += by;
        });
  const auto from = static_cast<std::size_t>(move.from), to = static_cast<std::size_t>(move.to);
  const CutChange cuts = cut_change(static_cast<std::int64_t>(row.size()), stays, joins);
  change(cut_, move.from, cuts.from, cut_watch_);
  change(cut_, move.to, cuts.to, cut_watch_);
  cut_sum_ += cuts.from + cuts.to;
  load_[from] -= weight(move.vertex);
  load_[to] += weight(move.vertex);
  --count_[from];
  ++count_[to];
  part_[static_cast<std::size_t>(move.vertex)] = move.to;
}

}  // namespace amrbench::partitioners::refine
