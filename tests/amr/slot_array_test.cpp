// Slots in extents: where they lie, that they stay there, and what passes from one array to another.
#include "amr/slot_array.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "amr/field_store.hpp"

namespace amrbench::amr {
namespace {

void fill(SlotArray& array, std::size_t slot_values, std::int64_t slot, double value) {
  std::fill_n(array.slot(slot), slot_values, value);
}

TEST(SlotArray, SlotsDoNotOverlapAndStay) {
  for (const std::size_t values : {std::size_t{8}, std::size_t{1000}, std::size_t{3} << 20}) {
    SlotArray array(values);
    EXPECT_EQ(array.capacity(), 0);
    array.grow(1);
    EXPECT_EQ(array.capacity(), array.extent_slots());
    const std::int64_t slots = array.extent_slots() + std::min<std::int64_t>(array.extent_slots(), 3);
    const double* const first = array.slot(0);
    array.grow(slots);
    EXPECT_EQ(array.slot(0), first) << "adding slots moved the first";
    for (std::int64_t i = 0; i < slots; ++i) fill(array, values, i, double(i));
    for (std::int64_t i = 0; i < slots; ++i) {
      ASSERT_EQ(array.slot(i)[0], double(i)) << values << " values a slot";
      ASSERT_EQ(array.slot(i)[values - 1], double(i)) << values << " values a slot";
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(array.slot(0)) % 64, 0U);
    }
  }
}

TEST(SlotArray, GrowsFromTheDonorBeforeItAsksTheSystem) {
  constexpr std::size_t kValues = 4096;
  SlotArray array(kValues), donor(kValues);
  const std::int64_t extent = array.extent_slots();
  array.grow(extent);
  donor.grow(3 * extent);
  const double* const kept = array.slot(0);
  const double* const last = donor.slot(2 * extent);
  array.grow_from(donor, extent);
  EXPECT_EQ(donor.capacity(), 3 * extent) << "nothing was asked for";
  array.grow_from(donor, extent + 1);
  EXPECT_EQ(donor.capacity(), 2 * extent);
  EXPECT_EQ(array.capacity(), 2 * extent);
  EXPECT_EQ(array.slot(extent), last);
  EXPECT_EQ(array.slot(0), kept);
  array.grow_from(donor, 6 * extent);
  EXPECT_EQ(donor.capacity(), 0);
  EXPECT_EQ(array.capacity(), 6 * extent);
  fill(array, kValues, 6 * extent - 1, 1.0);
}

TEST(FieldStore, NewSlotsComeFromTheOutputBufferAndTheNextStageGetsItsOwn) {
  const kernels::BlockLayout layout = kernels::make_layout({8, 8, 8}, 40);
  FieldStore fields(layout);
  const std::int64_t count = SlotArray(layout.block_values()).extent_slots() * 2;
  fields.reset(count);
  for (int i = 0; i < count; ++i) fields.block(i)[0] = i;
  fields.prepare_output();
  std::set<const double*> outputs;
  for (int i = 0; i < count; ++i) {
    fields.output(i)[0] = fields.block(i)[0] + 0.5;
    outputs.insert(fields.block(i));  // after the swap this is the output buffer
  }
  fields.swap_buffers();
  const std::size_t before = fields.memory_bytes();
  const std::vector<std::int64_t> fresh = fields.take(count);
  EXPECT_LT(fields.memory_bytes(), before + 4096) << "taking slots asked the system for memory";
  for (const std::int64_t slot : fresh) {
    // In the memory of an output, which may begin its slots a little earlier or later.
    const double* const at = fields.slot_values(slot);
    const auto near = outputs.lower_bound(at - kernels::kPageValues);
    EXPECT_TRUE(near != outputs.end() && *near <= at + kernels::kPageValues);
    fields.slot_values(slot)[0] = double(slot) + 0.5;
  }
  std::vector<std::int64_t> slots(2 * count);
  std::iota(slots.begin(), slots.end(), 0);
  fields.set_slots(slots);
  fields.prepare_output();
  for (int i = 0; i < 2 * count; ++i) fields.output(i)[0] = -1.0;
  for (int i = 0; i < 2 * count; ++i) ASSERT_EQ(fields.block(i)[0], i + 0.5) << "an output lies on an input";
}

/// Pages of these values that memory was never given for.
std::size_t absent_pages(const double* values, std::size_t n) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(values) / page;
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(values + n - 1) / page;
  std::vector<unsigned char> present(last - first + 1);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(first * page), present.size() * page, present.data()), 0);
  return std::count_if(present.begin(), present.end(), [](unsigned char p) { return p % 2 == 0; });
}

TEST(FieldStore, MemoryThatWasMadeReadyIsThereWhenBlocksCome) {
  struct Case {
    std::array<int, 3> cells;
    int variables, first, blocks;
  };
  for (const auto& [cells, variables, first, blocks] :
       {Case{{18, 18, 18}, 10, 1, 80}, Case{{32, 32, 32}, 1, 3, 70}, Case{{8, 8, 8}, 3, 700, 1801}}) {
    FieldStore fields(kernels::make_layout(cells, variables));
    const std::size_t values = fields.layout().block_values();
    fields.reset(first);
    // As after a migration: the blocks stand behind the slots that were left.
    for (int i = 0; i < first; ++i) std::fill_n(fields.block(i), values, 0.0);
    const std::vector<std::int64_t> left(fields.slots().begin(), fields.slots().end());
    fields.set_slots(fields.take(first));
    fields.give_back(left);
    for (int i = 0; i < first; ++i) std::fill_n(fields.block(i), values, i + 1.0);
    fields.make_ready(blocks);
    for (int i = 0; i < first; ++i) ASSERT_EQ(fields.block(i)[values - 1], i + 1.0) << "values were overwritten";
    std::vector<std::int64_t> slots(fields.slots().begin(), fields.slots().end());
    for (const std::int64_t slot : fields.take(blocks - first)) slots.push_back(slot);
    fields.set_slots(slots);
    fields.prepare_output();
    std::size_t absent = 0;
    for (int i = 0; i < blocks; ++i)
      absent += absent_pages(fields.block(i), values) + absent_pages(fields.output(i), values);
    EXPECT_EQ(absent, 0U) << cells[0] << "^3 x " << variables << ", " << first << " blocks, " << blocks
                          << " made ready";
  }
}

}  // namespace
}  // namespace amrbench::amr
