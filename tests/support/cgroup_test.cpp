// support/cgroup.hpp against trees of files as the kernel makes them.
#include "support/cgroup.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.hpp"

namespace amrbench::support {
namespace {

namespace fs = std::filesystem;

class Cgroup : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    const fs::path path = root_.path(file);
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] CgroupLimits limits() const { return cgroup_limits(root_.path("")); }
  tests::TemporaryFolder root_;
};

TEST_F(Cgroup, NothingThereIsNoLimit) {
  EXPECT_EQ(limits().cpus, 0);
  EXPECT_EQ(limits().memory, -1);
  EXPECT_EQ(limits().available, -1);
}

TEST_F(Cgroup, SecondVersionTakesTheTightestUpToTheRoot) {
  put("proc/self/cgroup", "0::/job/step\n");
  put("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  put("sys/fs/cgroup/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/job/step/memory.max", "max\n");
  put("sys/fs/cgroup/job/step/memory.current", "5\n");
  put("sys/fs/cgroup/job/memory.max", "1000000\n");
  put("sys/fs/cgroup/job/memory.current", "700000\n");
  put("sys/fs/cgroup/job/memory.stat", "anon 100000\ninactive_file 200000\n");
  EXPECT_EQ(limits().cpus, 2.5);
  EXPECT_TRUE(limits().cpu_group.ends_with("/job")) << limits().cpu_group;
  EXPECT_EQ(limits().memory, 1000000);
  EXPECT_EQ(limits().available, 500000);
}

TEST_F(Cgroup, FirstVersion) {
  put("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/x\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "3000\n");
  put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limits().cpus, 1.5);
  EXPECT_EQ(limits().memory, 3000);
  EXPECT_EQ(limits().available, 2000);
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(limits().cpus, 0);
}

TEST_F(Cgroup, InAContainerWhoseOwnPathIsHidden) {
  put("proc/self/cgroup", "0::/kubepods/pod7/abc\n");
  put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(limits().cpus, 2);
}

TEST_F(Cgroup, DamagedFilesAreNoLimit) {
  put("proc/self/cgroup", "nonsense\n0::/a\n");
  put("sys/fs/cgroup/a/cpu.max", "12x 0\n");
  put("sys/fs/cgroup/a/memory.max", "-4\n");
  put("sys/fs/cgroup/a/memory.current", "x\n");
  EXPECT_EQ(limits().cpus, 0);
  EXPECT_EQ(limits().memory, -1);
}

}  // namespace
}  // namespace amrbench::support
