#pragma once
// The dynamic tree on records of one kind. Bodies: tree_batches.hpp (insert, erase, move), tree_adjust.hpp (counts and
// decisions), tree_rework.hpp (subtrees built anew), tree_branch.hpp (branches). Only dynamic_tree.cpp includes these.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "partitioners/dynamic/branch.hpp"
#include "partitioners/dynamic/dynamic_tree.hpp"
#include "partitioners/dynamic/leaf_memory.hpp"
#include "partitioners/dynamic/node_pool.hpp"
#include "partitioners/dynamic/subtree.hpp"
#include "partitioners/radix_sort.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners::dynamic {

template <class R>
struct Leaf {
  Run<R> run;
  std::uint32_t count = 0;
  std::uint32_t node = 0;
  std::uint64_t weight = 0;
  bool changed = false;  ///< stands in changed_

  [[nodiscard]] std::span<R> points() const { return {run.slots, count}; }
};

template <class R>
class Tree final : public TreeBranch {
 public:
  Tree(int dim, const DynamicTreeOptions& options, int threads);

  void insert(const PointBatch& batch) override;
  std::size_t erase(const PointBatch& batch, std::span<std::uint8_t> found, std::span<std::uint64_t> weights) override;
  std::size_t move(const PointBatch& batch, PointView<double> to, std::span<std::uint8_t> found) override;
  Adjustments adjust() override;
  void rebuild() override;

