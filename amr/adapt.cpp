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
    const std::int32_t leaving = count_leaving();
    for (std::int32_t i = leaving; i < mesh_.size(); ++i) {
      sources.push_back({mesh_.keys()[i], fields_.slot(i), changes_[i]});
    }
    support::Requests requests;
    std::vector<double> message;
    if (leaving > 0) send(leaving, message, requests);
    if (!sources.empty()) receive(sources);
    requests.wait_all();
    return sources;
  }

 private:
  /// Blocks at the start of this rank's interval whose family gathers elsewhere.
  std::int32_t count_leaving() {
    const auto& space = mesh_.space();
    if (mesh_.size() == 0 || changes_[0] != Change::coarsen) return 0;
    const Key parent = space.parent(mesh_.keys()[0]);
    destination_ = mesh_.owner(space.child(parent, 0));
    if (destination_ == mesh_.comm().rank()) return 0;
    std::int32_t count = 0;
    while (count < mesh_.size() && mesh_.keys()[count] <= space.last(parent)) ++count;
    return count;
  }

  void send(std::int32_t leaving, std::vector<double>& message, support::Requests& requests) {
    const std::size_t values = fields_.layout().block_values();
    message.resize(leaving * values);
    std::vector<std::int64_t> left;
    for (std::int32_t i = 0; i < leaving; ++i) {
      std::copy_n(fields_.block(i), values, message.data() + i * values);
      left.push_back(fields_.slot(i));
    }
    fields_.give_back(left);
    support::mpi_check(MPI_Isend(message.data(), support::mpi_count(message.size()), MPI_DOUBLE, destination_, kTag,
                                 mesh_.comm().get(), requests.add()));
  }

  /// The missing siblings of the last family, from the ranks that have them, in order.
  void receive(std::vector<Source>& sources) {
    const auto& space = mesh_.space();
    const Source last = sources.back();
    if (last.change != Change::coarsen) return;
    const Key parent = space.parent(last.key);
    const std::size_t values = fields_.layout().block_values();
    for (int child = space.child_index(last.key) + 1; child < 8;) {
      const int rank = mesh_.owner(space.child(parent, child));
      const int begin = child;
      while (child < 8 && mesh_.owner(space.child(parent, child)) == rank) ++child;
      std::vector<double> message((child - begin) * values);
      support::mpi_check(MPI_Recv(message.data(), support::mpi_count(message.size()), MPI_DOUBLE, rank, kTag,
                                  mesh_.comm().get(), MPI_STATUS_IGNORE));
      const std::vector<std::int64_t> slots = fields_.take(child - begin);
      for (int k = 0; k < child - begin; ++k) {
        std::copy_n(message.data() + k * values, values, fields_.slot_values(slots[k]));
        sources.push_back({space.child(parent, begin + k), slots[k], Change::coarsen});
      }
    }
  }

  const Mesh<3>& mesh_;
  FieldStore& fields_;
  const std::vector<Change>& changes_;
  int destination_ = 0;
};

/// What the walk along the curve decides: the new blocks, and where their values come from. The child of octant 0 and
/// its parent share a slot, so a merge needs no slot and a split needs seven: the input buffer never holds more than
/// the blocks before and after.
struct Plan {
  struct Split {
    std::int64_t from;  ///< slot of the parent
    std::size_t first;  ///< first of its 8 children among the new blocks
  };
  std::vector<Key> keys;
  std::vector<std::int64_t> slots;
  std::vector<Split> splits;
  std::vector<std::array<std::int64_t, 8>> merges;  ///< slots of the children, by octant
};

Plan make_plan(const sfc::KeySpace<3>& space, const std::vector<Source>& sources) {
  constexpr std::int64_t kLater = -1;
  Plan plan;
  plan.keys.reserve(sources.size());
  plan.slots.reserve(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& s = sources[i];
    if (s.change == Change::stay) {
      plan.keys.push_back(s.key);
      plan.slots.push_back(s.slot);
    } else if (s.change == Change::refine) {
      plan.splits.push_back({s.slot, plan.keys.size()});
      for (int child = 0; child < 8; ++child) {
        const Key key = space.child(s.key, child);
        plan.keys.push_back(key);
        plan.slots.push_back(octant_of(space, key) == 0 ? s.slot : kLater);
      }
    } else {
      std::array<std::int64_t, 8>& slots = plan.merges.emplace_back();
      for (int child = 0; child < 8; ++child) slots[octant_of(space, sources[i + child].key)] = sources[i + child].slot;
      plan.keys.push_back(space.parent(s.key));
      plan.slots.push_back(slots[0]);
      i += 7;
    }
  }
  return plan;
}

/// Merges come first: the slots they free serve the splits.
void merge_values(const Plan& plan, FieldStore& fields) {
#pragma omp parallel for schedule(static)
  for (const std::array<std::int64_t, 8>& slots : plan.merges) {
    std::array<const double*, 8> children{};
    for (int octant = 0; octant < 8; ++octant) children[octant] = fields.slot_values(slots[octant]);
    kernels::merge_blocks(fields.layout(), children, fields.slot_values(slots[0]));
  }
  for (const std::array<std::int64_t, 8>& slots : plan.merges) fields.give_back(std::span(slots).subspan(1));
}

void split_values(const sfc::KeySpace<3>& space, Plan& plan, FieldStore& fields) {
  const std::vector<std::int64_t> fresh = fields.take(plan.splits.size() * 7);
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < plan.splits.size(); ++k) {
    const Plan::Split& split = plan.splits[k];
    double* const parent = fields.slot_values(split.from);
    std::size_t next = 7 * k;
    for (std::size_t child = split.first; child < split.first + 8; ++child) {
      const int octant = octant_of(space, plan.keys[child]);
      if (octant == 0) continue;
      plan.slots[child] = fresh[next++];
      kernels::split_block(fields.layout(), parent, octant, fields.slot_values(plan.slots[child]));
    }
    kernels::split_block(fields.layout(), parent, 0, parent);
  }
}

}  // namespace

void apply_changes(Mesh<3>& mesh, FieldStore& fields, const Consensus& consensus) {
  if (consensus.splits + consensus.merges == 0) return;
  const std::vector<Source> sources = FamilyMove(mesh, fields, consensus.changes).run();
  Plan plan = make_plan(mesh.space(), sources);
  merge_values(plan, fields);
  split_values(mesh.space(), plan, fields);
  fields.set_slots(std::move(plan.slots));
  mesh.set_blocks(std::move(plan.keys));
}

}  // namespace amrbench::amr
