// Rounds of the multiway method, which give the exact tree of up to 6 levels below a cell each, and the moves between
// them.
//
// A cell of a round takes points in order of ids and gives the leaf of each in that same order, and its points by leaf.
// The first round works on the input with all threads; its cells then are tasks, each of one thread, whose points lie
// close together. Bytes a point of the first round, float in 3-D: 12 read + 1 code written, then 12 + 1 read and 16
// written by the move; the second: 16 + 1, then 16 + 1 read, 4 (permutation) + 4 (leaf) written; the merge of leaves
// back into the input's order: 1 + 4 read, 4 written.
#include <omp.h>

#include <functional>
#include <memory>
#include <numeric>

#include "partitioners/orb/entry_cut.hpp"
#include "partitioners/orb/round_walk.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/metrics.hpp"

namespace amrbench::partitioners {

namespace {

using support::Metrics;

/// Cells of fewer points are cut by selection, level by level.
constexpr std::uint64_t kSmallCell = 2048;

/// A round on one cell, whose points are the source's.
template <class T, int Dim, class Source>
class MultiwayRound {
 public:
  using Walk = detail::RoundWalk<T, Dim, Source>;

  MultiwayRound(const OrbInput<T, Dim>& input, OrbTree<T, Dim>& tree, std::size_t cell, const Source& source,
                std::uint8_t* codes, detail::RoundMemory<T, Dim>& memory, int threads)
      : input_(input),
        tree_(tree),
        cell_{cell, {}, {}, {}, {}},
        walk_(cell_, source, {input.weights}, codes, memory, threads),
        memory_(memory),
        threads_(threads) {}

  /// The cells at the end of the round.
  detail::CellSlots run() {
    sample_and_guess();
    walk_.walk_down();
    if (!resolve(1)) {
      cut_root_exactly();
    } else {
      for (int level = 1; level < cell_.guess.levels(); ++level) {
        const std::size_t first = std::size_t{1} << level;
#pragma omp parallel for num_threads(threads_) schedule(dynamic) if (threads_ > 1)
        for (std::size_t v = first; v < 2 * first; ++v)
          if (cell_.resolved[v / 2]) resolve(v);
      }
    }
    return cell_.slots();
  }

  [[nodiscard]] const Walk& walk() const {
    return walk_;
  }

 private:
  using Point = OrbPoint<T, Dim>;
  using Entries = typename Walk::Entries;

  void sample_and_guess() {
    const OrbCell<T, Dim>& cell = tree_.cells[cell_.cell];
    memory_.sample.resize(detail::sample_size(cell.count));
    const double even = static_cast<double>(cell.weight) / static_cast<double>(cell.count);
    const bool by_weight = input_.weighted() && cell.weight > 0;
    if (by_weight)
      sample_by_weight(even);
    else
      sample_evenly();
    cell_.guess.guess(memory_.sample, SampleWeights{input_.weights, by_weight ? even : 0}, cell.leaves, cell.box,
                      input_.options.side_tolerance, threads_);
  }

  void sample_evenly() {
    std::vector<Point>& sample = memory_.sample;
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (std::size_t i = 0; i < sample.size(); ++i)
      sample[i] = walk_.source().point(detail::sample_position(i, walk_.count(), sample.size()));
  }

  /// Half of the sample by weight, half by number: one point out of each of equal parts of both together. By number
  /// alone heavy points would be missed, by weight alone the cells beside them would have no sample.
  void sample_by_weight(double even) {
    constexpr std::uint64_t kStretch = 32;
    const std::uint64_t n = walk_.count();
    std::vector<Point>& sample = memory_.sample;
    std::vector<double>& before = memory_.before;
    before.resize((n + kStretch - 1) / kStretch + 1);
    const auto part = [&](std::uint64_t i) {
      return even + static_cast<double>(input_.weights[walk_.source().point(i).id]);
    };
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (std::size_t b = 0; b < before.size() - 1; ++b) {
      double sum = 0;
      for (std::uint64_t i = b * kStretch; i < std::min(n, (b + 1) * kStretch); ++i) sum += part(i);
      before[b] = sum;
    }
    before.back() = 0;
    std::exclusive_scan(before.begin(), before.end(), before.begin(), 0.0);
    const std::size_t size = sample.size();
    const double step = before.back() / static_cast<double>(size);
#pragma omp parallel for num_threads(threads_) schedule(static, 1) if (threads_ > 1)
    for (int t = 0; t < threads_; ++t) {
      std::size_t i = size * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads_);
      const std::size_t end = size * static_cast<std::size_t>(t + 1) / static_cast<std::size_t>(threads_);
      const auto begin = std::upper_bound(before.begin() + 1, before.end() - 1, step * static_cast<double>(i));
      auto stretch = static_cast<std::size_t>(begin - before.begin()) - 1;
      for (; i < end; ++i) {
        const double at = step * (static_cast<double>(i) + 0x1p-64 * static_cast<double>(support::splitmix64(i)));
        while (stretch + 2 < before.size() && before[stretch + 1] <= at) ++stretch;
        std::uint64_t point = stretch * kStretch;
        const std::uint64_t last = std::min(n, point + kStretch) - 1;
        for (double left = at - before[stretch]; point < last && (left -= part(point)) >= 0;) ++point;
        sample[i] = walk_.source().point(point);
      }
    }
  }

