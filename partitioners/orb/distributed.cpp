#include "partitioners/orb/distributed.hpp"

#include <algorithm>
#include <memory>

#include "partitioners/orb/distributed_check.hpp"
#include "partitioners/orb/distributed_local.hpp"
#include "partitioners/orb/distributed_plan.hpp"
#include "partitioners/orb/tree.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/weights.hpp"
#include "support/metrics.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using detail::Common;
using support::Communicator;
using support::Metrics;

/// As many points go to all ranks, which then need no more messages.
constexpr std::uint64_t kFewPoints = 1 << 14;
/// As many near the cuts of a level go to all ranks.
constexpr std::uint64_t kFewInWindows = 1 << 14;

/// All points at hand: cut here what all ranks cut alike.
template <class T, int Dim>
void cut_alone(const Communicator& comm, const T* coordinates, const std::uint64_t* units, const OrbOptions& options,
               const Common<T, Dim>& all, OrbDistributed<T, Dim>& result) {
  const double start = Metrics::steady_seconds();
  OrbResult<T, Dim> solved;
  solved.tree = std::move(result.tree);
  solved.labels.grow(all.n);
  support::PageBuffer<OrbPoint<T, Dim>> placed(all.n);
  orb_multiway(OrbInput<T, Dim>{coordinates, all.n, units, options, nullptr, placed.data()}, solved);
  result.tree = std::move(solved.tree);
  if (comm.size() == 1) {
    result.labels.swap(solved.labels);
    result.points.swap(placed);
  } else {
    std::copy_n(solved.labels.data() + all.first, result.labels.size(), result.labels.data());
    const auto begin_of = [&](std::uint32_t leaf) {
      return leaf < result.tree.leaves ? result.tree.cells[result.tree.leaf_cell[leaf]].begin : all.n;
    };
    const std::uint64_t begin = begin_of(result.first_leaf), end = begin_of(result.end_leaf);
    detail::fit(result.points, end - begin);
    std::copy(placed.data() + begin, placed.data() + end, result.points.data());
  }
  result.cut_s = Metrics::steady_seconds() - start;
}

/// Few points: all of them on every rank, in one collective.
template <class T, int Dim>
void gather_and_cut(const Communicator& comm, PointView<T> points, const std::uint64_t* units,
                    const OrbOptions& options, const Common<T, Dim>& all, OrbDistributed<T, Dim>& result) {
  struct Weighted {
    std::uint64_t weight;
    T x[Dim];
  };
  const double start = Metrics::steady_seconds();
  std::vector<Weighted> mine(result.labels.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i].weight = units ? units[i] : 1;
    std::copy_n(points[i], Dim, mine[i].x);
  }
  support::RankPieces pieces;
  for (const std::uint64_t n : all.counts) pieces.add(n);
  const std::vector<Weighted> gathered = support::all_gather_pieces(comm, mine.data(), pieces);
  ++result.collectives;
  std::vector<T> coordinates;
  std::vector<std::uint64_t> weights;
  std::uint64_t total = 0;
  for (const Weighted& w : gathered) {
    coordinates.insert(coordinates.end(), w.x, w.x + Dim);
    weights.push_back(w.weight);
    total += w.weight;
  }
  result.tree.cells[1].weight = total;
  result.move_s = Metrics::steady_seconds() - start;
  cut_alone(comm, coordinates.data(), all.weighted ? weights.data() : nullptr, options, all, result);
}

/// Shared cells level by level; then points go to the ranks that own their leaves, each of which finishes the cells it
/// then holds, and labels and subtrees come back.
template <class T, int Dim>
class CutTogether {
 public:
  CutTogether(const Communicator& comm, PointView<T> points, const std::uint64_t* units, const OrbOptions& options,
              const Common<T, Dim>& all, OrbDistributed<T, Dim>& result)
      : comm_(comm),
        options_(options),
        weights_{units, static_cast<std::uint32_t>(all.first)},
        weighted_(all.weighted),
        result_(result),
        tree_(result.tree),
        memory_(memory_of(result)),
        local_({points.data.data(), result.labels.size(), weights_.first}, weights_, options.threads, memory_),
        levels_(comm, options, tree_, local_, weighted_, kFewInWindows) {}

