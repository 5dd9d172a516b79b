// The document's method on CPU threads (000, 3.5, 3.6, 5.5): all cells of a level together, one service after another.
// What differs: counting stops as soon as few points are left between the guesses, and those are ordered exactly; the
// partition copies into a second buffer, so that all threads take part in every cell and the order within a cell stays.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "partitioners/orb/entry_cut.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/metrics.hpp"

namespace amrbench::partitioners {

namespace {

using support::Metrics;

/// Points left between two guesses that are ordered rather than counted again.
constexpr std::uint64_t kFewPoints = 1024;
constexpr std::uint64_t kPiecePoints = 1 << 15;

/// A stretch of one cell's points: the unit of work of a thread.
struct Piece {
  std::uint32_t cut;  ///< index into the level's cuts
  std::uint64_t begin, end;
};

/// The search for one cell's cut. The last point of the left and the first of the right lie behind `below` and not
/// behind `above`; or on either side of a guess with just the wanted points before it, which is both then. By weights
/// one of them may lie just outside: then all of the cell's points are ordered.
template <class T, int Dim>
struct Cut {
  std::size_t cell = 0;
  int axis = 0;
  OrbGoal goal;
  T below = 0, above = 0, guess = 0;
  std::uint64_t count_below = 0, count_above = 0;  ///< points <= below, <= above
  std::uint64_t weight_below = 0;
  bool searching = true;
  std::uint64_t count = 0, weight = 0;    ///< points <= guess
  std::vector<detail::Entry<T>> between;  ///< points around the cut: see collect()
  std::uint64_t left = 0;                 ///< the result
  OrbPoint<T, Dim> pivot{};               ///< first point of the right
};

template <class T, int Dim>
class Bisection {
 public:
  using Point = OrbPoint<T, Dim>;

  Bisection(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result)
      : input_(input), result_(result), tree_(result.tree), threads_(input.options.threads) {
    const std::size_t n = input.count;
    result.scratch[0].grow(n * sizeof(Point));
    result.scratch[1].grow(n * sizeof(Point));
    result.scratch[2].grow(n * sizeof(T));
    points_ = reinterpret_cast<Point*>(result.scratch[0].data());
    moved_ = reinterpret_cast<Point*>(result.scratch[1].data());
    column_ = reinterpret_cast<T*>(result.scratch[2].data());
  }

  void run() {
    for_ranges(input_.count, [&](std::uint64_t i) { points_[i] = input_.point(i); });
    const int depth = orb_depth(tree_.leaves);
    for (int level = 0; level < depth; ++level) cut_level(level);
    write_leaves(input_, points_, threads_, result_);
  }

 private:
  template <class F>
  void for_ranges(std::uint64_t n, F&& f) {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::uint64_t i = 0; i < n; ++i) f(i);
  }

  /// Calls f(number, piece, its cut) for each piece.
  template <class F>
  void for_pieces(F&& f) {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::size_t p = 0; p < pieces_.size(); ++p) f(p, pieces_[p], cuts_[pieces_[p].cut]);
  }

  void cut_level(int level) {
    const double start = Metrics::steady_seconds();
    passes_ = 0;
    find_cells(level);
    make_axis();
    search();
    resolve();
    OrbLevel record{.level = level, .levels = 1, .passes = passes_};
    const double moving = Metrics::steady_seconds();
    record.cut_s = moving - start;
    partition();
    record.move_s = Metrics::steady_seconds() - moving;
    const double n = static_cast<double>(input_.count);
    record.bytes = n * (sizeof(Point) + sizeof(T)) + passes_ * n * sizeof(T) + n * 3.0 * sizeof(Point);
    result_.levels.push_back(record);
  }

