#include <cmath>

#include "partitioners/orb/gpu/wide/groups.cuh"
#include "partitioners/orb/gpu/wide/sample.cuh"
#include "partitioners/orb/gpu/wide/sample.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::cuda_check;
using support::cuda_check_launch;

/// Points from which on the blocks' own histograms of the upper levels are worth adding up.
constexpr std::uint32_t kManySamples = 1U << 15U;
/// Points and levels from which on it is worth sorting the sample, and points up to which their numbers fit 32 bits.
constexpr std::uint32_t kSortedSamples = 1U << 22U;
constexpr std::uint32_t kMostSorted = 1U << 31U;
constexpr int kSortedLevels = kGroupLevel + 3;

std::uint32_t samples_of(std::uint64_t n, int levels, double share) {
  // Time of the sample, which rises with its size, against that of the points in brackets, which falls with its root.
  const double best = 31.2 * std::pow(static_cast<double>(n), 2.0 / 3.0);
  // Cuts so exact that sides of cells which are equally long in truth are so in the sample: with 8192 points in a cell
  // three levels above the last, sides are wrong by 1.5 %, a seventh of the usual tolerance over the root of 2.
  const auto level = static_cast<unsigned>(levels - 1);
  const auto exact = static_cast<double>(std::uint64_t{1024} << level);
  const auto least = static_cast<double>(std::uint64_t{4 * kWideSegment} << level);
  const double wanted = std::max(share * std::max(best, exact), least);
  return static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(n)));
}

}  // namespace

bool wide_suits(std::uint64_t n, const OrbGpuOptions& options) {
  if (!options.tuning.wide || options.method != "multiway" || options.leaves < 2) return false;
  return n >= std::uint64_t{4 * kWideSegment} << static_cast<unsigned>(wide_levels(options.leaves) - 1);
}

template <class T, int Dim>
WideSample<T, Dim>::WideSample(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream)
    : n_(n),
      side_tolerance_(options.side_tolerance),
      stream_(stream),
      levels_(wide_levels(options.leaves)),
      size_(samples_of(n, levels_, options.tuning.samples)),
      grouped_(levels_ >= kSortedLevels && size_ >= kSortedSamples && size_ <= kMostSorted) {
  const std::size_t padded = ((std::size_t{size_} + 3) / 4 + (grouped_ ? kGroups : 0)) * 4;
  fours_ = static_cast<std::uint32_t>(padded / 4);
  for (int k = 0; k < (grouped_ ? 2 : 1); ++k) {
    points_[k].resize_discard(padded * Dim);
    nodes_[k].resize_discard(padded);
  }
  groups_.resize_discard(1);
  bins_.resize_discard(kGuessBins);
  table_.resize_discard(kWideInner);
  gaps_.resize_discard(kWideInner);
  splits_.resize_discard(kWideNodes);
  guesses_.resize_discard(kWideNodes);
  ranges_.resize_discard(kWideInner / 2);
  host_met_.resize_discard(kWideLevels);
  allow_shared(wide_count_upper_kernel<Dim>, kUpperBins * sizeof(std::uint32_t));
  allow_shared(wide_count_groups_kernel<Dim>, kGroupShared);
}

template <class T, int Dim>
void WideSample<T, Dim>::start(const OrbBox<T, Dim>& box, std::uint32_t leaves, const QuantileTable<T, Dim>& quantiles,
                               const UnitWeights& weights) {
  quantiles_ = quantiles;
  weights_ = weights;
  clear(met_, kWideLevels, stream_);
  clear(guesses_, kWideNodes, stream_);
  clear(splits_, kWideNodes, stream_);
  clear(bins_, kGuessBins, stream_);
  wide_start_kernel<T, Dim><<<blocks_of(kWideInner, 256), 256, 0, stream_.get()>>>(
      box, leaves, side_tolerance_, quantiles_.sorted != nullptr, guesses_.data(), splits_.data(), table_.data(),
      ranges_.data());
  cuda_check_launch("wide_start_kernel");
}

template <class T, int Dim>
StratifiedSample WideSample<T, Dim>::stratified(const OrbBox<T, Dim>& box, const std::uint64_t* weights,
                                                std::uint64_t weight) {
  at_ = 0;
  cuda_check(cudaMemsetAsync(nodes(), 0, nodes_[0].size() * sizeof(std::uint16_t), stream_.get()), "cudaMemsetAsync");
  return {points(), nodes(), size_, cut_axis(box, side_tolerance_), weight > 0 ? weights : nullptr, weight};
}

template <class T, int Dim>
void WideSample<T, Dim>::take(const T* points, const std::uint16_t* codes, const std::uint16_t* start) {
  at_ = 0;
  cuda_check(cudaMemsetAsync(nodes() + size_, 0, (nodes_[0].size() - size_) * sizeof(std::uint16_t), stream_.get()),
             "cudaMemsetAsync");
  wide_sample_kernel<T, Dim><<<blocks_of(size_, 256), 256, 0, stream_.get()>>>(points, weights_, n_, size_, codes,
                                                                               start, this->points(), nodes());
  cuda_check_launch("wide_sample_kernel");
}

template <class T, int Dim>
void WideSample<T, Dim>::restart(const T* points, const std::uint16_t* codes, const std::uint16_t* start,
                                 int first_level) {
  take(points, codes, start);
  if (grouped_ && first_level >= kGroupLevel) sort();
}

