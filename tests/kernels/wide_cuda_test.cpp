// Extended faces, the 27-point average, miniAMR's mixed work and block sums on a GPU against the CPU's, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/average27/average27.hpp"
#include "kernels/average27/average27_cuda.hpp"
#include "kernels/block_sums_cuda.hpp"
#include "kernels/mixed/mixed_cuda.hpp"
#include "kernels/random_surroundings.hpp"
#include "kernels/stage_sum.hpp"
#include "kernels/tile.hpp"
#include "kernels/wide_faces.hpp"
#include "kernels/wide_faces_cuda.hpp"
#include "support/order_by_key.hpp"

namespace amrbench::kernels {
namespace {

constexpr unsigned kSeeds = 30;
constexpr int kBlocks = 7;

BlockLayout random_layout(std::mt19937_64& random, int least_variables, int most_edge = 10, int most_lanes = kMaxLanes,
                          int least_edge = 2) {
  std::array<int, 3> cells{};
  for (int& n : cells) n = least_edge + 2 * static_cast<int>(random() % (1 + (most_edge - least_edge) / 2));
  return make_layout(cells, least_variables + static_cast<int>(random() % 12), most_lanes);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// A job done on the CPU; the face is written in `faces`.
void face_job_on_cpu(const BlockLayout& l, const checks::RandomSurroundings& around, const WideFaceJob& job,
                     const std::vector<double>& received, std::vector<double>& message, std::vector<double>& faces) {
  const WideFaces wide(l, job.face / 2);
  double* const face = faces.data() + job.to * wide.extended().values();
  std::vector<double> scratch(wide.scratch());
  if (job.work == WideFaceWork::unpack)
    wide.unpack(job, received.data() + job.at, face);
  else if (job.work == WideFaceWork::pack)
    wide.pack(job, around.around(job.block), message.data() + job.at, scratch.data());
  else
    wide.fill(job, around.around(job.block), face, scratch.data());
}

/// One launch of random jobs across `axis`: each extended face once, the four parts of a restricted one together.
/// Ghosts that a packed layer needs lie in blocks or faces across other axes, or are not written.
std::vector<WideFaceJob> random_jobs(std::mt19937_64& random, const BlockLayout& l, int axis, std::size_t& message) {
  std::vector<WideFaceJob> jobs;
  const TileLayout whole = make_tile_layout(l);
  for (int i = 0; i < checks::RandomSurroundings::kFaces; ++i) {
    WideFaceJob job;
    job.to = i;
    job.work = static_cast<WideFaceWork>(random() % 3);
    job.face = static_cast<std::uint8_t>(2 * axis + random() % 2);
    // Blocks of one level on one rank need no extended face between them.
    job.transfer = static_cast<TileTransfer>(job.work == WideFaceWork::fill ? 1 + random() % 2 : random() % 3);
    const int parts = job.transfer == TileTransfer::restricted ? 4 : 1;
    for (int part = 0; part < parts; ++part) {
      job.block = static_cast<std::int32_t>(random() % kBlocks);
      job.part = static_cast<std::uint8_t>(parts == 4 ? part : random() % 4);
      job.at = message;
      message += tile_piece_values(whole, job.transfer, axis);
      jobs.push_back(job);
    }
  }
  return jobs;
}

TEST(WideFacesCuda, GiveTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const BlockLayout l = random_layout(random, 1);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    const support::CudaStream stream;
    checks::RandomSurroundings around(random, l, kBlocks, stream);
    for (int axis = 0; axis < 3; ++axis) {
      std::size_t values = 0;
      const auto jobs = random_jobs(random, l, axis, values);
      const auto received = checks::random_values(random, values);
      std::vector<double> message(values, -7.0), faces = around.faces(axis);
      auto device_message = checks::to_device(message, stream);
      const auto device_received = checks::to_device(received, stream);
      std::vector<WideFaceJob> ordered(jobs.size());
      const auto starts = support::order_by_key<kWideFaceKeys>(std::span(jobs), std::span(ordered), wide_face_key);
      const auto list = checks::to_device(ordered, stream);
      launch_wide_faces(l, axis, around.device(stream), {l.chunks}, list.data(), starts, device_received.data(),
                        device_message.data(), stream);
      for (const WideFaceJob& job : jobs) face_job_on_cpu(l, around, job, received, message, faces);
      ASSERT_TRUE(same_bits(around.device_faces(axis, stream), faces)) << "axis " << axis;
      ASSERT_TRUE(same_bits(checks::to_host(device_message, stream), message)) << "message, axis " << axis;
      around.faces(axis) = faces;
    }
  }
}

TEST(Average27Cuda, GivesTheCpusBitsAndSums) {
  AMRBENCH_NEEDS_GPU();
  const auto scale = support::FixedPointScale::for_bound(64.0);
  for (unsigned seed = 1; seed <= 3 * kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    // Every third one is large: columns that do not divide a plane, several thread blocks a plane.
    const BlockLayout l = random_layout(random, 1, seed % 3 == 0 ? 32 : 10);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    const support::CudaStream stream;
    checks::RandomSurroundings around(random, l, kBlocks, stream);
    checks::DeviceField out(std::vector<double>(kBlocks * l.block_values(), -7.0), l.block_values(), stream);
    DeviceSum sum(l);
    StageSum expected_sum(l, kBlockSumLength, block_sum_patterns(l.lanes), scale);
    const std::vector<std::int32_t> some{5, 0, 3};
    const auto device_some = checks::to_device(some, stream);
    const TileLayout t = make_tile_layout(l);
    std::vector<double> expected(l.block_values());
    launch_average27(l, {around.device(stream), device_some.data(), 3, out.view(stream), {}}, stream);
    ASSERT_EQ(out.values(1, 1, stream)[0], -7.0) << "a block that was not named";
    for (const bool all : {false, true}) {
      if (all) {
        launch_average27(l, {around.device(stream), nullptr, kBlocks, out.view(stream), sum.start(scale, stream)},
                         stream);
        sum.fetch(static_cast<std::int64_t>(kBlocks * l.block_cells()), stream);
      }
      for (std::int32_t i = 0; i < kBlocks; ++i) {
        if (!all && std::ranges::find(some, i) == some.end()) continue;
        average27_reference(t, around.tile(i, t).data(), expected.data());
        ASSERT_TRUE(same_bits(out.values(i, l.block_values(), stream), expected)) << "block " << i;
        if (all) sum_block(l, expected.data(), expected_sum);
      }
    }
    const auto totals = sum.totals();
    for (int v = 0; v < l.variables; ++v) ASSERT_TRUE(totals[v] == expected_sum.totals()[v]) << "variable " << v;
  }
}

TEST(Average27Cuda, OctetsGiveTheCpusBitsAndSums) {
  AMRBENCH_NEEDS_GPU();
  const auto scale = support::FixedPointScale::for_bound(64.0);
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const BlockLayout l = random_layout(random, 1, 14, kMaxLanes, 4);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    constexpr int kOctets = 3;
    const support::CudaStream stream;
    checks::RandomSurroundings around(random, l, 8 * kOctets, stream);
    std::vector<std::vector<PieceSource>> octets;
    std::vector<PieceSource> table;
    for (int k = 0; k < kOctets; ++k) {
      octets.push_back(around.random_octet(random, 8 * k));
      table.insert(table.end(), octets[k].begin(), octets[k].end());
    }
    const auto device_table = checks::to_device(table, stream);
    checks::DeviceField out(std::vector<double>(8 * kOctets * l.block_values(), -7.0), l.block_values(), stream);
    DeviceSum sum(l);
    StageSum expected_sum(l, kBlockSumLength, block_sum_patterns(l.lanes), scale);
    Average27Job job{around.device(stream), nullptr, kOctets, out.view(stream), sum.start(scale, stream), true};
    job.around.sources = device_table.data();
    launch_average27(l, job, stream);
    sum.fetch(static_cast<std::int64_t>(8 * kOctets * l.block_cells()), stream);
    const TileLayout t = make_tile_layout(l);
    std::vector<double> expected(l.block_values());
    for (int b = 0; b < 8 * kOctets; ++b) {
      const std::array<int, 3> at{b % 2, b / 2 % 2, b / 4 % 2};
      const std::vector<PieceSource>& octet = octets[b / 8];
      average27_reference(t, around.tile(around.around_in(octet, at), t).data(), expected.data());
      const std::int32_t block = octet[Octet::index(at[0] + 1, at[1] + 1, at[2] + 1)].index;
      ASSERT_TRUE(same_bits(out.values(block, l.block_values(), stream), expected)) << "block " << block;
      sum_block(l, expected.data(), expected_sum);
    }
    const auto totals = sum.totals();
    for (int v = 0; v < l.variables; ++v) ASSERT_TRUE(totals[v] == expected_sum.totals()[v]) << "variable " << v;
  }
}

/// All kinds of stages over blocks of one shape.
void expect_mixed_bits(std::mt19937_64& random, const BlockLayout& l, std::int64_t kind_of_some,
                       std::size_t most_shared = std::numeric_limits<std::size_t>::max()) {
  const TileLayout t = make_tile_layout_by_variable(l);
  const support::CudaStream stream;
  // In the range that the work brings values into.
  checks::RandomSurroundings around(random, l, kBlocks, stream, true);
  checks::DeviceField out(std::vector<double>(kBlocks * l.block_values(), -7.0), l.block_values(), stream);
  DeviceMixed mixed(l, stream, most_shared);
  const MixedConstants constants = mixed_constants(l.variables);
  std::vector<double> scratch(mixed_scratch(t) + kPadding), expected(l.block_values());
  const auto some = checks::to_device(std::vector<std::int32_t>{5, 0, 3}, stream);
  mixed.launch(kind_of_some, around.device(stream), some.data(), 3, out.view(stream), stream);
  ASSERT_EQ(out.values(1, 1, stream)[0], -7.0) << "a block that was not named";
  for (std::int64_t stage = 0; stage < 6; ++stage) {
    mixed.launch(stage, around.device(stream), nullptr, kBlocks, out.view(stream), stream);
    for (int i = 0; i < kBlocks; ++i) {
      std::vector<double> tile = around.tile(i, t);
      advance_mixed(t, constants, stage, false, tile.data(), scratch.data());
      store_tile(t, tile.data(), piece_steps(t), expected.data());
      ASSERT_TRUE(same_bits(out.values(i, l.block_values(), stream), expected)) << "stage " << stage << ", " << i;
    }
  }
}

TEST(MixedCuda, EveryKindOfStageGivesTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    // From no groups of variables at all to groups of several chunks; small blocks and such whose groups are apart.
    const BlockLayout l = random_layout(random, seed % 2 == 0 ? 2 : 32, 12, 1);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + checks::name_of(l));
    expect_mixed_bits(random, l, seed);
  }
}

