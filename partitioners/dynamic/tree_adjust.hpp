#pragma once
// Adjusting a dynamic tree: counts go up from the leaves that changed, decisions come down from the root.
#include <algorithm>

#include "partitioners/dynamic/tree_impl.hpp"

namespace amrbench::partitioners::dynamic {

/// Marks the leaves that batches wrote and all above them. decide() takes the marks away: what it does not visit lies
/// below nodes that are built anew.
template <class R>
void Tree<R>::mark_changed() {
  for (const std::uint32_t number : changed_) {
    leaves_[number].changed = false;
    std::uint32_t at = leaves_[number].node;
    while (!pool_.info[at].changed) {
      pool_.info[at].changed = true;
      at = pool_.info[at].parent;
    }
  }
  changed_.clear();
}

template <class R>
void Tree<R>::update(std::uint32_t node) {
  NodeInfo& info = pool_.info[node];
  if (pool_.nodes[node].leaf()) {
    info.count = leaves_[pool_.nodes[node].leaf_number()].count;
    info.height = 0;
    return;
  }
  const NodeInfo& lower = pool_.info[pool_.nodes[node].child];
  const NodeInfo& upper = pool_.info[pool_.nodes[node].child + 1];
  info.count = lower.count + upper.count;
  info.height = std::max(lower.height, upper.height) + 1;
}

/// Counts and heights of marked nodes: those below large nodes by one thread a subtree.
template <class R>
void Tree<R>::update_counts() {
  const std::uint32_t small = std::max<std::uint32_t>(static_cast<std::uint32_t>(size_ / 64), 4096);
  const auto collect = [&](std::uint32_t root, bool whole, std::vector<std::uint32_t>& inner,
                           std::vector<std::uint32_t>* roots) {
    std::vector<std::uint32_t> stack{root};
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      if (!pool_.info[at].changed) continue;
      if (!whole && (pool_.nodes[at].leaf() || pool_.info[at].count <= small)) {
        roots->push_back(at);
        continue;
      }
      inner.push_back(at);
      if (pool_.nodes[at].leaf()) continue;
      stack.push_back(pool_.nodes[at].child + 1);
      stack.push_back(pool_.nodes[at].child);
    }
  };
  std::vector<std::uint32_t> upper, roots;
  collect(0, false, upper, &roots);
#pragma omp parallel for num_threads(team(size_)) schedule(dynamic)
  for (std::size_t r = 0; r < roots.size(); ++r) {
    std::vector<std::uint32_t> below;
    collect(roots[r], true, below, nullptr);
    // Children stand behind their parents.
    for (std::size_t i = below.size(); i-- > 0;) update(below[i]);
  }
  for (std::size_t i = upper.size(); i-- > 0;) update(upper[i]);
}

template <class R>
auto Tree<R>::limits() const -> Limits {
  return {merge_limit(), levels_for(static_cast<std::uint32_t>(size_)) + 2 + tied_levels_, !rule_.midpoint};
}

/// Out of balance, or the lowest node whose rebuilding puts leaves that lie too deep within the bound.
template <class R>
bool Tree<R>::must_rebuild(const Limits& limits, const Visit& visit, bool changed, bool deep) const {
  const NodeInfo& info = pool_.info[visit.node];
  const std::uint32_t child = pool_.nodes[visit.node].child;
  const std::uint32_t larger = std::max(pool_.info[child].count, pool_.info[child + 1].count);
  if (changed && !info.tied && info.count > 2 * options_.bucket &&
      static_cast<double>(larger) > options_.balance * static_cast<double>(info.count))
    return true;
  if (!deep) return false;
  for (const std::uint32_t c : {child, child + 1}) {
    const NodeInfo& below = pool_.info[c];
    // One level to spare, so that it does not happen again soon.
    if (visit.depth + 1 + below.height > limits.depth && visit.depth + 2 + levels_for(below.count) > limits.depth)
      return true;
  }
  return false;
}

