// Which side tolerance (rules.hpp, rule 4) leaves the fewest points in cells whose axis noise decides? Where a cell's
// sides differ by just the tolerance, a cut that is wrong by a little changes the axis of the cells below it, and all
// that follows there; a method that guesses cuts from a sample has to cut such a cell once more.
//
//   orb_tolerance_bench [--points LOG2] [--sample LOG2] [--seed SEED]
//
// For each tolerance: trees of 4096 leaves over inputs whose densities are known, a cube in the unit square or cube
// that holds a share of the points, the rest uniform. Cuts of 2^LOG2 points (30) differ from the density's by their
// noise, those of a sample (25) by more. A cell that the two cut along different axes counts with all its points. The
// table has the mean share of such points over the inputs, the largest, and how many inputs have more than 1 in 20.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "partitioners/orb/rules.hpp"

namespace {

using amrbench::partitioners::cut_axis;
using amrbench::partitioners::left_leaves;
using amrbench::partitioners::OrbBox;

constexpr std::uint32_t kLeaves = 4096;

template <int Dim>
using Box = OrbBox<double, Dim>;

/// A cube of some edge, from `begin` on along each axis, that holds a share of the points; the rest are uniform in the
/// unit box.
template <int Dim>
struct Input {
  double edge, share;
  std::array<double, Dim> begin;

  [[nodiscard]] double overlap(double low, double high, std::size_t a) const {
    return std::max(0.0, std::min(high, begin[a] + edge) - std::max(low, begin[a]));
  }
  /// Share of all points in a box.
  [[nodiscard]] double mass(const Box<Dim>& box) const {
    double all = 1;
    double cube = 1;
    for (std::size_t a = 0; a < Dim; ++a) {
      all *= box.upper[a] - box.lower[a];
      cube *= overlap(box.lower[a], box.upper[a], a) / edge;
    }
    return (1 - share) * all + share * cube;
  }
  /// Where a part of the box's points lies left along an axis: the mass is linear between the cube's ends.
  [[nodiscard]] double plane(const Box<Dim>& box, std::size_t axis, double part) const {
    const double wanted = part * mass(box);
    std::array<double, 4> ends = {box.lower[axis], begin[axis], begin[axis] + edge, box.upper[axis]};
    for (double& end : ends) end = std::clamp(end, box.lower[axis], box.upper[axis]);
    Box<Dim> left = box;
    double before = 0;
    for (std::size_t k = 1; k < ends.size(); ++k) {
      left.upper[axis] = ends[k];
      const double behind = mass(left);
      if (behind >= wanted || k + 1 == ends.size())
        return behind > before ? ends[k - 1] + (ends[k] - ends[k - 1]) * (wanted - before) / (behind - before)
                               : ends[k];
      before = behind;
    }
    return box.upper[axis];
  }
};

/// The trees of an input, cut by its points and by the sample.
template <int Dim>
class Trees {
 public:
  Trees(const Input<Dim>& input, double tolerance, double points, double sample, std::uint64_t seed)
      : input_(input), tolerance_(tolerance), points_(points), sample_(sample), random_(seed) {}

  /// Share of the points in cells that the sample would cut along another axis than the points do.
  [[nodiscard]] double in_doubt() {
    in_doubt_ = 0;
    Box<Dim> unit;
    unit.upper.fill(1);
    cut(unit, unit, kLeaves, 1);
    return in_doubt_;
  }

 private:
  /// part: the cell's share of all points.
  void cut(const Box<Dim>& exact, const Box<Dim>& guessed, std::uint32_t leaves, double part) {
    if (leaves < 2) return;
    const auto axis = static_cast<std::size_t>(cut_axis(exact, tolerance_));
    if (static_cast<std::size_t>(cut_axis(guessed, tolerance_)) != axis) {
      in_doubt_ += part;
      return;
    }
    const std::uint32_t left = left_leaves(leaves);
    const double target = static_cast<double>(left) / leaves;
    const double spread = std::sqrt(target * (1 - target) / part);
    // The rank of the density's plane among n points has a spread of sqrt(n target (1 - target)).
    const double own = target + normal_(random_) * spread / std::sqrt(points_);
    const double sampled = own + normal_(random_) * spread / std::sqrt(sample_);
    const std::array<double, 2> planes = {input_.plane(exact, axis, std::clamp(own, 0.001, 0.999)),
                                          input_.plane(guessed, axis, std::clamp(sampled, 0.001, 0.999))};
    for (int side = 0; side < 2; ++side) {
      Box<Dim> boxes[2] = {exact, guessed};
      for (int k = 0; k < 2; ++k)
        (side == 0 ? boxes[k].upper : boxes[k].lower)[axis] = planes[static_cast<std::size_t>(k)];
      cut(boxes[0], boxes[1], side == 0 ? left : leaves - left, part * (side == 0 ? target : 1 - target));
    }
  }

  Input<Dim> input_;
  double tolerance_, points_, sample_, in_doubt_ = 0;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

struct Sum {
  double all = 0, most = 0;
  int inputs = 0, many = 0;

  void add(double in_doubt) {
    all += in_doubt;
    most = std::max(most, in_doubt);
    many += in_doubt > 0.05 ? 1 : 0;
    ++inputs;
  }
};

template <int Dim>
void add_inputs(double tolerance, double points, double sample, std::uint64_t seed, Sum& sum) {
  for (const double edge : {1 / 2., 1 / 3., 1 / 4., 1 / 5., 1 / 8., 1 / 10., 1 / 16., 1 / 20., 1 / 32., 1 / 64.})
    for (const double share : {1 / 4., 1 / 3., 1 / 2., 2 / 3., 3 / 4., 9 / 10.})
      for (const bool in_corner : {true, false}) {
        Input<Dim> input{edge, share, {}};
        if (!in_corner)
          for (std::size_t a = 0; a < Dim; ++a) input.begin[a] = (0.5 + 0.1 * static_cast<double>(a)) * (1 - edge);
        sum.add(Trees<Dim>(input, tolerance, points, sample, seed).in_doubt());
      }
}

}  // namespace

int main(int argc, char** argv) {
  int points = 30;
  int sample = 25;
  std::uint64_t seed = 1;
  for (int k = 1; k < argc; k += 2) {
    const std::string_view word = argv[k];
    const long value = k + 1 < argc ? std::strtol(argv[k + 1], nullptr, 10) : -1;
    if (word == "--points" && value >= 16 && value <= 32) {
      points = static_cast<int>(value);
    } else if (word == "--sample" && value >= 16 && value <= 32) {
      sample = static_cast<int>(value);
    } else if (word == "--seed" && value >= 0) {
      seed = static_cast<std::uint64_t>(value);
    } else {
      std::fprintf(stderr, "orb_tolerance_bench: takes --points and --sample with 16 to 32, and --seed\n");
      return 2;
    }
  }
  std::printf("points 2^%d, sample 2^%d, %u leaves\n", points, sample, kLeaves);
  std::printf("tolerance  mean      most    inputs above 0.05\n");
  for (const double tolerance : {0.03, 0.04, 0.05, 1 / 16., 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16,
                                 0.17, 0.18, 0.2, 0.22, 0.25}) {
    Sum sum;
    add_inputs<2>(tolerance, std::ldexp(1, points), std::ldexp(1, sample), seed, sum);
    add_inputs<3>(tolerance, std::ldexp(1, points), std::ldexp(1, sample), seed, sum);
    std::printf("%.4f     %.5f   %.3f   %d of %d\n", tolerance, sum.all / sum.inputs, sum.most, sum.many, sum.inputs);
  }
  return 0;
}
