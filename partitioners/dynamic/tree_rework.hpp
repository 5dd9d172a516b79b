#pragma once
// Subtrees of a dynamic tree built anew: splits, merges and rebuilding are one operation. Records are gathered and cut
// by threads; nodes, leaves and runs are taken and given back one after another, so that their numbers do not depend on
// threads; records then go to their leaves by threads again.
#include <algorithm>

#include "partitioners/dynamic/tree_impl.hpp"

namespace amrbench::partitioners::dynamic {

/// Copies the records below a node to `work`, lower children first.
template <class R>
void Tree<R>::gather(Rework& work, int threads) const {
  std::vector<std::size_t> start;
  std::size_t count = 0;
  std::vector<std::uint32_t> stack{work.node};
  while (!stack.empty()) {
    const Node& node = pool_.nodes[stack.back()];
    stack.pop_back();
    if (node.leaf()) {
      work.old_leaves.push_back(node.leaf_number());
      start.push_back(count);
      count += leaves_[node.leaf_number()].count;
    } else {
      stack.push_back(node.child + 1);
      stack.push_back(node.child);
    }
  }
  work.count = count;
  if (threads > 1 || count > kd::subtree_size(size_)) {
    work.large.resize_discard(count);
  } else {
    work.small.reset(new R[count]);  // not initialised
  }
  R* to = work.records();
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (std::size_t i = 0; i < start.size(); ++i) {
    const Leaf<R>& leaf = leaves_[work.old_leaves[i]];
    std::copy_n(leaf.run.slots, leaf.count, to + start[i]);
  }
}

template <class R>
std::uint32_t Tree<R>::new_leaf(std::uint32_t node) {
  if (unused_leaves_.empty()) {
    unused_leaves_.push_back(static_cast<std::uint32_t>(leaves_.size()));
    leaves_.emplace_back();
  }
  const std::uint32_t number = unused_leaves_.back();
  unused_leaves_.pop_back();
  leaves_[number] = {};
  leaves_[number].node = node;
  return number;
}

template <class R>
void Tree<R>::give_leaf(std::uint32_t number) {
  memory_.give(leaves_[number].run);
  unused_leaves_.push_back(number);
}

/// Returns all nodes below a node, and the leaves of it.
template <class R>
void Tree<R>::give_below(std::uint32_t node) {
  std::vector<std::uint32_t> stack{node};
  while (!stack.empty()) {
    const Node at = pool_.nodes[stack.back()];
    stack.pop_back();
    if (at.leaf()) {
      give_leaf(at.leaf_number());
      continue;
    }
    stack.push_back(at.child);
    stack.push_back(at.child + 1);
    pool_.give_pair(at.child);
  }
}

/// Puts the nodes that were built in the place of the old ones.
template <class R>
void Tree<R>::place(Rework& work, std::vector<Filling>& fillings) {
  const std::uint32_t parent = pool_.info[work.node].parent;
  if (work.node == 0) {
    pool_.reset();
    leaves_.clear();
    unused_leaves_.clear();
    memory_.clear();
  } else {
    give_below(work.node);
  }
  std::vector<std::uint32_t> inner;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waiting{{work.node, parent}};  // a node and its parent
  const R* from = work.records();
  for (const auto& pre : work.nodes) {
    const auto [at, above] = waiting.back();
    waiting.pop_back();
    pool_.info[at] = {above, pre.count, 0, false, false};
    if (pre.axis == kd::kLeaf) {
      const std::uint32_t number = new_leaf(at);
      pool_.nodes[at] = Node::of_leaf(number);
      Leaf<R>& leaf = leaves_[number];
      leaf.count = pre.count;
      // An eighth more than the points: room for some to come.
      if (pre.count > 0) leaf.run = memory_.take(pre.count + pre.count / 8);
      fillings.push_back({number, from});
      from += pre.count;
      continue;
    }
    const std::uint32_t pair = pool_.take_pair();
    pool_.nodes[at] = {pre.split, pair, pre.axis & ~kTied};
    pool_.info[at].tied = (pre.axis & kTied) != 0;
    waiting.emplace_back(pair + 1, at);
    waiting.emplace_back(pair, at);
    inner.push_back(at);
  }
  for (std::size_t i = inner.size(); i-- > 0;) update(inner[i]);
}

template <class R>
void Tree<R>::fill(std::span<const Filling> fillings) {
#pragma omp parallel for num_threads(team(32 * fillings.size())) schedule(dynamic, 64)
  for (std::size_t f = 0; f < fillings.size(); ++f) {
    Leaf<R>& leaf = leaves_[fillings[f].leaf];
    std::copy_n(fillings[f].from, leaf.count, leaf.run.slots);
    if constexpr (R::kWeighted) {
      for (const R& r : leaf.points()) leaf.weight += r.weight;
    }
  }
}

/// Puts the child that has points in the place of a node whose other child has none.
template <class R>
void Tree<R>::lift(std::uint32_t node) {
  const std::uint32_t pair = pool_.nodes[node].child;
  const std::uint32_t empty = pool_.info[pair].count == 0 ? pair : pair + 1;
  const std::uint32_t full = empty == pair ? pair + 1 : pair;
  give_below(empty);
  pool_.nodes[node] = pool_.nodes[full];
  const std::uint32_t parent = pool_.info[node].parent;
  pool_.info[node] = pool_.info[full];
  pool_.info[node].parent = parent;
  if (pool_.nodes[node].leaf()) {
    leaves_[pool_.nodes[node].leaf_number()].node = node;
  } else {
    pool_.info[pool_.nodes[node].child].parent = node;
    pool_.info[pool_.nodes[node].child + 1].parent = node;
  }
  pool_.give_pair(pair);
}

/// Heights above a node that changed.
template <class R>
void Tree<R>::update_above(std::uint32_t node) {
  while (node != 0) {
    node = pool_.info[node].parent;
    const std::uint32_t height = pool_.info[node].height;
    update(node);
    if (pool_.info[node].height == height) return;
  }
}

template <class R>
void Tree<R>::rework(std::span<const Action> actions) {
  std::vector<Rework> works(actions.size());
  std::vector<std::size_t> small;
  const std::size_t alone = kd::subtree_size(size_);
  const auto build = [&](Rework& work, bool together) {
    gather(work, together ? threads_ : 1);
    const SubtreeBuilder<R> builder(work.records(), rule_);
    if (together) {
      work.nodes = builder.build_together(work.count, threads_);
    } else {
      builder.build(0, work.count, work.nodes);
    }
  };
  for (std::size_t a = 0; a < actions.size(); ++a) {
    works[a].node = actions[a].node;
    if (actions[a].what == What::lift) continue;
    // Before rebuild() counts may be old.
    const std::size_t count = actions[a].node == 0 ? size_ : pool_.info[actions[a].node].count;
    if (count > alone) {
      build(works[a], true);
    } else {
      small.push_back(a);
    }
  }
#pragma omp parallel for num_threads(team(32 * small.size())) schedule(dynamic, 8)
  for (std::size_t s = 0; s < small.size(); ++s) build(works[small[s]], false);
  // Nodes below others come first: their numbers hold until a node above is lifted.
  std::vector<Filling> fillings;
  for (std::size_t a = actions.size(); a-- > 0;) {
    if (actions[a].what == What::lift) {
      lift(actions[a].node);
    } else {
      place(works[a], fillings);
    }
    update_above(actions[a].node);
  }
  fill(fillings);
}

}  // namespace amrbench::partitioners::dynamic
