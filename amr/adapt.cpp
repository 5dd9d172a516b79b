#include "amr/adapt.hpp"

#include <algorithm>
#include <array>

#include "kernels/refine_data.hpp"

namespace amrbench::amr {

namespace {

constexpr int kTag = 71;

/// A block before the changes: where its values are, and what becomes of it.
struct Source {
  Key key;
  std::int64_t slot;
  Change change;
};

/// Octant (bit 0 = x, 1 = y, 2 = z) of a block in its parent.
int octant_of(const sfc::KeySpace<3>& space, Key key) {
  const auto c = space.coord(key);
  return static_cast<int>((c[0] & 1) | (c[1] & 1) << 1 | (c[2] & 1) << 2);
}

/// Brings together the families that merge but are cut by a rank border. Only the first and the last family of a rank
/// can be cut, because families stand together on the curve.
class FamilyMove {
 public:
  FamilyMove(const Mesh<3>& mesh, FieldStore& fields, const std::vector<Change>& changes)
      : mesh_(mesh), fields_(fields), changes_(changes) {}

  std::vector<Source> run() {
    std::vector<Source> sources;
    const std::int32_t n = mesh_.size();
    const std::int32_t leaving = count_leaving();
    for (std::int32_t i = leaving; i < n; ++i) sources.push_back({mesh_.keys()[i], fields_.slot(i), changes_[i]});
    support::Requests requests;
    std::vector<double> message;
    if (leaving > 0) send(leaving, message, requests);
    if (n > leaving) receive(sources, requests);
    requests.wait_all();
    return sources;
  }

 private:
  std::int32_t count_leaving() const {
    const auto& space = mesh_.space();
    if (mesh_.size() == 0 || changes_[0] != Change::coarsen) return 0;
    const Key parent = space.parent(mesh_.keys()[0]);
    destination_ = mesh_.owner(space.child(parent, 0));
    if (destination_ == mesh_.comm().rank()) return 0;
    std::int32_t count = 0;
    while (count < mesh_.size() && space.level(mesh_.keys()[count]) > 0 && space.parent(mesh_.keys()[count]) == parent)
      ++count;
    return count;
  }

  void send(std::int32_t leaving, std::vector<double>& message, support::Requests& requests) const {
    const std::size_t values = fields_.layout().block_values();
    message.resize(leaving * values);
    for (std::int32_t i = 0; i < leaving; ++i) std::copy_n(fields_.block(i), values, message.data() + i * values);
    support::mpi_check(MPI_Isend(message.data(), support::mpi_count(message.size()), MPI_DOUBLE, destination_, kTag,
                                 mesh_.comm().get(), requests.add()));
  }

  void receive(std::vector<Source>& sources, support::Requests& requests) const {
    const auto& space = mesh_.space();
    const Source last = sources.back();
    if (last.change != Change::coarsen) return;
    const Key parent = space.parent(last.key);
    const int have = space.child_index(last.key) + 1;
    if (have == 8) return;
    const std::int64_t slot = fields_.append(8 - have);
    const std::size_t values = fields_.layout().block_values();
    for (int child = have; child < 8;) {
      const int rank = mesh_.owner(space.child(parent, child));
      const int begin = child;
      while (child < 8 && mesh_.owner(space.child(parent, child)) == rank) {
        sources.push_back({space.child(parent, child), slot + child - have, Change::coarsen});
        ++child;
      }
      support::mpi_check(MPI_Irecv(fields_.slot_values(slot + begin - have),
                                   support::mpi_count((child - begin) * values), MPI_DOUBLE, rank, kTag,
                                   mesh_.comm().get(), requests.add()));
    }
  }

  const Mesh<3>& mesh_;
  FieldStore& fields_;
  const std::vector<Change>& changes_;
  mutable int destination_ = 0;
};

}  // namespace

void apply_changes(Mesh<3>& mesh, FieldStore& fields, const Consensus& consensus) {
  if (consensus.splits + consensus.merges == 0) return;
  const std::vector<Source> sources = FamilyMove(mesh, fields, consensus.changes).run();
  const auto& space = mesh.space();
  struct Split {
    std::int64_t from, to;  // slots; 8 children from `to` on
    Key key;
  };
  struct Merge {
    std::size_t from;  // first of 8 sources
    std::int64_t to;
  };
  std::vector<Split> splits;
  std::vector<Merge> merges;
  std::vector<Key> keys;
  std::vector<std::int64_t> slots;
  keys.reserve(sources.size());
  slots.reserve(sources.size());
  std::int64_t fresh = 0;
  const std::int64_t base = fields.used_slots();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& s = sources[i];
    if (s.change == Change::stay) {
      keys.push_back(s.key);
      slots.push_back(s.slot);
    } else if (s.change == Change::refine) {
      splits.push_back({s.slot, base + fresh, s.key});
      for (int child = 0; child < 8; ++child) {
        keys.push_back(space.child(s.key, child));
        slots.push_back(base + fresh++);
      }
    } else {
      merges.push_back({i, base + fresh});
      keys.push_back(space.parent(s.key));
      slots.push_back(base + fresh++);
      i += 7;
    }
  }
  fields.append(fresh);
  const kernels::BlockLayout& layout = fields.layout();
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (std::size_t k = 0; k < splits.size() * 8; ++k) {
      const Split& split = splits[k / 8];
      const int child = static_cast<int>(k % 8);
      kernels::split_block(layout, fields.slot_values(split.from), octant_of(space, space.child(split.key, child)),
                           fields.slot_values(split.to + child));
    }
#pragma omp for schedule(static)
    for (std::size_t k = 0; k < merges.size(); ++k) {
      std::array<const double*, 8> children{};
      for (int child = 0; child < 8; ++child) {
        const Source& s = sources[merges[k].from + child];
        children[octant_of(space, s.key)] = fields.slot_values(s.slot);
      }
      kernels::merge_blocks(layout, children, fields.slot_values(merges[k].to));
    }
  }
  fields.set_slots(std::move(slots));
  mesh.set_blocks(std::move(keys));
}

}  // namespace amrbench::amr
