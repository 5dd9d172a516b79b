#pragma once
// Orthogonal recursive bisection of points that lie on a GPU. Only in builds with the CUDA back end. The rules are
// those of rules.hpp: tree, labels and permutation equal the CPU's.
//
//   multiway    a first round of up to 12 levels: sample, one pass that sorts points out by the cells or the bracket
//               they meet, exact resolution of those in brackets, stable moves by 64. What it leaves (deeper levels,
//               cells whose brackets miss their cuts) is cut level by level, and small cells by one thread block each.
//               Nothing is cut on the host.
//   seed-cells, seed-level, seed-warp
//               the document's bisection with its counting kernels (000, 6.4-6.6): one launch a cell; one launch for
//               all cells of a level; the same with warp primitives. What they leave of a search and the partition are
//               multiway's. No weights.
//
// Weights are doubles on the device, as the CPU takes them, and become integers there by the same rounding
// (weights.hpp): fixed-point weights from outside would need the largest weight and the rounding to be right.
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "partitioners/orb/orb.hpp"

namespace amrbench::partitioners {

/// Ways to do the same, to be timed side by side, and to reach further rounds; results do not depend on them.
struct OrbGpuTuning {
  bool first_round =
      true;  ///< the first round cuts up to 12 levels, where there are points enough; else all are further ones
  bool again = true;    ///< it cuts once more what it guessed wrong, else further rounds do
  double sigmas = 3.9;  ///< half-width of a bracket in standard deviations
  double samples = 1;   ///< size of the first round's sample, relative to the usual one
};

struct OrbGpuOptions {
  std::uint32_t leaves = 1;
  std::string_view method = "multiway";
  double side_tolerance = kOrbSideTolerance;
  bool points = true;        ///< reorder the points
  bool permutation = false;  ///< the numbers of the reordered points
  bool labels = false;       ///< leaf of each point
  bool weighted = false;     ///< run() gets weights; multiway only
  OrbGpuTuning tuning = {};
};

struct OrbGpuTimes {
  double total_s = 0;    ///< by CUDA events, first launch to last
  double weights_s = 0;  ///< checking and converting weights
  double sample_s = 0, classify_s = 0, resolve_s = 0, move_s = 0, labels_s = 0;
  double small_s = 0;  ///< cells finished by a thread block each
  int rounds = 0;
  bool first_round = false;   ///< the first round cut up to 12 levels
  bool sites = false;         ///< by how many points each of few places has
  bool quantiles = false;     ///< by quantiles instead of coordinates, because of very many equal or very close ones
  int again = 0;              ///< times the first round cut once more what it had guessed wrong
  std::uint64_t stopped = 0;  ///< entries of points in brackets
  int passes = 0;             ///< counting passes of the document's methods, or over cells cut one level at a time
};

/// Buffers for inputs of one size, kept between runs. Device pointers it returns stay valid until the next run.
template <class T, int Dim>
class OrbGpu {
 public:
  /// n < 2^32 points. InputError for options as in orb(); RunError when the GPU lacks memory (how much is needed and
  /// free).
  OrbGpu(std::uint64_t n, const OrbGpuOptions& options);
  OrbGpu(const OrbGpu&) = delete;
  OrbGpu& operator=(const OrbGpu&) = delete;
  ~OrbGpu();

  /// points: n * Dim finite coordinates on the device, x, y, z of a point together; not changed. They
  /// are complete: the run's stream waits for no other, so who copied or made them has waited. box: root's box, which
  /// holds all points. weights: n on the device, as complete, where options.weighted says so, else null; InputError
  /// with the index of the first that is negative, NaN or infinite. weight_exponent: that of more weights, of which
  /// these are some, in place of their own (fixed_point_shift()); then they have been checked. Waits until done.
  /// RunError when the method cannot find a cut among its points.
  const OrbTree<T, Dim>& run(const T* points, const OrbBox<T, Dim>& box, const double* weights = nullptr,
                             std::optional<int> weight_exponent = {});

  [[nodiscard]] const OrbGpuTimes& times() const;
  [[nodiscard]] const T* points() const;
  [[nodiscard]] const std::uint32_t* permutation() const;
  [[nodiscard]] const std::uint32_t* labels() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace amrbench::partitioners
