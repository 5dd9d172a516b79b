// Every kind of face work on a GPU, many kinds in one launch, against the CPU's functions, bit for bit.
#include "kernels/faces_cuda.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/device_mesh.hpp"
#include "kernels/job_on_cpu.hpp"

namespace amrbench::kernels {
namespace {

constexpr std::uint64_t kSeed = 31337;
constexpr int kSlots = 7;

TEST(FacesCuda, EveryWorkGivesTheCpusBits) {
  AMRBENCH_NEEDS_GPU();
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
    for (const std::array<int, 3> cells :
         {std::array{4, 4, 4}, {8, 8, 8}, {2, 2, 2}, {2, 4, 6}, {6, 2, 10}, {32, 2, 16}}) {
      const BlockLayout l = checks::layout_of(cells, lanes, 1 + lanes % 3);
      SCOPED_TRACE(checks::name_of(l));
      const support::CudaStream stream;
      const auto blocks = checks::random_values(random, kSlots * l.block_values());
      std::vector<FaceJob> jobs;
      std::size_t received_values = 0, out_values = 0;
      for (int face = 0; face < 6; ++face) {
        for (int work = 0; work < 7; ++work) {
          for (int part = 0; part < 4; ++part) {
            FaceJob job;
            job.slot = static_cast<std::int32_t>(random() % kSlots);
            job.work = static_cast<FaceWork>(work);
            job.face = static_cast<std::uint8_t>(face);
            job.part = static_cast<std::uint8_t>(part);
            job.from = static_cast<std::uint32_t>(received_values / 4);
            job.to = static_cast<std::uint32_t>(out_values / 4);
            received_values += piece_room(l.quarter_values(face / 2));
            // The four parts of a whole face share one place.
            const bool shared = job.work == FaceWork::restrict_part || job.work == FaceWork::insert;
            if (!shared || part == 3) out_values += piece_room(l.face_values(face / 2));
            jobs.push_back(job);
          }
        }
      }
      const auto received = checks::random_values(random, received_values);
      const std::vector<double> untouched(out_values, -7.0);
      std::vector<double> expected = untouched;
      for (const FaceJob& job : jobs)
        checks::do_on_cpu(l, job, blocks.data() + job.slot * l.block_values(), received.data(), expected.data());
      checks::DeviceField field(blocks, l.block_values(), stream);
      const auto list = checks::to_device(jobs, stream);
      const auto messages = checks::to_device(received, stream);
      auto out = checks::to_device(untouched, stream);
      launch_faces(l, list.data(), static_cast<int>(jobs.size()), field.view(stream), messages.data(), out.data(),
                   stream);
      const auto got = checks::to_host(out, stream);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(double)), 0) << "value " << i;
    }
  }
}

}  // namespace
}  // namespace amrbench::kernels