/// Sorts the sample into groups. Points of node 0 take no part any more.
template <class T, int Dim>
void WideSample<T, Dim>::sort() {
  const cudaStream_t stream = stream_.get();
  const int to = 1 - at_;
  clear(groups_, 1, stream_);
  const unsigned tiles = blocks_of(fours_, kSortThreads);
  wide_group_counts_kernel<Dim><<<std::min(tiles, 4 * multiprocessors()), kSortThreads, 0, stream>>>(
      points(), nodes(), fours_, splits_.data(), groups_.data());
  cuda_check_launch("wide_group_counts_kernel");
  wide_group_begins_kernel<<<multiprocessors(), 256, 0, stream>>>(groups_.data(), 4 * fours_, nodes_[to].data());
  cuda_check_launch("wide_group_begins_kernel");
  wide_group_sort_kernel<Dim><<<std::min(tiles, 3 * multiprocessors()), kSortThreads, 0, stream>>>(
      points(), nodes(), fours_, splits_.data(), groups_.data(), points_[to].data(), nodes_[to].data());
  cuda_check_launch("wide_group_sort_kernel");
  at_ = to;
}

template <class T, int Dim>
void WideSample<T, Dim>::count(int level) {
  const cudaStream_t stream = stream_.get();
  const unsigned blocks = std::min(blocks_of(fours_, kUpperThreads), multiprocessors());
  if (grouped_ && level >= kGroupLevel)
    wide_count_groups_kernel<Dim><<<blocks, kUpperThreads, kGroupShared, stream>>>(
        points(), groups_.data(), level, splits_.data(), nodes(), bins_.data());
  else if (level < kUpperLevels && size_ >= kManySamples)
    wide_count_upper_kernel<Dim><<<blocks, kUpperThreads, kUpperBins * sizeof(std::uint32_t), stream>>>(
        points(), fours_, level, splits_.data(), nodes(), bins_.data());
  else
    wide_count_kernel<Dim>
        <<<blocks_of(fours_, 256), 256, 0, stream>>>(points(), fours_, level, splits_.data(), nodes(), bins_.data());
  cuda_check_launch("wide_count_kernel");
}

/// Ranges of a level's nodes, by the sample.
template <class T, int Dim>
void WideSample<T, Dim>::narrow(int level) {
  const unsigned blocks = std::min(blocks_of(fours_, kUpperThreads), multiprocessors());
  wide_range_kernel<Dim>
      <<<blocks, kUpperThreads, 0, stream_.get()>>>(points(), fours_, level, splits_.data(), nodes(), ranges_.data());
  cuda_check_launch("wide_range_kernel");
  wide_narrow_kernel<T, Dim><<<blocks_of(1U << static_cast<unsigned>(level), 128), 128, 0, stream_.get()>>>(
      level, ranges_.data(), guesses_.data(), splits_.data());
  cuda_check_launch("wide_narrow_kernel");
}

template <class T, int Dim>
void WideSample<T, Dim>::guess(int first_level, float sigmas) {
  const bool by_quantiles = quantiles_.sorted != nullptr, fresh = first_level == 0 && !by_quantiles;
  for (int level = first_level; level < levels_; ++level) {
    if (fresh && level == 2) {  // with a level under way meanwhile
      root_met_came_.synchronize();
      if (host_met_[0] > share_met(0, sigmas) * size_) return;
    }
    // Cells from the groups' level on that are cut once more keep their points in their groups; others do not.
    if (grouped_ && level == kGroupLevel && first_level < kGroupLevel) sort();
    // Cells that are cut once more need their ranges; else bins suffice for ranges that are too wide by a few cuts.
    const bool narrows = first_level > 0 || (level >= kGroupLevel && (level % 2 == 0 || level + 1 == levels_));
    if (by_quantiles && narrows) narrow(level);
    count(level);
    // Else serves() says so.
    const auto most = by_quantiles ? static_cast<float>(share_met(level, sigmas)) : 1.0F;
    wide_guess_kernel<T, Dim><<<1U << static_cast<unsigned>(level), kGuessThreads, 0, stream_.get()>>>(
        level, sigmas, most, side_tolerance_, quantiles_, bins_.data(), guesses_.data(), splits_.data(), table_.data(),
        by_quantiles ? gaps_.data() : nullptr, met_.data());
    cuda_check_launch("wide_guess_kernel");
    if (fresh && level == 0) {
      support::copy_to_host(host_met_.data(), met_.data(), 1, stream_);
      root_met_came_.record(stream_);
    }
  }
}

template <class T, int Dim>
bool WideSample<T, Dim>::serves(float sigmas) {
  support::copy_to_host(host_met_.data(), met_.data(), kWideLevels, stream_);
  stream_.synchronize();
  for (int level = 0; level < levels_; ++level)
    if (host_met_[static_cast<std::size_t>(level)] > share_met(level, sigmas) * size_) return false;
  return true;
}

template <class T, int Dim>
double WideSample<T, Dim>::share_met(int level, double sigmas) const {
  const double size = size_ / std::exp2(level);
  const double share = sigmas / std::sqrt(size) + 8.0 / size;  // at the middle
  return 1.5 * share + 0.02;                                   // whole bins of uneven points
}

template class WideSample<float, 2>;
template class WideSample<float, 3>;
template class WideSample<double, 2>;
template class WideSample<double, 3>;

}  // namespace amrbench::partitioners::gpu
