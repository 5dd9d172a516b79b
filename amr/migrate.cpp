#include "amr/migrate.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace amrbench::amr {

namespace {

constexpr int kTag = 72;

/// Blocks at global positions [begin, end).
struct Range {
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

Range intersect(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// A message: the values of `blocks.size()` blocks, then their keys, as doubles' worth of bytes.
struct Message {
  int rank;
  Range blocks;
  std::vector<double> data;
};

void pack(Message& message, const Mesh<3>& mesh, const FieldStore& fields) {
  const std::size_t values = fields.layout().block_values();
  const std::int64_t count = message.blocks.size(), first = message.blocks.begin - mesh.global_begin();
  message.data.resize(count * (values + 1));
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k) {
    std::memcpy(message.data.data() + k * values, fields.block(static_cast<std::int32_t>(first + k)),
                values * sizeof(double));
  }
  std::memcpy(message.data.data() + count * values, mesh.keys().data() + first, count * sizeof(Key));
}

}  // namespace

MigrationCount migrate(Mesh<3>& mesh, FieldStore& fields, std::span<const std::int64_t> cuts) {
  const int me = mesh.comm().rank(), ranks = mesh.comm().size();
  const std::size_t values = fields.layout().block_values();
  const Range have{mesh.global_begin(), mesh.global_begin() + mesh.size()};
  const Range want{cuts[me], cuts[me + 1]};
  std::vector<Message> out, in;
  std::int64_t other_begin = 0;
  for (int r = 0; r < ranks; ++r) {
    const Range other{other_begin, other_begin + mesh.rank_sizes()[r]};
    other_begin = other.end;
    if (r == me) continue;
    const Range go = intersect(have, {cuts[r], cuts[r + 1]}), come = intersect(want, other);
    if (go.size() > 0) out.push_back({r, go, {}});
    if (come.size() > 0) in.push_back({r, come, {}});
  }
  support::Requests requests;
  for (Message& m : in) {
    m.data.resize(m.blocks.size() * (values + 1));
    support::mpi_check(MPI_Irecv(m.data.data(), support::mpi_count(m.data.size(), "migration message"), MPI_DOUBLE,
                                 m.rank, kTag, mesh.comm().get(), requests.add()));
  }
  MigrationCount count;
  for (Message& m : out) {
    pack(m, mesh, fields);
    support::mpi_check(MPI_Isend(m.data.data(), support::mpi_count(m.data.size(), "migration message"), MPI_DOUBLE,
                                 m.rank, kTag, mesh.comm().get(), requests.add()));
    std::vector<std::int64_t> left;
    for (std::int64_t p = m.blocks.begin; p < m.blocks.end; ++p) {
      left.push_back(fields.slot(static_cast<std::int32_t>(p - have.begin)));
    }
    fields.give_back(left);
    count.blocks += m.blocks.size();
    count.bytes += static_cast<std::int64_t>(m.data.size() * sizeof(double));
  }
  requests.wait_all();

  std::vector<Key> keys(want.size());
  std::vector<std::int64_t> slots(want.size());
  const Range keep = intersect(have, want);
  for (std::int64_t p = keep.begin; p < keep.end; ++p) {
    keys[p - want.begin] = mesh.keys()[p - have.begin];
    slots[p - want.begin] = fields.slot(static_cast<std::int32_t>(p - have.begin));
  }
  for (const Message& m : in) {
    const std::int64_t n = m.blocks.size(), at = m.blocks.begin - want.begin;
    const std::vector<std::int64_t> fresh = fields.take(n);
    std::memcpy(keys.data() + at, m.data.data() + n * values, n * sizeof(Key));
    std::copy(fresh.begin(), fresh.end(), slots.begin() + at);
#pragma omp parallel for schedule(static)
    for (std::int64_t k = 0; k < n; ++k) {
      std::memcpy(fields.slot_values(fresh[k]), m.data.data() + k * values, values * sizeof(double));
    }
  }
  fields.set_slots(std::move(slots));
  mesh.set_blocks(std::move(keys));
  return count;
}

}  // namespace amrbench::amr
