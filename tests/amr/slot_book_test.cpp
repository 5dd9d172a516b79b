// Bookkeeping of slots against a plain set of free numbers, over random sequences of what a run does.
#include "amr/slot_book.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace amrbench::amr {
namespace {

TEST(SlotBook, BeginsInOrder) {
  SlotBook book;
  EXPECT_EQ(book.size(), 0);
  EXPECT_TRUE(book.in_order());
  book.reset(5);
  EXPECT_EQ(book.size(), 5);
  EXPECT_EQ(book.used(), 5);
  EXPECT_TRUE(book.in_order());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(book.slot(i), i);
}

TEST(SlotBook, FreedSlotsComeFirstAndAscending) {
  SlotBook book;
  book.reset(6);
  book.give_back(std::vector<std::int64_t>{4, 1, 3});
  EXPECT_EQ(book.take(2), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(book.take(3), (std::vector<std::int64_t>{4, 6, 7}));
  EXPECT_EQ(book.used(), 8);
  book.set({0, 2, 5});
  EXPECT_FALSE(book.in_order());
  EXPECT_EQ(book.slot(2), 5);
  book.set({0, 1, 2});
  EXPECT_TRUE(book.in_order());
}

TEST(SlotBook, NeverGivesASlotTwice) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    SlotBook book;
    const auto start = static_cast<std::int64_t>(random() % 40);
    book.reset(start);
    std::vector<std::int64_t> held(start);
    std::iota(held.begin(), held.end(), 0);
    std::set<std::int64_t> spare;  // freed, not taken again
    std::int64_t used = start;
    for (int step = 0; step < 50; ++step) {
      std::shuffle(held.begin(), held.end(), random);
      const std::size_t go = held.empty() ? 0 : random() % held.size();
      const std::vector<std::int64_t> leaving(held.end() - static_cast<std::ptrdiff_t>(go), held.end());
      held.resize(held.size() - go);
      book.give_back(leaving);
      spare.insert(leaving.begin(), leaving.end());
      std::vector<std::int64_t> expected;
      const std::size_t count = random() % 30;
      while (expected.size() < count && !spare.empty()) {
        expected.push_back(*spare.begin());
        spare.erase(spare.begin());
      }
      while (expected.size() < count) expected.push_back(used++);
      ASSERT_EQ(book.take(count), expected);
      held.insert(held.end(), expected.begin(), expected.end());
      book.set(held);
      ASSERT_EQ(book.used(), used);
      ASSERT_EQ(std::vector<std::int64_t>(book.slots().begin(), book.slots().end()), held);
      if (step % 17 != 16) continue;
      book.reset(static_cast<std::int64_t>(held.size()));  // a stage put the blocks in order
      std::iota(held.begin(), held.end(), 0);
      used = static_cast<std::int64_t>(held.size());
      spare.clear();
      ASSERT_TRUE(book.in_order());
    }
  }
}

}  // namespace
}  // namespace amrbench::amr
