#include "amr/adapt.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "amr/migrate.hpp"

namespace amrbench::amr {

namespace {

/// Octant (quadrant; bit 0 = x, 1 = y, 2 = z) of a block in its parent.
template <int Dim>
int octant_of(const sfc::KeySpace<Dim>& space, Key key) {
  const auto c = space.coord(key);
  int octant = 0;
  for (int d = 0; d < Dim; ++d) octant |= static_cast<int>(c[d] & 1) << d;
  return octant;
}

/// Brings together the families that merge but whose members have several owners: they go to the owner of the first.
template <int Dim>
class FamilyMove {
 public:
  FamilyMove(const Mesh<Dim>& mesh, Fields& fields, const std::vector<Change>& changes)
      : mesh_(mesh), fields_(fields), changes_(changes) {}

  /// All blocks of this rank with whole families; nothing where they are those of the mesh. Collective.
  std::optional<BlockList> run() {
    if (mesh_.comm().size() == 1) return {};
    const std::vector<Departure> departures = find_departures();
    const std::vector<Arrival> arrivals = mesh_.has_intervals() ? find_arrivals() : announce(mesh_.comm(), departures);
    if (departures.empty() && arrivals.empty()) return {};
    return move_blocks(mesh_.comm(), fields_, {mesh_.keys(), mesh_.weights(), changes_, fields_.slots()}, departures,
                       arrivals);
  }

 private:
  /// Members of families whose first member is elsewhere. A family's members stand together on the curve; where ranks
  /// hold intervals of it, only the first block's family can begin elsewhere.
  std::vector<Departure> find_departures() {
    const auto& space = mesh_.space();
    std::vector<Key> firsts;
    std::vector<std::pair<std::int32_t, std::int32_t>> members;  // [begin, end)
    const std::int32_t end = mesh_.has_intervals() ? std::min(1, mesh_.size()) : mesh_.size();
    for (std::int32_t i = 0; i < end;) {
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

  const Mesh<Dim>& mesh_;
  Fields& fields_;
  const std::vector<Change>& changes_;
};

/// What the walk along the curve decides: the new blocks, and where their values come from. The child of octant 0 and
/// its parent share a slot, so a merge needs no slot and a split one less than it makes: the input buffer never holds
/// more than the blocks before and after.
struct Plan {
  std::vector<Key> keys;
  std::vector<double> weights;
  std::vector<std::int64_t> slots;
  std::vector<kernels::SplitJob> splits;
  std::vector<std::size_t> first_children;  ///< of each split: the first of its children among the new blocks
  std::vector<kernels::MergeJob> merges;
};

/// How much of a plan a stretch of the old blocks makes.
struct PlanSize {
  std::size_t keys = 0, splits = 0, merges = 0;
  void operator+=(const PlanSize& other) {
    keys += other.keys;
    splits += other.splits;
    merges += other.merges;
  }
};

/// The plan, made by all threads: each counts what its stretch of blocks becomes, then writes it behind the others'.
template <int Dim>
class Planner {
 public:
  static constexpr std::size_t kFamily = std::size_t{1} << Dim;

  /// `memory`: of any contents.
  Planner(const sfc::KeySpace<Dim>& space, const BlockView& blocks, Plan memory)
      : space_(space), blocks_(blocks), plan_(std::move(memory)) {}

  Plan run() {
    const int threads = omp_get_max_threads();
    std::vector<PlanSize> sizes(threads + 1);  // before each stretch; first, of the stretch before
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < threads; ++t) sizes[t + 1] = count(first_of(t, threads), first_of(t + 1, threads));
    for (int t = 0; t < threads; ++t) sizes[t + 1] += sizes[t];
    plan_.keys.resize(sizes[threads].keys);
    plan_.weights.resize(sizes[threads].keys);
    plan_.slots.resize(sizes[threads].keys);
    plan_.splits.resize(sizes[threads].splits);
    plan_.first_children.resize(sizes[threads].splits);
    plan_.merges.resize(sizes[threads].merges);
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < threads; ++t) write(first_of(t, threads), first_of(t + 1, threads), sizes[t]);
    return std::move(plan_);
  }

 private:
  /// The first block of a thread's stretch; no stretch begins inside a family that merges.
  [[nodiscard]] std::size_t first_of(int t, int threads) const {
    const std::size_t i = blocks_.size() * t / threads;
    if (i >= blocks_.size() || blocks_.changes[i] != Change::coarsen) return i;
    return i - space_.child_index(blocks_.keys[i]);
  }

