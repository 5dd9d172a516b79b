// How the blocks of a run lie in memory, by its back end and stencil.
#include "amr/backend.hpp"

#include <gtest/gtest.h>

namespace amrbench::amr {
namespace {

int lanes_of(const char* backend, const char* stencil, int edge, int variables) {
  Config config;
  config.device.backend = backend;
  config.run.stencil = stencil;
  config.mesh.block = {edge, edge, edge};
  config.fields.variables = variables;
  return block_layout(config).lanes;
}

TEST(BlockLayoutOfARun, GoesByBackEndAndStencil) {
  EXPECT_EQ(lanes_of("cpu", "average7", 12, 19), 5) << "the least padding, of equals the widest";
  EXPECT_EQ(lanes_of("cuda", "average7", 12, 19), 4);
  EXPECT_EQ(lanes_of("cpu", "average27", 12, 95), 5);
  EXPECT_EQ(lanes_of("cuda", "average27", 12, 95), 3);
  EXPECT_EQ(lanes_of("cuda", "mixed", 12, 95), 1);
}

}  // namespace
}  // namespace amrbench::amr
