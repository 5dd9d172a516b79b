// average7 on a GPU in all its forms against the CPU's kernels, bit for bit, with its exact sums.
#include "kernels/average7/average7_cuda.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>

#include "kernels/average7/average7.hpp"
#include "kernels/device_mesh.hpp"
#include "kernels/simd.hpp"
#include "kernels/stage_sum.hpp"

namespace amrbench::kernels {
namespace {

using checks::RandomMesh;

constexpr std::uint64_t kSeed = 90210;

const std::vector<std::array<int, 3>> kShapes{{4, 4, 4},  {8, 8, 8},  {16, 16, 16}, {2, 4, 6},    {6, 2, 10},
                                              {32, 2, 2}, {2, 2, 32}, {2, 32, 2},   {16, 32, 4},  {2, 2, 2},
                                              {10, 6, 4}, {6, 6, 6},  {4, 8, 12},   {10, 10, 10}, {14, 6, 8}};

struct Expected {
  std::vector<std::vector<double>> blocks;
  std::vector<support::FixedPointSum> sums;
};

Expected on_cpu(const BlockLayout& layout, const RandomMesh& mesh, const support::FixedPointScale& scale) {
  const Average7Kernel kernel = select_average7(layout);
  StageSum sum(layout, kernel.vector_length, kernel.patterns, scale);
  Expected expected;
  for (std::size_t i = 0; i < mesh.entries().size(); ++i) {
    checks::Buffer out(layout.block_values() + kPadding);
    sum.reserve(layout.block_cells());
    run_block(kernel.summing, layout, mesh.args(i, out.data()), &sum);
    expected.blocks.emplace_back(out.data(), out.data() + layout.block_values());
  }
  expected.sums = sum.totals();
  return expected;
}

/// Which bits of two arrays differ: how many values, the first and the last; empty when none.
std::string differences(const double* got, const double* expected, std::size_t values) {
  if (std::memcmp(got, expected, values * sizeof(double)) == 0) return {};
  std::size_t wrong = 0, first = values, last = 0;
  for (std::size_t i = 0; i < values; ++i) {
    if (std::memcmp(got + i, expected + i, sizeof(double)) == 0) continue;
    first = std::min(first, i);
    last = i;
    ++wrong;
  }
  std::ostringstream text;
  text.precision(17);
  text << wrong << " of " << values << " values, " << first << " (" << got[first] << ", not " << expected[first]
       << ") to " << last << " (" << got[last] << ", not " << expected[last] << ")";
  return text.str();
}

/// Runs one form of the kernel and compares everything.
void check_on_gpu(const BlockLayout& layout, const RandomMesh& mesh, const Expected& expected,
                  const support::FixedPointScale& scale, const Average7Options& options, bool summing) {
  const support::CudaStream stream;
  const std::size_t values = layout.block_values(), blocks = mesh.entries().size();
  checks::DeviceField in(mesh.slots(), values, stream);
  // Results start as numbers that no stencil makes, so that one which is not written shows.
  checks::DeviceField out(std::vector<double>(blocks * values, -12345.0), values, stream);
  const auto entries = checks::to_device(mesh.entries(), stream);
  const auto packed = checks::to_device(mesh.packed(), stream);
  DeviceSum sum(layout);
  Average7Job job{entries.data(), static_cast<int>(blocks), in.view(stream), out.view(stream), packed.data(), {}};
  if (summing) job.sums = sum.start(scale, stream);
  launch_average7(layout, job, stream, options);
  stream.synchronize();
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto got = out.values(static_cast<std::int64_t>(i), values, stream);
    ASSERT_EQ(differences(got.data(), expected.blocks[i].data(), values), "") << "block " << i;
  }
  if (!summing) return;
  sum.fetch(static_cast<std::int64_t>(blocks * layout.block_cells()), stream);
  const auto totals = sum.totals();
  ASSERT_EQ(totals.size(), expected.sums.size());
  for (std::size_t v = 0; v < totals.size(); ++v) {
    ASSERT_TRUE(totals[v] == expected.sums[v])
        << "variable " << v << ": " << totals[v].to_hex() << ", not " << expected.sums[v].to_hex();
  }
}

constexpr std::array kVariants{Average7Variant::automatic, Average7Variant::march, Average7Variant::group,
                               Average7Variant::planes, Average7Variant::ring};

/// Options of a setting whose other parts go with the tile, so that each part is met with each of its values.
Average7Options options_of(const BlockLayout& layout, Average7Variant variant, int setting, int tile) {
  Average7Options options{variant, setting};
  const auto chunk_bytes = static_cast<int>(layout.chunk_values() * sizeof(double));
  options.tile = tile;
  options.ahead_bytes = tile == 0 ? 0 : 5 * tile * chunk_bytes / 8;
  options.cluster = tile == 1 ? 2 : tile == 11 ? 8 : 1;
  if (variant == Average7Variant::ring || variant == Average7Variant::group)
    options.threads = tile == 1 ? 64 : tile == 11 ? 320 : 0;
  return options;
}

enum class Extent : std::uint8_t {
  full,
  brief,        ///< summing only with one of the tiles, the others only without
  each_arrives  ///< as full, all threads arriving at barriers
};

/// Every setting of every variant.
void check_layout(std::mt19937_64& random, const BlockLayout& layout, int blocks, Extent extent = Extent::full) {
  SCOPED_TRACE(checks::name_of(layout) + ", " + std::to_string(blocks) + " blocks");
  const auto scale = support::FixedPointScale::for_bound(64.0);
  const RandomMesh mesh(random, layout, blocks);
  const Expected expected = on_cpu(layout, mesh, scale);
  for (const Average7Variant variant : kVariants) {
    for (int setting = 0; setting < average7_settings(layout, variant); ++setting) {
      for (const int tile : {0, 1, 11}) {
        for (const bool summing : {false, true}) {
          if (extent == Extent::brief && (tile == 1 || summing != (tile == 11))) continue;
          SCOPED_TRACE(testing::Message() << name_of(variant) << ", setting " << setting << ", tile " << tile
                                          << (summing ? ", sums" : ""));
          Average7Options options = options_of(layout, variant, setting, tile);
          options.each_arrives = extent == Extent::each_arrives;
          check_on_gpu(layout, mesh, expected, scale, options, summing);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Average7Cuda, EveryKernelGivesTheCpusBitsAndSums) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const auto& cells : kShapes) {
      const int chunks = 1 + static_cast<int>(random() % 3);
      const int padding = static_cast<int>(random() % static_cast<std::uint64_t>(lanes));
      check_layout(random, checks::layout_of(cells, lanes, chunks, padding), 1 + static_cast<int>(random() % 40));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Average7Cuda, KernelsFitTheDevice) {
  AMRBENCH_NEEDS_GPU();
  for (const auto& [edge, variables] :
       {std::array{4, 40}, {8, 10}, {8, 40}, {16, 10}, {16, 40}, {8, 1}, {16, 1}, {32, 1}}) {
    const BlockLayout layout = make_layout({edge, edge, edge}, variables);
    for (const Average7Variant variant : {Average7Variant::march, Average7Variant::group, Average7Variant::planes}) {
      for (int setting = 0; setting < average7_settings(layout, variant); ++setting) {
        for (const bool summing : {false, true}) {
          SCOPED_TRACE(testing::Message() << checks::name_of(layout) << ", " << name_of(variant) << ", setting "
                                          << setting << (summing ? ", sums" : ""));
          const Average7Facts facts = average7_facts(layout, {variant, setting}, summing);
          EXPECT_GE(facts.thread_blocks, 1);
          EXPECT_GT(facts.registers, 0);
          EXPECT_LE(facts.spilled_bytes, 16) << "two values outside the loop, no more";
          EXPECT_GE(facts.l2_values, 1.0);
        }
      }
    }
  }
}

/// Every kernel of the usual layouts on few blocks: quick enough for a memory checker.
void small_run(Extent extent) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed + 2));
  std::mt19937_64 random(kSeed + 2);
  for (const auto& [edge, variables, blocks] : {std::array{4, 40, 11},
                                                {4, 10, 11},
                                                {8, 10, 5},
                                                {8, 40, 3},
                                                {16, 10, 3},
                                                {16, 40, 2},
                                                {8, 1, 11},
                                                {16, 1, 3},
                                                {32, 1, 2}}) {
    check_layout(random, make_layout({edge, edge, edge}, variables), blocks, extent);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Average7Cuda, SmallRunOfEveryKernel) {
  small_run(Extent::full);
}

/// For compute-sanitizer's racecheck, which does not see that a warp's arrival stands for the reads of all its lanes.
TEST(Average7Cuda, SmallRunWhereEveryThreadArrives) {
  small_run(Extent::each_arrives);
}

/// Runs the kernel, copies all results to the host and waits.
void results_of(const BlockLayout& layout, const Average7Job& job, const support::DeviceSlotArray& out,
                const Average7Options& options, const support::CudaStream& stream, support::PinnedBuffer<double>& to) {
  launch_average7(layout, job, stream, options);
  const std::size_t values = layout.block_values();
  for (std::int64_t slot = 0; slot < job.count; slot += out.extent_slots()) {
    const auto slots = static_cast<std::size_t>(std::min<std::int64_t>(job.count - slot, out.extent_slots()));
    support::copy_to_host(to.data() + slot * values, out.address(slot), slots * values, stream);
  }
  stream.synchronize();
}

/// Planes come into a ring while others are read: what goes wrong there goes wrong seldom. Launches that fill the GPU,
/// again and again, against the kernel without shared memory.
void check_rings(std::mt19937_64& random, const BlockLayout& layout, int blocks) {
  constexpr int kLaunches = 25;
  SCOPED_TRACE(checks::name_of(layout));
  const RandomMesh mesh(random, layout, blocks);
  const support::CudaStream stream;
  const std::size_t values = layout.block_values(), total = values * blocks;
  checks::DeviceField in(mesh.slots(), values, stream);
  support::DeviceSlotArray out(values);
  out.grow(blocks);
  const auto entries = checks::to_device(mesh.entries(), stream);
  const auto packed = checks::to_device(mesh.packed(), stream);
  const Average7Job job{entries.data(), blocks, in.view(stream), out.view(stream), packed.data(), {}};
  support::PinnedBuffer<double> expected(total), got(total);
  results_of(layout, job, out, {Average7Variant::march}, stream, expected);
  for (const Average7Variant variant : {Average7Variant::planes, Average7Variant::ring}) {
    for (int setting = 0; setting < average7_settings(layout, variant); ++setting) {
      for (int launch = 0; launch < kLaunches; ++launch) {
        SCOPED_TRACE(testing::Message() << name_of(variant) << ", setting " << setting << ", launch " << launch);
        results_of(layout, job, out, {variant, setting, 0, launch % 2}, stream, got);
        for (int i = 0; i < blocks; ++i)
          ASSERT_EQ(differences(got.data() + i * values, expected.data() + i * values, values), "") << "block " << i;
      }
    }
  }
}

TEST(Average7Cuda, RingsStayRightOverManyLaunches) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed + 3));
  std::mt19937_64 random(kSeed + 3);
  for (const auto& [edge, variables, blocks] : {std::array{8, 10, 1501},
                                                {8, 40, 401},
                                                {16, 10, 151},
                                                {16, 40, 61},
                                                {8, 1, 9001},
                                                {16, 1, 1999},
                                                {32, 1, 199}}) {
    check_rings(random, make_layout({edge, edge, edge}, variables), blocks);
    if (HasFatalFailure()) return;
  }
}

