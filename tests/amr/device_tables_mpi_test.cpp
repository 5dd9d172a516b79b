// The lists that GPUs work by, worked off by the CPU's functions, against the stages on the CPU, to the bit; and the
// plan of the exchange, which both sides of a message must make alike.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "amr/device_tables.hpp"
#include "amr/random_field.hpp"
#include "amr/stage.hpp"
#include "kernels/average7/average7.hpp"
#include "kernels/job_on_cpu.hpp"

namespace amrbench::amr {
namespace {

using kernels::BlockLayout;
using support::Communicator;

constexpr int kTag = 5;
constexpr double kUnset = -12345.0;
constexpr std::array<std::array<int, 3>, 4> kShapes{{{4, 4, 4}, {2, 2, 2}, {2, 4, 6}, {8, 8, 8}}};

/// Sends every neighbour its stretch of `send` and receives its stretch of `receive`.
void exchange(const Mesh<3>& mesh, const HaloPlan& plan, const double* send, double* receive) {
  support::Requests requests;
  for (std::size_t k = 0; k < mesh.neighbors().size(); ++k) {
    const int rank = mesh.neighbors()[k].rank;
    support::mpi_check(MPI_Irecv(receive + plan.receives.starts[k], support::mpi_count(plan.receives.counts[k]),
                                 MPI_DOUBLE, rank, kTag, mesh.comm().get(), requests.add()));
    support::mpi_check(MPI_Isend(send + plan.sends.starts[k], support::mpi_count(plan.sends.counts[k]), MPI_DOUBLE,
                                 rank, kTag, mesh.comm().get(), requests.add()));
  }
  requests.wait_all();
}

/// Jobs of a key lie where `starts` says.
void expect_order(const std::vector<kernels::FaceJob>& jobs, const kernels::FaceJobStarts& starts) {
  EXPECT_EQ(static_cast<std::size_t>(starts.back()), jobs.size());
  std::size_t misplaced = 0;
  for (std::size_t key = 0; key < kernels::kFaceKeys; ++key)
    for (int k = starts[key]; k < starts[key + 1]; ++k) misplaced += kernels::face_key(jobs.at(k)) != key;
  EXPECT_EQ(misplaced, 0U);
}

/// One stage by the tables: what a GPU does, in its order.
std::vector<std::vector<double>> stage_by_tables(const Mesh<3>& mesh, const FieldStore& fields) {
  const BlockLayout& l = fields.layout();
  const HaloPlan plan = make_halo_plan(mesh, face_piece_sizes(l, 4));
  const DeviceTables tables(mesh, l, plan);
  std::vector<kernels::BlockEntry> blocks(tables.blocks());
  std::vector<kernels::FaceJob> packs(tables.packs()), local(tables.local().back()), arrived(tables.arrived().back());
  const kernels::FaceJobStarts pack_starts = tables.write_packs(packs);
  tables.write(blocks, local, arrived);
  expect_order(packs, pack_starts);
  expect_order(local, tables.local());
  expect_order(arrived, tables.arrived());
  std::vector<double> send(tables.send_values() + kernels::kPadding, kUnset);
  std::vector<double> packed(tables.packed_values() + kernels::kPadding, std::numeric_limits<double>::quiet_NaN());
  const auto run = [&](const std::vector<kernels::FaceJob>& jobs, std::vector<double>& out) {
    for (const kernels::FaceJob& job : jobs)
      kernels::checks::do_on_cpu(l, job, fields.block(job.slot), packed.data(), out.data());
  };
  run(packs, send);
  exchange(mesh, plan, send.data(), packed.data());
  run(local, packed);
  run(arrived, packed);
  std::vector<std::vector<double>> results(mesh.size(), std::vector<double>(l.block_values()));
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const kernels::BlockEntry& entry = blocks[k];
    kernels::BlockArgs args;
    args.in = fields.block(entry.in);
    args.out = results.at(entry.out).data();
    for (int face = 0; face < 6; ++face) {
      const kernels::FaceCode code = entry.faces[face];
      EXPECT_TRUE(k >= tables.interior() || !kernels::face_is_packed(code) ||
                  kernels::packed_offset(code) >= tables.receive_values())
          << "an interior block reads a message";
      args.faces[face] = kernels::face_is_packed(code)
                             ? kernels::FaceView{packed.data() + kernels::packed_offset(code), true}
                             : kernels::in_place_face(l, fields.block(code >> 1), face / 2, code & 1);
    }
    kernels::average7_reference(l, args);
  }
  return results;
}

TEST(DeviceTables, AStageByThemGivesTheCpusBits) {
  const Communicator world = Communicator::world();
  std::int64_t made = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Mesh<3> mesh = checks::random_mesh(world, seed);
    FieldStore fields(kernels::make_layout(kShapes[seed % kShapes.size()], 1 + static_cast<int>(seed * 5 % 12)));
    checks::fill(mesh, fields, seed);
    const auto by_tables = stage_by_tables(mesh, fields);
    const auto stage = make_stage("average7", fields.layout(), {});
    stage->mesh_changed(mesh);
    support::Metrics metrics;
    stage->advance(mesh, fields, 0, nullptr, metrics);
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      ASSERT_EQ(std::memcmp(by_tables[i].data(), fields.block(i), by_tables[i].size() * sizeof(double)), 0)
          << "block " << i;
      made += std::ranges::count(mesh.links(i).kind, FaceKind::coarse);
    }
  }
  EXPECT_GT(support::all_sum(world, made), 100) << "too few faces between levels to show anything";
}

