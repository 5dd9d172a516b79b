#pragma once
// After DistributedRounds: points go to the ranks that own their leaves, each rank finishes the cells it then holds,
// and labels and subtrees come back.
//
// Collectives: 2 to move points; where cells are left to finish, 1 more for weights, 1 for labels, 1 for the tree.
#include <algorithm>
#include <chrono>
#include <vector>

#include "partitioners/orb/distributed.hpp"
#include "partitioners/orb/distributed_local.hpp"
#include "partitioners/orb/distributed_plan.hpp"

namespace amrbench::partitioners::detail {

template <class T, int Dim>
class LeafExchange {
 public:
  using Point = OrbPoint<T, Dim>;

  using Rounds = DistributedRounds<T, Dim, HostPoints<T, Dim>>;

  /// Of the options threads, at least 1, and side_tolerance count.
  LeafExchange(const support::Communicator& comm, const OrbOptions& options, const Rounds& cut,
               const support::PageBuffer<Point>& items, const std::uint64_t* weights, bool weighted,
               std::uint32_t first, OrbDistributed<T, Dim>& result, DistributedMemory<T, Dim>& memory)
      : comm_(comm),
        options_(options),
        cut_(cut),
        items_(items),
        weights_(weights),
        weighted_(weighted),
        first_(first),
        result_(result),
        tree_(result.tree),
        memory_(memory),
        received_(memory.received),
        labels_(memory.labels) {}

  /// Fills labels, points, first_leaf, end_leaf and what is left of the tree. Collective.
  void run() {
    plan();
    move();
    const auto start = std::chrono::steady_clock::now();
    if (!plan_.unfinished) {
      result_.points.swap(received_);
      for (const CellRange& range : cut_.ranges()) label(range, tree_.cells[range.cell].first_leaf);
      return;
    }
    solve();
    solve_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return_labels();
    gather_trees(comm_, tree_, cut_.ranges(), cut_.owners(), trees_);
    ++collectives_;
  }

  [[nodiscard]] double solve_s() const { return solve_s_; }
  [[nodiscard]] int collectives() const { return collectives_; }

 private:
  static constexpr std::uint64_t kMany = 1 << 14;  ///< elements for which threads are worth starting

  /// Who sends how much to whom.
  void plan() {
    const auto me = static_cast<std::size_t>(comm_.rank());
    plan_ = plan_leaves(comm_, tree_, cut_.ranges(), cut_.owners());
    ++collectives_;
    for (std::size_t rank = 0; rank < plan_.send.size(); ++rank) {
      send_.add(plan_.send[rank]);
      receive_.add(plan_.received_from(rank));
    }
    result_.first_leaf = cut_.owners().first_leaf(me);
    result_.end_leaf = cut_.owners().first_leaf(me + 1);
  }

  /// Points, and weights where they are needed, by cell and then by rank, which is by number.
  void move() {
    fit(received_, receive_.total);
    all_to_all_known(comm_, items_.data(), send_, received_.data(), receive_);
    ++collectives_;
    by_cell(received_);
    if (!plan_.unfinished || !weighted_) return;
    support::PageBuffer<std::uint64_t> weights(send_.total);
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (send_.total > kMany)
    for (std::size_t i = 0; i < send_.total; ++i) weights[i] = weights_ ? weights_[items_[i].id - first_] : 1;
    received_weights_.grow(receive_.total);
    all_to_all_known(comm_, weights.data(), send_, received_weights_.data(), receive_);
    ++collectives_;
    by_cell(received_weights_);
  }

  /// Calls f(place by rank and then cell, place by cell and then rank, length) for each stretch of received points.
  template <class F>
  void for_stretches(F&& f) const {
    std::vector<std::size_t> at(receive_.offsets.begin(), receive_.offsets.end());
    std::size_t to = 0;
    for (std::size_t s = 0; s < plan_.mine.size(); ++s)
      for (std::size_t rank = 0; rank < at.size(); ++rank) {
        const std::uint64_t n = plan_.size(rank, s);
        f(at[rank], to, n);
        at[rank] += n;
        to += n;
      }
  }