  std::span<const std::uint32_t> leaves(TreeCurve curve) override;
  void enter(const CurveEntrance& entrance) override {
    entrance_ = entrance;
    order_curve_.reset();
  }
  std::vector<std::uint64_t> leaf_loads(TreeCurve curve) override;
  void append_ids(std::uint32_t leaf, std::vector<std::uint64_t>& ids) const override {
    for (const R& r : leaves_[leaf].points()) ids.push_back(r.id);
  }
  std::vector<std::int64_t> part_cuts(TreeCurve curve, int parts, SliceRule rule) override;
  void write_parts(TreeCurve curve, std::span<const std::int64_t> cuts, std::span<std::int32_t> part) override;

  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] std::size_t leaf_count() const override { return leaves_.size() - unused_leaves_.size(); }
  [[nodiscard]] int depth() const override { return static_cast<int>(pool_.info[0].height); }
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] DynamicSnapshot snapshot() const override;

  BranchState branch_state() override;
  Adjustments adjust_branch(std::uint32_t level, std::uint32_t deepest) override;
  [[nodiscard]] BranchCut root_cut() const override;
  [[nodiscard]] bool is_leaf() const override { return pool_.nodes[0].leaf(); }
  [[nodiscard]] PackedBranch pack() const override;
  void unpack(const PackedView& packed) override;
  void append_rows(Words& rows) const override;
  void assign(std::span<const WordView> pieces) override;

 private:
  using Entry = KeyValue<std::uint32_t, std::uint32_t>;  ///< a leaf and the place of a point in a batch
  enum class What : std::uint8_t { split, merge, lift, rebuild };
  struct Action {
    std::uint32_t node;
    What what;
  };
  struct Visit {
    std::uint32_t node;
    std::uint32_t depth;
  };
  /// What rules of depth and number mean at this moment.
  struct Limits {
    double merge;
    std::uint32_t depth;  ///< of a leaf
    bool balanced;        ///< by weight and depth
  };
  /// A subtree to be built anew.
  struct Rework {
    std::uint32_t node;
    std::size_t count;
    support::PageBuffer<R> large;
    std::vector<std::uint32_t> old_leaves;
    std::unique_ptr<R[]> small;
    PreNodes nodes;
    [[nodiscard]] R* records() { return small ? small.get() : large.data(); }
  };
  /// Records to be copied into a new leaf.
  struct Filling {
    std::uint32_t leaf;
    const R* from;
  };

  /// Threads for work on so many points: one where starting others would take longer.
  [[nodiscard]] int team(std::size_t points) const { return points < 4096 ? 1 : threads_; }

  // tree_batches.hpp
  void check_batch(const PointBatch& batch, bool weights) const;
  void check_finite(PointView<double> points) const;
  void route(PointView<double> points, std::uint32_t* leaf_of, std::size_t stride);
  void sort_by_leaf(PointView<double> points);
  template <class Work>
  void for_leaves(const support::PageBuffer<Entry>& entries, std::size_t n, bool whole, Work work);
  void append(Leaf<R>& leaf, std::size_t more, const auto& record_of);
  static R record(const PointBatch& batch, std::size_t i);
  static bool same(const R& r, std::uint64_t id, const double* x, int dim);
  template <class Taken>
  void take_away(Leaf<R>& leaf, const Entry* first, const Entry* last, const PointBatch& batch, Taken taken);
  template <class Taken>
  void take_many(Leaf<R>& leaf, const Entry* first, const Entry* last, const PointBatch& batch, Taken taken);
  void shrink(Leaf<R>& leaf);
  void put_down(const PointBatch& batch, PointView<double> to, std::span<const std::uint32_t> target,
                std::span<const std::uint64_t> weight, std::span<const std::uint8_t> found, std::size_t left);

  // tree_adjust.hpp
  void mark_changed();
  void update(std::uint32_t node);
  void update_counts();
  void adjust_once(const Limits& limits, std::uint32_t level, Adjustments& done);
  void note_ties();
  [[nodiscard]] double merge_limit() const { return options_.merge * static_cast<double>(options_.bucket); }
  [[nodiscard]] Limits limits() const;
  [[nodiscard]] std::uint32_t levels_for(std::uint32_t count) const {
    return static_cast<std::uint32_t>(median_levels(count, options_.bucket));
  }
  void decide(const Limits& limits, const Visit& visit, std::vector<Action>& actions, std::vector<Visit>& stack);
  [[nodiscard]] std::vector<Action> decide_all(const Limits& limits, std::uint32_t level);
  [[nodiscard]] bool must_rebuild(const Limits& limits, const Visit& visit, bool changed, bool deep) const;

  // tree_rework.hpp
  void rework(std::span<const Action> actions);
  void gather(Rework& work, int threads) const;
  void place(Rework& work, std::vector<Filling>& fillings);
  void give_below(std::uint32_t node);
  void fill(std::span<const Filling> fillings);
  void lift(std::uint32_t node);
  void update_above(std::uint32_t node);
  std::uint32_t new_leaf(std::uint32_t node);
  void give_leaf(std::uint32_t number);

  // tree_branch.hpp
  [[nodiscard]] std::size_t row_words() const {
    return 1 + static_cast<std::size_t>(dim_) + (options_.weighted ? 1 : 0);
  }
  void append_row(const R& r, Words& rows) const;
  [[nodiscard]] R record_of_row(const std::uint64_t* row) const;
  void read_rows(std::span<const WordView> pieces, Rework& work) const;
  void replace_all(Rework& work);

  int dim_;
  DynamicTreeOptions options_;
  int threads_;
  SubtreeRule rule_;
  std::size_t size_ = 0;
  std::uint32_t tied_levels_ = 0;  ///< what ties add to the depth

  NodePool pool_;
  LeafMemory<R> memory_;
  std::vector<Leaf<R>> leaves_;
  std::vector<std::uint32_t> unused_leaves_;
  std::vector<std::uint32_t> changed_;  ///< leaves that batches wrote since the last adjust()

  CurveEntrance entrance_;
  std::optional<TreeCurve> order_curve_;  ///< of order_; empty: to be found again
  std::vector<std::uint32_t> order_;

  support::PageBuffer<Entry> entries_, spare_;  ///< room for batches
  std::size_t entry_count_ = 0;
};

}  // namespace amrbench::partitioners::dynamic
