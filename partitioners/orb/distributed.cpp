#include "partitioners/orb/distributed.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "partitioners/orb/distributed_check.hpp"
#include "partitioners/orb/distributed_exchange.hpp"
#include "partitioners/orb/distributed_rounds.hpp"
#include "partitioners/orb/tree.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/weights.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using detail::Common;
using support::Communicator;

/// As many points go to all ranks, which then need no more messages.
constexpr std::uint64_t kFewPoints = 1 << 14;

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

/// All points at hand: cut here what all ranks cut alike.
template <class T, int Dim>
void cut_alone(const Communicator& comm, const T* coordinates, const std::uint64_t* units, const OrbOptions& options,
               const Common<T, Dim>& all, OrbDistributed<T, Dim>& result) {
  const auto start = std::chrono::steady_clock::now();
  OrbResult<T, Dim> solved;
  solved.tree = std::move(result.tree);
  solved.labels.grow(all.n);
  support::PageBuffer<OrbPoint<T, Dim>> placed(all.n);
  OrbInput<T, Dim> input;
  input.coordinates = coordinates;
  input.count = all.n;
  input.weights = units;
  input.options = {.leaves = options.leaves, .threads = options.threads, .side_tolerance = options.side_tolerance};
  input.options.permutation = false;
  input.placed = placed.data();
  orb_multiway(input, solved);
  result.tree = std::move(solved.tree);
  const detail::LeafOwners owners{result.tree.leaves, static_cast<std::uint64_t>(comm.size())};
  result.first_leaf = owners.first_leaf(static_cast<std::uint64_t>(comm.rank()));
  result.end_leaf = owners.first_leaf(static_cast<std::uint64_t>(comm.rank()) + 1);
  if (comm.size() == 1) {
    result.labels.swap(solved.labels);
    result.points.swap(placed);
  } else {
    std::copy_n(solved.labels.data() + all.first, result.labels.size(), result.labels.data());
    std::uint64_t end = 0, count = 0;
    for (std::uint32_t leaf = result.first_leaf; leaf < result.end_leaf; ++leaf) {
      const OrbCell<T, Dim>& cell = result.tree.cells[result.tree.leaf_cell[leaf]];
      end = cell.begin + cell.count;
      count += cell.count;
    }
    detail::fit(result.points, count);
    std::copy_n(placed.data() + (end - count), count, result.points.data());
  }
  result.cut_s = seconds_between(start, std::chrono::steady_clock::now());
}

/// Few points: all of them on every rank, in one collective.
template <class T, int Dim>
void gather_and_cut(const Communicator& comm, PointView<T> points, const std::uint64_t* units,
                    const OrbOptions& options, const Common<T, Dim>& all, OrbDistributed<T, Dim>& result) {
  struct Weighted {
    std::uint64_t weight;
    T x[Dim];
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<Weighted> mine(result.labels.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i].weight = units ? units[i] : 1;
    std::copy_n(points[i], Dim, mine[i].x);
  }
  detail::Pieces pieces;
  for (const std::uint64_t n : all.counts) pieces.add(n);
  std::vector<Weighted> gathered(all.n);
  detail::all_gather_known(comm, mine.data(), gathered.data(), pieces);
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
  result.move_s = seconds_between(start, std::chrono::steady_clock::now());
  cut_alone(comm, coordinates.data(), all.weighted ? weights.data() : nullptr, options, all, result);
}

/// Shared cells by rounds, the rest on the ranks that own it.
template <class T, int Dim>
void cut_together(const Communicator& comm, PointView<T> points, const std::uint64_t* units, const OrbOptions& options,
                  const Common<T, Dim>& all, OrbDistributed<T, Dim>& result) {
  const auto start = std::chrono::steady_clock::now();
  const auto first = static_cast<std::uint32_t>(all.first);
  using Memory = detail::DistributedMemory<T, Dim>;
  if (!result.memory) result.memory = std::make_shared<Memory>();
  Memory& memory = *static_cast<Memory*>(result.memory.get());
  const InputSource<T, Dim> source{points.data.data(), result.labels.size(), first};
  detail::HostPoints<T, Dim> local(source, units, options.threads, memory);
  detail::DistributedRounds<T, Dim, detail::HostPoints<T, Dim>> cut(comm, options, result.tree, local, all.weighted);
  cut.run();
  const auto moving = std::chrono::steady_clock::now();
  detail::LeafExchange<T, Dim> exchange(comm, options, cut, local.items(), units, all.weighted, first, result, memory);
  exchange.run();
  const auto end = std::chrono::steady_clock::now();
  result.passes = cut.passes();
  result.collectives += cut.collectives() + exchange.collectives();
  result.cut_s = seconds_between(start, moving) + exchange.solve_s();
  result.move_s = seconds_between(moving, end) - exchange.solve_s();
}

}  // namespace

template <class T, int Dim>
OrbDistributed<T, Dim> orb_distributed(const Communicator& comm, PointView<T> points, std::span<const double> weights,
                                       const OrbOptions& wanted, OrbDistributed<T, Dim> reused) {
  OrbOptions options = wanted;
  options.threads = team_size(wanted.threads);
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
  const int exponent = all.weighted ? fixed_point_shift(all.n, all.largest, kOrbWeightBits) : 0;
  buffer.resize_discard(weights.size());
  to_fixed_point(weights, exponent, buffer.span(), options.threads);
  const std::uint64_t* units = all.weighted && here > 0 ? buffer.data() : nullptr;
  result.tree = make_orb_tree<T, Dim>(options.leaves, all.box, all.n, all.n, std::ldexp(1.0, -exponent));
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
    cut_together(comm, points, units, options, all, result);
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
