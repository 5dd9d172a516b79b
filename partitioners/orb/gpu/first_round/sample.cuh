#pragma once
// The sample of the first round, with weights or without, and what it says of nodes. Internal to OrbGpu.
//
// In:  points at random out of the input, each standing for as many (or as much weight) as the others; heavy points,
//      each with the number of those that it stands for (heavy.cuh).
// Out: for each node of up to 12 levels a guessed box and axis, a guessed cut, and the bracket around it.
// The idea. Level by level from the root: a pass over the sample counts the points of each node in a histogram over the
// side of its box. The bins up to the wanted share of its points give the cut; the bins a few standard deviations to
// either side are the bracket. The same pass sends each point a level down by the cut found before. Words as in
// gpu/first_round/brackets.cuh.
#include <cmath>

#include "partitioners/orb/gpu/first_round/guess.cuh"
#include "partitioners/orb/gpu/first_round/heavy.cuh"
#include "partitioners/orb/gpu/first_round/quantiles.cuh"
#include "partitioners/orb/gpu/first_round/sample_kernels.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/steps.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Lists of points in brackets have room for brackets this wide at least, in standard deviations of the sample's rank.
constexpr double kListSigmas = 4.75;

/// Levels that the first round cuts.
inline int first_round_levels(std::uint32_t leaves) {
  return std::min(orb_depth(leaves), kFirstLevels);
}
/// So few levels, of at most so many points at the first one and half as many for each more, take less time one by one.
constexpr int kFewLevels = 2;
constexpr std::uint64_t kFewPoints = 1U << 20U;

/// Are there points enough for a sample that serves all of them, and is one worth its time?
inline bool first_round_suits(std::uint64_t n, const OrbGpuOptions& options) {
  if (!options.tuning.first_round || options.method != "multiway" || options.leaves < 2) return false;
  const int levels = first_round_levels(options.leaves);
  const auto below = static_cast<unsigned>(levels - 1);
  if (levels <= kFewLevels && n << below <= kFewPoints) return false;
  return n >= std::uint64_t{4 * kLeastSample} << below;
}

/// Points from which on the blocks' own histograms of the upper levels are worth adding up.
constexpr std::uint32_t kManySamples = 1U << 15U;

inline std::uint32_t samples_of(std::uint64_t n, int levels, double share) {
  // Time of the sample, which rises with its size, against that of the points in brackets, which falls with its root.
  const double best = 31.2 * std::pow(static_cast<double>(n), 2.0 / 3.0);
  // Cuts so exact that sides of cells which are equally long in truth are so in the sample: with 8192 points in a cell
  // three levels above the last, sides are wrong by 1.5 %, a seventh of the usual tolerance over the root of 2.
  const auto level = static_cast<unsigned>(levels - 1);
  const auto exact = static_cast<double>(std::uint64_t{1024} << level);
  const auto least = static_cast<double>(std::uint64_t{4 * kLeastSample} << level);
  const double wanted = std::max(share * std::max(best, exact), least);
  return static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(n)));
}

/// Which of n points stands for the i-th of m equal parts of the sums, which are not 0: one at random, each with a
/// probability in proportion to its weight; a point may stand for more than one part. So all points of the sample stand
/// for the same weight, and a cut by weight of the input is a cut by number of the sample.
__device__ inline std::uint64_t sample_position_by_weight(std::uint32_t i, std::uint64_t n, std::uint32_t m,
                                                          const UnitWeights& weights) {
  const auto groups = static_cast<std::uint32_t>((n + kWeightGroup - 1) / kWeightGroup);
  const std::uint64_t total = weights.ends[groups - 1];
  const double share = (i + static_cast<double>(support::splitmix64(i) >> 40U) * 0x1p-24) / m;
  std::uint64_t rest = min(static_cast<std::uint64_t>(share * static_cast<double>(total)), total - 1);
  std::uint32_t low = 0;  // the first group that ends behind it
  std::uint32_t high = groups - 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (weights.ends[middle] <= rest)
      low = middle + 1;
    else
      high = middle;
  }
  if (low > 0) rest -= weights.ends[low - 1];
  std::uint64_t at = std::uint64_t{low} * kWeightGroup;
  for (const std::uint64_t last = min(at + kWeightGroup, n) - 1; at < last && weights.summed(at) <= rest; ++at)
    rest -= weights.summed(at);
  return at;
}

