#include "partitioners/orb/gpus/distributed.hpp"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "partitioners/orb/distributed_check.hpp"
#include "partitioners/orb/distributed_plan.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpus/local.hpp"
#include "partitioners/weights.hpp"
#include "support/cuda.hpp"
#include "support/cuda_link.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using support::DeviceBuffer;
using support::InputError;

/// Points near the cuts of a level that all ranks order: few, for a host sorts them while the GPUs wait.
constexpr std::uint64_t kFew = 1 << 11;
/// Where there are many points a rank, they travel in parts, each while the next one is packed.
constexpr std::size_t kParts = 8;
constexpr std::uint64_t kMany = 1 << 19;

}  // namespace

template <class T, int Dim>
struct OrbGpus<T, Dim>::Impl {
  /// A point as it travels.
  struct Packed {
    T x[Dim];
  };
  /// What finishes a cell.
  struct Solver {
    std::uint64_t n = 0;
    std::uint32_t leaves = 0;
    std::unique_ptr<OrbGpu<T, Dim>> gpu;
  };

  Impl(const support::Communicator& all_ranks, OrbGpusOptions wanted)
      : comm(all_ranks.dup()), options(std::move(wanted)), local(stream) {
    orb_options.leaves = options.leaves;
    orb_options.side_tolerance = options.side_tolerance;
    if (comm.size() == 1) return;
    if (options.method != "multiway")
      throw InputError(fmt::format("method {}: several ranks with GPUs have one method, multiway", options.method));
    link = support::make_cuda_link(comm, options.transport, options.own_gpu);
  }

  void run(const T* points, std::uint64_t n, const double* weights) {
    if (n > 0 && options.weighted != (weights != nullptr))
      throw std::logic_error("OrbGpus::run: weights must be given where the options say so, and only there");
    times = {};
    pieces.clear();
    const auto start = std::chrono::steady_clock::now();
    const auto fetch = [](void* to, const void* from, std::size_t bytes) {
      support::cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    };
    const auto examine = [&](detail::Common<T, Dim>& mine) {
      if (n >= kOrbMaxPoints) throw InputError(fmt::format("{} points; a GPU takes less than 2^32", n));
      const auto found = local.examine(points, weights, n);
      for (std::size_t a = 0; a < Dim; ++a) {  // no negative zero
        mine.box.lower[a] = found.lower[a] + T(0);
        mine.box.upper[a] = found.upper[a] + T(0);
      }
      mine.largest = found.largest;
      if (found.bad < n) {
        T bad[Dim];
        fetch(bad, points + found.bad * Dim, sizeof(bad));
        static_cast<void>(checked_bounding_box<T, Dim>(bad, 1, mine.first + found.bad, 1));  // throws
      }
      if (found.bad_weight < n) {
        double bad = 0;
        fetch(&bad, weights + found.bad_weight, sizeof(bad));
        static_cast<void>(checked_heaviest({&bad, 1}, mine.first + found.bad_weight, 1));  // throws
      }
    };
    const auto all = detail::check_input<T, Dim>(comm, n, options.weighted ? n : 0, orb_options, examine);
    times.check_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    first = all.first;
    here = n;
    exponent = all.exponent;
    tree = all.tree(options.leaves);
    if (comm.size() == 1) {
      run_alone(points, weights);
    } else {
      run_together(points, weights);
    }
  }

  /// Ends an attempt that may lack memory on some ranks: on all of them.
  template <class F>
  void agreed(F&& f) {
    std::string message;
    try {
      f();
    } catch (const support::RunError& error) {
      message = fmt::format("rank {}: {}", comm.rank(), error.what());
    }
    support::agree_on_error(comm, message);
  }

