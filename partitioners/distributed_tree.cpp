#include "partitioners/distributed_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "partitioners/bounded_exchange.hpp"
#include "partitioners/check_finite.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/curve_walk.hpp"
#include "partitioners/distributed_top.hpp"
#include "partitioners/exact_slices.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "support/metrics.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;
using support::InputError;
using State = CurveState<std::uint64_t>;

/// A cell of the curve's walk, the same on every rank.
struct Cell {
  State state;
  std::uint64_t first;          ///< place of its first point along the curve
  std::uint64_t weight_before;  ///< of the points before it
  std::int32_t first_part;      ///< parts-aware: that of its first leaf
  int rank;                     ///< that orders it
};

/// A clock that tells the time since it was asked last.
class Laps {
 public:
  double next() {
    const double now = support::Metrics::steady_seconds();
    return now - std::exchange(start_, now);
  }

 private:
  double start_ = support::Metrics::steady_seconds();
};

/// What returns to a point's rank.
struct Place {
  std::uint64_t position;
  std::int32_t part;
};

template <class T, int D>
class Distributor {
  using R = kd::Record<T, D, std::uint64_t, true>;

 public:
  Distributor(const Communicator& comm, PointView<T> points, std::span<const std::uint64_t> weights,
              const DistributedTreeOptions& options, std::uint64_t first, std::uint64_t count)
      : comm_(comm),
        options_(options),
        dim_(points.dim),
        first_(first),
        count_(count),
        weighted_(!weights.empty()),
        threads_(team_size(options.tree.threads)) {
    fill_records(points, weights);
    weighted_ = support::any_of_ranks(comm, weighted_);
  }

  DistributedTree run() {
    DistributedTree result;
    result.part.resize(records_.size());
    result.position.resize(records_.size());
    if (count_ == 0) return result;
    const auto ranks = static_cast<std::uint64_t>(comm_.size());
    const std::uint64_t cell_points =
        options_.cell_points > 0 ? options_.cell_points : std::max<std::uint64_t>(count_ / ranks / 32, 4096);
    Laps laps;
    kd::TopBuilder<R> top(comm_, records_, options_.tree, threads_, cell_points);
    top.build(count_, total_weight());
    result.stages.top_nodes_s = laps.next();
    assign(top, cell_points);
    result.stages.balancing_s = laps.next();
    result.upper_nodes = top.nodes.size();
    result.cells = cells_.size();
    result.passes = top.passes;
    move(top, result);
    result.points_here = received_.size();
    result.stages.transfer_s = laps.next();
    const double subtrees = order_cells(top);
    slice_exactly();
    const double below = laps.next();
    result.stages.subtrees_s = subtrees * below;
    result.stages.traversal_s = (1.0 - subtrees) * below;
    return_places(result);
    result.stages.return_s = laps.next();
    result.memory_bytes = peak_bytes_;
    return result;
  }

 private:
  void fill_records(PointView<T> points, std::span<const std::uint64_t> weights) {
    const auto dim = static_cast<std::size_t>(points.dim);
    records_.resize(points.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::size_t i = 0; i < records_.size(); ++i) {
      R r{};
      std::copy_n(points[i], dim, r.x);
      r.id = first_ + i;
      r.weight = weights.empty() ? 0 : weights[i];
      records_[i] = r;
    }
  }

  [[nodiscard]] std::uint64_t total_weight() const {
    std::uint64_t weight = 0;
    for (const R& r : records_) weight += r.weight;
    return support::all_sum(comm_, weight);
  }

  [[nodiscard]] TreeCurve curve() const {
    return dim_ <= 3 ? options_.curve : TreeCurve::morton;
  }