  /// Cuts node v exactly, if its bracket holds the cut and its axis was guessed right; v's cell is known exactly.
  bool resolve(std::size_t v) {
    const RoundNode<T, Dim>& node = cell_.guess.node(v);
    if (!node.inner || cut_axis(tree_.cells[cell_.heap(v)].box, input_.options.side_tolerance) != node.axis)
      return false;
    Entries& entries = walk_.gather(v);
    const auto pivot = cut(v, node.axis, entries);
    if (!pivot) return false;
    walk_.send_on(v, entries, [&](const Point& p) { return orb_before(p, *pivot, node.axis); });
    return true;
  }

  /// No bracket held the root's cut, or its axis was not guessed: one level, exactly, from all points.
  void cut_root_exactly() {
    const int axis = cut_axis(tree_.cells[cell_.cell].box, input_.options.side_tolerance);
    cell_.make_single_level();
    Entries entries(walk_.count());
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (std::size_t i = 0; i < entries.size(); ++i)
      entries[i] = {walk_.source().point(i).x[axis], static_cast<std::uint32_t>(i)};
    const Point pivot = cut(1, axis, entries).value();
    walk_.halve([&](const Point& p) { return orb_before(p, pivot, axis); });
  }

  /// Cuts node v by those of its points that are not known to be on one side; the first point of the right. Nothing
  /// where they do not tell.
  std::optional<Point> cut(std::size_t v, int axis, Entries& entries) {
    const std::size_t i = cell_.heap(v);
    const auto cut =
        detail::cut_entries<T, Dim>(walk_.source(), {input_.weights}, axis, goal_of(tree_, i, input_.weighted()),
                                    cell_.passed[2 * v], cell_.passed_weight[2 * v], std::span(entries));
    if (!cut) return {};
    cut_cell(tree_, i, axis, cut_between(cut->last, cut->pivot.x[axis]), cut->left,
             input_.weighted() ? cut->weight_left : cut->left);
    cell_.resolved[v] = true;
    return cut->pivot;
  }

  const OrbInput<T, Dim>& input_;
  OrbTree<T, Dim>& tree_;
  detail::RoundCell<T, Dim> cell_;
  Walk walk_;
  detail::RoundMemory<T, Dim>& memory_;
  int threads_;
};

template <class T, int Dim>
class Multiway {
 public:
  using Point = OrbPoint<T, Dim>;

  Multiway(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result)
      : input_(input),
        result_(result),
        tree_(result.tree),
        memory_(threads_memory(result, static_cast<std::size_t>(input.options.threads))) {}

  void run() {
    const std::uint64_t n = input_.count;
    std::uint32_t* labels = input_.options.labels ? result_.labels.data() : nullptr;
    if (input_.items) {
      start(PointSource<T, Dim>{input_.items, n}, labels);
    } else {
      start(InputSource<T, Dim>{input_.coordinates, n}, labels);
    }
  }

 private:
  /// From here on with all threads, and with memory that the result keeps.
  static constexpr std::uint64_t kLargeInput = 1 << 13;

  template <class Source>
  void start(const Source& source, std::uint32_t* labels) {
    const std::uint64_t n = input_.count;
    if (n < kLargeInput || tree_.leaves == 1) {
      solve(1, source, labels, memory_[0]);
      return;
    }
    result_.scratch[0].grow(n * sizeof(Point));
    result_.scratch[1].grow(n + RoundTree<T, Dim>::kBlock);
    if (labels) result_.scratch[2].grow(n * sizeof(std::uint32_t));
    const Buffers buffers{reinterpret_cast<Point*>(result_.scratch[0].data()),
                          reinterpret_cast<std::uint8_t*>(result_.scratch[1].data()),
                          reinterpret_cast<std::uint32_t*>(result_.scratch[2].data())};
    solve_round(1, source, labels, buffers, memory_[0], input_.options.threads);
  }