/// The sample: m of n points; weights.units null: each stands for as many as the others. Else their positions, which
/// take several searches in memory, come from `positions` where they are known, and go there where they are not. Nodes
/// are 1; or, where points have codes already, what `start` says of the code, and points of node 0 are left out.
template <class T, int Dim>
__global__ void take_sample_kernel(const T* __restrict__ points, const UnitWeights weights, std::uint64_t n,
                                   std::uint32_t m, std::uint32_t* positions, bool known,
                                   const std::uint16_t* __restrict__ codes, const std::uint16_t* __restrict__ start,
                                   float* __restrict__ sample, std::uint16_t* __restrict__ node) {
  const std::uint32_t i = min(blockIdx.x * blockDim.x + threadIdx.x, m - 1);  // the last one may be taken repeatedly
  std::uint64_t at = 0;
  if (weights.units == nullptr) {
    at = sample_position(i, n, m);
  } else if (known) {
    at = positions[i];
  } else {
    at = sample_position_by_weight(i, n, m, weights);
    positions[i] = static_cast<std::uint32_t>(at);
  }
  const std::uint16_t v = codes != nullptr ? start[codes[at]] : std::uint16_t{1};
  node[i] = v;
  if (v == 0) return;
  for (int a = 0; a < Dim; ++a) sample[std::uint64_t{i} * Dim + a] = static_cast<float>(points[at * Dim + a]);
}

template <class T, int Dim>
class CutSample {
 public:
  CutSample(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream)
      : n_(n),
        side_tolerance_(options.side_tolerance),
        stream_(stream),
        levels_(first_round_levels(options.leaves)),
        size_(samples_of(n, levels_, options.tuning.samples)),
        fours_(blocks_of(size_, 4)),
        heavy_(stream) {
    size_buffers();
    bins_.resize_discard(kGuessBins);
    table_.resize_discard(kFirstInner);
    gaps_.resize_discard(kFirstInner);
    splits_.resize_discard(kFirstNodes);
    guesses_.resize_discard(kFirstNodes);
    ranges_.resize_discard(kFirstInner / 2);
    host_met_.resize_discard(kFirstLevels);
    spikes_.resize_discard(kFirstLevels * kMostSpikes);
    host_parts_.resize_discard(kMostSpikes * kSpikeParts);
    allow_shared(count_sample_kernel<Dim, true>, kUpperBins * sizeof(std::uint32_t));
  }

  /// Samples are taken by these weights, of this total, from now on; by number where it is 0.
  void weigh(const UnitWeights& weights, std::uint64_t total) {
    heavy_.find(total > 0 ? weights : UnitWeights{}, total, n_, size_);
    size_buffers();
    positions_known_ = false;
    if (total > 0) positions_.resize_discard(size_);
    if (heavy_.fours() == 0) return;
    clear(copy_bins_, kGuessBins, stream_);
    clear(chains_, kGuessBins, stream_);
    next_.resize_discard(std::size_t{4} * heavy_.fours());
    to_.resize_discard(next_.size());
  }