  void find_cells(int level) {
    cuts_.clear();
    pieces_.clear();
    rest_.clear();
    const std::size_t first = std::size_t{1} << level;
    for (std::size_t i = first; i < std::min(2 * first, tree_.cells.size()); ++i) {
      const OrbCell<T, Dim>& cell = tree_.cells[i];
      if (cell.leaves == 1) {
        rest_.push_back({0, cell.begin, cell.begin + cell.count});
        continue;
      }
      Cut<T, Dim> cut;
      cut.cell = i;
      cut.axis = cut_axis(cell.box, input_.options.side_tolerance);
      cut.goal = goal_of(tree_, i, input_.weighted());
      const auto a = static_cast<std::size_t>(cut.axis);
      cut.below = std::nextafter(cell.box.lower[a], -kInfinity);
      cut.above = cell.box.upper[a];
      cut.count_above = cell.count;
      const std::uint64_t end = cell.begin + cell.count;
      for (std::uint64_t b = cell.begin; b < end; b += kPiecePoints)
        pieces_.push_back({static_cast<std::uint32_t>(cuts_.size()), b, std::min(end, b + kPiecePoints)});
      cuts_.push_back(cut);
    }
  }

  void make_axis() {
    for_pieces([this](std::size_t, const Piece& piece, const Cut<T, Dim>& cut) {
      for (std::uint64_t i = piece.begin; i < piece.end; ++i) column_[i] = points_[i].x[cut.axis];
    });
  }

  /// Halves the interval of every cell until few points are left in it.
  void search() {
    for (;;) {
      bool any = false;
      for (Cut<T, Dim>& cut : cuts_) {
        cut.count = cut.weight = 0;
        cut.guess = T(0.5) * cut.below + T(0.5) * cut.above;
        cut.searching = cut.searching && cut.guess > cut.below && cut.guess < cut.above &&
                        cut.count_above - cut.count_below > kFewPoints;
        any = any || cut.searching;
      }
      if (!any) return;
      ++passes_;
      for_pieces([this](std::size_t, const Piece& piece, Cut<T, Dim>& cut) {
        if (cut.searching) count_piece(piece, cut);
      });
      for (Cut<T, Dim>& cut : cuts_)
        if (cut.searching) narrow(cut);
    }
  }

