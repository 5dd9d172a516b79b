// The same bits on GPUs as on the CPU: whole runs with random objects, all stencils, transports and balance settings,
// against one rank and one thread on the CPU. Ranks share a GPU where there are more of them.
#include <gtest/gtest.h>

#include <cstring>

#include "amr/cuda/cuda_backend.hpp"
#include "amr/cuda/cuda_fields.hpp"
#include "amr/field_store.hpp"
#include "amr/random_runs.hpp"
#include "kernels/device_mesh.hpp"
#include "support/error.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::amr {
namespace {

using checks::Result;
using checks::Way;
using support::Communicator;

apps::Config config_of(int set, const std::string& stencil) {
  apps::Config config = checks::random_config(set);
  config.run.stencil = stencil;
  if (stencil != "average7") config.run.checksum_every = 0;
  if (stencil == "mixed") config.fields.variables = 8 + set % 3;
  return config;
}

/// Of one rank on the CPU, shown to all.
Result reference(const Communicator& world, const apps::Config& config) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  Result result;
  if (world.is_root()) result = checks::run(self, config, {});
  return support::broadcast(world, result);
}

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const bool overlap : {true, false})
    for (const char* policy : {"every", "never", "scatter"})
      for (const char* method : {"morton", "hilbert"})
        all.push_back({.overlap = overlap, .method = method, .policy = policy, .backend = "cuda"});
  return all;
}

TEST(SameBitsCuda, Average7OnEveryObjectSet) {
  AMRBENCH_NEEDS_GPU();
  const Communicator world = Communicator::world();
  const auto all = ways();
  for (int set = 0; set < checks::kSets; ++set) {
    const apps::Config config = config_of(set, "average7");
    const Result expected = reference(world, config);
    for (std::size_t w = 0; w < all.size(); ++w) {
      if ((w + set) % 3 != 0) continue;  // a set meets a third of the ways
      SCOPED_TRACE("object set " + std::to_string(set) + ", " + checks::name_of(all[w]));
      const Result result = checks::run(world, config, all[w]);
      EXPECT_EQ(result.mesh, expected.mesh);
      EXPECT_EQ(result.history, expected.history);
      EXPECT_EQ(result.fields, expected.fields);
      EXPECT_EQ(result.sums, expected.sums);
      EXPECT_TRUE(result == expected);
    }
  }
}

TEST(SameBitsCuda, StencilsThatNeedEdgesAndCorners) {
  AMRBENCH_NEEDS_GPU();
  const Communicator world = Communicator::world();
  for (const char* stencil : {"average27", "mixed"}) {
    for (int set = 0; set < 6; ++set) {
      const apps::Config config = config_of(set, stencil);
      const Result expected = reference(world, config);
      for (const bool overlap : {true, false}) {
        SCOPED_TRACE(std::string(stencil) + ", object set " + std::to_string(set) + (overlap ? ", overlapped" : ""));
        const Result result = checks::run(world, config, {.overlap = overlap, .policy = "every", .backend = "cuda"});
        EXPECT_TRUE(result == expected);
      }
    }
  }
}

TEST(SameBitsCuda, ArtificialWorkAndEveryKindOfWeights) {
  AMRBENCH_NEEDS_GPU();
  const Communicator world = Communicator::world();
  int number = 0;
  for (const char* stencil : {"average7", "average27", "mixed"}) {
    for (const int set : {3, 6}) {
      apps::Config config = config_of(set, stencil);
      const Result expected = reference(world, config);
      config.work = {
          {.factor = 5, .hi = {0.5, 1.0, 1.0}}, {.factor = 2, .lo = {0.0, 0.3, 0.0}}, {.factor = 3, .rank = 0}};
      for (const char* policy : {"every", "feedback", "auto"}) {
        for (const char* weights : {"region", "measured", "uniform"}) {
          const Way way{.overlap = ++number % 2 == 0, .policy = policy, .backend = "cuda", .weights = weights};
          SCOPED_TRACE(std::string(stencil) + ", object set " + std::to_string(set) + ", " + checks::name_of(way));
          EXPECT_TRUE(checks::run(world, config, way) == expected);
        }
      }
    }
  }
}

