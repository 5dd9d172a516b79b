// support/process_memory.hpp against memory the test touches itself.
#include "support/process_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <limits>
#include <vector>

#include "support/page_buffer.hpp"

namespace amrbench::support {
namespace {

TEST(ProcessMemory, PeakFollowsTouchedPagesAndStays) {
  constexpr std::int64_t kBytes = std::int64_t{96} << 20;
  const std::int64_t before = peak_resident_bytes();
  ASSERT_GT(before, 1 << 20);
  {
    PageBuffer<char> buffer(static_cast<std::size_t>(kBytes));
    for (std::size_t i = 0; i < buffer.size(); i += 4096) buffer[i] = 1;
  }
  EXPECT_GT(peak_resident_bytes(), before + kBytes / 2);
  EXPECT_LT(peak_resident_bytes(), before + 2 * kBytes);
}

TEST(ProcessMemory, NodeHasMemory) {
  EXPECT_GT(available_memory_bytes(), std::int64_t{1} << 24);
  EXPECT_GT(total_memory_bytes(), available_memory_bytes());
}

TEST(ProcessMemory, ALimitOfAddressSpaceIsSeen) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "a limit is set already";
  EXPECT_EQ(address_space_left(), std::numeric_limits<std::int64_t>::max());
  constexpr std::int64_t kMuch = std::int64_t{1} << 46;  // sanitizers take terabytes
  rlimit limit = before;
  limit.rlim_cur = kMuch;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const std::int64_t left = address_space_left();
  const std::vector<char> taken(std::size_t{64} << 20, 1);
  const std::int64_t then = address_space_left();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LT(left, kMuch);
  EXPECT_GT(left, 0);
  EXPECT_LE(then, left - static_cast<std::int64_t>(taken.size()));
}

TEST(ProcessMemory, ThePeakCanBeForgotten) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  {
    std::vector<char> large(kBytes, 1);
    ASSERT_GE(peak_resident_bytes(), static_cast<std::int64_t>(kBytes)) << static_cast<int>(large[kBytes / 2]);
  }
  if (!reset_peak_resident()) GTEST_SKIP() << "this system keeps the peak";
  EXPECT_LT(peak_resident_bytes(), static_cast<std::int64_t>(kBytes));
}

}  // namespace
}  // namespace amrbench::support
