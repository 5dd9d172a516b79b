#include "amr/migrate.hpp"

#include <algorithm>
#include <array>
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

/// The blocks that one rank sends another.
struct Transfer {
  int rank;
  Range blocks;
  std::vector<std::int64_t> slots;  ///< where they are or will be in this rank's fields
};

/// Memory of a message as MPI sees it: keys and changes in one piece each, then block by block where the values lie. So
/// nothing is packed, and no buffer as large as the message is needed. Owns the datatype.
class MessageType {
 public:
  MessageType(Key* keys, Change* changes, const std::vector<std::int64_t>& slots, FieldStore& fields) {
    const std::size_t values = fields.layout().block_values();
    constexpr std::size_t kLists = 2;
    const std::size_t pieces = slots.size() + kLists;
    std::vector<MPI_Aint> places(pieces);
    std::vector<int> lengths(pieces, support::mpi_count(values, "block"));
    std::vector<MPI_Datatype> types(pieces, MPI_DOUBLE);
    support::mpi_check(MPI_Get_address(keys, &places[0]));
    support::mpi_check(MPI_Get_address(changes, &places[1]));
    lengths[0] = lengths[1] = support::mpi_count(slots.size(), "migration message");
    types[0] = MPI_UINT64_T;
    types[1] = MPI_INT8_T;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      support::mpi_check(MPI_Get_address(fields.slot_values(slots[k]), &places[k + kLists]));
    }
    support::mpi_check(MPI_Type_create_struct(support::mpi_count(pieces, "migration message"), lengths.data(),
                                              places.data(), types.data(), &type_));
    support::mpi_check(MPI_Type_commit(&type_));
  }
  ~MessageType() { MPI_Type_free(&type_); }
  MessageType(const MessageType&) = delete;
  MessageType& operator=(const MessageType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Who gets which of the blocks in `have`, and whose blocks come into `want`.
struct Exchange {
  std::vector<Transfer> out, in;

  Exchange(const Mesh<3>& mesh, std::span<const std::int64_t> cuts, Range have, Range want) {
    std::int64_t other_begin = 0;
    for (int r = 0; r < mesh.comm().size(); ++r) {
      const Range other{other_begin, other_begin + mesh.rank_sizes()[r]};
      other_begin = other.end;
      if (r == mesh.comm().rank()) continue;
      const Range go = intersect(have, {cuts[r], cuts[r + 1]}), come = intersect(want, other);
      if (go.size() > 0) out.push_back({r, go, {}});
      if (come.size() > 0) in.push_back({r, come, {}});
    }
  }
};

}  // namespace

MigrationCount migrate(Mesh<3>& mesh, FieldStore& fields, std::span<const std::int64_t> cuts) {
  std::vector<Change> none(mesh.size(), Change::stay);
  return migrate(mesh, fields, none, cuts);
}

MigrationCount migrate(Mesh<3>& mesh, FieldStore& fields, std::vector<Change>& changes,
                       std::span<const std::int64_t> cuts) {
  const int me = mesh.comm().rank();
  const Range have{mesh.global_begin(), mesh.global_begin() + mesh.size()};
  const Range want{cuts[me], cuts[me + 1]};
  Exchange exchange(mesh, cuts, have, want);

  std::vector<Key> keys(want.size());
  std::vector<Change> new_changes(want.size());
  std::vector<std::int64_t> slots(want.size());
  const Range keep = intersect(have, want);
  for (std::int64_t p = keep.begin; p < keep.end; ++p) {
    keys[p - want.begin] = mesh.keys()[p - have.begin];
    new_changes[p - want.begin] = changes[p - have.begin];
    slots[p - want.begin] = fields.slot(static_cast<std::int32_t>(p - have.begin));
  }
  for (Transfer& t : exchange.in) {
    t.slots = fields.take(t.blocks.size());
    std::copy(t.slots.begin(), t.slots.end(), slots.begin() + (t.blocks.begin - want.begin));
  }
  std::vector<Key> sent(mesh.keys().begin(), mesh.keys().end());
  MigrationCount count;
  {
    support::Requests requests;
    for (const Transfer& t : exchange.in) {
      const std::int64_t at = t.blocks.begin - want.begin;
      const MessageType type(keys.data() + at, new_changes.data() + at, t.slots, fields);
      support::mpi_check(MPI_Irecv(MPI_BOTTOM, 1, type.get(), t.rank, kTag, mesh.comm().get(), requests.add()));
    }
    for (Transfer& t : exchange.out) {
      for (std::int64_t p = t.blocks.begin; p < t.blocks.end; ++p) {
        t.slots.push_back(fields.slot(static_cast<std::int32_t>(p - have.begin)));
      }
      const std::int64_t at = t.blocks.begin - have.begin;
      const MessageType type(sent.data() + at, changes.data() + at, t.slots, fields);
      support::mpi_check(MPI_Isend(MPI_BOTTOM, 1, type.get(), t.rank, kTag, mesh.comm().get(), requests.add()));
      count.blocks += t.blocks.size();
      count.bytes += t.blocks.size() * static_cast<std::int64_t>(fields.layout().block_values() * sizeof(double) +
                                                                 sizeof(Key) + sizeof(Change));
    }
    requests.wait_all();
  }
  for (const Transfer& t : exchange.out) fields.give_back(t.slots);
  changes = std::move(new_changes);
  fields.set_slots(std::move(slots));
  mesh.set_blocks(std::move(keys));
  return count;
}

}  // namespace amrbench::amr