TEST(SameBitsCuda, EveryTransportThatThereIs) {
  AMRBENCH_NEEDS_GPU();
  const Communicator world = Communicator::world();
  const bool own = support::choose_device(world).own;
  const apps::Config config = config_of(3, "average7");
  const Result expected = reference(world, config);
  for (const char* transport : {"auto", "staged", "mpi", "nccl"}) {
    const std::string name = transport;
    const bool there = name == "nccl"  ? support::nccl_built() && own
                       : name == "mpi" ? support::mpi_takes_device_memory()
                                       : true;
    const Way way{.overlap = true, .policy = "every", .backend = "cuda", .transport = name};
    SCOPED_TRACE(name);
    if (there)
      EXPECT_TRUE(checks::run(world, config, way) == expected);
    else
      EXPECT_THROW(checks::run(world, config, way), support::InputError);
  }
}

TEST(SameBitsCuda, BlocksReadForOutputAreTheCpus) {
  AMRBENCH_NEEDS_GPU();
  const Communicator world = Communicator::world();
  apps::Config config = config_of(1, "average7");
  const sfc::KeySpace<3> space = loadbalance::make_key_space<3>(config.mesh, config.partition);
  const auto values_after = [&](const std::string& backend) {
    config.device.backend = backend;
    loadbalance::Balancer balancer(config.balance, config.partition);
    support::Metrics metrics;
    workloads::Averages workload(config);
    Simulation simulation(world, config, space, workload, balancer, metrics);
    simulation.run([](std::int64_t, double, const RunTotals&) {});
    const Fields& fields = simulation.fields();
    const auto reading = fields.make_reading();
    // Lanes are the back end's own.
    const kernels::BlockLayout common = kernels::make_layout(config.mesh.block, config.fields.variables);
    std::vector<double> values, changed(common.block_values());
    constexpr std::int32_t kBatch = 7;
    for (std::int32_t i = 0; i < fields.size(); i += kBatch) {
      std::vector<std::int32_t> blocks;
      for (std::int32_t k = i; k < std::min(fields.size(), i + kBatch); ++k) blocks.push_back(k);
      fields.read(blocks, *reading);
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        kernels::change_layout(fields.layout(), reading->values(k), common, changed.data());
        values.insert(values.end(), changed.begin(), changed.end());
      }
    }
    return values;
  };
  const std::vector<double> expected = values_after("cpu"), got = values_after("cuda");
  ASSERT_EQ(got.size(), expected.size());
  ASSERT_TRUE(got.empty() || std::memcmp(got.data(), expected.data(), got.size() * sizeof(double)) == 0);
}

TEST(CudaBackend, TooMuchMemoryIsOneLineWithTheNumbers) {
  AMRBENCH_NEEDS_GPU();
  const Communicator world = Communicator::world();
  CudaFields fields(kernels::make_layout({32, 32, 32}, 40), std::make_unique<CudaDevice>(world, "staged"));
  try {
    fields.reset(std::int64_t{1} << 20);  // 10 TiB
    FAIL() << "accepted";
  } catch (const support::RunError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("out of memory"), std::string::npos) << message;
    EXPECT_NE(message.find("are needed for the fields of 1048576 blocks"), std::string::npos) << message;
    EXPECT_NE(message.find("are free"), std::string::npos) << message;
  }
  fields.reset(8);  // and all goes on
  EXPECT_EQ(fields.size(), 8);
}

TEST(CudaBackend, EveryStencilHasItsTwin) {
  for (const StencilEntry& entry : stencil_registry()) EXPECT_TRUE(has_cuda_stage(entry.name)) << entry.name;
  EXPECT_FALSE(has_cuda_stage("average8"));
}

}  // namespace
}  // namespace amrbench::amr
