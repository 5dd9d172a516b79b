#pragma once
// After DistributedRounds: points go to the ranks that own their leaves, each rank finishes the cells it then holds,
// and labels and subtrees come back.
//
// Collectives: 2 to move points; where cells are left to finish, 1 more for weights, 1 for labels, 1 for the tree.
#include <algorithm>
#include <chrono>
#include <vector>

#include "partitioners/orb/distributed.hpp"
#include "partitioners/orb/distributed_rounds.hpp"

namespace amrbench::partitioners::detail {

/// Pieces of one array, a piece a rank, in the order of ranks.
struct Pieces {
  std::vector<int> counts;
  std::vector<int> offsets;
  std::size_t total = 0;

  void add(std::uint64_t n) {
    offsets.push_back(support::mpi_count(total, "points to move"));
    counts.push_back(support::mpi_count(n, "points to move"));
    total += n;
  }
};

/// send's pieces to all ranks, recv's from all; lengths are known on both sides. Collective.
template <class V>
void all_to_all_known(const support::Communicator& comm, const V* send, const Pieces& to, V* recv, const Pieces& from) {
  const support::BytesType type(sizeof(V));
  support::mpi_check(MPI_Alltoallv(send, to.counts.data(), to.offsets.data(), type.get(), recv, from.counts.data(),
                                   from.offsets.data(), type.get(), comm.get()),
                     "MPI_Alltoallv");
}

/// Everybody's piece on every rank; lengths are known. Collective.
template <class V>
void all_gather_known(const support::Communicator& comm, const V* mine, V* all, const Pieces& pieces) {
  const support::BytesType type(sizeof(V));
  support::mpi_check(MPI_Allgatherv(mine, pieces.counts[static_cast<std::size_t>(comm.rank())], type.get(), all,
                                    pieces.counts.data(), pieces.offsets.data(), type.get(), comm.get()),
                     "MPI_Allgatherv");
}

/// Copies the tree below a cell that was solved apart; `solved`: its cells in heap order, without the unused
/// first one; points count from 0.
template <class T, int Dim>
void graft(OrbTree<T, Dim>& tree, std::size_t cell, const OrbCell<T, Dim>* solved, std::uint32_t leaves) {
  const std::uint64_t begin = tree.cells[cell].begin;
  for (std::size_t i = 1; i < 2 * std::size_t{leaves}; ++i) {
    const int level = std::bit_width(i) - 1;
    OrbCell<T, Dim>& to = tree.cells[(cell << level) + (i - (std::size_t{1} << level))];
    const std::uint32_t first_leaf = to.first_leaf;
    to = solved[i - 1];
    to.first_leaf = first_leaf;
    to.begin += begin;
  }
}

template <class T, int Dim>
class LeafExchange {
 public:
  using Point = OrbPoint<T, Dim>;

  LeafExchange(const support::Communicator& comm, const OrbOptions& options, DistributedRounds<T, Dim>& cut,
               const std::uint64_t* weights, bool weighted, std::uint32_t first, OrbDistributed<T, Dim>& result,
               DistributedMemory<T, Dim>& memory)
      : comm_(comm),
        options_(options),
        cut_(cut),
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
    if (!unfinished_) {
      result_.points.swap(received_);
      for (const CellRange& range : cut_.ranges()) label(range, tree_.cells[range.cell].first_leaf);
      return;
    }
    solve();
    solve_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return_labels();
    gather_trees();
  }

  [[nodiscard]] double solve_s() const { return solve_s_; }
  [[nodiscard]] int collectives() const { return collectives_; }

