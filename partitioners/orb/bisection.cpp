// The document's method on CPU threads (000, 3.5, 3.6, 5.5): all cells of a level together, one service after another.
// What differs: counting stops as soon as few points are left between the guesses, and those are ordered exactly; the
// partition copies into a second buffer, so that all threads take part in every cell and the order within a cell stays.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

/// The search for one cell's cut. below < cut's neighbours <= above.
template <class T, int Dim>
struct Cut {
  std::size_t cell = 0;
  int axis = 0;
  OrbGoal goal;
  T below = 0, above = 0, guess = 0;
  std::uint64_t count_below = 0, count_above = 0;  ///< points <= below, <= above
  std::uint64_t weight_below = 0;
  bool searching = true;
  std::array<T, 2> nearest{};  ///< coordinates on both sides of an ideal guess
  bool ideal = false;          ///< `guess` has as many points at or below it as shall go left
  std::uint64_t left = 0;      ///< the result
  OrbPoint<T, Dim> pivot{};    ///< first point of the right
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
    close_ideal();
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
      cut.below = std::nextafter(cell.box.lower[a], -std::numeric_limits<T>::infinity());
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

  struct Sums {
    std::uint64_t count = 0, weight = 0;
  };

  /// Points of a piece at or below `guess`.
  Sums count_piece(const Piece& piece, T guess) const {
    const T* x = column_ + piece.begin;
    const auto n = static_cast<std::uint32_t>(piece.end - piece.begin);
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < n; ++i) count += x[i] <= guess ? 1U : 0U;
    Sums sums{count, 0};
    if (input_.weighted())
      for (std::uint32_t i = 0; i < n; ++i)
        if (x[i] <= guess) sums.weight += input_.weights[points_[piece.begin + i].id];
    return sums;
  }

  /// Halves the interval of every cell until few points are left in it.
  void search() {
    std::vector<Sums> sums(pieces_.size());
    for (bool any = true; any;) {
      any = false;
      for (Cut<T, Dim>& cut : cuts_) {
        if (!cut.searching) continue;
        cut.guess = T(0.5) * cut.below + T(0.5) * cut.above;
        if (!(cut.guess > cut.below && cut.guess < cut.above) || cut.count_above - cut.count_below <= kFewPoints)
          cut.searching = false;
        any = any || cut.searching;
      }
      if (!any) break;
      ++passes_;
      for_pieces([&](std::size_t p, const Piece& piece, const Cut<T, Dim>& cut) {
        if (cut.searching) sums[p] = count_piece(piece, cut.guess);
      });
      std::size_t p = 0;
      for (std::size_t c = 0; c < cuts_.size(); ++c) {
        Sums left;
        for (; p < pieces_.size() && pieces_[p].cut == c; ++p) {
          left.count += sums[p].count;
          left.weight += sums[p].weight;
        }
        if (cuts_[c].searching) narrow(cuts_[c], left);
      }
    }
  }

  /// Keeps the last point of the left and the first of the right between `below` and `above`.
  void narrow(Cut<T, Dim>& cut, Sums left) {
    const auto limit = first_search(cut.goal);
    bool lower = left.count < cut.goal.least() || (left.count <= cut.goal.most() && left.weight < limit.weight);
    if (cut.goal.weight == 0) {
      cut.ideal = left.count == cut.goal.unit();
      if (cut.ideal) {
        cut.searching = false;
        return;
      }
      lower = left.count < cut.goal.unit();
    }
    if (lower) {
      cut.below = cut.guess;
      cut.count_below = left.count;
      cut.weight_below = left.weight;
    } else {
      cut.above = cut.guess;
      cut.count_above = left.count;
    }
  }

  /// Draws the interval of ideal cuts together, down to the coordinates on both sides of the guess.
  void close_ideal() {
    std::vector<std::array<T, 2>> nearest(pieces_.size());
    for_pieces([&](std::size_t p, const Piece& piece, const Cut<T, Dim>& cut) {
      T last = cut.below;
      T first = cut.above;
      for (std::uint64_t i = piece.begin; cut.ideal && i < piece.end; ++i) {
        const T x = column_[i];
        last = x <= cut.guess && x > last ? x : last;
        first = x > cut.guess && x < first ? x : first;
      }
      nearest[p] = {last, first};
    });
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      Cut<T, Dim>& cut = cuts_[pieces_[p].cut];
      if (!cut.ideal) continue;
      if (p == 0 || pieces_[p].cut != pieces_[p - 1].cut) cut.nearest = nearest[p];
      cut.nearest = {std::max(cut.nearest[0], nearest[p][0]), std::min(cut.nearest[1], nearest[p][1])};
    }
    for (Cut<T, Dim>& cut : cuts_) {
      if (!cut.ideal) continue;
      cut.below = std::nextafter(cut.nearest[0], -std::numeric_limits<T>::infinity());
      cut.above = cut.nearest[1];
    }
  }

  /// Orders the points that are left between the guesses and reads the cuts off them.
  void resolve() {
    ++passes_;
    std::vector<std::vector<Point>> found(pieces_.size());
    for_pieces([&](std::size_t p, const Piece& piece, const Cut<T, Dim>& cut) {
      for (std::uint64_t i = piece.begin; i < piece.end; ++i)
        if (column_[i] > cut.below && column_[i] <= cut.above) found[p].push_back(points_[i]);
    });
    std::vector<std::size_t> first_piece(cuts_.size() + 1, 0);
    for (const Piece& piece : pieces_) ++first_piece[piece.cut + 1];
    for (std::size_t c = 0; c < cuts_.size(); ++c) first_piece[c + 1] += first_piece[c];
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t c = 0; c < cuts_.size(); ++c) {
      std::vector<Point> window;
      for (std::size_t p = first_piece[c]; p < first_piece[c + 1]; ++p)
        window.insert(window.end(), found[p].begin(), found[p].end());
      Cut<T, Dim>& cut = cuts_[c];
      if (cut.ideal) {
        const auto inside =
            std::count_if(window.begin(), window.end(), [&](const Point& p) { return p.x[cut.axis] <= cut.guess; });
        cut.count_below = cut.goal.unit() - static_cast<std::uint64_t>(inside);
      }
      if (place(cut, window, cut.count_below, cut.weight_below)) continue;
      const OrbCell<T, Dim>& cell = tree_.cells[cut.cell];
      window.assign(points_ + cell.begin, points_ + cell.begin + cell.count);
      place(cut, window, 0, 0);
    }
  }

  bool place(Cut<T, Dim>& cut, std::vector<Point>& window, std::uint64_t before, std::uint64_t weight_before) {
    std::sort(window.begin(), window.end(), [&](const Point& p, const Point& q) { return orb_before(p, q, cut.axis); });
    std::vector<std::uint64_t> weights;
    if (input_.weighted())
      for (const Point& p : window) weights.push_back(input_.weight(p.id));
    const auto place = cut_in_window(cut.goal, {before, weight_before, window.size()}, weights);
    if (!place) return false;
    cut.left = before + place->left;
    cut.pivot = window[place->left];
    const T plane = cut_between(window[place->left - 1].x[cut.axis], cut.pivot.x[cut.axis]);
    cut_cell(tree_, cut.cell, cut.axis, plane, cut.left, place->weight_left);
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