  /// Cells in the order of the curve, each with the rank in whose share of the weight its middle falls.
  void assign(const kd::TopBuilder<R>& top, std::uint64_t cell_points) {
    const std::span<const KdNode<std::uint64_t>> nodes(top.nodes);
    const CurveWalker<std::uint64_t> walker(nodes, dim_, curve());
    total_ = top.top[0].weight;
    std::uint64_t count = 0, weight = 0;
    std::int32_t parts = 0;
    for (const State& state : walker.pieces(curve_start(nodes), cell_points)) {
      const auto& node = nodes[state.node];
      const kd::TopNode& more = top.top[state.node];
      const int rank = total_ > 0 ? slice_at(2 * static_cast<Mass>(weight) + more.weight, total_, comm_.size())
                                  : slice_at(2 * static_cast<Mass>(count) + node.count, count_, comm_.size());
      cells_.push_back({state, count, weight, parts, rank});
      count += node.count;
      weight += more.weight;
      parts += static_cast<std::int32_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(more.parts), node.count));
    }
  }

  /// Sends each cell's records, by number, to its rank.
  void move(const kd::TopBuilder<R>& top, DistributedTree& result) {
    const auto ranks = static_cast<std::size_t>(comm_.size());
    std::vector<std::size_t> start(cells_.size() + 1), counts(ranks);
    std::vector<std::uint64_t> sizes(cells_.size());
    std::vector<int> cells_of(ranks);
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const kd::TopNode& node = top.top[cells_[c].state.node];
      sizes[c] = node.end - node.begin;
      start[c + 1] = start[c] + sizes[c];
      counts[static_cast<std::size_t>(cells_[c].rank)] += sizes[c];
      ++cells_of[static_cast<std::size_t>(cells_[c].rank)];
    }
    std::vector<R> send(records_.size());
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const kd::TopNode& node = top.top[cells_[c].state.node];
      R* to = send.data() + start[c];
      std::copy(records_.data() + node.begin, records_.data() + node.end, to);
      std::sort(to, to + sizes[c], [](const R& a, const R& b) { return a.id < b.id; });
    }
    records_ = {};
    sent_.resize(send.size());
    for (std::size_t i = 0; i < send.size(); ++i) sent_[i] = send[i].id - first_;
    result.stages.transfer_rounds =
        exchange_in_rounds<R>(comm_, send, counts, options_.message_bytes, received_, received_counts_);
    peak_bytes_ = (send.size() + received_.size()) * sizeof(R) + sent_.size() * sizeof(sent_[0]);
    support::all_to_all_v<std::uint64_t>(comm_, sizes, cells_of, sizes_);
  }

  /// Orders the cells of this rank; returns the part of its threads' time that building trees took. received_ has the
  /// records of rank 0, by cell, then those of rank 1, and so on, so a cell's records stand by number when its pieces
  /// are put together.
  double order_cells(const kd::TopBuilder<R>& top) {
    std::vector<const Cell*> mine;
    for (const Cell& cell : cells_) {
      if (cell.rank == comm_.rank()) mine.push_back(&cell);
    }
    const auto ranks = static_cast<std::size_t>(comm_.size());
    // begin[rank][cell] in received_.
    std::vector<std::size_t> begin(ranks * mine.size() + 1);
    std::partial_sum(sizes_.begin(), sizes_.end(), begin.begin() + 1);
    places_.resize(received_.size());
    // Trees of few points one by one with all threads take longer than with one.
    const bool many =
        mine.size() >= 2 * static_cast<std::size_t>(threads_) || received_.size() <= mine.size() * kd::Team::kChunk;
    double building = 0.0, walking = 0.0;
#pragma omp parallel for num_threads(many ? threads_ : 1) schedule(dynamic) reduction(+ : building, walking)
    for (std::size_t k = 0; k < mine.size(); ++k) {
      std::vector<std::size_t> source;  // places in received_
      for (std::size_t r = 0; r < ranks; ++r) {
        for (std::size_t i = begin[r * mine.size() + k]; i < begin[r * mine.size() + k + 1]; ++i) source.push_back(i);
      }
      const CellSeconds took = order_cell(*mine[k], top.top[mine[k]->state.node], source, many ? 1 : threads_);
      building += took.building;
      walking += took.walking;
    }
    return building > 0.0 ? building / (building + walking) : 0.0;
  }

  struct CellSeconds {
    double building, walking;
  };
  CellSeconds order_cell(const Cell& cell, const kd::TopNode& node, std::span<const std::size_t> source, int threads) {
    Laps laps;
    const std::size_t n = source.size();
    const auto dim = static_cast<std::size_t>(dim_);
    std::vector<T> x(n * dim);
    std::vector<std::uint64_t> weights(weighted_ ? n : 0);
    for (std::size_t i = 0; i < n; ++i) {
      std::copy_n(received_[source[i]].x, dim, x.data() + i * dim);
      if (weighted_) weights[i] = received_[source[i]].weight;
    }
    KdTreeOptions options = options_.tree;
    options.threads = threads;
    options.rule.top_levels = std::max(0, options.rule.top_levels - node.level);
    options.parts = options_.tree.parts > 0 ? node.parts : 0;
    const auto tree = build_kd_tree<std::uint32_t>(PointView<T>{x, dim_}, weights, options);
    const double building = laps.next();
    CurveState<std::uint32_t> start{0, cell.state.entry, cell.state.travel};
    if (cell.state.node == 0) start = curve_start(tree.node_span());
    if (options_.tree.parts > 0) {
      place_parts(cell, tree, start, source);
    } else {
      place_slices(cell, tree, start, source, weights);
    }
    return {building, laps.next()};
  }

  /// Leaves are parts.
  void place_parts(const Cell& cell, const KdTree<std::uint32_t>& tree, CurveState<std::uint32_t> start,
                   std::span<const std::size_t> source) {
    std::uint64_t position = cell.first;
    std::int32_t part = cell.first_part;
    for (const std::uint32_t leaf : leaf_order(tree, curve(), start, 1)) {
      const auto& node = tree.nodes[leaf];
      for (std::uint32_t i = node.first; i < node.first + node.count; ++i)
        places_[source[tree.order[i]]] = {position++, part};
      ++part;
    }
  }

  void place_slices(const Cell& cell, const KdTree<std::uint32_t>& tree, CurveState<std::uint32_t> start,
                    std::span<const std::size_t> source, std::span<const std::uint64_t> weights) {
    const auto order = curve_order(tree, curve(), start, 1);
    std::uint64_t before = cell.weight_before;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint64_t position = cell.first + i;
      std::int32_t part = 0;
      if (total_ > 0) {
        const std::uint64_t w = weights[order[i]];
        part = slice_at(2 * static_cast<Mass>(before) + w, total_, options_.slices);
        before += w;
      } else {
        part = slice_at(2 * static_cast<Mass>(position) + 1, count_, options_.slices);
      }
      places_[source[order[i]]] = {position, part};
    }
  }

  /// The parts anew, with the heaviest as light as can be. Ranks hold stretches of the order.
  void slice_exactly() {
    if (options_.tree.parts > 0 || options_.slice_rule != SliceRule::exact || total_ == 0) return;
    const std::uint64_t first = support::exclusive_sum(comm_, static_cast<std::uint64_t>(received_.size()));
    std::vector<std::uint64_t> weights(received_.size());
    for (std::size_t i = 0; i < received_.size(); ++i) weights[places_[i].position - first] = received_[i].weight;
    const std::vector<std::int64_t> cuts = exact_cuts_on_ranks(comm_, weights, options_.slices);
    for (Place& place : places_) {
      const auto next = std::upper_bound(cuts.begin(), cuts.end(), static_cast<std::int64_t>(place.position));
      place.part = static_cast<std::int32_t>(next - cuts.begin() - 1);
    }
  }

  void return_places(DistributedTree& result) {
    std::vector<Place> back;
    std::vector<std::size_t> counts;
    peak_bytes_ = std::max(peak_bytes_, received_.size() * (sizeof(R) + sizeof(Place)));
    received_ = {};
    exchange_in_rounds<Place>(comm_, places_, received_counts_, options_.message_bytes, back, counts);
    for (std::size_t i = 0; i < back.size(); ++i) {
      result.part[sent_[i]] = back[i].part;
      result.position[sent_[i]] = back[i].position;
    }
  }

  const Communicator& comm_;
  const DistributedTreeOptions& options_;
  int dim_;
  std::uint64_t first_;  ///< number of this rank's first point
  std::uint64_t count_;  ///< points on all ranks
  bool weighted_;
  int threads_;
  std::uint64_t total_ = 0;  ///< weight on all ranks
  std::vector<R> records_;
  std::vector<Cell> cells_;
  std::vector<std::uint64_t> sent_;  ///< which of this rank's points were sent, in the order of sending
  std::vector<R> received_;
  std::vector<std::size_t> received_counts_;  ///< by rank
  std::vector<std::uint64_t> sizes_;          ///< by rank, then by cell of this rank
  std::vector<Place> places_;                 ///< of each received record
  std::size_t peak_bytes_ = 0;
};

