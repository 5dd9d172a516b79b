#include "amr/work.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace amrbench::amr {

int work_factor(std::span<const WorkConfig> work, const std::array<double, 3>& centre, int rank) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t factor = 1;
  for (const WorkConfig& entry : work) {
    bool applies = entry.rank < 0 || entry.rank == rank;
    for (std::size_t d = 0; d < 3; ++d) applies = applies && centre[d] >= entry.lo[d] && centre[d] < entry.hi[d];
    if (applies) factor = std::min(factor * entry.factor, kMost);
  }
  return static_cast<int>(factor);
}

std::vector<WorkRound> work_rounds(const Mesh<3>& mesh, std::span<const WorkConfig> work,
                                   std::span<const std::int32_t> blocks) {
  std::vector<WorkRound> rounds;
  if (work.empty()) return rounds;
  std::vector<int> factors;
  for (const std::int32_t i : blocks) factors.push_back(work_factor(work, mesh.centre(i), mesh.comm().rank()));
  int done = 1;
  for (const int factor : std::set<int>(factors.begin(), factors.end())) {
    if (factor == 1) continue;
    WorkRound round{factor - done, {}};
    for (std::size_t k = 0; k < blocks.size(); ++k)
      if (factors[k] >= factor) round.blocks.push_back(blocks[k]);
    rounds.push_back(std::move(round));
    done = factor;
  }
  return rounds;
}

std::vector<WorkRound> work_rounds(const Mesh<3>& mesh, std::span<const WorkConfig> work) {
  if (work.empty()) return {};
  std::vector<std::int32_t> all(static_cast<std::size_t>(mesh.size()));
  std::iota(all.begin(), all.end(), 0);
  return work_rounds(mesh, work, all);
}

}  // namespace amrbench::amr
