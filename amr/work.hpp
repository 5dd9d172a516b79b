#pragma once
// Artificial work ([[work]], amr/config.hpp): how often a stage evaluates the stencil of each block.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "amr/config.hpp"
#include "amr/mesh.hpp"

namespace amrbench::amr {

/// The product of the factors of all entries that hold `centre` (in the unit cube) and that apply to `rank`, at most
/// 10^6; entries that name a rank apply to no other, rank -1 to none of them.
[[nodiscard]] int work_factor(std::span<const WorkConfig> work, const std::array<double, 3>& centre, int rank = -1);

/// Blocks that are evaluated again, so many times.
struct WorkRound {
  int times = 0;
  std::vector<std::int32_t> blocks;
};

/// The evaluations of `blocks` beyond their first. Blocks of one factor, or more, share a round, in the order given, so
/// each round is spread evenly over threads. Empty where there is no artificial work. O(blocks) a different factor.
/// Local.
[[nodiscard]] std::vector<WorkRound> work_rounds(const Mesh<3>& mesh, std::span<const WorkConfig> work,
                                                 std::span<const std::int32_t> blocks);
/// The same of all local blocks; O(1) where there is no artificial work.
[[nodiscard]] std::vector<WorkRound> work_rounds(const Mesh<3>& mesh, std::span<const WorkConfig> work);

}  // namespace amrbench::amr
