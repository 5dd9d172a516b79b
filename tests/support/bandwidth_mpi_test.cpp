// support/bandwidth.hpp: sizes, the copy itself, and a small measurement.
#include <gtest/gtest.h>

#include <set>

#include "support/bandwidth.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::support {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(CopyBytes, FollowCacheAndMemory) {
  EXPECT_EQ(copy_bytes_node(0, 0, 64), 512 * kMiB);
  EXPECT_EQ(copy_bytes_node(32 * kMiB, 64 * 1024 * kMiB, 64), 512 * kMiB);
  EXPECT_EQ(copy_bytes_node(260 * kMiB, 64 * 1024 * kMiB, 5), 1040 * kMiB);
  EXPECT_EQ(copy_bytes_node(260 * kMiB, 64 * 1024 * kMiB, 4), 1024 * kMiB);
  EXPECT_EQ(copy_bytes_node(480 * kMiB, 64 * 1024 * kMiB, 1), 512 * kMiB);
  EXPECT_EQ(copy_bytes_node(260 * kMiB, 1024 * kMiB, 64), 256 * kMiB);
}

TEST(CopyNonTemporal, CopiesExactlyWhatIsAsked) {
  for (std::size_t n = 0; n < 40; ++n) {
    PageBuffer<double> src(64);
    PageBuffer<double> dst(64);
    for (std::size_t i = 0; i < 64; ++i) {
      src[i] = 1.5 * static_cast<double>(i);
      dst[i] = -1;
    }
    copy_non_temporal(dst.data(), src.data(), n);
    for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(dst[i], i < n ? src[i] : -1) << "n " << n;
  }
}

TEST(CopyBandwidth, AgreesOnEveryRankAndIsPlausible) {
  const Communicator world = Communicator::world();
  CopyOptions options;
  options.bytes_node = 32 * kMiB;
  const CopyBandwidth measured = measure_copy_bandwidth(world, options);
  EXPECT_EQ(measured.ranks_node, world.size());
  EXPECT_LE(measured.bytes_rank * world.size(), 32 * kMiB);
  EXPECT_GT(measured.bytes_rank * world.size(), 31 * kMiB);
  EXPECT_EQ(measured.bytes_per_s, all_max(world, measured.bytes_per_s));
  EXPECT_EQ(measured.bytes_per_s, all_min(world, measured.bytes_per_s));
  EXPECT_GT(measured.bytes_per_s, 1e7);  // no machine this runs on is below 10 MB/s or above 1 PB/s
  EXPECT_LT(measured.bytes_per_s, 1e15);
  double best = 0;
  std::set<std::string> names;
  for (const CopyKind& kind : measured.kinds) {
    best = std::max(best, kind.bytes_per_s);
    names.insert(kind.name);
  }
  EXPECT_EQ(best, measured.bytes_per_s);
  EXPECT_EQ(names.size(), measured.kinds.size());
  EXPECT_EQ(names.count("plain"), 1U);
  options.bytes_node = 1;  // still a cache line a rank
  EXPECT_EQ(measure_copy_bandwidth(world, options).bytes_rank, 128);
}

}  // namespace
}  // namespace amrbench::support