TEST(Average7Cuda, ManyBlocksFillEveryMultiprocessorMoreThanOnce) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed + 1));
  std::mt19937_64 random(kSeed + 1);
  for (const auto& [edge, variables, blocks] : {std::array{4, 40, 6001},
                                                {8, 10, 1501},
                                                {8, 40, 1501},
                                                {16, 10, 301},
                                                {16, 40, 151},
                                                {8, 1, 9001},
                                                {16, 1, 1999},
                                                {20, 5, 301},
                                                {32, 1, 301}}) {
    check_layout(random, make_layout({edge, edge, edge}, variables), blocks, Extent::brief);
    if (HasFatalFailure()) return;
  }
}

TEST(Average7Cuda, SumsSeeValuesOutOfRange) {
  AMRBENCH_NEEDS_GPU();
  const support::CudaStream stream;
  const auto scale = support::FixedPointScale::for_bound(1.0);
  for (const int variables : {1, 7, 8, 13}) {
    const BlockLayout layout = make_layout({4, 4, 4}, variables);
    const std::size_t values = layout.block_values();
    for (int bad = 0; bad < variables; ++bad) {
      std::vector<double> host(values, 0.25);
      host[layout.offset(bad, 3, 1, 0)] = bad % 2 != 0 ? std::numeric_limits<double>::quiet_NaN() : 1e9;
      checks::DeviceField in(host, values, stream), out(host, values, stream);
      BlockEntry entry;
      for (int face = 0; face < 6; ++face) entry.faces[face] = face_in_place(0, face % 2);
      const auto entries = checks::to_device(std::vector<BlockEntry>{entry}, stream);
      DeviceSum sum(layout);
      Average7Job job{entries.data(), 1, in.view(stream), out.view(stream), nullptr, sum.start(scale, stream)};
      launch_average7(layout, job, stream);
      sum.fetch(static_cast<std::int64_t>(layout.block_cells()), stream);
      const auto totals = sum.totals();
      for (int v = 0; v < variables; ++v) {
        EXPECT_EQ(totals[v].valid(), v != bad) << "variable " << v << " with " << bad;
        if (v == bad) continue;
        EXPECT_EQ(totals[v].to_double(), 0.25 * static_cast<double>(layout.block_cells()));
      }
    }
  }
}

}  // namespace
}  // namespace amrbench::kernels
