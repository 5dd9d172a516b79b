// Lists that threads order by key, against a stable sort.
#include "support/order_by_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace amrbench::support {
namespace {

struct Item {
  std::size_t key, number;
  bool operator==(const Item&) const = default;
};

TEST(OrderByKey, IsAStableSort) {
  constexpr std::uint64_t kSeed = 411;
  constexpr std::size_t kKeys = 36;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const int threads_before = omp_get_max_threads();
  for (int repeat = 0; repeat < 40; ++repeat) {
    // No item, a few, and so many that threads share them; of all keys or of few.
    const std::size_t n = repeat % 4 == 0 ? random() % 4 : repeat % 4 == 1 ? random() % 300 : 4096 + random() % 9000;
    const std::size_t used = 1 + random() % kKeys;
    std::vector<Item> items, ordered(n);
    for (std::size_t i = 0; i < n; ++i) items.push_back({random() % used, i});
    omp_set_num_threads(1 + repeat % 7);
    const auto starts = order_by_key<kKeys>(std::span<const Item>(items), std::span(ordered),
                                            [](const Item& item) { return item.key; });
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    ASSERT_TRUE(ordered == items) << n << " items, " << used << " keys, " << 1 + repeat % 7 << " threads";
    for (std::size_t k = 0; k <= kKeys; ++k) {
      const auto before = std::ranges::count_if(items, [&](const Item& item) { return item.key < k; });
      ASSERT_EQ(starts[k], before) << "key " << k << " of " << n << " items";
    }
  }
  omp_set_num_threads(threads_before);
}

TEST(OrderByKey, MadeListsAreThoseOfOneThread) {
  constexpr std::uint64_t kSeed = 412;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const int threads_before = omp_get_max_threads();
  for (int repeat = 0; repeat < 40; ++repeat) {
    // From none to three items a number, of two keys in turn.
    const std::size_t n = repeat % 3 == 0 ? random() % 4 : random() % 3000;
    std::vector<unsigned> items(n);
    for (auto& count : items) count = random() % 4;
    const auto make = [&](std::size_t begin, std::size_t end, const auto& give) {
      for (std::size_t i = begin; i < end; ++i)
        for (unsigned k = 0; k < items[i]; ++k) give(Item{k % 2, i});
    };
    std::vector<Item> expected, made;
    make(0, n, [&](const Item& item) { expected.push_back(item); });
    std::ranges::stable_sort(expected, {}, &Item::key);
    omp_set_num_threads(1 + repeat % 7);
    const auto starts = make_ordered<2>(
        n, make, [](const Item& item) { return item.key; },
        [&](std::size_t count) {
          made.resize(count);
          return made.data();
        },
        repeat % 2 == 0 ? 0 : 100);
    EXPECT_TRUE(made == expected) << n << " numbers, " << 1 + repeat % 7 << " threads";
    EXPECT_EQ(starts.back(), static_cast<int>(expected.size()));
    EXPECT_EQ(starts[1], std::ranges::count(expected, std::size_t{0}, &Item::key));
  }
  omp_set_num_threads(threads_before);
}

}  // namespace
}  // namespace amrbench::support