/// Adds what is to be done with a node to `actions`, or pushes the children to be visited. Actions on nodes stand in
/// front of those on nodes below them.
template <class R>
void Tree<R>::decide(const Limits& limits, const Visit& visit, std::vector<Action>& actions,
                     std::vector<Visit>& stack) {
  NodeInfo& info = pool_.info[visit.node];
  const bool changed = std::exchange(info.changed, false);
  const Node& node = pool_.nodes[visit.node];
  if (node.leaf()) {
    if (changed && info.count > options_.bucket) actions.push_back({visit.node, What::split});
    return;
  }
  const bool deep = limits.balanced && visit.depth + info.height > limits.depth;
  if (!changed && !deep) return;
  if (info.count == 0 || static_cast<double>(info.count) < limits.merge) {
    actions.push_back({visit.node, What::merge});
    return;
  }
  const std::uint32_t child = node.child;
  for (const std::uint32_t empty : {child, child + 1}) {
    if (pool_.info[empty].count > 0) continue;
    actions.push_back({visit.node, What::lift});
    stack.push_back({empty == child ? child + 1 : child, visit.depth + 1});
    return;
  }
  if (limits.balanced && must_rebuild(limits, visit, changed, deep)) {
    actions.push_back({visit.node, What::rebuild});
    return;
  }
  stack.push_back({child + 1, visit.depth + 1});
  stack.push_back({child, visit.depth + 1});
}

/// level: of the root.
template <class R>
auto Tree<R>::decide_all(const Limits& limits, std::uint32_t level) -> std::vector<Action> {
  const std::uint32_t small = std::max<std::uint32_t>(static_cast<std::uint32_t>(size_ / 64), 4096);
  std::vector<Action> actions;
  std::vector<Visit> stack{{0, level}}, roots;
  while (!stack.empty()) {
    const Visit visit = stack.back();
    stack.pop_back();
    if (pool_.info[visit.node].count <= small) {
      roots.push_back(visit);
    } else {
      decide(limits, visit, actions, stack);
    }
  }
  std::vector<std::vector<Action>> found(roots.size());
#pragma omp parallel for num_threads(team(size_)) schedule(dynamic)
  for (std::size_t r = 0; r < roots.size(); ++r) {
    std::vector<Visit> below{roots[r]};
    while (!below.empty()) {
      const Visit visit = below.back();
      below.pop_back();
      decide(limits, visit, found[r], below);
    }
  }
  for (const auto& part : found) actions.insert(actions.end(), part.begin(), part.end());
  return actions;
}

/// Decides and carries out, and adds to `done`.
template <class R>
void Tree<R>::adjust_once(const Limits& limits, std::uint32_t level, Adjustments& done) {
  const std::vector<Action> actions = decide_all(limits, level);
  for (const Action& action : actions) {
    done.splits += action.what == What::split ? 1 : 0;
    done.merges += action.what == What::merge ? 1 : 0;
    done.lifts += action.what == What::lift ? 1 : 0;
    if (action.what != What::rebuild) continue;
    ++done.rebuilds;
    done.rebuilt_points += pool_.info[action.node].count;
  }
  if (actions.empty()) return;
  rework(actions);
  order_curve_.reset();
}

template <class R>
Adjustments Tree<R>::adjust() {
  Adjustments done;
  mark_changed();
  update_counts();
  adjust_once(limits(), 0, done);
  // Splits may have put leaves too deep.
  if (!rule_.midpoint && pool_.info[0].height > limits().depth) adjust_once(limits(), 0, done);
  note_ties();
  return done;
}

template <class R>
void Tree<R>::rebuild() {
  for (const std::uint32_t number : changed_) leaves_[number].changed = false;
  changed_.clear();
  const Action whole{0, What::rebuild};
  rework({&whole, 1});
  order_curve_.reset();
  note_ties();
}

/// What lies too deep now does so because of ties: rebuilding it again would not help.
template <class R>
void Tree<R>::note_ties() {
  const std::uint32_t bound = levels_for(static_cast<std::uint32_t>(size_)) + 2;
  tied_levels_ = pool_.info[0].height > bound ? pool_.info[0].height - bound : 0;
}

}  // namespace amrbench::partitioners::dynamic