 private:
  /// Who sends how much to whom.
  void plan() {
    const std::vector<CellRange>& ranges = cut_.ranges();
    const auto ranks = static_cast<std::size_t>(comm_.size());
    const auto me = static_cast<std::size_t>(comm_.rank());
    std::vector<std::uint64_t> cells(ranks, 0), points(ranks, 0), sizes;
    for (const CellRange& range : ranges) {
      const OrbCell<T, Dim>& cell = tree_.cells[range.cell];
      const std::uint64_t owner = cut_.owners().owner(cell.first_leaf);
      if (owner == me) mine_.push_back(range.cell);
      ++cells[owner];
      points[owner] += range.end - range.begin;
      sizes.push_back(range.end - range.begin);
      unfinished_ = unfinished_ || cell.leaves > 1;
    }
    Pieces to, from;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      to.add(cells[rank]);
      from.add(mine_.size());
      send_.add(points[rank]);
    }
    sizes_.resize(from.total);
    all_to_all_known(comm_, sizes.data(), to, sizes_.data(), from);
    ++collectives_;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::uint64_t n = 0;
      for (std::size_t s = 0; s < mine_.size(); ++s) n += sizes_[rank * mine_.size() + s];
      receive_.add(n);
    }
    result_.first_leaf = cut_.owners().first_leaf(me);
    result_.end_leaf = cut_.owners().first_leaf(me + 1);
  }

  /// Points, and weights where they are needed, by cell and then by rank, which is by number.
  void move() {
    fit(received_, receive_.total);
    all_to_all_known(comm_, cut_.items().data(), send_, received_.data(), receive_);
    ++collectives_;
    by_cell(received_);
    if (!unfinished_ || !weighted_) return;
    support::PageBuffer<std::uint64_t> weights(send_.total);
    for (std::size_t i = 0; i < send_.total; ++i) weights[i] = weights_ ? weights_[cut_.items()[i].id - first_] : 1;
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
    for (std::size_t s = 0; s < mine_.size(); ++s)
      for (std::size_t rank = 0; rank < at.size(); ++rank) {
        const std::uint64_t n = sizes_[rank * mine_.size() + s];
        f(at[rank], to, n);
        at[rank] += n;
        to += n;
      }
  }

  template <class V>
  void by_cell(support::PageBuffer<V>& values) const {
    if (mine_.size() < 2) return;  // in order as they came
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
    for (const std::size_t c : mine_) {
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
        for (std::uint64_t i = 0; i < n; ++i) {
          numbers[i] = items[i].id;
          items[i].id = static_cast<std::uint32_t>(i);
        }
      }
      OrbInput<T, Dim> input;
      input.count = n;
      input.weights = weighted_ ? received_weights_.data() + at : nullptr;
      input.options = {.leaves = cell.leaves,
                       .threads = 1,
                       .side_tolerance = options_.side_tolerance,
                       .labels = true,
                       .permutation = false};
      input.items = items;
      input.placed = result_.points.data() + at;
      solved.tree = make_orb_tree<T, Dim>(cell.leaves, cell.box, n, cell.weight, tree_.weight_unit);
      solved.labels.grow(n);
      orb_multiway(input, solved);
      for (std::uint64_t i = 0; i < n; ++i) labels_[at + i] = cell.first_leaf + solved.labels[i];
      for (std::uint64_t i = 0; weighted_ && i < n; ++i) input.placed[i].id = numbers[input.placed[i].id];
      trees_.insert(trees_.end(), solved.tree.cells.begin() + 1, solved.tree.cells.end());
      at += n;
    }
  }

  void return_labels() {
    support::PageBuffer<std::uint32_t>& back = memory_.labels_back;
    if (mine_.size() < 2) {
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
    const Point* items = cut_.items().data();
    for (std::size_t i = 0; i < send_.total; ++i) result_.labels[items[i].id - first_] = labels_[i];
  }

  void label(const CellRange& range, std::uint32_t leaf) {
    const Point* items = cut_.items().data();
    for (std::uint64_t i = range.begin; i < range.end; ++i) result_.labels[items[i].id - first_] = leaf;
  }

  /// Everybody's subtrees, 2 leaves - 1 cells each.
  void gather_trees() {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(comm_.size()), 0);
    for (const CellRange& range : cut_.ranges()) {
      const OrbCell<T, Dim>& cell = tree_.cells[range.cell];
      sizes[cut_.owners().owner(cell.first_leaf)] += 2 * std::uint64_t{cell.leaves} - 1;
    }
    Pieces pieces;
    for (const std::uint64_t n : sizes) pieces.add(n);
    std::vector<OrbCell<T, Dim>> all(pieces.total);
    all_gather_known(comm_, trees_.data(), all.data(), pieces);
    ++collectives_;
    std::size_t at = 0;
    for (const CellRange& range : cut_.ranges()) {
      const std::uint32_t leaves = tree_.cells[range.cell].leaves;
      if (leaves > 1) graft(tree_, range.cell, all.data() + at, leaves);
      at += 2 * std::size_t{leaves} - 1;
    }
  }

  const support::Communicator& comm_;
  const OrbOptions& options_;
  DistributedRounds<T, Dim>& cut_;
  const std::uint64_t* weights_;
  bool weighted_;
  std::uint32_t first_;
  OrbDistributed<T, Dim>& result_;
  OrbTree<T, Dim>& tree_;
  DistributedMemory<T, Dim>& memory_;
  support::PageBuffer<Point>& received_;
  support::PageBuffer<std::uint32_t>& labels_;

  std::vector<std::size_t> mine_;     ///< this rank's cells, from left to right
  std::vector<std::uint64_t> sizes_;  ///< [rank][cell of mine_]: points that come
  Pieces send_, receive_;
  bool unfinished_ = false;  ///< some rank has a cell of several leaves to finish
  support::PageBuffer<std::uint64_t> received_weights_;
  std::vector<OrbCell<T, Dim>> trees_;  ///< of mine_, each without its unused first cell
  double solve_s_ = 0;
  int collectives_ = 0;
};

}  // namespace amrbench::partitioners::detail