  template <class V>
  void by_cell(support::PageBuffer<V>& values) const {
    if (plan_.mine.size() < 2) return;  // in order as they came
    support::PageBuffer<V> sorted(values.size());
    for_stretches([&](std::size_t from, std::size_t to, std::uint64_t n) {
      std::copy(values.data() + from, values.data() + from + n, sorted.data() + to);
    });
    values.swap(sorted);
  }

  /// This rank's cells, one after another.
  void solve() {
    fit(result_.points, receive_.total);
    fit(labels_, receive_.total);
    OrbResult<T, Dim>& solved = memory_.solved;
    std::vector<std::uint32_t> numbers;
    std::size_t at = 0;
    for (const std::size_t c : plan_.mine) {
      const OrbCell<T, Dim>& cell = tree_.cells[c];
      const std::uint64_t n = cell.count;
      Point* items = received_.data() + at;
      if (cell.leaves == 1) {
        std::copy(items, items + n, result_.points.data() + at);
        std::fill(labels_.data() + at, labels_.data() + at + n, cell.first_leaf);
        trees_.push_back(cell);
        at += n;
        continue;
      }
      if (weighted_) {  // weights go by number, so points get numbers in this cell
        numbers.resize(n);
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (n > kMany)
        for (std::uint64_t i = 0; i < n; ++i) {
          numbers[i] = items[i].id;
          items[i].id = static_cast<std::uint32_t>(i);
        }
      }
      OrbInput<T, Dim> input;
      input.count = n;
      input.weights = weighted_ ? received_weights_.data() + at : nullptr;
      input.options = {.leaves = cell.leaves,
                       .threads = options_.threads,
                       .side_tolerance = options_.side_tolerance,
                       .labels = true,
                       .permutation = false};
      input.items = items;
      input.placed = result_.points.data() + at;
      solved.tree = make_orb_tree<T, Dim>(cell.leaves, cell.box, n, cell.weight, tree_.weight_unit);
      solved.labels.grow(n);
      orb_multiway(input, solved);
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (n > kMany)
      for (std::uint64_t i = 0; i < n; ++i) {
        labels_[at + i] = cell.first_leaf + solved.labels[i];
        if (weighted_) input.placed[i].id = numbers[input.placed[i].id];
      }
      trees_.insert(trees_.end(), solved.tree.cells.begin() + 1, solved.tree.cells.end());
      at += n;
    }
  }

  void return_labels() {
    support::PageBuffer<std::uint32_t>& back = memory_.labels_back;
    if (plan_.mine.size() < 2) {
      back.swap(labels_);
    } else {
      fit(back, receive_.total);
      for_stretches([&](std::size_t to, std::size_t from, std::uint64_t n) {
        std::copy(labels_.data() + from, labels_.data() + from + n, back.data() + to);
      });
    }
    fit(labels_, send_.total);
    all_to_all_known(comm_, back.data(), receive_, labels_.data(), send_);
    ++collectives_;
    const Point* items = items_.data();
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (send_.total > kMany)
    for (std::size_t i = 0; i < send_.total; ++i) result_.labels[items[i].id - first_] = labels_[i];
  }

  void label(const CellRange& range, std::uint32_t leaf) {
    const Point* items = items_.data();
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (range.end - range.begin > kMany)
    for (std::uint64_t i = range.begin; i < range.end; ++i) result_.labels[items[i].id - first_] = leaf;
  }

  const support::Communicator& comm_;
  const OrbOptions& options_;
  const Rounds& cut_;
  const support::PageBuffer<Point>& items_;
  const std::uint64_t* weights_;
  bool weighted_;
  std::uint32_t first_;
  OrbDistributed<T, Dim>& result_;
  OrbTree<T, Dim>& tree_;
  DistributedMemory<T, Dim>& memory_;
  support::PageBuffer<Point>& received_;
  support::PageBuffer<std::uint32_t>& labels_;

  LeafPlan plan_;
  Pieces send_, receive_;
  support::PageBuffer<std::uint64_t> received_weights_;
  std::vector<OrbCell<T, Dim>> trees_;  ///< of plan_.mine, each without its unused first cell
  double solve_s_ = 0;
  int collectives_ = 0;
};

}  // namespace amrbench::partitioners::detail