  /// Memory of one cell's round: room for its points and their leaves, if null had when needed; and codes.
  struct Buffers {
    Point* moved = nullptr;
    std::uint8_t* codes = nullptr;
    std::uint32_t* leaves = nullptr;
  };

  /// Of one thread. Rounds nest, but a round needs `round` no more once cells below it are solved.
  struct ThreadMemory {
    detail::RoundMemory<T, Dim> round;
    std::vector<support::PageBuffer<std::uint8_t>> codes;
    std::size_t depth = 0;
  };
  /// Everything below cell `cell`, by one thread: labels[i] = leaf of the source's point i, unless null.
  template <class Source>
  void solve(std::size_t cell, const Source& source, std::uint32_t* labels, ThreadMemory& memory) {
    const std::uint64_t n = tree_.cells[cell].count;
    if (tree_.cells[cell].leaves == 1 || n < kSmallCell) {
      solve_small(cell, source, labels);
      return;
    }
    // The codes of a cell that takes a further round stand behind those of the round above it, which are still needed.
    const std::size_t depth = memory.depth++;
    if (memory.codes.size() <= depth) memory.codes.resize(depth + 1);
    memory.codes[depth].grow(n + RoundTree<T, Dim>::kBlock);
    solve_round(cell, source, labels, {.codes = memory.codes[depth].data()}, memory, 1);
    --memory.depth;
  }

  template <class Source>
  void solve_round(std::size_t cell, const Source& source, std::uint32_t* labels, Buffers buffers, ThreadMemory& memory,
                   int threads) {
    const double start = Metrics::steady_seconds();
    MultiwayRound<T, Dim, Source> round(input_, tree_, cell, source, buffers.codes, memory.round, threads);
    const detail::CellSlots reached = round.run();
    const double cut_s = Metrics::steady_seconds() - start;
    // Where each slot's points go: leaves to their final places, others one after another to `moved`.
    const std::vector<std::size_t>& slots = reached.cells;
    std::array<bool, kRoundNodes> leaf{};
    std::array<std::uint32_t, kRoundNodes> own{};  // labels of leaves
    std::vector<std::uint64_t> begin;
    std::uint64_t unfinished = 0;
    for (const std::size_t slot : slots) {
      const OrbCell<T, Dim>& below = tree_.cells[slot];
      leaf[begin.size()] = below.leaves == 1;
      own[begin.size()] = below.first_leaf;
      begin.push_back(below.leaves == 1 ? below.begin : unfinished);
      if (below.leaves > 1) unfinished += below.count;
    }
    std::unique_ptr<Point[]> own_moved;
    std::unique_ptr<std::uint32_t[]> own_leaves;
    if (unfinished > 0 && !buffers.moved) {
      own_moved = std::make_unique_for_overwrite<Point[]>(unfinished);
      own_leaves = std::make_unique_for_overwrite<std::uint32_t[]>(labels ? unfinished : 0);
      buffers.moved = own_moved.get();
      buffers.leaves = own_leaves.get();
    }
    const double moving = Metrics::steady_seconds();
    round.walk().for_places(reached, begin, [&](std::size_t s, std::uint64_t at, std::uint64_t i) {
      if (leaf[s]) {
        place_point(input_, at, source.point(i), result_);
      } else {
        buffers.moved[at] = source.point(i);
      }
    });
    const double below = Metrics::steady_seconds();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (leaf[s]) continue;
      const PointSource<T, Dim> moved{buffers.moved + begin[s], tree_.cells[slots[s]].count};
      // The thread's number holds here alone: a region of one thread below has a thread 0 of its own.
      ThreadMemory& mine = threads > 1 ? memory_[static_cast<std::size_t>(omp_get_thread_num())] : memory;
      solve(slots[s], moved, labels ? buffers.leaves + begin[s] : nullptr, mine);
    }
    const double merging = Metrics::steady_seconds();
    if (labels)  // those of unfinished slots stand in their own order; the source's follows by walking it again
      round.walk().for_places(reached, begin, [&](std::size_t s, std::uint64_t at, std::uint64_t i) {
        labels[i] = leaf[s] ? own[s] : buffers.leaves[at];
      });
    if (cell == 1) note(cut_s, moving, below, merging);
  }

