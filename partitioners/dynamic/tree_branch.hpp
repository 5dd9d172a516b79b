#pragma once
// A dynamic tree as a branch of a larger one (branch.hpp).
#include <bit>

#include "partitioners/dynamic/packed_nodes.hpp"
#include "partitioners/dynamic/tree_impl.hpp"

namespace amrbench::partitioners::dynamic {

template <class R>
BranchState Tree<R>::branch_state() {
  mark_changed();
  update_counts();
  return {pool_.info[0].count, pool_.info[0].height, pool_.info[0].changed};
}

template <class R>
Adjustments Tree<R>::adjust_branch(std::uint32_t level, std::uint32_t deepest) {
  Adjustments done;
  adjust_once({merge_limit(), deepest, !rule_.midpoint}, level, done);
  return done;
}

template <class R>
BranchCut Tree<R>::root_cut() const {
  const Node& root = pool_.nodes[0];
  const auto below = [&](std::uint32_t child) {
    return BranchState{pool_.info[child].count, pool_.info[child].height, false};
  };
  return {root.plane, root.axis, pool_.info[0].tied, {below(root.child), below(root.child + 1)}};
}

template <class R>
void Tree<R>::append_row(const R& r, Words& rows) const {
  rows.push_back(r.id);
  if constexpr (R::kWeighted) {
    if (options_.weighted) rows.push_back(r.weight);
  }
  for (int d = 0; d < dim_; ++d) rows.push_back(std::bit_cast<std::uint64_t>(r.x[d]));
}

template <class R>
R Tree<R>::record_of_row(const std::uint64_t* row) const {
  R r{};
  r.id = *row++;
  if constexpr (R::kWeighted) {
    if (options_.weighted) r.weight = *row++;
  }
  for (int d = 0; d < dim_; ++d) r.x[d] = std::bit_cast<double>(row[d]);
  return r;
}

template <class R>
PackedBranch Tree<R>::pack() const {
  PackedBranch packed;
  packed.rows.reserve(size_ * row_words());
  std::vector<std::uint32_t> stack{0};
  while (!stack.empty()) {
    const std::uint32_t at = stack.back();
    const Node& node = pool_.nodes[at];
    stack.pop_back();
    if (node.leaf()) {
      const Leaf<R>& leaf = leaves_[node.leaf_number()];
      pack_node({0, leaf.count, kd::kLeaf}, packed.nodes);
      for (const R& r : leaf.points()) append_row(r, packed.rows);
      continue;
    }
    pack_node({node.plane, pool_.info[at].count, node.axis | (pool_.info[at].tied ? kTied : 0)}, packed.nodes);
    stack.push_back(node.child + 1);
    stack.push_back(node.child);
  }
  return packed;
}

template <class R>
void Tree<R>::append_rows(Words& rows) const {
  rows.reserve(rows.size() + size_ * row_words());
  for (const std::uint32_t number : leaves_along(pool_, dim_, TreeCurve::morton, 1))
    for (const R& r : leaves_[number].points()) append_row(r, rows);
}

/// Fills a work on the root with the records of rows.
template <class R>
void Tree<R>::read_rows(std::span<const WordView> pieces, Rework& work) const {
  const std::size_t words = row_words();
  work.node = 0;
  work.count = 0;
  for (const WordView& piece : pieces) work.count += piece.size() / words;
  work.large.resize_discard(work.count);
  R* to = work.large.data();
  for (const WordView& piece : pieces) {
    const auto n = static_cast<std::ptrdiff_t>(piece.size() / words);
#pragma omp parallel for num_threads(team(piece.size() / words)) schedule(static)
    for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = record_of_row(piece.data() + static_cast<std::size_t>(i) * words);
    to += n;
  }
}

/// Puts a work in the place of all there is.
template <class R>
void Tree<R>::replace_all(Rework& work) {
  changed_.clear();
  size_ = work.count;
  std::vector<Filling> fillings;
  place(work, fillings);
  fill(fillings);
  order_curve_.reset();
}

template <class R>
void Tree<R>::unpack(const PackedView& packed) {
  Rework work;
  read_rows({&packed.rows, 1}, work);
  for (std::size_t at = 0; at < packed.nodes.size(); at += kNodeWords)
    work.nodes.push_back(packed_node(packed.nodes, at));
  replace_all(work);
}

template <class R>
void Tree<R>::assign(std::span<const WordView> pieces) {
  Rework work;
  read_rows(pieces, work);
  const SubtreeBuilder<R> builder(work.records(), rule_);
  if (team(work.count) > 1) {
    work.nodes = builder.build_together(work.count, threads_);
  } else {
    builder.build(0, work.count, work.nodes);
  }
  replace_all(work);
}

}  // namespace amrbench::partitioners::dynamic