  /// Forgets all nodes; the root, whose box and leaves are known, can be counted. take() comes next. quantiles: where
  /// points are fractions.
  void start(const OrbBox<T, Dim>& box, std::uint32_t leaves, const QuantileTable<T, Dim>& quantiles) {
    quantiles_ = quantiles;
    clear(met_, kFirstLevels, stream_);
    clear(guesses_, kFirstNodes, stream_);
    clear(splits_, kFirstNodes, stream_);
    clear(bins_, kGuessBins, stream_);
    start_sample_kernel<T, Dim><<<blocks_of(kFirstInner, 256), 256, 0, stream_.get()>>>(
        box, leaves, side_tolerance_, quantiles_.sorted != nullptr, guesses_.data(), splits_.data(), table_.data(),
        ranges_.data());
    cuda_check_launch("start_sample_kernel");
  }

  /// A point out of each of equal stretches, or out of each of equal parts of the weight.
  void take(const T* points, const std::uint16_t* codes = nullptr, const std::uint16_t* start = nullptr) {
    cuda_check(cudaMemsetAsync(nodes() + size_, 0, (nodes_.size() - size_) * sizeof(std::uint16_t), stream_.get()),
               "cudaMemsetAsync");
    take_sample_kernel<T, Dim><<<blocks_of(size_, 256), 256, 0, stream_.get()>>>(
        points, heavy_.light(), n_, size_, positions_.data(), positions_known_, codes, start, this->points(), nodes());
    cuda_check_launch("take_sample_kernel");
    positions_known_ = true;
    take_heavy(size_, points, codes, start);
  }
  /// The heavy points of it alone; of light ones there are `light`.
  void take_heavy(double light, const T* points, const std::uint16_t* codes = nullptr,
                  const std::uint16_t* start = nullptr) {
    const std::size_t first = 4 * std::size_t{fours_};
    heavy_.template take<T, Dim>(light, points, codes, start, this->points() + first * Dim, nodes() + first);
  }

  /// Room for a sample that fractions are taken for as they are made, in place of take(), but for heavy points.
  [[nodiscard]] StratifiedSample stratified(const OrbBox<T, Dim>& box) {
    cuda_check(cudaMemsetAsync(nodes(), 0, nodes_.size() * sizeof(std::uint16_t), stream_.get()), "cudaMemsetAsync");
    return {points(), nodes(), size_, cut_axis(box, side_tolerance_), heavy_.light(), heavy_.light_total(), taken()};
  }
  /// So many points that sample has; some room is left, for strata are rounded up and down.
  [[nodiscard]] double taken() const { return std::max(size_ - 64.0 * multiprocessors(), 0.75 * size_); }

  /// The same of the cells that are cut once more, which all are at `first_level` or below, by the points' codes. A
  /// guess would not do to tell which points they have: where axes go together, as with points on a line or in one
  /// place, the errors of all cuts above are errors of the next one.
  void restart(const T* points, const std::uint16_t* codes, const std::uint16_t* start) {
    clear(met_, kFirstLevels, stream_);
    take(points, codes, start);
  }

  /// Brackets of the nodes of levels from first_level up to the one before `end`; half-width in standard deviations.
  /// From the root on, by coordinates: is no place crowded, and do no more of the points meet brackets at any level
  /// than share_met() says? Where a level says no the guess ends; it waits for them. Else true.
  bool guess(int first_level, int end, float sigmas) {
    const bool by_quantiles = quantiles_.sorted != nullptr, fresh = first_level == 0 && !by_quantiles;
    for (int level = first_level; level < end; ++level) {
      // With a level under way meanwhile.
      if (fresh && level >= 2 && !level_serves(level - 2, sigmas)) return false;
      // Cells that are cut once more need their ranges; else bins suffice for ranges that are too wide by a few cuts.
      const bool narrows = first_level > 0 || (level >= kUpperLevels && (level % 2 == 0 || level + 1 == end));
      if (by_quantiles && narrows) narrow(level);
      count(level);
      const auto room = fresh ? ~0U : static_cast<std::uint32_t>(share_met(level, kListSigmas) * size_);
      const bool deep = level >= kDeepGuess;
      const auto guess = deep ? guess_kernel<T, Dim, true> : guess_kernel<T, Dim, false>;
      guess<<<1U << static_cast<unsigned>(level), deep ? kGuessThreads<true> : kGuessThreads<false>, 0,
              stream_.get()>>>(level, sigmas, room, fresh ? crowd() : ~0U,
                               static_cast<float>(size_) / static_cast<float>(n_), heavy_.light_total() == 0,
                               side_tolerance_, quantiles_, points(), bins_.data(), heavy_sample(), guesses_.data(),
                               splits_.data(), table_.data(), by_quantiles ? gaps_.data() : nullptr, met_.data(),
                               spikes_.data());
      cuda_check_launch("guess_kernel");
      if (!fresh) continue;
      copy_to_host(host_met_.data() + level, met_.data() + level, 1, stream_);
      met_came_[level % 2].record(stream_);
    }
    if (!fresh) return true;
    for (int level = std::max(end - 2, 0); level < end; ++level)
      if (!level_serves(level, sigmas)) return false;
    return true;
  }