  [[nodiscard]] OrbGpu<T, Dim>& solver(std::size_t k, std::uint64_t n, std::uint32_t leaves) {
    Solver& s = solvers[k];
    if (!s.gpu || s.n != n || s.leaves != leaves) {
      s.gpu.reset();
      s.gpu = std::make_unique<OrbGpu<T, Dim>>(n, OrbGpuOptions{.leaves = leaves,
                                                                .method = options.method,
                                                                .side_tolerance = options.side_tolerance,
                                                                .points = options.points,
                                                                .permutation = options.ids,
                                                                .labels = options.labels,
                                                                .weighted = options.weighted,
                                                                .tuning = options.tuning});
      s.n = n;
      s.leaves = leaves;
    }
    return *s.gpu;
  }

  void run_alone(const T* points, const double* weights) {
    solvers.resize(1);
    OrbGpu<T, Dim>& gpu = solver(0, here, options.leaves);
    tree = gpu.run(points, tree.cells[1].box, weights, exponent);
    times.subtree = gpu.times();
    times.total_s = gpu.times().total_s;
    times.weights_s = gpu.times().weights_s;
    times.subtree_s = times.total_s - times.weights_s;
    times.received = here;
    labels = options.labels ? gpu.labels() : nullptr;
    pieces.push_back(
        {0, options.leaves, here, options.points ? gpu.points() : nullptr, options.ids ? gpu.permutation() : nullptr});
  }

  void run_together(const T* points, const double* weights) {
    watch.reset();
    watch.mark(nullptr);
    const std::int64_t sent = link->bytes_sent();
    std::uint64_t weight = 0;
    agreed([&] {
      local.start(points, weights, exponent, here, static_cast<std::uint32_t>(first));
      weight = local.total_weight();
    });
    if (options.weighted) {
      tree.cells[1].weight = support::all_sum(comm, weight);
      watch.mark(&times.weights_s);
    }
    detail::SharedLevels<T, Dim, gpu::GpuPoints<T, Dim>> levels(comm, orb_options, tree, local, options.weighted, kFew);
    levels.run();
    watch.mark(&times.cut_s);
    const std::size_t parts = tree.cells[1].count >= kMany * static_cast<unsigned>(comm.size()) ? kParts : 1;
    std::vector<std::uint64_t> ready;
    agreed([&] { ready = local.count_parts(parts); });
    const auto ranges = levels.ranges(std::span(ready).last(ready.size() / parts));
    plan = {comm, tree, ranges, levels.owners(), detail::ExchangePlan::kMultiple};
    plan.pack(comm, ready);
    agreed([&] { reserve(); });
    pack_and_exchange();
    stream.synchronize();  // OrbGpu has a stream of its own
    subtrees.clear();
    agreed([&] { solve(); });
    if (plan.unfinished) detail::gather_trees(comm, tree, ranges, levels.owners(), subtrees);
    watch.mark(&times.subtree_s);
    if (options.labels) return_labels();
    watch.mark(&times.labels_s);
    stream.synchronize();
    watch.close();
    times.total_s = watch.total();
    times.bytes_sent = static_cast<std::uint64_t>(link->bytes_sent() - sent);
    times.received = plan.received;
    times.passes = levels.passes();
    times.collectives = 2 + (options.weighted ? 1 : 0) + levels.collectives() + 7 + (plan.unfinished ? 1 : 0);
  }

  void reserve() {
    const bool numbers = options.ids || options.labels;
    const std::uint64_t room = plan.room;
    local.reserve_items(numbers, plan.leaving_room);
    received.resize_discard(room, options.ids, options.weighted);
    if (options.ids) ordered_ids.resize_discard(room);
    if (options.labels) {
      received_labels.resize_discard(room);
      back.resize_discard(plan.leaving_room);
      own_labels.resize_discard(here);
    }
    link->reserve(plan.leaving_room * sizeof(Packed), room * sizeof(Packed));
    if (solvers.size() > plan.mine.size()) solvers.resize(plan.mine.size());
    for (std::size_t s = 0; s < solvers.size(); ++s) {  // what is of no use goes before anything new is made
      const OrbCell<T, Dim>& cell = tree.cells[plan.mine[s]];
      if (solvers[s].n != cell.count || solvers[s].leaves != cell.leaves) solvers[s] = {};
    }
    solvers.resize(plan.mine.size());
    for (std::size_t s = 0; s < plan.mine.size(); ++s) {
      const OrbCell<T, Dim>& cell = tree.cells[plan.mine[s]];
      if (cell.leaves > 1) static_cast<void>(solver(s, cell.count, cell.leaves));
    }
  }

