#pragma once
// The first round of the multiway method on a GPU: up to 12 levels below the root in one pass over the points. Internal
// to OrbGpu.
//
// In:  n points on the device, their weights where there are any, the root's box and leaves.
// Out: the cuts below the root; the cells that could not be cut; then, when asked for, labels or reordered points.
// How it is done, and in which files of this folder:
// 1. sample (sample.cuh): guess all 4095 cuts level by level from histograms of a sample. The brackets of all of them
//    fit into a multiprocessor's shared memory, which is why one pass suffices. Where the sample says that too many
//    points will meet them, because many coordinates are equal or very close, the round starts again with fractions
//    instead of coordinates (quantiles.cuh, spread.cuh). Where they lie in few places, all cuts follow from these
//    alone (sites.cuh): nothing of what comes next is needed but the end;
// 2. walk (walk.cuh): every point goes down to a leaf or to a bracket and gets a code of 16 bits; those in brackets
//    are listed with their coordinates. With weights by their coordinates at once, for sums of weights take the room
//    of the tables of places;
// 3. resolve (resolve.cuh, gpu/candidates.cuh): the exact cuts, level by level, from the lists, and what the
//    codes of the listed points become;
// 4. again (walk.cuh): cells whose axis or bracket was guessed wrong, and those of levels that the first time leaves
//    out, are guessed and walked once more, their points alone;
// 5. end (end.cuh): labels follow from the codes without a move. Where points are wanted, two stable moves by 6 bits of
//    the code each.
// Words are in gpu/kernels.cuh and brackets.cuh, bytes a point in docs/orb-gpu.md.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "partitioners/orb/gpu/first_round/end.cuh"
#include "partitioners/orb/gpu/first_round/resolve.cuh"
#include "partitioners/orb/gpu/first_round/sample.cuh"
#include "partitioners/orb/gpu/first_round/sites.cuh"
#include "partitioners/orb/gpu/first_round/spread.cuh"
#include "partitioners/orb/gpu/first_round/walk.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Words of list_state_: the lists' sizes, the numbers of candidates, whether entries were lost, and the number of
/// holes.
constexpr std::size_t kListState = std::size_t{kFirstLevels} * (kSizesApart + 2) + 1;
/// How often, at most, cells that were not cut are guessed and walked once more.
constexpr int kAgain = 6;
/// Where fractions are taken, axes often go together, so errors of cuts above a node are errors of its own cut. At the
/// last levels, where the sample has few points of a node, brackets then miss so often that all points are walked once
/// more anyway. So the first time cuts the levels above alone, but with a sample of at least so many points a cell.
constexpr int kFirstTimeLevels = kFirstLevels - 3;
constexpr std::uint32_t kManySamplesOfCell = 3000;
/// Each time but the first must leave at most this part of the points and of the levels below them; of so many points
/// with weights, from kFrom to kTo, a further round takes about as long for a third of them as one more time takes. Of
/// fewer its launches weigh more, of more the move of all points.
constexpr double kStuck = 0.9;
constexpr double kStuckBetween = 1.0 / 3;
constexpr std::uint64_t kFrom = 1U << 20U, kTo = 1U << 24U;
/// Where points move anyway, cells that together have less than this fraction (one in ...) of all points are left to a
/// further round; of kFrom to kTo points with weights, of all points and levels. Fewer than kFrom points move in no
/// time.
constexpr double kFewLeft = 50, kFewLeftOfFew = 10;

/// How coordinates of the box become places.
template <class T, int Dim>
PlaceScale<Dim> scale_of(const OrbBox<T, Dim>& box) {
  PlaceScale<Dim> scale{};
  for (std::size_t a = 0; a < Dim; ++a) {
    const auto low = static_cast<float>(box.lower[a]);
    const float inverse = 1.0F / (static_cast<float>(box.upper[a]) - low);
    if (!(inverse > 0.0F && inverse < 1e30F)) continue;  // all have the same place
    scale.axis[a].scale = inverse;
    scale.axis[a].offset = -low * inverse;
  }
  return scale;
}