/// What both sides must say of a piece.
struct Described {
  Key sender;
  std::int64_t face;  ///< of the sender
  Key receiver;
  std::int64_t transfer, part, at;
  bool operator==(const Described&) const = default;
};

std::vector<Described> describe(const Mesh<3>& mesh, const HaloMessages& messages, bool sent) {
  std::vector<Described> result;
  std::size_t k = 0;
  for (const HaloPiece& p : messages.pieces) {
    while (k + 1 < messages.starts.size() && p.at >= messages.starts[k + 1]) ++k;
    // The block behind the face of the block named; of four fine ones, that of the part.
    const auto& links = mesh.links(p.block);
    const int q = links.kind[p.face] == FaceKind::fine ? p.part : 0;
    const Key mine = mesh.keys()[p.block], other = mesh.key_of(links.index[p.face][q]);
    result.push_back({sent ? mine : other, sent ? p.face : p.face ^ 1, sent ? other : mine,
                      static_cast<std::int64_t>(p.transfer), p.part,
                      static_cast<std::int64_t>(p.at - messages.starts[k])});
  }
  return result;
}

TEST(HaloPlan, BothSidesOfAMessageListTheSamePieces) {
  const Communicator world = Communicator::world();
  std::size_t pieces = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Mesh<3> mesh = checks::random_mesh(world, seed);
    const BlockLayout l = kernels::make_layout({4, 2, 6}, 3);
    for (const auto& [begin, end] : {std::array{0, 3}, {0, 1}, {1, 2}, {2, 3}}) {
      const HaloPlan plan = make_halo_plan(mesh, face_piece_sizes(l, 4), begin, end);
      const std::vector<Described> sent = describe(mesh, plan.sends, true);
      std::vector<std::size_t> counts;
      for (std::size_t k = 0; k < mesh.neighbors().size(); ++k) {
        const std::size_t first = plan.sends.starts[k], last = first + plan.sends.counts[k];
        counts.push_back(
            std::ranges::count_if(plan.sends.pieces, [&](const HaloPiece& p) { return p.at >= first && p.at < last; }));
      }
      std::vector<Described> arrived;
      mesh.graph().exchange_v<Described>(sent, counts, arrived);
      EXPECT_TRUE(arrived == describe(mesh, plan.receives, false)) << "axes " << begin << " to " << end;
      const auto lengths = mesh.graph().exchange<std::size_t>(plan.sends.counts);
      EXPECT_EQ(lengths, plan.receives.counts);
      pieces += sent.size();
    }
  }
  const std::int64_t all = support::all_sum(world, static_cast<std::int64_t>(pieces));
  EXPECT_TRUE(world.size() == 1 || all > 100) << all;
}

}  // namespace
}  // namespace amrbench::amr
