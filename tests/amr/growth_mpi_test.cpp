// amr/growth.hpp against what this machine has.
#include <gtest/gtest.h>

#include "amr/growth.hpp"
#include "support/error.hpp"
#include "support/process_memory.hpp"

namespace amrbench::amr {
namespace {

TEST(Growth, MoreThanTheNodeHasIsRefusedAndLessIsNot) {
  const support::Communicator world = support::Communicator::world();
  const kernels::BlockLayout layout = kernels::make_layout({8, 8, 8}, 40);
  const Growth growth(world, layout);
  const auto block = static_cast<double>(2 * layout.block_values() * sizeof(double));
  const auto total = static_cast<double>(support::total_memory_bytes() + support::free_swap_bytes());
  ASSERT_GT(total, 0);
  // Blocks are of all ranks, which are of one node here: the number of ranks does not matter.
  const auto fill = static_cast<std::int64_t>(total / block);
  EXPECT_THROW(growth.check(fill + 1), support::RunError);
  EXPECT_NO_THROW(growth.check(fill / 100));
  EXPECT_NO_THROW(growth.check(-fill));
  try {
    growth.check(fill + 1);
  } catch (const support::RunError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(std::to_string(fill + 1) + " blocks more"), std::string::npos);
  }
}

}  // namespace
}  // namespace amrbench::amr