  /// moving, below, merging: when these began.
  void note(double cut_s, double moving, double below, double merging) {
    const double n = static_cast<double>(input_.count);
    constexpr double kIn = sizeof(T) * Dim;
    const double labels = input_.options.labels ? 9 : 0;
    const int first = round_levels(tree_.leaves);
    OrbLevel level{.level = 0, .levels = first, .passes = 1};
    level.cut_s = cut_s;
    level.move_s = below - moving + Metrics::steady_seconds() - merging;
    level.bytes = n * (2 * kIn + 2 + sizeof(Point) + labels);
    result_.levels.push_back(level);
    if (orb_depth(tree_.leaves) == first) return;
    level = {.level = first, .levels = orb_depth(tree_.leaves) - first, .passes = 1};
    level.cut_s = merging - below;
    level.bytes = n * (2 * sizeof(Point) + 2 + 8);
    result_.levels.push_back(level);
  }

  /// A small cell: level by level, by selection among its points.
  template <class Source>
  void solve_small(std::size_t cell, const Source& source, std::uint32_t* labels) {
    struct Placed {
      Point point;
      std::uint32_t position;
    };
    const std::uint64_t n = tree_.cells[cell].count;
    std::vector<Placed> points(n);
    for (std::uint64_t i = 0; i < n; ++i) points[i] = {source.point(i), static_cast<std::uint32_t>(i)};
    const std::uint64_t base = tree_.cells[cell].begin;
    const std::function<void(std::size_t)> split = [&](std::size_t i) {
      const OrbCell<T, Dim> c = tree_.cells[i];
      const auto first = points.begin() + static_cast<std::ptrdiff_t>(c.begin - base);
      const auto last = first + static_cast<std::ptrdiff_t>(c.count);
      if (c.leaves == 1) {
        std::sort(first, last, [](const Placed& p, const Placed& q) { return p.point.id < q.point.id; });
        for (auto p = first; p != last; ++p) {
          if (labels) labels[p->position] = c.first_leaf;
          place_point(input_, base + static_cast<std::uint64_t>(p - points.begin()), p->point, result_);
        }
        return;
      }
      const int axis = cut_axis(c.box, input_.options.side_tolerance);
      const auto order = [axis](const Placed& p, const Placed& q) { return orb_before(p.point, q.point, axis); };
      const OrbGoal goal = goal_of(tree_, i, input_.weighted());
      const auto weight = [this](const Placed& p) { return input_.weight(p.point.id); };
      const CutPlace cut = detail::part_at_cut(std::span(first, last), goal, 0, 0, order, weight).value();
      const auto right = first + static_cast<std::ptrdiff_t>(cut.left);
      const auto before = std::max_element(first, right, order);
      cut_cell(tree_, i, axis, cut_between(before->point.x[axis], right->point.x[axis]), cut.left,
               input_.weighted() ? cut.weight_left : cut.left);
      split(2 * i);
      split(2 * i + 1);
    };
    split(cell);
  }

  const OrbInput<T, Dim>& input_;
  OrbResult<T, Dim>& result_;
  OrbTree<T, Dim>& tree_;

  /// Kept in the result, for the next call.
  static std::vector<ThreadMemory>& threads_memory(OrbResult<T, Dim>& result, std::size_t threads) {
    if (!result.memory) result.memory = std::make_shared<std::vector<ThreadMemory>>();
    auto& memory = *static_cast<std::vector<ThreadMemory>*>(result.memory.get());
    if (memory.size() < threads) memory.resize(threads);
    for (ThreadMemory& mine : memory) mine.depth = 0;
    return memory;
  }
  std::vector<ThreadMemory>& memory_;
};

}  // namespace

template <class T, int Dim>
void orb_multiway(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result) {
  Multiway<T, Dim>(input, result).run();
}

template void orb_multiway<float, 2>(const OrbInput<float, 2>&, OrbResult<float, 2>&);
template void orb_multiway<float, 3>(const OrbInput<float, 3>&, OrbResult<float, 3>&);
template void orb_multiway<double, 2>(const OrbInput<double, 2>&, OrbResult<double, 2>&);
template void orb_multiway<double, 3>(const OrbInput<double, 3>&, OrbResult<double, 3>&);

}  // namespace amrbench::partitioners
