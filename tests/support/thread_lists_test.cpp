// Lists that threads make together, against one thread's.
#include "support/thread_lists.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace amrbench::support {
namespace {

TEST(ThreadLists, AreThoseOfOneThread) {
  constexpr std::uint64_t kSeed = 410;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const int threads_before = omp_get_max_threads();
  for (int repeat = 0; repeat < 60; ++repeat) {
    // No item, fewer items than threads, and many; from none to three entries an item.
    const std::size_t n = repeat % 3 == 0 ? random() % 4 : random() % 3000;
    std::vector<std::size_t> expected(repeat % 5, 17);
    std::vector<std::size_t> list = expected;
    std::vector<unsigned> entries(n);
    for (std::size_t i = 0; i < n; ++i) {
      entries[i] = random() % 4;
      expected.insert(expected.end(), entries[i], i);
    }
    const auto body = [&](std::size_t begin, std::size_t end, std::vector<std::size_t>& mine) {
      for (std::size_t i = begin; i < end; ++i) mine.insert(mine.end(), entries[i], i);
    };
    omp_set_num_threads(1 + repeat % 7);
    append_by_threads(list, n, body, repeat % 2 == 0 ? 0 : 100);
    EXPECT_EQ(list, expected) << n << " items, " << 1 + repeat % 7 << " threads";
  }
  omp_set_num_threads(threads_before);
}

}  // namespace
}  // namespace amrbench::support
