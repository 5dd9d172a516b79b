// The directory against a list of all owners.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "amr/directory.hpp"

namespace amrbench::amr {
namespace {

using support::Communicator;

TEST(Directory, KnowsWhoEnteredAKeyAndThatNobodyDid) {
  const Communicator world = Communicator::world();
  Directory directory;
  EXPECT_EQ(directory.owners(world, std::vector<std::uint64_t>{7, 9}), std::vector<int>(2, Directory::kNobody));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);  // the same on all ranks
    std::map<std::uint64_t, int> owner;
    std::vector<std::uint64_t> mine;
    for (std::uint64_t n = random() % 300; n > 0; --n) {
      const std::uint64_t key = 1 + random() % 2000;
      const int rank = static_cast<int>(random() % world.size());
      if (owner.try_emplace(key, rank).second && rank == world.rank()) mine.push_back(key);
    }
    directory.build(world, mine);
    // Each rank asks for something else, some for nothing, with repetitions.
    std::mt19937_64 questions(seed * 1000 + world.rank());
    std::vector<std::uint64_t> asked;
    std::vector<int> expected;
    for (std::uint64_t n = questions() % 3 == 0 ? 0 : questions() % 500; n > 0; --n) {
      asked.push_back(1 + questions() % 2000);
      const auto found = owner.find(asked.back());
      expected.push_back(found == owner.end() ? Directory::kNobody : found->second);
    }
    EXPECT_EQ(directory.owners(world, asked), expected);
  }
}

}  // namespace
}  // namespace amrbench::amr
