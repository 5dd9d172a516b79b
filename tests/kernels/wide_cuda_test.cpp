// Tiles, the 27-point average, miniAMR's mixed work and block sums on a GPU against the CPU's, bit for bit.
#include "kernels/wide_cuda.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/average27.hpp"
#include "kernels/device_mesh.hpp"
#include "kernels/stage_sum.hpp"
#include "kernels/tile.hpp"
#include "kernels/tile_cuda.hpp"

namespace amrbench::kernels {
namespace {

constexpr unsigned kSeeds = 30;
constexpr int kTiles = 6;

BlockLayout random_layout(std::mt19937_64& random, int least_variables) {
  std::array<int, 3> cells{};
  for (int& n : cells) n = 2 * static_cast<int>(1 + random() % 5);
  return make_layout(cells, least_variables + static_cast<int>(random() % 12));
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void tile_job_on_cpu(const TileLayout& t, const TileJob& job, std::vector<double>& tiles,
                     const std::vector<double>& received, std::vector<double>& message) {
  double* const tile = tiles.data() + job.tile * t.values();
  if (job.work == TileWork::close) return close_face(t, tile, job.face);
  if (job.work == TileWork::pack)
    return pack_tile_piece(t, tile, job.face, job.transfer, job.part, message.data() + job.at);
  if (job.work == TileWork::unpack)
    return unpack_tile_piece(t, received.data() + job.at, job.face, job.transfer, job.part, tile);
  std::vector<double> piece(tile_piece_values(t, job.transfer, job.face / 2));
  pack_tile_piece(t, tiles.data() + job.other * t.values(), job.face ^ 1, job.transfer, job.part, piece.data());
  unpack_tile_piece(t, piece.data(), job.face, job.transfer, job.part, tile);
}

/// One launch of random jobs across `axis`: each face of each tile once, the four parts of a restricted one together.
std::vector<TileJob> random_jobs(std::mt19937_64& random, const TileLayout& t, int axis, std::size_t& message) {
  std::vector<TileJob> jobs;
  for (int i = 0; i < kTiles; ++i) {
    for (int side = 0; side < 2; ++side) {
      TileJob job;
      job.tile = i;
      job.work = static_cast<TileWork>(random() % 4);
      job.face = static_cast<std::uint8_t>(2 * axis + side);
      job.transfer = static_cast<TileTransfer>(random() % 3);
      const int parts = job.transfer == TileTransfer::restricted && job.work != TileWork::close ? 4 : 1;
      for (int part = 0; part < parts; ++part) {
        job.other = static_cast<std::int32_t>(random() % kTiles);
        job.part = static_cast<std::uint8_t>(parts == 4 ? part : random() % 4);
        job.at = message;
        message += tile_piece_values(t, job.transfer, axis);
        jobs.push_back(job);
      }
    }
  }
  return jobs;
}

TEST(TileCuda, LoadsAndFacesGiveTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const BlockLayout l = random_layout(random, 1);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    for (const TileLayout& t : {make_tile_layout(l), make_tile_layout_by_variable(l)}) {
      const support::CudaStream stream;
      std::vector<double> tiles = checks::random_values(random, kTiles * t.values());
      const auto blocks = checks::random_values(random, kTiles * l.block_values());
      checks::DeviceField field(blocks, l.block_values(), stream);
      auto device_tiles = checks::to_device(tiles, stream);
      std::vector<std::int32_t> slots;
      for (int i = 0; i < kTiles; ++i) {
        slots.push_back((i * 5 + 2) % kTiles);
        load_tile(t, blocks.data() + slots.back() * l.block_values(), tiles.data() + i * t.values());
      }
      const auto device_slots = checks::to_device(slots, stream);
      launch_load_tiles(t, device_slots.data(), kTiles, field.view(stream), device_tiles.data(), stream);
      ASSERT_TRUE(same_bits(checks::to_host(device_tiles, stream), tiles)) << "loaded";
      for (int axis = 0; axis < 3; ++axis) {
        std::size_t values = 0;
        const auto jobs = random_jobs(random, t, axis, values);
        const auto received = checks::random_values(random, values);
        std::vector<double> message(values, -7.0);
        auto device_message = checks::to_device(message, stream);
        const auto device_received = checks::to_device(received, stream);
        const auto list = checks::to_device(jobs, stream);
        launch_tile_faces(t, list.data(), static_cast<int>(jobs.size()), device_tiles.data(), device_received.data(),
                          device_message.data(), stream);
        for (const TileJob& job : jobs) tile_job_on_cpu(t, job, tiles, received, message);
        ASSERT_TRUE(same_bits(checks::to_host(device_tiles, stream), tiles)) << "axis " << axis;
        ASSERT_TRUE(same_bits(checks::to_host(device_message, stream), message)) << "message, axis " << axis;
      }
    }
  }
}

TEST(Average27Cuda, GivesTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const BlockLayout l = random_layout(random, 1);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    const TileLayout t = make_tile_layout(l);
    const support::CudaStream stream;
    const auto tiles = checks::random_values(random, kTiles * t.values());
    const auto device_tiles = checks::to_device(tiles, stream);
    checks::DeviceField out(std::vector<double>(kTiles * l.block_values(), -7.0), l.block_values(), stream);
    launch_average27(t, device_tiles.data(), kTiles, out.view(stream), stream);
    std::vector<double> expected(l.block_values());
    for (int i = 0; i < kTiles; ++i) {
      average27_reference(t, tiles.data() + i * t.values(), expected.data());
      ASSERT_TRUE(same_bits(out.values(i, l.block_values(), stream), expected)) << "tile " << i;
    }
  }
}

TEST(MixedCuda, EveryKindOfStageGivesTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const BlockLayout l = random_layout(random, 2);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    const TileLayout t = make_tile_layout_by_variable(l);
    const support::CudaStream stream;
    // In the range that the work brings values into.
    std::vector<double> tiles = checks::random_values(random, kTiles * t.values() + kPadding);
    for (double& x : tiles) x = 0.1 + std::fmod(std::abs(x), 0.9);
    auto device_tiles = checks::to_device(tiles, stream);
    checks::DeviceField out(std::vector<double>(kTiles * l.block_values(), -7.0), l.block_values(), stream);
    DeviceMixed mixed(t, stream);
    const MixedConstants constants = mixed_constants(l.variables);
    std::vector<double> scratch(mixed_scratch(t) + kPadding), expected(l.block_values());
    for (std::int64_t stage = 0; stage < 8; ++stage) {
      mixed.launch(stage, device_tiles.data(), kTiles, out.view(stream), stream);
      for (int i = 0; i < kTiles; ++i) {
        double* const tile = tiles.data() + i * t.values();
        advance_mixed(t, constants, stage, false, tile, scratch.data());
        store_tile(t, tile, piece_steps(t), expected.data());
        ASSERT_TRUE(same_bits(out.values(i, l.block_values(), stream), expected)) << "stage " << stage << ", " << i;
      }
    }
    ASSERT_TRUE(same_bits(checks::to_host(device_tiles, stream), tiles));
  }
}

TEST(BlockSumsCuda, AreTheCpusIntegers) {
  AMRBENCH_NEEDS_GPU();
  const auto scale = support::FixedPointScale::for_bound(64.0);
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const BlockLayout l = random_layout(random, 1);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    const support::CudaStream stream;
    const auto blocks = checks::random_values(random, kTiles * l.block_values());
    checks::DeviceField field(blocks, l.block_values(), stream);
    DeviceSum sum(l);
    launch_block_sums(l, kTiles, field.view(stream), sum.start(scale, stream), stream);
    sum.fetch(static_cast<std::int64_t>(kTiles * l.block_cells()), stream);
    const auto totals = sum.totals();
    StageSum expected(l, kBlockSumLength, block_sum_patterns(l.lanes), scale);
    for (int i = 0; i < kTiles; ++i) sum_block(l, blocks.data() + i * l.block_values(), expected);
    for (int v = 0; v < l.variables; ++v) ASSERT_TRUE(totals[v] == expected.totals()[v]) << "variable " << v;
  }
}

}  // namespace
}  // namespace amrbench::kernels