template <class T>
void check(const Communicator& comm, PointView<T> points, std::span<const double> weights,
           const DistributedTreeOptions& options, std::uint64_t first, bool weighted) {
  if (points.dim < kMinDim || points.dim > kMaxDim)
    throw InputError(fmt::format("points have {} dimensions: a kd-tree takes 2 to 16", points.dim));
  if (points.dim > 3 && options.curve != TreeCurve::morton && options.tree.parts == 0)
    throw InputError(fmt::format("{} is defined in 2 and 3 dimensions, not in {}: use morton",
                                 tree_curve_name(options.curve), points.dim));
  if (options.tree.bucket < 1) throw InputError("bucket is 0: a leaf must hold at least 1 point");
  if (options.tree.parts < 0 || options.slices < 1) throw InputError("parts must be 1 or more");
  const SplitRule& rule = options.tree.rule;
  const bool sampled =
      rule.below == Splitter::sampled_median || (rule.top_levels > 0 && rule.top == Splitter::sampled_median);
  if (options.tree.parts == 0 && sampled)
    throw InputError("splitter sampled_median works on one rank: use selection, whose medians are exact");
  if (weighted && weights.size() != points.size())
    throw InputError(fmt::format("rank {}: {} weights for {} points: give one a point or none", comm.rank(),
                                 weights.size(), points.size()));
  check_finite(points, first);
}

}  // namespace

