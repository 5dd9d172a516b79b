#include "partitioners/dynamic/ranks_top.hpp"

#include <algorithm>

#include "partitioners/curve_walk.hpp"

namespace amrbench::partitioners::dynamic {

void RanksTop::set_states(std::span<const BranchState> states) {
  // Children stand behind their parents.
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    TopNode& node = nodes_[i];
    if (node.leaf()) {
      const BranchState& state = states[node.domain];
      node.count = state.count;
      node.height = state.height;
      node.changed = state.changed;
      continue;
    }
    const TopNode &lower = nodes_[node.child], &upper = nodes_[node.child + 1];
    node.count = lower.count + upper.count;
    node.height = std::max(lower.height, upper.height) + 1;
    node.changed = lower.changed || upper.changed;
  }
}

bool RanksTop::must_rebuild(const TopLimits& limits, const Visit& visit, bool deep) const {
  const TopNode& node = nodes_[visit.node];
  const std::uint32_t larger = std::max(nodes_[node.child].count, nodes_[node.child + 1].count);
  if (node.changed && !node.tied && node.count > 2 * limits.bucket &&
      static_cast<double>(larger) > limits.balance * static_cast<double>(node.count))
    return true;
  if (!deep) return false;
  for (const std::uint32_t c : {node.child, node.child + 1}) {
    const auto levels = static_cast<std::uint32_t>(median_levels(nodes_[c].count, limits.bucket));
    if (visit.level + 1 + nodes_[c].height > limits.deepest && visit.level + 2 + levels > limits.deepest) return true;
  }
  return false;
}

void RanksTop::decide(const TopLimits& limits, const Visit& visit, TopPlan& plan, std::vector<Visit>& stack) const {
  const TopNode& node = nodes_[visit.node];
  const bool deep = limits.balanced && visit.level + node.height > limits.deepest;
  if (!node.changed && !deep) return;
  if (node.leaf()) {
    plan.visited.emplace_back(node.domain, visit.level);
    return;
  }
  if (node.count == 0 || static_cast<double>(node.count) < limits.merge) {
    plan.remade.push_back(visit.node);
    ++plan.counted.merges;
    return;
  }
  for (const std::uint32_t empty : {node.child, node.child + 1}) {
    if (nodes_[empty].count > 0) continue;
    plan.lifted.push_back(visit.node);
    ++plan.counted.lifts;
    stack.push_back({empty == node.child ? node.child + 1 : node.child, visit.level + 1});
    return;
  }
  if (limits.balanced && must_rebuild(limits, visit, deep)) {
    plan.remade.push_back(visit.node);
    ++plan.counted.rebuilds;
    plan.counted.rebuilt_points += node.count;
    return;
  }
  stack.push_back({node.child + 1, visit.level + 1});
  stack.push_back({node.child, visit.level + 1});
}

TopPlan RanksTop::decide(const TopLimits& limits) const {
  TopPlan plan;
  std::vector<Visit> stack{{0, 0}};
  while (!stack.empty()) {
    const Visit visit = stack.back();
    stack.pop_back();
    decide(limits, visit, plan, stack);
  }
  return plan;
}

std::vector<std::uint32_t> RanksTop::domains_below(std::uint32_t node) const {
  std::vector<std::uint32_t> found, stack{node};
  while (!stack.empty()) {
    const TopNode& at = nodes_[stack.back()];
    stack.pop_back();
    if (at.leaf()) {
      found.push_back(at.domain);
    } else {
      stack.push_back(at.child + 1);
      stack.push_back(at.child);
    }
  }
  return found;
}

auto RanksTop::small_siblings(std::uint64_t least) const -> std::vector<Siblings> {
  std::vector<Siblings> found;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].leaf() || nodes_[i].count >= least) continue;
    const TopNode &lower = nodes_[nodes_[i].child], &upper = nodes_[nodes_[i].child + 1];
    if (lower.leaf() && upper.leaf()) found.push_back({i, lower.domain, upper.domain});
  }
  return found;
}

BranchCut RanksTop::cut(std::uint32_t node) const {
  const TopNode& at = nodes_[node];
  const auto state = [&](const TopNode& n) { return BranchState{n.count, n.height, n.changed}; };
  return {at.plane, at.axis, at.tied, {state(nodes_[at.child]), state(nodes_[at.child + 1])}};
}

void RanksTop::remake(std::span<const std::uint32_t> nodes, std::span<const CutNode> cut, std::uint32_t label) {
  std::vector<std::uint32_t> at(nodes.begin(), nodes.end());
  at.resize(cut.size());
  for (std::size_t i = 0; i < cut.size(); ++i) {
    TopNode node;
    node.count = static_cast<std::uint32_t>(cut[i].count);
    if (cut[i].child == 0) {
      node.domain = label++;
    } else {
      node.plane = cut[i].plane;
      node.axis = cut[i].axis;
      node.tied = cut[i].tied;
      node.child = static_cast<std::uint32_t>(nodes_.size());
      at[cut[i].child] = node.child;
      at[cut[i].child + 1] = node.child + 1;
      nodes_.resize(nodes_.size() + 2);
    }
    nodes_[at[i]] = node;
  }
}

void RanksTop::lift(std::uint32_t node) {
  const std::uint32_t child = nodes_[node].child;
  nodes_[node] = nodes_[nodes_[child].count == 0 ? child + 1 : child];
}

void RanksTop::split(std::uint32_t domain, const BranchCut& cut, std::uint32_t label) {
  const auto at =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const TopNode& n) { return n.leaf() && n.domain == domain; });
  const auto child = static_cast<std::uint32_t>(nodes_.size());
  at->plane = cut.plane;
  at->axis = cut.axis;
  at->tied = cut.tied;
  at->child = child;
  for (const auto& [below, name] : {std::pair{cut.below[0], domain}, std::pair{cut.below[1], label}}) {
    TopNode half;  // `at` is no longer valid
    half.domain = name;
    half.count = below.count;
    half.height = below.height;
    nodes_.push_back(half);
  }
}

void RanksTop::join(std::uint32_t node) {
  TopNode& at = nodes_[node];
  at.domain = nodes_[at.child].domain;
  at.child = 0;
  at.tied = false;
}

std::vector<DomainPlace> RanksTop::number_domains(int dim, TreeCurve curve) {
  std::vector<TopNode> ordered{nodes_[0]};
  std::vector<KdNode<std::uint32_t>> walked;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    walked.push_back({0, 1, 0, ordered[i].leaf() ? 0 : ordered[i].axis});
    if (ordered[i].leaf()) continue;
    const std::uint32_t child = ordered[i].child;
    ordered[i].child = walked[i].child = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(nodes_[child]);
    ordered.push_back(nodes_[child + 1]);
  }
  nodes_ = std::move(ordered);
  std::vector<DomainPlace> places;
  const std::span<const KdNode<std::uint32_t>> nodes(walked);
  for (const auto& s : CurveWalker<std::uint32_t>(nodes, dim, curve).pieces(curve_start(nodes), 0)) {
    DomainPlace place{nodes_[s.node].domain, {}};
    // A curve that is alone in space travels along its own tree's first split.
    if (nodes_.size() > 1) {
      place.entrance.corner = s.entry;
      place.entrance.travel = s.travel;
    }
    nodes_[s.node].domain = static_cast<std::uint32_t>(places.size());
    places.push_back(place);
  }
  return places;
}

}  // namespace amrbench::partitioners::dynamic