  /// Points of a piece at or below the guess.
  void count_piece(const Piece& piece, Cut<T, Dim>& cut) const {
    const T* x = column_ + piece.begin;
    const T guess = cut.guess;
    const auto n = static_cast<std::uint32_t>(piece.end - piece.begin);
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < n; ++i) count += x[i] <= guess ? 1U : 0U;
    std::uint64_t weight = 0;
    for (std::uint32_t i = 0; input_.weighted() && i < n; ++i)
      if (x[i] <= guess) weight += input_.weights[points_[piece.begin + i].id];
#pragma omp atomic
    cut.count += count;
#pragma omp atomic
    cut.weight += weight;
  }

  void narrow(Cut<T, Dim>& cut) const {
    const bool reached = first_search(cut.goal).reached(cut.count, cut.weight);
    const bool ideal = cut.goal.weight == 0 && cut.count == cut.goal.unit();
    if (!reached) {
      cut.below = cut.guess;
      cut.count_below = cut.count;
      cut.weight_below = cut.weight;
    }
    if (reached || ideal) {
      cut.above = cut.guess;
      cut.count_above = cut.count;
    }
  }

  /// Orders the points that are left between the guesses and reads the cuts off them.
  void resolve() {
    ++passes_;
    for_pieces([this](std::size_t, const Piece& piece, Cut<T, Dim>& cut) { collect(piece, cut); });
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t c = 0; c < cuts_.size(); ++c) {
      Cut<T, Dim>& cut = cuts_[c];
      if (place(cut)) continue;
      const OrbCell<T, Dim>& cell = tree_.cells[cut.cell];
      cut.between.clear();
      for (std::uint64_t i = cell.begin; i < cell.begin + cell.count; ++i) cut.between.push_back(entry(i));
      cut.count_below = cut.weight_below = 0;
      cut.below = -kInfinity;
      place(cut);
    }
  }

  /// A piece's points between the guesses; of an ideal guess, the last ones before it and the first ones behind it.
  void collect(const Piece& piece, Cut<T, Dim>& cut) const {
    const T below = cut.below, above = cut.above;
    T last = below;
    T first = above;
    if (below == above) {
      last = -kInfinity;
      first = kInfinity;
      for (std::uint64_t i = piece.begin; i < piece.end; ++i) {
        const T x = column_[i];
        last = x <= below && x > last ? x : last;
        first = x > above && x < first ? x : first;
      }
    }
    std::vector<detail::Entry<T>> mine;
    for (std::uint64_t i = piece.begin; i < piece.end; ++i)
      if (column_[i] >= last && column_[i] <= first) mine.push_back(entry(i));
#pragma omp critical(orb_bisection)
    cut.between.insert(cut.between.end(), mine.begin(), mine.end());
  }

  [[nodiscard]] detail::Entry<T> entry(std::uint64_t i) const {
    return {column_[i], static_cast<std::uint32_t>(i)};
  }

  /// Cuts the cell by what was collected; false where that does not tell.
  bool place(Cut<T, Dim>& cut) {
    std::uint64_t before = cut.count_below, weight_before = cut.weight_below;
    for (const detail::Entry<T>& entry : cut.between) {
      if (entry.key > cut.below) continue;
      --before;
      weight_before -= input_.weighted() ? input_.weight(points_[entry.position].id) : 0;
    }
    const auto found = detail::cut_entries<T, Dim>(PointSource<T, Dim>{points_, input_.count}, {input_.weights},
                                                   cut.axis, cut.goal, before, weight_before, std::span(cut.between));
    if (!found) return false;
    cut.left = found->left;
    cut.pivot = found->pivot;
    cut_cell(tree_, cut.cell, cut.axis, cut_between(found->last, found->pivot.x[cut.axis]), found->left,
             input_.weighted() ? found->weight_left : found->left);
    return true;
  }

  void partition() {
    std::vector<std::uint64_t> left(pieces_.size());
    for_pieces([&](std::size_t p, const Piece& piece, const Cut<T, Dim>& cut) {
      std::uint64_t count = 0;
      for (std::uint64_t i = piece.begin; i < piece.end; ++i)
        count += orb_before(points_[i], cut.pivot, cut.axis) ? 1 : 0;
      left[p] = count;
    });
    std::uint64_t next = 0;
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      if (p == 0 || pieces_[p].cut != pieces_[p - 1].cut) next = tree_.cells[cuts_[pieces_[p].cut].cell].begin;
      const std::uint64_t count = left[p];
      left[p] = next;
      next += count;
    }
    for_pieces([&](std::size_t p, const Piece& piece, const Cut<T, Dim>& cut) {
      const std::uint64_t begin = tree_.cells[cut.cell].begin;
      std::uint64_t to[2] = {begin + cut.left + (piece.begin - begin) - (left[p] - begin), left[p]};
      for (std::uint64_t i = piece.begin; i < piece.end; ++i) {
        const Point point = points_[i];
        moved_[to[orb_before(point, cut.pivot, cut.axis) ? 1 : 0]++] = point;
      }
    });
    for (const Piece& piece : rest_)
      for_ranges(piece.end - piece.begin, [&](std::uint64_t i) { moved_[piece.begin + i] = points_[piece.begin + i]; });
    std::swap(points_, moved_);
  }

  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  const OrbInput<T, Dim>& input_;
  OrbResult<T, Dim>& result_;
  OrbTree<T, Dim>& tree_;
  int threads_;
  Point* points_;
  Point* moved_;
  T* column_;
  std::vector<Cut<T, Dim>> cuts_;
  std::vector<Piece> pieces_;
  std::vector<Piece> rest_;  ///< stretches of finished cells
  int passes_ = 0;
};

}  // namespace

template <class T, int Dim>
void orb_by_bisection(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result) {
  Bisection<T, Dim>(input, result).run();
}

template void orb_by_bisection<float, 2>(const OrbInput<float, 2>&, OrbResult<float, 2>&);
template void orb_by_bisection<float, 3>(const OrbInput<float, 3>&, OrbResult<float, 3>&);
template void orb_by_bisection<double, 2>(const OrbInput<double, 2>&, OrbResult<double, 2>&);
template void orb_by_bisection<double, 3>(const OrbInput<double, 3>&, OrbResult<double, 3>&);

}  // namespace amrbench::partitioners