  [[nodiscard]] PlanSize count(std::size_t begin, std::size_t end) const {
    std::size_t stays = 0, coarsens = 0;
    for (std::size_t i = begin; i < end; ++i) {
      stays += blocks_.changes[i] == Change::stay;
      coarsens += blocks_.changes[i] == Change::coarsen;
    }
    const std::size_t splits = end - begin - stays - coarsens, merges = coarsens / kFamily;
    return {stays + kFamily * splits + merges, splits, merges};
  }

  void write(std::size_t begin, std::size_t end, PlanSize at) {
    constexpr std::int64_t kLater = -1;
    for (std::size_t i = begin; i < end; ++i) {
      const Key key = blocks_.keys[i];
      if (blocks_.changes[i] == Change::stay) {
        plan_.keys[at.keys] = key;
        plan_.weights[at.keys] = blocks_.weights[i];
        plan_.slots[at.keys++] = blocks_.slots[i];
      } else if (blocks_.changes[i] == Change::refine) {
        const auto slot = static_cast<std::int32_t>(blocks_.slots[i]);
        plan_.splits[at.splits] = {slot, {slot}};
        plan_.first_children[at.splits++] = at.keys;
        for (std::size_t child = 0; child < kFamily; ++child, ++at.keys) {
          plan_.keys[at.keys] = space_.child(key, static_cast<int>(child));
          plan_.weights[at.keys] = blocks_.weights[i];
          plan_.slots[at.keys] = octant_of(space_, plan_.keys[at.keys]) == 0 ? blocks_.slots[i] : kLater;
        }
      } else {
        kernels::MergeJob& job = plan_.merges[at.merges++];
        double weight = 0.0;
        for (std::size_t child = 0; child < kFamily; ++child) {
          job.from[octant_of(space_, blocks_.keys[i + child])] = static_cast<std::int32_t>(blocks_.slots[i + child]);
          weight += blocks_.weights[i + child] / kFamily;
        }
        job.to = job.from[0];
        plan_.keys[at.keys] = space_.parent(key);
        plan_.weights[at.keys] = weight;
        plan_.slots[at.keys++] = job.to;
        i += kFamily - 1;
      }
    }
  }

  const sfc::KeySpace<Dim>& space_;
  const BlockView blocks_;
  Plan plan_;
};

/// Merges come first: the slots they free serve the splits.
template <int Dim>
void merge_values(const Plan& plan, Fields& fields) {
  constexpr std::size_t kOthers = (std::size_t{1} << Dim) - 1;
  fields.merge(plan.merges);
  std::vector<std::int64_t> freed;
  freed.reserve(kOthers * plan.merges.size());
  for (const kernels::MergeJob& job : plan.merges)
    freed.insert(freed.end(), job.from.begin() + 1, job.from.begin() + 1 + kOthers);
  fields.give_back(freed);
}

template <int Dim>
void split_values(const sfc::KeySpace<Dim>& space, Plan& plan, Fields& fields) {
  constexpr std::size_t kOthers = (std::size_t{1} << Dim) - 1;
  const std::vector<std::int64_t> fresh = fields.take(plan.splits.size() * kOthers);
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < plan.splits.size(); ++k) {
    std::size_t next = kOthers * k;
    for (std::size_t child = plan.first_children[k]; child < plan.first_children[k] + kOthers + 1; ++child) {
      const int octant = octant_of(space, plan.keys[child]);
      if (octant == 0) continue;
      plan.slots[child] = fresh[next++];
      plan.splits[k].to[octant] = static_cast<std::int32_t>(plan.slots[child]);
    }
  }
  fields.split(plan.splits);
}

}  // namespace

template <int Dim>
void apply_changes(Mesh<Dim>& mesh, Fields& fields, const Consensus& consensus, Settle when) {
  if (consensus.splits + consensus.merges == 0) return;
  const std::optional<BlockList> moved = FamilyMove<Dim>(mesh, fields, consensus.changes).run();
  const BlockView blocks =
      moved ? moved->view() : BlockView{mesh.keys(), mesh.weights(), consensus.changes, fields.slots()};
  Plan memory{mesh.spare_keys(), mesh.spare_weights(), fields.spare_slots(), {}, {}, {}};
  Plan plan = Planner<Dim>(mesh.space(), blocks, std::move(memory)).run();
  merge_values<Dim>(plan, fields);
  split_values(mesh.space(), plan, fields);
  fields.set_slots(std::move(plan.slots));
  mesh.set_blocks(std::move(plan.keys), std::move(plan.weights), when);
}

template void apply_changes(Mesh<2>&, Fields&, const Consensus&, Settle);
template void apply_changes(Mesh<3>&, Fields&, const Consensus&, Settle);

}  // namespace amrbench::amr