  /// The share of all points that meet brackets of a level, amply, where the points are spread about evenly.
  [[nodiscard]] double share_met(int level, double sigmas) const {
    const double size = size_ / std::exp2(level);
    const double share = sigmas / std::sqrt(size) + 8.0 / size;  // at the middle
    return 1.5 * share + 0.02;                                   // whole bins of uneven points
  }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// As HeavyPoints::besides().
  [[nodiscard]] const HeavyBeside* besides(int level, const T* points, const std::uint16_t* codes) {
    return heavy_.besides(level, points, n_, codes, guesses());
  }
  [[nodiscard]] float* points() { return points_.data(); }               ///< Dim values each
  [[nodiscard]] std::uint16_t* nodes() { return nodes_.data(); }         ///< of each point; 1 at first
  [[nodiscard]] float2* table() { return table_.data(); }                ///< as in BracketEntries
  [[nodiscard]] BracketGap* gaps() { return gaps_.data(); }              ///< as in BracketEntries
  [[nodiscard]] SampleSplit* splits() { return splits_.data(); }         ///< [node]
  [[nodiscard]] CutGuess<T, Dim>* guesses() { return guesses_.data(); }  ///< [node]

 private:
  void size_buffers() {
    points_.resize_discard(4 * std::size_t{all_fours()} * Dim);
    nodes_.resize_discard(4 * std::size_t{all_fours()});
  }
  /// Waits for the level's guesses.
  [[nodiscard]] bool level_serves(int level, double sigmas) {
    met_came_[level % 2].synchronize();
    const LevelMet met = host_met_.data()[level];
    return met.points <= share_met(level, sigmas) * size_ && (met.spikes == 0 || !is_crowded(level, met.spikes));
  }
  /// Has a spike of the level its points in one place?
  [[nodiscard]] bool is_crowded(int level, std::uint32_t spikes) {
    const std::uint32_t count = std::min(spikes, kMostSpikes), parts = count * kSpikeParts;
    clear(parts_, parts, stream_);
    spike_kernel<Dim><<<std::min(blocks_of(size_, 256), 8 * multiprocessors()), 256, 0, stream_.get()>>>(
        points(), nodes(), size_, level, splits_.data(), spikes_.data() + static_cast<unsigned>(level) * kMostSpikes,
        count, parts_.data());
    cuda_check_launch("spike_kernel");
    copy_to_host(host_parts_.data(), parts_.data(), parts, stream_);
    stream_.synchronize();
    return *std::max_element(host_parts_.data(), host_parts_.data() + parts) > crowd();
  }
  /// Points of the sample, in one place at a node's cut, from which on their candidates (gpu/candidates.cuh) take more
  /// time than fractions do: a thread block goes over all of them several times, with weights over those of bins beside
  /// (kMostBeside), too. Measured on lattices (results/reference/h200/orb_levels.txt, section 6).
  [[nodiscard]] std::uint32_t crowd() const {
    const double n = static_cast<double>(n_), points = (6000 + n / 1200) / (heavy_.light_total() > 0 ? 2 : 1);
    return static_cast<std::uint32_t>(std::min(points / n, 1.0) * size_);
  }
  [[nodiscard]] std::uint32_t all_fours() const { return fours_ + heavy_.fours(); }
  [[nodiscard]] HeavySample heavy_sample() {
    return {fours_,
            4 * heavy_.fours(),
            nodes() + 4 * std::size_t{fours_},
            heavy_.copies(),
            heavy_.fours() > 0 ? copy_bins_.data() : nullptr,
            chains_.data(),
            next_.data(),
            to_.data()};
  }

