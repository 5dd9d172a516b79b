// Every kind of face work on a GPU, many kinds in one launch, against the CPU's functions, bit for bit.
#include "kernels/faces_cuda.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/device_mesh.hpp"
#include "kernels/job_on_cpu.hpp"
#include "support/order_by_key.hpp"

namespace amrbench::kernels {
namespace {

constexpr std::uint64_t kSeed = 31337;
constexpr int kSlots = 7;

/// Jobs of every kind, `rounds` of each, on random data: the GPU's values are the CPU's.
void compare(const BlockLayout& l, int rounds, std::mt19937_64& random) {
  SCOPED_TRACE(checks::name_of(l));
  const support::CudaStream stream;
  const auto blocks = checks::random_values(random, kSlots * l.block_values());
  std::vector<FaceJob> jobs;
  std::size_t received_values = 0, out_values = 0;
  for (int number = 0; number < rounds * 6 * 7 * 4; ++number) {
    const int kind = number / 4 % (6 * 7);
    FaceJob job;
    job.slot = static_cast<std::int32_t>(random() % kSlots);
    job.work = static_cast<FaceWork>(kind % 7);
    job.face = static_cast<std::uint8_t>(kind / 7);
    job.part = static_cast<std::uint8_t>(number % 4);
    const int axis = job.face / 2;
    job.from = static_cast<std::uint32_t>(received_values / 4);
    job.to = static_cast<std::uint32_t>(out_values / 4);
    received_values += piece_room(l.quarter_values(axis));
    // The four parts of a whole face share one place.
    const bool shared = job.work == FaceWork::restrict_part || job.work == FaceWork::insert;
    if (!shared || job.part == 3) out_values += piece_room(l.face_values(axis));
    jobs.push_back(job);
  }
  std::vector<FaceJob> ordered(jobs.size());
  const FaceJobStarts starts = support::order_by_key<kFaceKeys>(std::span<const FaceJob>(jobs), std::span(ordered),
                                                                [](const FaceJob& job) { return face_key(job); });
  const auto received = checks::random_values(random, received_values);
  const std::vector<double> untouched(out_values, -7.0);
  std::vector<double> expected = untouched;
  for (const FaceJob& job : jobs)
    checks::do_on_cpu(l, job, blocks.data() + job.slot * l.block_values(), received.data(), expected.data());
  checks::DeviceField field(blocks, l.block_values(), stream);
  const auto list = checks::to_device(ordered, stream);
  const auto messages = checks::to_device(received, stream);
  auto out = checks::to_device(untouched, stream);
  launch_faces(l, list.data(), starts, field.view(stream), messages.data(), out.data(), stream);
  const auto got = checks::to_host(out, stream);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(double)), 0) << "value " << i;
}

TEST(FacesCuda, EveryWorkGivesTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const std::array<int, 3> cells :
         {std::array{4, 4, 4}, {8, 8, 8}, {2, 2, 2}, {2, 4, 6}, {6, 2, 10}, {32, 2, 16}, {30, 34, 4}})
      compare(checks::layout_of(cells, lanes, 1 + lanes % 3), 1 + lanes, random);
  }
}

TEST(FacesCuda, ManyJobsAreSharedOut) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  // Warps have 3 and 4 rounds: of 16384 warps with one round each there are 3.7 and 9.3 times as many.
  compare(checks::layout_of({4, 2, 6}, 1, 8), 501, random);
  compare(checks::layout_of({4, 2, 6}, 3, 6), 501, random);
}

}  // namespace
}  // namespace amrbench::kernels
