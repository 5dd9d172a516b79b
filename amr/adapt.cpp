#include "amr/adapt.hpp"

#include <array>
#include <map>
#include <utility>

#include "amr/migrate.hpp"

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
  FamilyMove(const Mesh<3>& mesh, Fields& fields, const std::vector<Change>& changes)
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
  Fields& fields_;
  const std::vector<Change>& changes_;
};

/// What the walk along the curve decides: the new blocks, and where their values come from. The child of octant 0 and
/// its parent share a slot, so a merge needs no slot and a split needs seven: the input buffer never holds more than
/// the blocks before and after.
struct Plan {
  std::vector<Key> keys;
  std::vector<std::int64_t> slots;
  std::vector<kernels::SplitJob> splits;
  std::vector<std::size_t> first_children;  ///< of each split: the first of its 8 children among the new blocks
  std::vector<kernels::MergeJob> merges;
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
      const auto slot = static_cast<std::int32_t>(blocks.slots[i]);
      plan.splits.push_back({slot, {slot}});
      plan.first_children.push_back(plan.keys.size());
      for (int child = 0; child < 8; ++child) {
        plan.keys.push_back(space.child(key, child));
        plan.slots.push_back(octant_of(space, plan.keys.back()) == 0 ? blocks.slots[i] : kLater);
      }
    } else {
      kernels::MergeJob& job = plan.merges.emplace_back();
      for (int child = 0; child < 8; ++child)
        job.from[octant_of(space, blocks.keys[i + child])] = static_cast<std::int32_t>(blocks.slots[i + child]);
      job.to = job.from[0];
      plan.keys.push_back(space.parent(key));
      plan.slots.push_back(job.to);
      i += 7;
    }
  }
  return plan;
}

/// Merges come first: the slots they free serve the splits.
void merge_values(const Plan& plan, Fields& fields) {
  fields.merge(plan.merges);
  std::vector<std::int64_t> freed;
  freed.reserve(7 * plan.merges.size());
  for (const kernels::MergeJob& job : plan.merges) freed.insert(freed.end(), job.from.begin() + 1, job.from.end());
  fields.give_back(freed);
}

void split_values(const sfc::KeySpace<3>& space, Plan& plan, Fields& fields) {
  const std::vector<std::int64_t> fresh = fields.take(plan.splits.size() * 7);
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < plan.splits.size(); ++k) {
    std::size_t next = 7 * k;
    for (std::size_t child = plan.first_children[k]; child < plan.first_children[k] + 8; ++child) {
      const int octant = octant_of(space, plan.keys[child]);
      if (octant == 0) continue;
      plan.slots[child] = fresh[next++];
      plan.splits[k].to[octant] = static_cast<std::int32_t>(plan.slots[child]);
    }
  }
  fields.split(plan.splits);
}

}  // namespace

void apply_changes(Mesh<3>& mesh, Fields& fields, const Consensus& consensus) {
  if (consensus.splits + consensus.merges == 0) return;
  Plan plan = make_plan(mesh.space(), FamilyMove(mesh, fields, consensus.changes).run());
  merge_values(plan, fields);
  split_values(mesh.space(), plan, fields);
  fields.set_slots(std::move(plan.slots));
  mesh.set_blocks(std::move(plan.keys));
}

}  // namespace amrbench::amr
