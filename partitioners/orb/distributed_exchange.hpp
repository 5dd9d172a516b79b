#pragma once
// After DistributedRounds: points go to the ranks that own their leaves, each rank finishes the cells it then holds,
// and labels and subtrees come back.
//
// Collectives: 1 to plan; where cells are left to finish, 1 for the tree. Points, weights and labels go as messages.
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
    const auto me = static_cast<std::uint64_t>(comm_.rank());
    result_.first_leaf = cut_.owners().first_leaf(me);
    result_.end_leaf = cut_.owners().first_leaf(me + 1);
    plan_ = ExchangePlan(comm_, tree_, cut_.ranges(), cut_.owners());
    ++collectives_;
    const std::uint64_t here = plan_.leaving_room;
    fit(received_, plan_.room);
    travel(items_.data(), received_.data());
    if (!plan_.unfinished) {
      result_.points.swap(received_);
      fit(labels_, here);
      for (const Leaving& l : plan_.leaving) std::fill_n(labels_.data() + l.place, l.count, l.first_leaf);
    } else {
      if (weighted_) {
        support::PageBuffer<std::uint64_t> weights(here);
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (here > kMany)
        for (std::size_t i = 0; i < here; ++i) weights[i] = weights_ ? weights_[items_[i].id - first_] : 1;
        received_weights_.grow(plan_.room);
        travel(weights.data(), received_weights_.data());
      }
      const auto start = std::chrono::steady_clock::now();
      solve();
      solve_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      memory_.labels_back.swap(labels_);
      fit(labels_, here);
      travel_back(memory_.labels_back.data(), labels_.data());
      gather_trees(comm_, tree_, cut_.ranges(), cut_.owners(), trees_);
      ++collectives_;
    }
    const Point* items = items_.data();
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (here > kMany)
    for (std::size_t i = 0; i < here; ++i) result_.labels[items[i].id - first_] = labels_[i];
  }

  [[nodiscard]] double solve_s() const {
    return solve_s_;
  }
  [[nodiscard]] int collectives() const {
    return collectives_;
  }

 private:
  static constexpr std::uint64_t kMany = 1 << 14;  ///< elements for which threads are worth starting

  /// What leaves to its owners, by cell and then by rank, which is by number.
  template <class V>
  void travel(const V* leaving, V* received) const {
    send(leaving, plan_.parts[0].sends, received, plan_.parts[0].receives);
    for (const Leaving& l : plan_.leaving)
      if (l.owner == comm_.rank()) std::copy_n(leaving + l.place, l.count, received + plan_.place(l.owner, l.cell));
  }
  /// And back.
  template <class V>
  void travel_back(const V* received, V* leaving) const {
    send(received, plan_.parts[0].receives, leaving, plan_.parts[0].sends);
    for (const Leaving& l : plan_.leaving)
      if (l.owner == comm_.rank()) std::copy_n(received + plan_.place(l.owner, l.cell), l.count, leaving + l.place);
  }
  template <class V>
  void send(const V* from, std::span<const support::LinkPiece> sends, V* to,
            std::span<const support::LinkPiece> receives) const {
    constexpr int kTag = 1;
    const support::BytesType type(sizeof(V));
    const auto count = [](const support::LinkPiece& p) { return support::mpi_count(p.count, "points to move"); };
    support::Requests requests;
    for (const support::LinkPiece& p : receives)
      support::mpi_check(MPI_Irecv(to + p.at, count(p), type.get(), p.rank, kTag, comm_.get(), requests.add()),
                         "MPI_Irecv");
    for (const support::LinkPiece& p : sends)
      support::mpi_check(MPI_Isend(from + p.at, count(p), type.get(), p.rank, kTag, comm_.get(), requests.add()),
                         "MPI_Isend");
    requests.wait_all();
  }

  /// This rank's cells, one after another.
  void solve() {
    fit(result_.points, plan_.received);
    fit(labels_, plan_.received);
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

  ExchangePlan plan_;
  support::PageBuffer<std::uint64_t> received_weights_;
  std::vector<OrbCell<T, Dim>> trees_;  ///< of plan_.mine, each without its unused first cell
  double solve_s_ = 0;
  int collectives_ = 0;
};

}  // namespace amrbench::partitioners::detail