  /// Collective.
  void run() {
    const double start = Metrics::steady_seconds();
    levels_.run();
    const std::vector<detail::CellRange> ranges = levels_.ranges(local_.move());
    const double moving = Metrics::steady_seconds();
    plan_ = {comm_, tree_, ranges, levels_.owners()};
    const std::uint64_t here = plan_.leaving_room;
    detail::fit(memory_.received, plan_.room);
    travel(local_.items().data(), memory_.received.data(), false);
    double solve_s = 0;
    if (!plan_.unfinished) {
      result_.points.swap(memory_.received);
      detail::fit(memory_.labels, here);
      for (const detail::Leaving& l : plan_.leaving)
        std::fill_n(memory_.labels.data() + l.place, l.count, l.first_leaf);
    } else {
      if (weighted_) move_weights(here);
      const double solving = Metrics::steady_seconds();
      solve();
      solve_s = Metrics::steady_seconds() - solving;
      memory_.labels_back.swap(memory_.labels);
      detail::fit(memory_.labels, here);
      travel(memory_.labels_back.data(), memory_.labels.data(), true);
      detail::gather_trees(comm_, tree_, ranges, levels_.owners(), trees_);
    }
    const Point* const items = local_.items().data();
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (here > kMany)
    for (std::size_t i = 0; i < here; ++i) result_.labels[items[i].id - weights_.first] = memory_.labels[i];
    result_.passes = levels_.passes();
    result_.collectives += levels_.collectives() + 1 + (plan_.unfinished ? 1 : 0);
    result_.cut_s = moving - start + solve_s;
    result_.move_s = Metrics::steady_seconds() - moving - solve_s;
  }

 private:
  using Point = OrbPoint<T, Dim>;
  using Local = detail::HostPoints<T, Dim>;
  using Memory = detail::DistributedMemory<T, Dim>;
  static constexpr std::uint64_t kMany = 1 << 14;  ///< elements for which threads are worth starting

  static Memory& memory_of(OrbDistributed<T, Dim>& result) {
    if (!result.memory) result.memory = std::make_shared<Memory>();
    return *static_cast<Memory*>(result.memory.get());
  }

  void move_weights(std::uint64_t here) {
    support::PageBuffer<std::uint64_t> weights(here);
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (here > kMany)
    for (std::size_t i = 0; i < here; ++i) weights[i] = weights_[local_.items()[i].id];
    received_weights_.grow(plan_.room);
    travel(weights.data(), received_weights_.data(), false);
  }

  /// What leaves to its owners, by cell and then by rank, which is by number; or back.
  template <class V>
  void travel(const V* from, V* to, bool back) const {
    constexpr int kTag = 1;
    const detail::ExchangePart& part = plan_.parts[0];
    const support::BytesType type(sizeof(V));
    const auto count = [](const support::LinkPiece& p) { return support::mpi_count(p.count, "points to move"); };
    support::Requests requests;
    for (const support::LinkPiece& p : back ? part.sends : part.receives)
      support::mpi_check(MPI_Irecv(to + p.at, count(p), type.get(), p.rank, kTag, comm_.get(), requests.add()),
                         "MPI_Irecv");
    for (const support::LinkPiece& p : back ? part.receives : part.sends)
      support::mpi_check(MPI_Isend(from + p.at, count(p), type.get(), p.rank, kTag, comm_.get(), requests.add()),
                         "MPI_Isend");
    requests.wait_all();
    for (const detail::Leaving& l : plan_.leaving) {
      if (l.owner != comm_.rank()) continue;
      const std::uint64_t there = plan_.place(l.owner, l.cell);
      std::copy_n(from + (back ? there : l.place), l.count, to + (back ? l.place : there));
    }
  }