template <class T, int Dim>
class FirstRound {
 public:
  /// Has the current device the shared memory? Those before compute capability 9.0 have not.
  [[nodiscard]] static bool fits() {
    constexpr std::size_t kLeast =
        std::max({sizeof(WalkMemory<false, true>), sizeof(WalkMemory<true, false>), kSpreadShared<T, Dim>});
    return kLeast <= support::current_device_shape().shared_bytes;
  }
  /// Only where first_round_suits() and fits().
  FirstRound(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream)
      : n_(n),
        options_(options),
        stream_(stream),
        levels_(first_round_levels(options.leaves)),
        first_(1U << static_cast<unsigned>(levels_)),
        sample_(n, options, stream),
        quantiles_(stream),
        sites_(levels_, stream),
        moves_(n, levels_, stream),
        host_root_(1),
        host_cuts_(first_) {
    codes_.resize_discard((n + 7) / 8 * 8);
    cuda_check(cudaMemsetAsync(codes_.data() + n, 0, (codes_.size() - n) * sizeof(std::uint16_t), stream_.get()),
               "cudaMemsetAsync");
    nodes_.resize_discard(kFirstNodes);
    found_cuts_.resize_discard(first_);
    middles_.resize_discard(first_);
    limits_.resize_discard(first_);
    start_.resize_discard(kFirstNodes);
    bins_.resize_discard(bracket_bins_begin(levels_));
    if (options.weighted) {
      bin_weights_.resize_discard(bins_.size());
      code_weights_.resize_discard(kFirstNodes);
    }
    size_lists();
    allow_kernels();
  }

  /// Cuts the tree's root and what is below it. False: nothing was cut (a missed bracket, or very many points in
  /// brackets), and the tree is as it was. points: aligned to 16 bytes. room: taken for fractions where they are
  /// needed. weights: where options.weighted says so.
  bool cut(const T* points, const UnitWeights& weights, support::DeviceBuffer<T>& room, OrbTree<T, Dim>& tree,
           Stopwatch& watch, OrbGpuTimes& times) {
    weights_ = weights;
    exact_ = nullptr;
    lists_.gaps = nullptr;
    sample_.weigh(weights, options_.weighted ? tree.cells[1].weight : 0);
    if (cut_by(points, tree, watch, times)) return true;
    room.resize_discard(n_ * Dim);
    quantiles_.sample(points, n_);
    if (n_ >= options_.leaves && cut_by_sites(points, room, tree, watch, times)) return true;
    quantiles_.spread(points, n_, room.data(), sample_.stratified(tree.cells[1].box));
    watch.mark(&times.sample_s);
    times.quantiles = true;
    exact_ = points;
    lists_.gaps = sample_.gaps();
    gathered_points_.resize_discard(candidates_.size());
    if (options_.weighted) gathered_weights_.resize_discard(candidates_.size());
    return cut_by(room.data(), tree, watch, times);
  }

  /// Cells that are no leaves and were not cut.
  [[nodiscard]] const std::vector<std::size_t>& left() const { return left_; }
  /// Leaves of points; of those in cells that are left: anything.
  void label(std::uint32_t* labels) { moves_.label(codes_.data(), labels); }
  /// Brings the points, and their numbers unless ids is null, into the order of the cells. Buffers of two; returns the
  /// one that has the result.
  int move(const T* points, support::DeviceBuffer<T>* moved, support::DeviceBuffer<std::uint32_t>* ids) {
    return moves_.move(codes_.data(), points, moved, ids);
  }