TEST(MixedCuda, PlanesOfAllSizesGiveTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  std::mt19937_64 random(11);
  // Rings of 8, 7 and 6 planes, of 7 where two thread blocks fit so and where no more do; up to 1024 threads a plane.
  // Blocks that lie in shared memory as a whole, alone or two places in a thread block, the last one alone; threads
  // that have no cell in a row.
  const std::vector<BlockLayout> layouts{
      make_layout({16, 16, 6}, 30, 1), make_layout({20, 22, 4}, 9, 1),  make_layout({24, 26, 4}, 13, 1),
      make_layout({32, 32, 4}, 8, 1),  make_layout({30, 32, 2}, 11, 1), make_layout({4, 4, 2}, 300, 1),
      make_layout({28, 28, 6}, 12, 1), make_layout({30, 30, 10}, 8, 1), make_layout({20, 20, 8}, 9, 1),
      make_layout({4, 4, 12}, 20, 1),  make_layout({4, 4, 4}, 37, 1),   make_layout({6, 6, 6}, 21, 1),
      make_layout({8, 4, 6}, 31, 1),   make_layout({2, 2, 6}, 44, 1),   make_layout({14, 14, 8}, 20, 1),
      make_layout({10, 18, 8}, 23, 1)};
  for (const BlockLayout& l : layouts) {
    SCOPED_TRACE(checks::name_of(l));
    expect_mixed_bits(random, l, 5);
    expect_mixed_bits(random, l, 4, 20000);  // as on a device whose shared memory does not hold the planes
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
    const auto blocks = checks::random_values(random, kBlocks * l.block_values());
    checks::DeviceField field(blocks, l.block_values(), stream);
    DeviceSum sum(l);
    launch_block_sums(l, kBlocks, field.view(stream), sum.start(scale, stream), stream);
    sum.fetch(static_cast<std::int64_t>(kBlocks * l.block_cells()), stream);
    const auto totals = sum.totals();
    StageSum expected(l, kBlockSumLength, block_sum_patterns(l.lanes), scale);
    for (int i = 0; i < kBlocks; ++i) sum_block(l, blocks.data() + i * l.block_values(), expected);
    for (int v = 0; v < l.variables; ++v) ASSERT_TRUE(totals[v] == expected.totals()[v]) << "variable " << v;
  }
}

}  // namespace
}  // namespace amrbench::kernels