  /// This rank's cells, one after another.
  void solve() {
    detail::fit(result_.points, plan_.received);
    detail::fit(memory_.labels, plan_.received);
    OrbResult<T, Dim>& solved = memory_.solved;
    std::vector<std::uint32_t> numbers;
    std::size_t at = 0;
    for (const std::size_t c : plan_.mine) {
      const OrbCell<T, Dim>& cell = tree_.cells[c];
      const std::uint64_t n = cell.count;
      Point* items = memory_.received.data() + at;
      if (cell.leaves == 1) {
        std::copy(items, items + n, result_.points.data() + at);
        std::fill(memory_.labels.data() + at, memory_.labels.data() + at + n, cell.first_leaf);
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
      const OrbInput<T, Dim> input{nullptr,  n,     weighted_ ? received_weights_.data() + at : nullptr,
                                   options_, items, result_.points.data() + at};
      solved.tree = make_orb_tree<T, Dim>(cell.leaves, cell.box, n, cell.weight, tree_.weight_unit);
      solved.labels.grow(n);
      orb_multiway(input, solved);
#pragma omp parallel for num_threads(options_.threads) schedule(static) if (n > kMany)
      for (std::uint64_t i = 0; i < n; ++i) {
        memory_.labels[at + i] = cell.first_leaf + solved.labels[i];
        if (weighted_) input.placed[i].id = numbers[input.placed[i].id];
      }
      trees_.insert(trees_.end(), solved.tree.cells.begin() + 1, solved.tree.cells.end());
      at += n;
    }
  }

  const Communicator& comm_;
  const OrbOptions& options_;
  detail::PointWeights weights_;  ///< of this rank's points
  bool weighted_;
  OrbDistributed<T, Dim>& result_;
  OrbTree<T, Dim>& tree_;
  Memory& memory_;
  Local local_;
  detail::SharedLevels<T, Dim, Local> levels_;

  detail::ExchangePlan plan_;
  support::PageBuffer<std::uint64_t> received_weights_;
  std::vector<OrbCell<T, Dim>> trees_;  ///< of plan_.mine, each without its unused first cell
};

}  // namespace

template <class T, int Dim>
OrbDistributed<T, Dim> orb_distributed(const Communicator& comm, PointView<T> points, std::span<const double> weights,
                                       const OrbOptions& wanted, OrbDistributed<T, Dim> reused) {
  // Those of orb_multiway(), too.
  const OrbOptions options{.leaves = wanted.leaves,
                           .threads = team_size(wanted.threads),
                           .side_tolerance = wanted.side_tolerance,
                           .permutation = false};
  const auto examine = [&](Common<T, Dim>& mine) {
    mine.box = checked_bounding_box<T, Dim>(points.data.data(), points.data.size() / Dim, mine.first, options.threads);
    mine.largest = checked_heaviest(weights, mine.first, options.threads);
  };
  const Common<T, Dim> all =
      detail::check_input<T, Dim>(comm, points.data.size() / Dim, weights.size(), options, examine);
  const std::uint64_t here = all.counts[static_cast<std::size_t>(comm.rank())];
  OrbDistributed<T, Dim> result = std::move(reused);
  result.passes = 0;
  result.move_s = 0;
  result.collectives = 2;
  support::PageBuffer<std::uint64_t> buffer;
  buffer.resize_discard(weights.size());
  to_fixed_point(weights, all.exponent, buffer.span(), options.threads);
  const std::uint64_t* units = all.weighted && here > 0 ? buffer.data() : nullptr;
  result.tree = all.tree(options.leaves);
  const detail::LeafOwners owners{options.leaves, static_cast<std::uint64_t>(comm.size())};
  result.first_leaf = owners.first_leaf(static_cast<std::uint64_t>(comm.rank()));
  result.end_leaf = owners.first_leaf(static_cast<std::uint64_t>(comm.rank()) + 1);
  detail::fit(result.labels, here);
  if (comm.size() > 1 && all.n <= kFewPoints) {
    gather_and_cut(comm, points, units, options, all, result);
    return result;
  }
  if (all.weighted) {
    std::uint64_t total = 0;
#pragma omp parallel for num_threads(options.threads) schedule(static) reduction(+ : total)
    for (std::uint64_t i = 0; i < here; ++i) total += units[i];
    result.tree.cells[1].weight = support::all_sum(comm, total);
    ++result.collectives;
  }
  if (comm.size() == 1) {
    cut_alone(comm, points.data.data(), units, options, all, result);
  } else {
    CutTogether<T, Dim>(comm, points, units, options, all, result).run();
  }
  return result;
}

template OrbDistributed<float, 2> orb_distributed(const Communicator&, PointView<float>, std::span<const double>,
                                                  const OrbOptions&, OrbDistributed<float, 2>);
template OrbDistributed<float, 3> orb_distributed(const Communicator&, PointView<float>, std::span<const double>,
                                                  const OrbOptions&, OrbDistributed<float, 3>);
template OrbDistributed<double, 2> orb_distributed(const Communicator&, PointView<double>, std::span<const double>,
                                                   const OrbOptions&, OrbDistributed<double, 2>);
template OrbDistributed<double, 3> orb_distributed(const Communicator&, PointView<double>, std::span<const double>,
                                                   const OrbOptions&, OrbDistributed<double, 3>);

}  // namespace amrbench::partitioners