 private:
  /// Levels that the first time cuts.
  [[nodiscard]] int first_time_levels() const {
    const bool many = sample_.size() >> static_cast<unsigned>(levels_) >= kManySamplesOfCell;
    return exact_ == nullptr || levels_ < kFirstLevels || many || !options_.tuning.again ? levels_ : kFirstTimeLevels;
  }
  void size_lists() {
    list_state_.resize_discard(kListState);
    const double sigmas = std::max(kListSigmas, options_.tuning.sigmas);
    for (int level = 0; level < levels_; ++level) {
      const double expected = sample_.share_met(level, sigmas) * static_cast<double>(n_) + 65536;
      const double holes = 2.0 * kListChunk * (kWalkThreads<false> / 32) * multiprocessors();
      const double room = std::min(expected, static_cast<double>(n_)) + std::min(holes, static_cast<double>(n_) + 4096);
      lists_.capacity[level] = static_cast<std::uint32_t>(std::min(room, 4294967295.0)) / kListChunk * kListChunk;
      listed_[level].resize_discard(lists_.capacity[level]);
      listed_nodes_[level].resize_discard(lists_.capacity[level]);
      lists_.points[level] = listed_[level].data();
      lists_.nodes[level] = listed_nodes_[level].data();
      if (options_.weighted) listed_weights_[level].resize_discard(lists_.capacity[level]);
      lists_.weights[level] = listed_weights_[level].data();
    }
    candidates_.resize_discard(*std::max_element(lists_.capacity, lists_.capacity + levels_));
    lists_.sizes = list_state_.data();
    lists_.candidates = list_state_.data() + std::size_t{kFirstLevels} * kSizesApart;
    lists_.overflow = lists_.candidates + kFirstLevels;
    lists_.holes = list_state_.data() + kListState - 1;
    lists_.bins = bins_.data();
    lists_.bin_weights = bin_weights_.data();
    lists_.table = sample_.table();
  }

  void allow_kernels() {
    allow_shared(route_kernel<T, Dim, false, false>, route_shared(kFirstLevels - 2, kFirstLevels));
    allow_shared(route_kernel<T, Dim, false, true>, route_shared(kFirstLevels - 2, kFirstLevels));
  }

  /// False: the points lie in too many places.
  bool cut_by_sites(const T* points, support::DeviceBuffer<T>& room, OrbTree<T, Dim>& tree, Stopwatch& watch,
                    OrbGpuTimes& times) {
    set_root(tree);
    clear(list_state_, kListState, stream_);
    times.sites = sites_.cut(points, weights_.units, n_, options_.side_tolerance, quantiles_.sorted(), room,
                             codes_.data(), nodes_.data());
    if (!times.sites) return false;
    left_.clear();
    read_cuts(tree, {1}, times);
    make_slots(tree);
    watch.mark(&times.classify_s);
    return true;
  }

  /// points: these or their fractions.
  bool cut_by(const T* points, OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times) {
    OrbBox<T, Dim> range = tree.cells[1].box;
    if (exact_ != nullptr) {
      range.lower.fill(0);
      range.upper.fill(1);
    }
    left_.clear();
    std::vector<std::size_t> cells{1};
    int first_level = 0;
    double before = std::numeric_limits<double>::infinity();  // the first time may leave all points
    const auto sigmas = static_cast<float>(options_.tuning.sigmas);
    for (int k = 0;; ++k) {
      if (k == 0)
        sample(points, tree);
      else
        restart(points);
      const int end = k == 0 ? first_time_levels() : levels_;
      const bool serves = sample_.guess(first_level, end, sigmas);
      watch.mark(&times.sample_s);
      if (k == 0 && !serves) return false;
      classify(points, range, k > 0, end);
      watch.mark(&times.classify_s);
      for (int level = first_level; level < end; ++level)
        options_.weighted ? resolve_level<true>(level, end, points) : resolve_level<false>(level, end, points);
      read_cuts(tree, cells, times);
      watch.mark(&times.resolve_s);
      times.again = k;
      cells = cells_to_cut_again(tree);
      double left = 0, uncut = 0;  // points and levels; points
      for (const std::size_t v : cells) {
        left += static_cast<double>(tree.cells[v].count) * (levels_ + 1 - std::bit_width(v));
        uncut += static_cast<double>(tree.cells[v].count);
      }
      // A further round works on those cells' points alone, but needs all points moved, and their numbers too where
      // labels are wanted.
      const bool between = options_.weighted && n_ >= kFrom && n_ < kTo;
      const bool moves = n_ < kFrom || options_.permutation || (options_.points && (between || !options_.labels));
      const double least = static_cast<double>(n_) / (n_ < kFrom ? kFewLeftOfFew : kFewLeft);
      const bool few = moves && (between ? left / levels_ : uncut) < least;
      const bool stuck = left > (between ? kStuckBetween : kStuck) * std::exchange(before, left);
      if (cells.empty() || few || stuck || k == kAgain || !options_.tuning.again) break;
      first_level = kFirstLevels;
      for (const std::size_t v : cells) first_level = std::min(first_level, static_cast<int>(std::bit_width(v)) - 1);
    }
    if (tree.cells[1].axis < 0) return false;
    make_slots(tree);
    watch.mark(&times.resolve_s);
    return true;
  }