  [[nodiscard]] std::uint64_t own_place(const detail::Leaving& l) const { return plan.place(l.owner, l.cell); }

  /// Points by cell, to the ranks that own these; those of this rank's cells where they belong. The parts of the points
  /// that are packed travel in a stream of their own.
  void pack_and_exchange() {
    std::vector<gpu::Columns<T, Dim>> targets;
    for (const detail::Leaving& l : plan.leaving) {
      targets.push_back(local.items().from(l.place));
      if (l.owner != comm.rank()) continue;
      targets.back().points = received.from(own_place(l)).points;
      targets.back().weights = received.from(own_place(l)).weights;
    }
    if (packed.size() < plan.parts.size()) packed.resize(plan.parts.size());
    for (std::size_t part = 0; part < plan.parts.size(); ++part) {
      local.pack(targets, part);
      packed[part].record(stream);
      if (part > 0) link->finish();
      packed[part].hold(travel);
      send(plan.parts[part]);
    }
    copy_own();
    watch.mark(&times.pack_s);
    link->finish();
    arrived.record(travel);
    arrived.hold(stream);
    watch.mark(&times.exchange_s);
  }

  /// Starts what a part has to send; all but the last exchange are finished.
  void send(const detail::ExchangePart& part) {
    bool under_way = false;
    const auto start = [&](const auto* from, auto* to) {
      if (under_way) link->finish();
      under_way = true;
      link->start(from, part.sends, to, part.receives, travel);
    };
    const gpu::Columns<T, Dim>&from = local.items(), &to = received.get();
    start(reinterpret_cast<const Packed*>(from.points), reinterpret_cast<Packed*>(to.points));
    if (options.weighted) start(from.weights, to.weights);
    if (options.ids) start(from.ids, to.ids);
  }

  /// The numbers of the points that this rank keeps: all else was packed where it belongs.
  void copy_own() {
    if (!options.ids) return;
    for (const detail::Leaving& l : plan.leaving) {
      if (l.owner != comm.rank() || l.count == 0) continue;
      support::cuda_check(cudaMemcpyAsync(received.from(own_place(l)).ids, local.items().from(l.place).ids,
                                          l.count * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice, stream.get()),
                          "cudaMemcpyAsync");
    }
  }

  /// This rank's cells, one after another.
  void solve() {
    std::uint64_t largest = 0;
    for (std::size_t s = 0; s < plan.mine.size(); ++s) {
      const OrbCell<T, Dim>& cell = tree.cells[plan.mine[s]];
      const std::uint64_t at = plan.cell_begin[s];
      const gpu::Columns<T, Dim> mine = received.from(at);
      OrbGpusPiece<T> piece{cell.first_leaf, cell.leaves, cell.count, options.points ? mine.points : nullptr, mine.ids};
      const std::uint32_t* leaves = nullptr;
      if (cell.leaves == 1) {
        subtrees.push_back(cell);
      } else {
        OrbGpu<T, Dim>& gpu = solver(s, cell.count, cell.leaves);
        const OrbTree<T, Dim>& solved = gpu.run(mine.points, cell.box, mine.weights, exponent);
        subtrees.insert(subtrees.end(), solved.cells.begin() + 1, solved.cells.end());
        if (cell.count > largest) times.subtree = gpu.times();
        largest = std::max(largest, cell.count);
        if (options.points) piece.points = gpu.points();
        if (options.ids) {
          gpu::order_ids(mine.ids, gpu.permutation(), cell.count, ordered_ids.data() + at, stream);
          piece.ids = ordered_ids.data() + at;
        }
        leaves = options.labels ? gpu.labels() : nullptr;
      }
      if (options.labels) {
        const std::size_t bytes = cell.count * sizeof(std::uint32_t);
        std::uint32_t* const to = received_labels.data() + at;
        support::cuda_check(leaves ? cudaMemcpyAsync(to, leaves, bytes, cudaMemcpyDeviceToDevice, stream.get())
                                   : cudaMemsetAsync(to, 0, bytes, stream.get()),
                            "labels of a cell");
      }
      pieces.push_back(piece);
    }
  }

