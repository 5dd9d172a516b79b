#pragma once
// The sample of the first round, with weights or without, and what it says of nodes. Internal to OrbGpu.
//
// In:  points at random out of the input, each standing for as many (or as much weight) as the others.
// Out: for each node of up to 12 levels a guessed box and axis, a guessed cut, and the bracket around it.
// The idea. Level by level from the root: a pass over the sample counts the points of each node in a histogram over the
// side of its box. The bins up to the wanted share of its points give the cut; the bins a few standard deviations to
// either side are the bracket. The same pass sends each point a level down by the cut found before. Words as in
// gpu/first_round/brackets.cuh.
#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/first_round/quantiles.hpp"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpu/weight_units.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Lists of points in brackets have room for brackets this wide at least, in standard deviations of the sample's rank.
constexpr double kListSigmas = 4.75;

/// Levels that the first round cuts.
inline int first_round_levels(std::uint32_t leaves) {
  return std::min(orb_depth(leaves), kFirstLevels);
}
/// Are there points enough for a sample that serves all of them?
bool first_round_suits(std::uint64_t n, const OrbGpuOptions& options);

template <class T, int Dim>
class CutSample {
 public:
  CutSample(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream);

  /// Forgets all nodes; the root, whose box and leaves are known, can be counted. take() comes next. quantiles: where
  /// points are fractions. weights: their sum is not 0; or none.
  void start(const OrbBox<T, Dim>& box, std::uint32_t leaves, const QuantileTable<T, Dim>& quantiles,
             const UnitWeights& weights);
  /// A point out of each of equal stretches, or out of each of equal parts of the weight.
  void take(const T* points, const std::uint16_t* codes = nullptr, const std::uint16_t* start = nullptr);
  /// Room for a sample that fractions are taken for as they are made, in place of take().
  [[nodiscard]] StratifiedSample stratified(const OrbBox<T, Dim>& box, const std::uint64_t* weights,
                                            std::uint64_t weight);
  /// The same of the cells that are cut once more, which all are at `first_level` or below, by the points' codes. A
  /// guess would not do to tell which points they have: where axes go together, as with points on a line or in one
  /// place, the errors of all cuts above are errors of the next one. start: for each node the cell above it that is cut
  /// once more, or 0.
  void restart(const T* points, const std::uint16_t* codes, const std::uint16_t* start);
  /// Brackets of the nodes from a level on; half-width in standard deviations. It ends early where the root's bracket
  /// says that serves() will be false.
  void guess(int first_level, float sigmas);
  /// After guess(0): do no more of the points meet brackets at any level than share_met() says? Waits.
  [[nodiscard]] bool serves(float sigmas);
  /// The share of all points that meet brackets of a level, amply, where the points are spread about evenly.
  [[nodiscard]] double share_met(int level, double sigmas) const;

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] float* points() { return points_.data(); }               ///< Dim values each
  [[nodiscard]] std::uint16_t* nodes() { return nodes_.data(); }         ///< of each point; 1 at first
  [[nodiscard]] float2* table() { return table_.data(); }                ///< as in BracketEntries
  [[nodiscard]] BracketGap* gaps() { return gaps_.data(); }              ///< as in BracketEntries
  [[nodiscard]] SampleSplit* splits() { return splits_.data(); }         ///< [node]
  [[nodiscard]] CutGuess<T, Dim>* guesses() { return guesses_.data(); }  ///< [node]

 private:
  void narrow(int level);
  void count(int level);

  std::uint64_t n_;
  double side_tolerance_;
  const support::CudaStream& stream_;
  int levels_;
  std::uint32_t size_;
  QuantileTable<T, Dim> quantiles_;
  UnitWeights weights_{};
  std::uint32_t fours_;  ///< groups of four points
  support::DeviceBuffer<float> points_;
  support::DeviceBuffer<std::uint16_t> nodes_;
  support::DeviceBuffer<std::uint32_t> bins_;  ///< zero between levels
  support::DeviceBuffer<std::uint32_t> met_;   ///< as in guess_kernel
  support::PinnedBuffer<std::uint32_t> host_met_;
  support::CudaEvent root_met_came_;
  support::DeviceBuffer<float2> table_;
  support::DeviceBuffer<BracketGap> gaps_;
  support::DeviceBuffer<SampleSplit> splits_;
  support::DeviceBuffer<CutGuess<T, Dim>> guesses_;
  support::DeviceBuffer<uint2> ranges_;  ///< of a level's nodes while fractions are counted, else empty
};

}  // namespace amrbench::partitioners::gpu