  void make_slots(const OrbTree<T, Dim>& tree) {
    const bool direct = std::none_of(left_.begin(), left_.end(), [&](std::size_t v) { return v < first_; });
    moves_.make_slots(tree, nodes_.data(), direct);
  }

  /// Cells too small for a sample, and those below the last level, take further rounds.
  [[nodiscard]] std::uint32_t least_points_again() const {
    const double least = 2.0 * kLeastSample * static_cast<double>(n_) / sample_.size();
    return static_cast<std::uint32_t>(std::min(std::ceil(least), 4294967295.0));
  }
  /// Of the cells that are left, those that are better walked once more than cut in a further round, as set_start() has
  /// them; in ascending order.
  std::vector<std::size_t> cells_to_cut_again(const OrbTree<T, Dim>& tree) const {
    std::vector<std::size_t> cells;
    for (const std::size_t v : left_)
      if (v < first_ && tree.cells[v].count >= least_points_again()) cells.push_back(v);
    std::sort(cells.begin(), cells.end());
    return cells;
  }

  void set_root(const OrbTree<T, Dim>& tree) {
    clear(nodes_, kFirstNodes, stream_);
    Node<T, Dim>& root = host_root_[0] = {};
    root.box = tree.cells[1].box;
    root.count = static_cast<std::uint32_t>(n_);
    root.weight = options_.weighted ? tree.cells[1].weight : 0;
    root.leaves = tree.leaves;
    root.known = 1;
    copy_to_device(nodes_.data() + 1, &root, 1, stream_);
  }

  /// Clears what a run counts in, sets the root, and takes the sample.
  void sample(const T* points, const OrbTree<T, Dim>& tree) {
    clear(code_counts_, kFirstNodes, stream_);
    if (options_.weighted) clear(code_weights_, kFirstNodes, stream_);
    set_root(tree);
    sample_.start(tree.cells[1].box, tree.leaves, exact_ != nullptr ? quantiles_.table() : QuantileTable<T, Dim>{});
    if (exact_ == nullptr)
      sample_.take(points);
    else
      sample_.take_heavy(sample_.taken(), points);  // the others came with the fractions
  }

  /// For the walk by coordinates: of each node the cell from which its points start.
  void set_start() {
    start_kernel<T, Dim><<<blocks_of(kFirstNodes, 256), 256, 0, stream_.get()>>>(nodes_.data(), first_,
                                                                                 least_points_again(), start_.data());
    cuda_check_launch("start_kernel");
  }

  /// Takes back what was guessed below cells that were not cut.
  void restart(const T* points) {
    set_start();
    restart_sample_kernel<T, Dim><<<blocks_of(kFirstNodes, 256), 256, 0, stream_.get()>>>(
        start_.data(), options_.side_tolerance, exact_ != nullptr, sample_.guesses(), nodes_.data(), sample_.splits(),
        sample_.table(), sums());
    cuda_check_launch("restart_sample_kernel");
    sample_.restart(points, codes_.data(), start_.data());
  }