  /// Ranges of a level's nodes, by the sample.
  void narrow(int level) {
    const unsigned blocks = std::min(blocks_of(all_fours(), kUpperThreads), multiprocessors());
    sample_range_kernel<Dim><<<blocks, kUpperThreads, 0, stream_.get()>>>(points(), all_fours(), level, splits_.data(),
                                                                          nodes(), ranges_.data());
    cuda_check_launch("sample_range_kernel");
    narrow_range_kernel<T, Dim><<<blocks_of(1U << static_cast<unsigned>(level), 128), 128, 0, stream_.get()>>>(
        level, ranges_.data(), guesses_.data(), splits_.data());
    cuda_check_launch("narrow_range_kernel");
  }

  void count(int level) {
    const cudaStream_t stream = stream_.get();
    const unsigned blocks = std::min(blocks_of(all_fours(), kUpperThreads), multiprocessors());
    if (level < kUpperLevels && size_ >= kManySamples)
      count_sample_kernel<Dim, true><<<blocks, kUpperThreads, kUpperBins * sizeof(std::uint32_t), stream>>>(
          points(), all_fours(), heavy_sample(), level, splits_.data(), nodes(), bins_.data());
    else
      count_sample_kernel<Dim, false><<<blocks_of(all_fours(), 256), 256, 0, stream>>>(
          points(), all_fours(), heavy_sample(), level, splits_.data(), nodes(), bins_.data());
    cuda_check_launch("count_sample_kernel");
  }

  std::uint64_t n_;
  double side_tolerance_;
  const support::CudaStream& stream_;
  int levels_;
  std::uint32_t size_;
  QuantileTable<T, Dim> quantiles_;
  std::uint32_t fours_;  ///< groups of four points; those of heavy points come behind
  HeavyPoints heavy_;
  support::DeviceBuffer<float> points_;
  support::DeviceBuffer<std::uint16_t> nodes_;
  support::DeviceBuffer<std::uint32_t> positions_;  ///< of the sample's points, where there are weights
  bool positions_known_ = false;
  support::DeviceBuffer<std::uint32_t> bins_;       ///< zero between levels
  support::DeviceBuffer<std::uint64_t> copy_bins_;  ///< of heavy points, as HeavySample; zero between levels
  support::DeviceBuffer<std::uint32_t> chains_;     ///< the same
  support::DeviceBuffer<std::uint32_t> next_, to_;  ///< as in HeavySample
  support::DeviceBuffer<LevelMet> met_;             ///< [level]
  support::PinnedBuffer<LevelMet> host_met_;
  support::DeviceBuffer<Spike> spikes_;         ///< as in guess_kernel
  support::DeviceBuffer<std::uint32_t> parts_;  ///< as in spike_kernel
  support::PinnedBuffer<std::uint32_t> host_parts_;
  support::CudaEvent met_came_[2];  ///< of the last two levels
  support::DeviceBuffer<float2> table_;
  support::DeviceBuffer<BracketGap> gaps_;
  support::DeviceBuffer<SampleSplit> splits_;
  support::DeviceBuffer<CutGuess<T, Dim>> guesses_;
  support::DeviceBuffer<uint2> ranges_;  ///< of a level's nodes while fractions are counted, else empty
};

}  // namespace amrbench::partitioners::gpu