  /// Leaves go the way back that points came.
  void return_labels() {
    const detail::ExchangePart all = plan.whole();
    link->start(received_labels.data(), all.receives, back.data(), all.sends, stream);
    link->finish();
    for (const detail::Leaving& l : plan.leaving) {
      const std::uint32_t* from =
          l.owner == comm.rank() ? received_labels.data() + own_place(l) : back.data() + l.place;
      gpu::scatter_labels(local.items().ids + l.place, from, l.count, static_cast<std::uint32_t>(first), l.first_leaf,
                          own_labels.data(), stream);
    }
    labels = own_labels.data();
  }

  support::Communicator comm;
  OrbGpusOptions options;
  OrbOptions orb_options;
  support::CudaStream stream;
  support::CudaStream travel{support::CudaStream::Priority::high};
  std::vector<support::CudaEvent> packed;  ///< a part each
  support::CudaEvent arrived;
  gpu::Stopwatch watch{stream};
  OrbGpusTimes times;
  gpu::GpuPoints<T, Dim> local;

  OrbTree<T, Dim> tree;
  std::vector<OrbGpusPiece<T>> pieces;
  const std::uint32_t* labels = nullptr;
  std::uint64_t first = 0, here = 0;
  int exponent = 0;  ///< of weights

  detail::ExchangePlan plan;
  std::vector<Solver> solvers;  ///< of this rank's cells
  std::vector<OrbCell<T, Dim>> subtrees;

  gpu::ColumnBuffers<T, Dim> received;
  DeviceBuffer<std::uint32_t> ordered_ids, received_labels, back, own_labels;

  // The first to go: after an error its kernels may wait for other ranks, and memory is freed only behind them.
  std::unique_ptr<support::CudaLink> link;
};

template <class T, int Dim>
OrbGpus<T, Dim>::OrbGpus(const support::Communicator& comm, const OrbGpusOptions& options)
    : impl_(std::make_unique<Impl>(comm, options)) {}

template <class T, int Dim>
OrbGpus<T, Dim>::~OrbGpus() = default;

template <class T, int Dim>
const OrbTree<T, Dim>& OrbGpus<T, Dim>::run(const T* points, std::uint64_t n, const double* weights) {
  impl_->run(points, n, weights);
  return impl_->tree;
}

template <class T, int Dim>
const OrbGpusTimes& OrbGpus<T, Dim>::times() const {
  return impl_->times;
}
template <class T, int Dim>
std::span<const OrbGpusPiece<T>> OrbGpus<T, Dim>::pieces() const {
  return impl_->pieces;
}
template <class T, int Dim>
const std::uint32_t* OrbGpus<T, Dim>::labels() const {
  return impl_->labels;
}
template <class T, int Dim>
std::uint64_t OrbGpus<T, Dim>::first() const {
  return impl_->first;
}
template <class T, int Dim>
std::string_view OrbGpus<T, Dim>::transport() const {
  return impl_->link ? impl_->link->name() : std::string_view("none");
}

template class OrbGpus<float, 2>;
template class OrbGpus<float, 3>;
template class OrbGpus<double, 2>;
template class OrbGpus<double, 3>;

}  // namespace amrbench::partitioners