  void classify(const T* points, const OrbBox<T, Dim>& box, bool again, int end) {
    const cudaStream_t stream = stream_.get();
    clear(list_state_, kListState, stream_);
    clear(cuts_, kFirstInner, stream_);  // what an earlier time could not cut must not be taken for a cut of this one
    clear(bins_, bracket_bins_begin(levels_), stream_);
    if (options_.weighted) clear(bin_weights_, bins_.size(), stream_);
    const WalkWork<T, Dim> work{points, n_, end, weights_.units, codes_.data(), sums(), lists_, start_.data(), !again};
    PlaceTables<Dim> places{scale_of(box), middles_.data(), limits_.data()};
    if (options_.weighted) {
      if (!again) set_start();
      return walk<true, false>(work, places);
    }
    if (again) return walk<false, false>(work, places);
    const unsigned inner = 1U << static_cast<unsigned>(end);
    place_tables_kernel<Dim><<<blocks_of(inner, 128), 128, 0, stream>>>(inner, sample_.splits(), sample_.table(),
                                                                        places.scale, middles_.data(), limits_.data());
    cuda_check_launch("place_tables_kernel");
    walk<false, true>(work, places);
  }

  template <bool Weighted, bool ByPlaces>
  void walk(const WalkWork<T, Dim>& work, const PlaceTables<Dim>& places) {
    constexpr int kThreads = kWalkThreads<ByPlaces>;
    constexpr std::size_t kShared = sizeof(WalkMemory<Weighted, ByPlaces>);
    allow_shared(walk_kernel<T, Dim, Weighted, ByPlaces>, kShared);
    const unsigned blocks = std::min(blocks_of(n_, kThreads), multiprocessors());
    walk_kernel<T, Dim, Weighted, ByPlaces><<<blocks, kThreads, kShared, stream_.get()>>>(work, places);
    cuda_check_launch("walk_kernel");
  }

  /// end: of the levels that are cut this time.
  template <bool Weighted>
  void resolve_level(int level, int end, const T* points) {
    const cudaStream_t stream = stream_.get();
    const unsigned level_nodes = 1U << static_cast<unsigned>(level);
    const bool last = level + 1 == end;
    const HeavyBeside* const besides = Weighted ? sample_.besides(level, points, codes_.data()) : nullptr;
    prepare_kernel<T, Dim><<<level_nodes, kCutThreads, 0, stream>>>(
        level, end, options_.side_tolerance, besides, sample_.guesses(), sums(), lists_, nodes_.data(), cuts_.data());
    cuda_check_launch("prepare_kernel");
    const auto route = last ? route_kernel<T, Dim, true, Weighted> : route_kernel<T, Dim, false, Weighted>;
    route<<<kRouteBlocks * multiprocessors(), kRouteThreads, route_shared(level, end), stream>>>(
        level, end, lists_, cuts_.data(), nodes_.data(), candidates_.data(), codes_.data(), sums());
    cuda_check_launch("route_kernel");
    if (exact_ != nullptr) {
      gather_candidates_kernel<T, Dim, Weighted>
          <<<8 * multiprocessors(), 256, 0, stream>>>(level, lists_, candidates_.data(), exact_, gathered());
      cuda_check_launch("gather_candidates_kernel");
    }
    const std::uint32_t few = level < kUpperCutLevels ? 0 : exact_ != nullptr ? kManyCandidates : ~0U;
    if (few > 0) select<Weighted, kCutThreads>(level, end, 0, few);
    if (few < ~0U) select<Weighted, kUpperCutThreads>(level, end, few, ~0U);
  }
  /// Cuts nodes of more than `least` candidates, and at most `most`.
  template <bool Weighted, unsigned Threads>
  void select(int level, int end, std::uint32_t least, std::uint32_t most) {
    select_kernel<T, Dim, Weighted, Threads><<<1U << static_cast<unsigned>(level), Threads, 0, stream_.get()>>>(
        level, end, gathered(), lists_, sample_.guesses(), candidates_.data(), nodes_.data(), codes_.data(), sums(),
        least, most);
    cuda_check_launch("select_kernel");
  }

