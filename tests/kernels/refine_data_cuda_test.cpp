// Values of blocks that split, merge, move or begin on a GPU, against the CPU's functions, bit for bit.
#include "kernels/refine_data_cuda.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/device_mesh.hpp"
#include "kernels/initial.hpp"
#include "kernels/initial_cuda.hpp"
#include "kernels/refine_data.hpp"

namespace amrbench::kernels {
namespace {

constexpr std::uint64_t kSeed = 5511;

template <class Check>
void for_all_layouts(const Check& check) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const std::array<int, 3> cells : {std::array{4, 4, 4}, {8, 8, 8}, {2, 4, 6}, {6, 2, 10}, {32, 2, 2}}) {
      const BlockLayout l = checks::layout_of(cells, lanes, 1 + lanes % 3, lanes > 2 ? 1 : 0);
      SCOPED_TRACE(checks::name_of(l));
      check(l, random);
    }
  }
}

TEST(RefineDataCuda, SplitsAndMergesGiveTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    constexpr int kFamilies = 8, kSlots = 9 * kFamilies;
    const std::size_t values = l.block_values();
    const support::CudaStream stream;
    std::vector<double> host = checks::random_values(random, kSlots * values), expected = host;
    std::vector<SplitJob> splits;
    std::vector<MergeJob> merges;
    for (int k = 0; k < kFamilies; ++k) {
      // Even families split, odd ones merge; in some the coarse block shares its slot with the child of octant 0.
      const bool shared = k >= kFamilies / 2;
      const int coarse = 9 * k;
      std::array<std::int32_t, 8> children{};
      std::array<const double*, 8> pointers{};
      for (int octant = 0; octant < 8; ++octant) {
        children[octant] = shared && octant == 0 ? coarse : coarse + 1 + (octant * 3 + k) % 8;
        pointers[octant] = host.data() + children[octant] * values;
      }
      if (k % 2 == 0) {
        splits.push_back({coarse, children});
        for (int octant = 7; octant >= 0; --octant)
          split_block(l, host.data() + coarse * values, octant, expected.data() + children[octant] * values);
      } else {
        merges.push_back({children, coarse});
        merge_blocks(l, pointers, expected.data() + coarse * values);
      }
    }
    checks::DeviceField field(host, values, stream);
    const auto split_list = checks::to_device(splits, stream);
    const auto merge_list = checks::to_device(merges, stream);
    launch_splits(l, split_list.data(), static_cast<int>(splits.size()), field.view(stream), stream);
    launch_merges(l, merge_list.data(), static_cast<int>(merges.size()), field.view(stream), stream);
    for (int i = 0; i < kSlots; ++i) {
      const auto got = field.values(i, values, stream);
      ASSERT_EQ(std::memcmp(got.data(), expected.data() + i * values, values * sizeof(double)), 0) << "slot " << i;
    }
  });
}

TEST(RefineDataCuda, CopiesPutBlocksInTheirPlaces) {
  AMRBENCH_NEEDS_GPU();
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    constexpr int kSlots = 13;
    const std::size_t values = l.block_values();
    const support::CudaStream stream;
    const std::vector<double> host = checks::random_values(random, kSlots * values);
    checks::DeviceField from(host, values, stream), to(std::vector<double>(kSlots * values, -1.0), values, stream);
    std::vector<CopyJob> jobs;
    for (int i = 0; i < kSlots; ++i) jobs.push_back({i, (i * 5 + 3) % kSlots});
    const auto list = checks::to_device(jobs, stream);
    launch_copies(l, list.data(), kSlots, from.view(stream), to.view(stream), stream);
    for (const CopyJob& job : jobs) {
      const auto got = to.values(job.to, values, stream);
      ASSERT_EQ(std::memcmp(got.data(), host.data() + job.from * values, values * sizeof(double)), 0);
    }
  });
}

TEST(RefineDataCuda, SequencesHoldTheBlocksOfTheList) {
  AMRBENCH_NEEDS_GPU();
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    constexpr int kSlots = 11, kListed = 6;
    const std::size_t values = l.block_values();
    const support::CudaStream stream;
    const std::vector<double> host = checks::random_values(random, kSlots * values);
    checks::DeviceField from(host, values, stream), to(std::vector<double>(kSlots * values, -1.0), values, stream);
    std::vector<std::int32_t> slots;
    for (int i = 0; i < kListed; ++i) slots.push_back((i * 7 + 2) % kSlots);
    const auto list = checks::to_device(slots, stream);
    support::DeviceBuffer<double> sequence(kListed * values);
    launch_gather(l, list.data(), kListed, from.view(stream), sequence.data(), stream);
    launch_scatter(l, list.data(), kListed, to.view(stream), sequence.data(), stream);
    const auto packed = checks::to_host(sequence, stream);
    for (int i = 0; i < kSlots; ++i) {
      const auto at = std::find(slots.begin(), slots.end(), i);
      const auto got = to.values(i, values, stream);
      if (at == slots.end()) {
        ASSERT_EQ(got[0], -1.0) << "slot " << i;
        continue;
      }
      ASSERT_EQ(std::memcmp(got.data(), host.data() + i * values, values * sizeof(double)), 0) << "slot " << i;
      ASSERT_EQ(std::memcmp(packed.data() + (at - slots.begin()) * values, got.data(), values * sizeof(double)), 0);
    }
  });
}

TEST(InitialCuda, FieldsAreThoseOfTheCpu) {
  AMRBENCH_NEEDS_GPU();
  for_all_layouts([](const BlockLayout& l, std::mt19937_64& random) {
    constexpr int kBlocks = 4;
    const std::uint64_t seed = random();
    const support::CudaStream stream;
    std::vector<RootBlock> roots;
    for (int i = 0; i < kBlocks; ++i) {
      const auto coord = [&] { return static_cast<std::uint32_t>(random() % 1000); };
      roots.push_back({kBlocks - 1 - i, {coord(), coord(), coord()}});
    }
    const auto list = checks::to_device(roots, stream);
    for (const bool ones : {true, false}) {
      checks::DeviceField field(std::vector<double>(kBlocks * l.block_values(), -1.0), l.block_values(), stream);
      launch_initial(l, list.data(), kBlocks, field.view(stream), ones, seed, stream);
      for (const RootBlock& root : roots) {
        const auto got = field.values(root.slot, l.block_values(), stream);
        for (int v = 0; v < l.lanes * l.chunks; ++v)
          for (int z = 0; z < l.cells[2]; ++z)
            for (int y = 0; y < l.cells[1]; ++y)
              for (int x = 0; x < l.cells[0]; ++x) {
                const auto global = [&](int axis, int at) {
                  return std::uint64_t(root.coord[axis]) * l.cells[axis] + at;
                };
                const double expected = v >= l.variables ? 0.0
                                        : ones           ? 1.0
                                               : random_value(seed, v, global(0, x), global(1, y), global(2, z));
                ASSERT_EQ(got[l.offset(v, x, y, z)], expected) << v << " at " << x << " " << y << " " << z;
              }
      }
    }
  });
}

}  // namespace
}  // namespace amrbench::kernels
