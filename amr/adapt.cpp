#include "amr/adapt.hpp"

#include <array>
#include <map>
#include <utility>

#include "amr/migrate.hpp"
#include "kernels/refine_data.hpp"

namespace amrbench::amr {

namespace {

/// Octant (bit 0 = x, 1 = y, 2 = z) of a block in its parent.
int octant_of(const sfc::KeySpace<3>& space, Key key) {
  const auto c = space.coord(key);
  return static_cast<int>((c[0] & 1) | (c[1] & 1) << 1 | (c[2] & 1) << 2);
}

/// Brings together the families that merge but whose members have several owners: they go to the owner of the first.
class FamilyMove {
 public:
  FamilyMove(const Mesh<3>& mesh, FieldStore& fields, const std::vector<Change>& changes)
      : mesh_(mesh), fields_(fields), changes_(changes) {}

  /// All blocks of this rank with whole families. Collective.
  BlockList run() {
    BlockList blocks{{mesh_.keys().begin(), mesh_.keys().end()}, changes_, {}};
    for (std::int32_t i = 0; i < mesh_.size(); ++i) blocks.slots.push_back(fields_.slot(i));
    const std::vector<Departure> departures = find_departures();
    move_blocks(mesh_.comm(), fields_, blocks, departures,
                mesh_.has_intervals() ? find_arrivals() : announce(mesh_.comm(), departures));
    return blocks;
  }

 private:
  /// Members of families whose first member is elsewhere. A family's members stand together on the curve.
  std::vector<Departure> find_departures() {
    const auto& space = mesh_.space();
    std::vector<Key> firsts;
    std::vector<std::pair<std::int32_t, std::int32_t>> members;  // [begin, end)
    for (std::int32_t i = 0; i < mesh_.size();) {
      if (changes_[i] != Change::coarsen) {
        ++i;
        continue;
      }
      const std::int32_t begin = i;
      const Key parent = space.parent(mesh_.keys()[i]);
      while (i < mesh_.size() && mesh_.keys()[i] <= space.last(parent)) ++i;
      if (space.child_index(mesh_.keys()[begin]) == 0) continue;
      firsts.push_back(space.child(parent, 0));
      members.emplace_back(begin, i);
    }
    const std::vector<int> owners = mesh_.owners(firsts);
    std::map<int, std::vector<std::int32_t>> by_rank;
    for (std::size_t f = 0; f < firsts.size(); ++f) {
      for (std::int32_t i = members[f].first; i < members[f].second; ++i) by_rank[owners[f]].push_back(i);
    }
    std::vector<Departure> departures;
    for (auto& [rank, blocks] : by_rank) departures.push_back({rank, std::move(blocks)});
    return departures;
  }

  /// Where ranks hold intervals of the curve, only the last family can be cut, and its keys tell by whom.
  [[nodiscard]] std::vector<Arrival> find_arrivals() const {
    std::vector<Arrival> arrivals;
    const auto& space = mesh_.space();
    if (mesh_.size() == 0 || changes_.back() != Change::coarsen) return arrivals;
    const Key last = mesh_.keys().back(), parent = space.parent(last);
    if (mesh_.owner(space.child(parent, 0)) != mesh_.comm().rank()) return arrivals;
    for (int child = space.child_index(last) + 1; child < space.kChildren; ++child) {
      const int rank = mesh_.owner(space.child(parent, child));
      if (arrivals.empty() || arrivals.back().rank != rank) arrivals.push_back({rank, 0});
      ++arrivals.back().blocks;
    }
    return arrivals;
  }

  const Mesh<3>& mesh_;
  FieldStore& fields_;
  const std::vector<Change>& changes_;
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

Plan make_plan(const sfc::KeySpace<3>& space, const BlockList& blocks) {
  constexpr std::int64_t kLater = -1;
  Plan plan;
  plan.keys.reserve(blocks.size());
  plan.slots.reserve(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Key key = blocks.keys[i];
    if (blocks.changes[i] == Change::stay) {
      plan.keys.push_back(key);
      plan.slots.push_back(blocks.slots[i]);
    } else if (blocks.changes[i] == Change::refine) {
      plan.splits.push_back({blocks.slots[i], plan.keys.size()});
      for (int child = 0; child < 8; ++child) {
        plan.keys.push_back(space.child(key, child));
        plan.slots.push_back(octant_of(space, plan.keys.back()) == 0 ? blocks.slots[i] : kLater);
      }
    } else {
      std::array<std::int64_t, 8>& slots = plan.merges.emplace_back();
      for (int child = 0; child < 8; ++child) slots[octant_of(space, blocks.keys[i + child])] = blocks.slots[i + child];
      plan.keys.push_back(space.parent(key));
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
  Plan plan = make_plan(mesh.space(), FamilyMove(mesh, fields, consensus.changes).run());
  merge_values(plan, fields);
  split_values(mesh.space(), plan, fields);
  fields.set_slots(std::move(plan.slots));
  mesh.set_blocks(std::move(plan.keys));
}

}  // namespace amrbench::amr