  /// Reads the cuts below some cells, in ascending order, into the tree; what was not cut is left.
  void read_cuts(OrbTree<T, Dim>& tree, const std::vector<std::size_t>& cells, OrbGpuTimes& times) {
    std::uint32_t state[kListState] = {};
    record_cuts_kernel<T, Dim>
        <<<blocks_of(first_, 128), 128, 0, stream_.get()>>>(nodes_.data(), first_, found_cuts_.data());
    cuda_check_launch("record_cuts_kernel");
    copy_to_host(host_cuts_.data(), found_cuts_.data(), first_, stream_);
    copy_to_host(state, list_state_.data(), kListState, stream_);
    stream_.synchronize();
    for (int level = 0; level < levels_; ++level) times.stopped += state[static_cast<std::size_t>(level) * kSizesApart];
    times.stopped -= state[kListState - 1];
    // Others stay left.
    std::erase_if(left_, [&](std::size_t v) { return std::binary_search(cells.begin(), cells.end(), v); });
    std::vector<std::size_t> walk = cells;
    while (!walk.empty()) {
      const std::size_t v = walk.back();
      walk.pop_back();
      if (v < first_ && host_cuts_[v].axis >= 0) {
        const CutRecord<T>& cut = host_cuts_[v];
        cut_cell(tree, v, cut.axis, cut.plane, cut.left, options_.weighted ? cut.weight_left : cut.left);
        walk.push_back(2 * v + 1);
        walk.push_back(2 * v);
      } else if (tree.cells[v].leaves > 1) {
        left_.push_back(v);
      }
    }
  }

  [[nodiscard]] GatheredCandidates<T, Dim> gathered() {
    if (exact_ == nullptr) return {};
    return {gathered_points_.data(), gathered_weights_.data()};
  }
  [[nodiscard]] CodeSums sums() { return {code_counts_.data(), code_weights_.data()}; }

  std::uint64_t n_;
  OrbGpuOptions options_;
  const support::CudaStream& stream_;
  int levels_;
  std::uint32_t first_;  ///< node of the last level
  UnitWeights weights_;
  const T* exact_ = nullptr;  ///< the points, where what is walked are fractions
  std::vector<std::size_t> left_;

  support::DeviceBuffer<std::uint16_t> codes_;
  CutSample<T, Dim> sample_;
  Quantiles<T, Dim> quantiles_;
  Sites<T, Dim> sites_;
  CodeMoves<T, Dim> moves_;
  support::DeviceBuffer<Node<T, Dim>> nodes_;
  support::DeviceBuffer<BracketCut> cuts_;
  support::DeviceBuffer<std::uint32_t> code_counts_, bins_, list_state_, candidates_;
  support::DeviceBuffer<std::uint64_t> code_weights_, bin_weights_;
  support::DeviceBuffer<std::uint32_t> middles_;  ///< for the walk by places
  support::DeviceBuffer<uint4> limits_;
  support::DeviceBuffer<std::uint16_t> start_;
  support::DeviceBuffer<ListedPoint<T, Dim>> listed_[kFirstLevels];
  support::DeviceBuffer<std::uint16_t> listed_nodes_[kFirstLevels];
  support::DeviceBuffer<std::uint64_t> listed_weights_[kFirstLevels];
  support::DeviceBuffer<ListedPoint<T, Dim>> gathered_points_;
  support::DeviceBuffer<std::uint64_t> gathered_weights_;
  support::DeviceBuffer<CutRecord<T>> found_cuts_;
  support::PinnedBuffer<Node<T, Dim>> host_root_;
  support::PinnedBuffer<CutRecord<T>> host_cuts_;
  BracketEntries<T, Dim> lists_{};
};

}  // namespace amrbench::partitioners::gpu
