// What the model of a machine counts for each rank, against counting it another way.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "amr/random_runs.hpp"
#include "loadbalance/replay/trace_mesh.hpp"
#include "loadbalance/replay/trace_recorder.hpp"
#include "loadbalance/replay/virtual_ranks.hpp"
#include "temporary_folder.hpp"

namespace amrbench::loadbalance {
namespace {

/// Faces of block i that lie inside the domain and have no block of the same level behind them, by axis.
std::array<int, 3> faces_across_levels(const amr::Mesh<3>& mesh,
                                       const std::map<std::array<std::int64_t, 4>, std::int32_t>& blocks,
                                       std::int32_t i) {
  std::array<int, 3> count{};
  for (int axis = 0; axis < 3; ++axis) {
    for (const int side : {-1, 1}) {
      std::array<std::int64_t, 4> other{mesh.level(i), mesh.coord(i)[0], mesh.coord(i)[1], mesh.coord(i)[2]};
      other[1 + axis] += side;
      const std::int64_t end = static_cast<std::int64_t>(mesh.space().root()[axis]) << mesh.level(i);
      if (other[1 + axis] >= 0 && other[1 + axis] < end && !blocks.contains(other)) ++count[axis];
    }
  }
  return count;
}

TEST(VirtualRanks, CountFacesThatCrossALevel) {
  if (!support::Communicator::world().is_root()) return;  // replays are one process's work
  const tests::TemporaryFolder folder;
  constexpr int kRanks = 5;
  std::int64_t crossed = 0;
  for (int set = 1; set <= 6; ++set) {
    SCOPED_TRACE("seed " + std::to_string(amr::checks::kSeed) + ", set " + std::to_string(set));
    const apps::Config config = amr::checks::random_config(set);
    const auto file = folder.path("t" + std::to_string(set));
    record_mesh(config, file);
    TraceReader reader(file);
    TraceMesh<3> followed(reader.header(), "hilbert");
    std::mt19937_64 random(set);
    for (TraceRefinement refinement; reader.next(refinement);) {
      for (const TracePass& pass : refinement.passes) followed.apply(followed.changes(pass));
      const amr::Mesh<3>& mesh = followed.mesh();
      std::map<std::array<std::int64_t, 4>, std::int32_t> blocks;
      for (std::int32_t i = 0; i < mesh.size(); ++i)
        blocks[{mesh.level(i), mesh.coord(i)[0], mesh.coord(i)[1], mesh.coord(i)[2]}] = i;
      Owners owners(static_cast<std::size_t>(mesh.size()));
      std::vector<double> expected(kRanks);
      const kernels::BlockLayout layout = reader.header().layout();
      for (std::int32_t i = 0; i < mesh.size(); ++i) {
        owners[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random() % kRanks);
        const std::array<int, 3> faces = faces_across_levels(mesh, blocks, i);
        for (int axis = 0; axis < 3; ++axis) {
          const std::size_t cells = layout.block_cells() / static_cast<std::size_t>(layout.cells[axis]);
          expected[static_cast<std::size_t>(owners[static_cast<std::size_t>(i)])] +=
              faces[axis] * static_cast<double>(cells) * layout.chunks;
          crossed += faces[axis];
        }
      }
      EXPECT_EQ(jump_cells(mesh, owners, kRanks, reader.header()), expected);
    }
  }
  EXPECT_GT(crossed, 0);
}

TEST(Machine, UnevenLoadsHideTheMachinesOwnUnevenness) {
  Machine machine;
  EXPECT_EQ(machine.waiting(2.0, 2.0), 0.0);
  machine.wait_fraction = 0.1;
  EXPECT_DOUBLE_EQ(machine.waiting(2.0, 2.0), 0.2);
  EXPECT_EQ(machine.waiting(2.0, 1.8), 0.0);
  double last = machine.waiting(2.0, 2.0);
  for (double mean = 1.99; mean > 1.9; mean -= 0.01) {
    EXPECT_LT(machine.waiting(2.0, mean), last) << mean;
    last = machine.waiting(2.0, mean);
  }
}

}  // namespace
}  // namespace amrbench::loadbalance
