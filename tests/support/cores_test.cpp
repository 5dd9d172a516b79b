// support/cores.hpp: masks in, threads and line out.
#include "support/cores.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <set>

#include "support/mpi.hpp"

namespace amrbench::support {
namespace {

CpuMask cpus(int first, int count) {
  CpuMask mask;
  for (int cpu = first; cpu < first + count; ++cpu) mask.set(cpu);
  return mask;
}

/// A node of 16 processors whose launcher may use all.
LaunchedBy open_mpi() {
  return {LaunchKind::open_mpi, cpus(0, 16)};
}

TEST(Cores, OneRankBoundToOneCoreIsToldHowToGetMore) {
  // mpirun -n 1 of Open MPI.
  const std::vector<RankCores> node{{cpus(0, 1)}};
  Placement p = decide_placement(node, 0, open_mpi(), 8);
  EXPECT_EQ(p.cores, 1);
  EXPECT_EQ(p.threads, 8);
  EXPECT_EQ(p.binding, Binding::exclusive);
  EXPECT_EQ(p.note,
            "8 threads of a rank take turns on 1 core, all that it may use: add --bind-to none to mpirun, or take "
            "--threads 1");
  p = decide_placement(node, 0, open_mpi(), 0);
  EXPECT_EQ(p.threads, 1);
  EXPECT_EQ(p.note, "a rank may use 1 core, though there are 16 for 1 rank of this node: add --bind-to none to mpirun");
  EXPECT_EQ(decide_placement(node, 0, open_mpi(), 1).note, "");  // asked for
}

TEST(Cores, RanksBoundToACoreEachAreToldHowToGetTheirShare) {
  const std::vector<RankCores> node{{cpus(0, 1)}, {cpus(1, 1)}};
  EXPECT_EQ(decide_placement(node, 1, open_mpi(), 0).note,
            "a rank may use 1 core, though there are 16 for 2 ranks of this node: add --map-by slot:PE=8 to mpirun");
  EXPECT_EQ(decide_placement(node, 1, open_mpi(), 4).note,
            "4 threads of a rank take turns on 1 core, all that it may use: add --map-by slot:PE=4 to mpirun, or take "
            "--threads 1");
  // More than there are, all together: binding cannot help.
  EXPECT_EQ(decide_placement(node, 1, open_mpi(), 12).note,
            "12 threads of a rank take turns on 1 core, all that it may use: add --bind-to none to mpirun, or take "
            "--threads 1");
  EXPECT_EQ(decide_placement(node, 1, open_mpi(), 17).note,
            "17 threads of a rank take turns on 1 core, all that it may use: take --threads 1");
}

TEST(Cores, EachLauncherHasItsOwnWords) {
  const std::vector<RankCores> node{{cpus(0, 1)}, {cpus(1, 1)}};
  const auto note = [&](LaunchKind kind) { return decide_placement(node, 0, {kind, cpus(0, 16)}, 2).note; };
  EXPECT_NE(note(LaunchKind::open_mpi).find("--map-by slot:PE=2"), std::string::npos);
  EXPECT_NE(note(LaunchKind::hydra).find("-bind-to core:2 to mpiexec"), std::string::npos);
  EXPECT_NE(note(LaunchKind::intel).find("I_MPI_PIN_DOMAIN=2"), std::string::npos);
  EXPECT_NE(note(LaunchKind::slurm).find("--cpus-per-task=2 to srun"), std::string::npos);
  EXPECT_NE(note(LaunchKind::none).find("let it use 2 cores"), std::string::npos);
}

TEST(Cores, RanksThatShareAMaskShareItsCores) {
  const std::vector<RankCores> node(4, {cpus(0, 16)});
  for (std::size_t rank = 0; rank < node.size(); ++rank) {
    const Placement p = decide_placement(node, rank, open_mpi(), 0);
    EXPECT_EQ(p.cores, 16);
    EXPECT_EQ(p.ranks_shared, 4);
    EXPECT_EQ(p.threads, 4);
    EXPECT_EQ(p.binding, Binding::none);
    EXPECT_EQ(p.note, "");
  }
  EXPECT_EQ(decide_placement(node, 0, open_mpi(), 5).note,
            "5 threads of a rank take turns: 4 ranks share 16 cores; take --threads 4");
}

TEST(Cores, RanksWithCoresOfTheirOwnTakeThemAll) {
  const std::vector<RankCores> node{{cpus(0, 8)}, {cpus(8, 8)}};
  const Placement p = decide_placement(node, 1, open_mpi(), 0);
  EXPECT_EQ(p.threads, 8);
  EXPECT_EQ(p.ranks_shared, 1);
  EXPECT_EQ(p.binding, Binding::exclusive);
  EXPECT_EQ(p.note, "");
}

TEST(Cores, MasksThatOverlapInPartAddUpToTheNode) {
  // Three ranks on 12 processors: 0-7, 4-11, 0-11.
  const std::vector<RankCores> node{{cpus(0, 8)}, {cpus(4, 8)}, {cpus(0, 12)}};
  const LaunchedBy launched{LaunchKind::open_mpi, cpus(0, 12)};
  int all = 0;
  for (std::size_t rank = 0; rank < node.size(); ++rank) all += decide_placement(node, rank, launched, 0).threads;
  EXPECT_LE(all, 12);
  EXPECT_EQ(decide_placement(node, 0, launched, 0).threads, 3);  // 4 / 2 + 4 / 3
  EXPECT_EQ(decide_placement(node, 2, launched, 0).threads, 5);  // 8 / 2 + 4 / 3
  EXPECT_EQ(decide_placement(node, 0, launched, 0).binding, Binding::shared);
  EXPECT_EQ(decide_placement(node, 2, launched, 0).binding, Binding::none);
}

TEST(Cores, MoreRanksThanCoresHaveOneThreadEach) {
  const std::vector<RankCores> node(5, {cpus(0, 2)});
  EXPECT_EQ(decide_placement(node, 4, {LaunchKind::open_mpi, cpus(0, 2)}, 0).threads, 1);
}

TEST(Cores, ThirdsOfCoresAreNotLost) {
  // Three thirds are one whole, whatever the rounding: 9 processors for 3 ranks.
  const std::vector<RankCores> node(3, {cpus(0, 9)});
  EXPECT_EQ(decide_placement(node, 0, {LaunchKind::none, cpus(0, 9)}, 0).threads, 3);
}

TEST(Cores, AControlGroupsLimitIsSharedByItsRanks) {
  std::vector<RankCores> node(2, {cpus(0, 16), 6.0, 7});
  EXPECT_EQ(decide_placement(node, 0, open_mpi(), 0).threads, 3);
  node[1].limit_group = 8;  // a group of its own
  EXPECT_EQ(decide_placement(node, 0, open_mpi(), 0).threads, 6);
  const std::vector<RankCores> alone{{cpus(0, 16), 2.5, 7}};
  EXPECT_EQ(decide_placement(alone, 0, open_mpi(), 0).threads, 2);
  EXPECT_EQ(decide_placement(alone, 0, open_mpi(), 4).note,
            "4 threads of a rank take turns: its control group gets the time of 2 cores; take --threads 2");
  const std::vector<RankCores> half{{cpus(0, 16), 0.5, 7}};
  EXPECT_EQ(decide_placement(half, 0, open_mpi(), 0).threads, 1);
}

TEST(Cores, RanksOnGpusTakeHalfOfManyCores) {
  const auto placed = [&](int ranks, int cores, int asked) {
    const std::vector<RankCores> node(ranks, {cpus(0, cores)});
    return decide_placement(node, 0, {LaunchKind::open_mpi, cpus(0, cores)}, asked, true);
  };
  EXPECT_EQ(placed(1, 64, 0).threads, 32);
  EXPECT_EQ(placed(2, 64, 0).threads, 16);
  EXPECT_EQ(placed(4, 64, 0).threads, 8);
  EXPECT_EQ(placed(4, 64, 0).note, "");
  EXPECT_EQ(placed(4, 64, 11).note, "");
  EXPECT_EQ(placed(4, 64, 12).note,
            "12 threads on the 16 cores of a rank that computes on a GPU: some hosts are several times slower with "
            "that; take --threads 8");
  EXPECT_EQ(placed(4, 64, 17).note, "17 threads of a rank take turns: 4 ranks share 64 cores; take --threads 8");
  // Few cores are all taken.
  EXPECT_EQ(placed(1, 16, 0).threads, 16);
  EXPECT_EQ(placed(2, 16, 0).threads, 8);
  EXPECT_EQ(placed(2, 16, 8).note, "");
  EXPECT_EQ(placed(16, 16, 0).threads, 1);
  EXPECT_EQ(placed(1, 24, 0).threads, 16);
  // What a run takes by itself is never complained of.
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int cores = ranks; cores <= 128; ++cores)
      EXPECT_EQ(placed(ranks, cores, 0).note, "") << ranks << " ranks, " << cores << " cores";
}

TEST(Cores, WhoIsConfinedWithItsLauncherIsNotBound) {
  // taskset -c 0 mpirun -n 1: nothing that mpirun could do.
  const std::vector<RankCores> node{{cpus(0, 1)}};
  const Placement p = decide_placement(node, 0, {LaunchKind::open_mpi, cpus(0, 1)}, 0);
  EXPECT_EQ(p.binding, Binding::none);
  EXPECT_EQ(p.note, "");
  EXPECT_EQ(decide_placement(node, 0, {LaunchKind::open_mpi, cpus(0, 1)}, 2).note,
            "2 threads of a rank take turns on 1 core, all that it may use: take --threads 1");
}

TEST(Cores, ThisProcessIsFoundAsTheSystemSays) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  const Placement p = find_placement(Communicator(), 3);
  EXPECT_EQ(p.cores, CPU_COUNT(&set));
  EXPECT_EQ(p.ranks_node, 1);
  EXPECT_EQ(p.threads, 3);
}

}  // namespace
}  // namespace amrbench::support
