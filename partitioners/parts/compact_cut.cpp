#include "partitioners/parts/compact_cut.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace amrbench::partitioners {

namespace {

constexpr double kLeastGain = 0.2;

int longest_of(std::span<const double> sides) {
  return static_cast<int>(std::max_element(sides.begin(), sides.end()) - sides.begin());
}

/// Sums over parts, and cuts, of boxes by parts and shape. A shape is the logarithms of the first sides' ratios to the
/// last one, in steps.
template <std::size_t Dim>
class CompactCuts {
 public:
  static constexpr int kFewParts = Dim == 2 ? 24 : 6;

  CompactCuts() {
    for (int parts = 1; parts <= kFewParts; ++parts) {
      entries_.emplace_back(kShapes);
      for (std::size_t s = 0; s < kShapes; ++s) entries_.back()[s] = plan(logs_of(s), parts);
    }
  }

  [[nodiscard]] PartsCut cut(const std::array<double, Dim>& sides, int parts) const {
    Logs logs{};
    for (std::size_t d = 0; d + 1 < Dim; ++d) logs[d] = std::log2(sides[d] / sides[Dim - 1]);
    return entry(logs, parts).cut;
  }

 private:
  static constexpr double kSteps = Dim == 2 ? 32 : 8;  ///< to a factor of two
  static constexpr int kReach = Dim == 2 ? 128 : 32;   ///< steps either way
  static constexpr std::size_t kWidth = 2 * kReach + 1;
  static constexpr std::size_t kShapes = Dim == 2 ? kWidth : kWidth * kWidth;
  using Logs = std::array<double, Dim>;  ///< of sides; the last one's is 0
  struct Entry {
    double sum = 0;
    PartsCut cut;
  };

  static Logs logs_of(std::size_t shape) {
    Logs logs{};
    for (std::size_t d = 0; d + 1 < Dim; ++d, shape /= kWidth)
      logs[d] = (static_cast<double>(shape % kWidth) - kReach) / kSteps;
    return logs;
  }

  [[nodiscard]] const Entry& entry(const Logs& logs, int parts) const {
    std::size_t shape = 0;
    for (std::size_t d = Dim - 1; d-- > 0;) {
      const double step = std::clamp<double>(std::round((logs[d] - logs[Dim - 1]) * kSteps), -kReach, kReach);
      shape = shape * kWidth + static_cast<std::size_t>(step + kReach);
    }
    return entries_[static_cast<std::size_t>(parts) - 1][shape];
  }

  /// Of one part: its surface over a cube's, to the power 16 in 2-D and 15 in 3-D.
  static double of_part(const Logs& logs) {
    std::array<double, Dim> s{};
    for (std::size_t d = 0; d < Dim; ++d) s[d] = std::exp2(logs[d]);
    if constexpr (Dim == 2) return std::pow((s[0] + s[1]) * (s[0] + s[1]) / (4 * s[0] * s[1]), 8);
    const double mean = (s[0] * s[1] + s[1] * s[Dim - 1] + s[Dim - 1] * s[0]) / 3;
    const double volume = s[0] * s[1] * s[Dim - 1];
    return std::pow(mean * mean * mean / (volume * volume), 5);
  }

  [[nodiscard]] double sum_of(const Logs& logs, int parts, PartsCut cut) const {
    const auto axis = static_cast<std::size_t>(cut.axis);
    Logs below = logs, above = logs;
    below[axis] += std::log2(static_cast<double>(cut.lower) / parts);
    above[axis] += std::log2(static_cast<double>(parts - cut.lower) / parts);
    return entry(below, cut.lower).sum + entry(above, parts - cut.lower).sum;
  }

  [[nodiscard]] Entry plan(const Logs& logs, int parts) const {
    if (parts == 1) return {of_part(logs), {}};
    const PartsCut halves{longest_of(logs), parts / 2};
    const Entry halved{sum_of(logs, parts, halves), halves};
    if (std::has_single_bit(static_cast<unsigned>(parts))) return halved;
    Entry best = halved;
    for (int lower = parts / 2; lower >= 1; --lower) {
      for (int axis = 0; axis < static_cast<int>(Dim); ++axis) {
        const double sum = sum_of(logs, parts, {axis, lower});
        if (sum < best.sum * (1 - 1e-9)) best = {sum, {axis, lower}};  // what differs by rounding is equal
      }
    }
    return best.sum < halved.sum * (1 - kLeastGain) ? best : halved;
  }

  std::vector<std::vector<Entry>> entries_;  ///< by parts - 1, then shape
};

template <std::size_t Dim>
PartsCut cut_of(std::span<const double> sides, int parts) {
  const PartsCut halves{longest_of(sides), parts / 2};
  const double most = sides[static_cast<std::size_t>(halves.axis)];
  if (parts > CompactCuts<Dim>::kFewParts || std::has_single_bit(static_cast<unsigned>(parts))) return halves;
  const bool solid = std::all_of(sides.begin(), sides.end(), [&](double s) { return s > most * 1e-100; });
  if (!solid || !std::isfinite(most)) return halves;
  static const CompactCuts<Dim> table;
  std::array<double, Dim> box{};
  std::copy(sides.begin(), sides.end(), box.begin());
  return table.cut(box, parts);
}

}  // namespace

PartsCut compact_cut(std::span<const double> sides, int parts) {
  if (sides.size() == 2) return cut_of<2>(sides, parts);
  if (sides.size() == 3) return cut_of<3>(sides, parts);
  return {longest_of(sides), parts / 2};
}

}  // namespace amrbench::partitioners