template <class T>
DistributedTree distributed_tree(const Communicator& comm, PointView<T> points, std::span<const double> weights,
                                 const DistributedTreeOptions& options) {
  const auto here = static_cast<std::uint64_t>(points.size());
  const std::uint64_t count = support::all_sum(comm, here);
  const std::uint64_t first = support::exclusive_sum(comm, here);
  const bool weighted = support::any_of_ranks(comm, !weights.empty());
  double heaviest = 0;
  check_together(comm, [&] {
    check(comm, points, weights, options, first, weighted);
    heaviest = checked_heaviest(weights, first, options.tree.threads);
  });
  const int shift = fixed_point_shift(count, support::all_max(comm, heaviest));
  std::vector<std::uint64_t> fixed(weights.size());
  to_fixed_point(weights, shift, fixed, options.tree.threads);
  const auto run = [&]<int D>() { return Distributor<T, D>(comm, points, fixed, options, first, count).run(); };
  // Records of the smallest of these dimensions that holds the points' own; what is beyond is 0.
  if (points.dim == 2) return run.template operator()<2>();
  if (points.dim == 3) return run.template operator()<3>();
  if (points.dim <= 6) return run.template operator()<6>();
  return run.template operator()<16>();
}

template DistributedTree distributed_tree(const Communicator&, PointView<double>, std::span<const double>,
                                          const DistributedTreeOptions&);
#if defined(AMRBENCH_ALL_KD_TREES)
template DistributedTree distributed_tree(const Communicator&, PointView<float>, std::span<const double>,
                                          const DistributedTreeOptions&);
#endif

}  // namespace amrbench::partitioners
