#pragma once
// What OrbGpus does with a rank's own points, on its GPU: a local in the sense of distributed_types.hpp. Internal.
//
// The host decides together with the other ranks, from small numbers: samples, sums of bins, the last few points beside
// a cut. Everything that goes over points is done here: walk them down the guessed levels, list those in brackets, add
// up histograms of the lists for the ranks' sums, send entries on by the exact cuts, pack the points for the ranks that
// own them. Files: gpus/kernels.cuh (checks, sample, walk), gpus/search.cuh (lists and
// cuts), gpus/pack.cuh (the move).
//
// Bytes a point of 12, where one round suffices: walk 12 + 1; list of the points in brackets 1 a level, and some 150
// for each of them (a few in a hundred), which is read by its position three times; pack 1, then 13 + 12, 4 more where
// numbers go with the points. Weights add 8 to each: once to be added up, in the walk, and in the pack with what is
// read and what is written. Nothing is read by the host but samples, sums of bins, and the last few points beside a
// cut.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_types.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpus/distributed.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Points in device memory with their numbers and weights; each may be null.
template <class T, int Dim>
struct Columns {
  T* points = nullptr;
  std::uint32_t* ids = nullptr;
  double* weights = nullptr;

  [[nodiscard]] Columns from(std::uint64_t i) const {
    return {points ? points + i * Dim : nullptr, ids ? ids + i : nullptr, weights ? weights + i : nullptr};
  }
};

/// Memory of them.
template <class T, int Dim>
class ColumnBuffers {
 public:
  void resize_discard(std::uint64_t n, bool with_ids, bool weighted) {
    points_.resize_discard(n * Dim);
    ids_.resize_discard(with_ids ? n : 0);
    weights_.resize_discard(weighted ? n : 0);
    columns_ = {points_.data(), with_ids ? ids_.data() : nullptr, weighted ? weights_.data() : nullptr};
  }
  [[nodiscard]] const Columns<T, Dim>& get() const { return columns_; }
  [[nodiscard]] Columns<T, Dim> from(std::uint64_t i) const { return columns_.from(i); }

 private:
  support::DeviceBuffer<T> points_;
  support::DeviceBuffer<std::uint32_t> ids_;
  support::DeviceBuffer<double> weights_;
  Columns<T, Dim> columns_;
};

/// Of n points what both have, in the stream's order.
template <class T, int Dim>
void copy_columns(const Columns<T, Dim>& to, const Columns<T, Dim>& from, std::uint64_t n,
                  const support::CudaStream& stream) {
  const auto copy = [&](auto* out, const auto* in, std::uint64_t count) {
    if (out && in && count > 0)
      support::cuda_check(cudaMemcpyAsync(out, in, count * sizeof(*in), cudaMemcpyDeviceToDevice, stream.get()),
                          "cudaMemcpyAsync");
  };
  copy(to.points, from.points, n * Dim);
  copy(to.ids, from.ids, n);
  copy(to.weights, from.weights, n);
}

/// A cell's points begin .. begin + count - 1, the slots of their codes, and its tiles from the first that is packed
/// on.
struct PackCell {
  std::uint64_t begin = 0, count = 0;
  std::uint32_t slots = 0, tiles = 0, first_tile = 0;
  std::uint8_t slot_of[256] = {};
};

/// Points in device memory; positions below 2^32.
template <class T, int Dim>
struct DeviceSource {
  const T* points = nullptr;
  const std::uint32_t* ids = nullptr;  ///< null: numbers count from `first`
  const double* weights = nullptr;     ///< null: there are none
  std::uint32_t first = 0;
  int exponent = 0;  ///< of weights (weights.hpp)
};

/// Points that a search goes by: those at the positions in a list, or a stretch of the rank's points.
template <class T, int Dim>
struct Entries {
  DeviceSource<T, Dim> source;
  const std::uint32_t* positions = nullptr;  ///< null: a stretch, from `begin` on
  const std::uint32_t* count = nullptr;      ///< of positions
  std::uint64_t begin = 0;
  std::uint64_t most = 0;  ///< points of the stretch; no more than so many positions
};

/// Where inside_kernel puts what it finds; each but the count may be null.
template <class T, int Dim>
struct Inside {
  std::uint32_t* positions = nullptr;
  OrbPoint<T, Dim>* points = nullptr;
  std::uint64_t* weights = nullptr;
  std::uint32_t* count = nullptr;
  std::uint32_t capacity = 0;
};

/// The box of points; the first that has a coordinate which is NaN or infinite, the first of their weights, if there
/// are any, that is negative, NaN or infinite, both n where there is none; and the largest weight.
template <class T, int Dim>
struct Findings {
  T lower[Dim], upper[Dim];
  std::uint64_t bad, bad_weight;
  double largest;
};

template <class T, int Dim>
class GpuPoints {
 public:
  using Point = OrbPoint<T, Dim>;
  using Cell = detail::RoundCell<T, Dim>;
  using Search = detail::CutSearch<T, Dim>;

  /// times: sample, walk, resolve and pack are counted up here.
  GpuPoints(const support::CudaStream& stream, Stopwatch& watch, OrbGpusTimes& times);

  /// Of n points on the device; weights: null where there are none. Waits.
  [[nodiscard]] Findings<T, Dim> examine(const T* points, const double* weights, std::uint64_t n);

  /// Another run: n < 2^32 points, numbered from `first`. Makes room for them. weights: null where there are none.
  void start(const T* points, const double* weights, int exponent, std::uint64_t n, std::uint32_t first);
  /// Of this rank's points, as integers. Waits.
  [[nodiscard]] std::uint64_t total_weight();

  [[nodiscard]] std::uint64_t count_points() const { return n_; }
  void take_all();
  void start_round(std::span<const std::unique_ptr<Cell>> cells);
  void sample(std::span<const detail::SampleStretch> stretches, std::vector<detail::SampledPoint<T, Dim>>& mine);
  void classify();
  void start_level(std::span<Search> searches);
  void count(std::span<Search* const> searches, bool weighted, std::size_t width, std::span<std::uint64_t> sums);
  void keep(const Search& search, const detail::Window& inner);
  void collect(std::span<const Search> searches, std::vector<detail::CutCandidate<T, Dim>>& mine);
  void apply(std::span<const detail::SettledCut<T, Dim>> cuts);
  void group(std::span<const detail::CellSlots> slots);

  /// Several rounds left the points in items(), by cell. The same on every rank.
  [[nodiscard]] bool moved() const { return moved_; }
  /// Unless moved(): of each part of the points, in their order, and each cell reached, the points in this part and
  /// those before, [part][cell]. Waits.
  [[nodiscard]] std::vector<std::uint64_t> count_parts(std::size_t parts);
  /// Room for n points and, with `ids`, their numbers. Nothing where moved(). Not collective.
  void reserve_items(bool ids, std::uint64_t n);
  /// After count_parts(): brings a part of the points to their targets, one a cell reached.
  void pack(std::span<const Columns<T, Dim>> targets, std::size_t part);
  /// By cell, places as in the cells' ranges.
  [[nodiscard]] const Columns<T, Dim>& items() const { return items_.get(); }

 private:
  /// Of a search, positions of points: those in its bracket, and in turn those kept in the last window.
  struct Lists {
    support::DeviceBuffer<std::uint32_t> bracket, kept[2];
    int current = 0;  ///< which of `kept`
  };
  static constexpr std::size_t kCodes = 256;

  [[nodiscard]] DeviceSource<T, Dim> source() const;
  [[nodiscard]] unsigned grid(std::uint64_t n, std::uint64_t a_thread) const;
  [[nodiscard]] bool weighted() const { return input_weights_ != nullptr; }
  /// Sums of a list, null where there are no weights.
  [[nodiscard]] std::uint64_t* weights_of(std::size_t list) {
    return weighted() ? weight_sums_.data() + list * kCodes : nullptr;
  }
  void clear_counts(std::size_t lists);
  void fetch_counts(std::size_t lists);
  void pass(std::size_t round_cell, std::size_t top, std::size_t list);
  /// Lengths of a search's lists: bracket, kept, kept, gathered.
  [[nodiscard]] std::uint32_t* counter(std::size_t search, int which) { return counters_.data() + search * 4 + which; }
  void list_brackets(std::size_t round_cell, std::span<const Search> searches);
  [[nodiscard]] Entries<T, Dim> entries(const support::DeviceBuffer<std::uint32_t>& list, std::size_t search,
                                        int which);
  [[nodiscard]] Entries<T, Dim> all_of(std::size_t round_cell) const;
  [[nodiscard]] Entries<T, Dim> entries(const Search& search);
  void find_inside(const Search& search, const detail::Window& window, int which, Inside<T, Dim> out);
  [[nodiscard]] PackCell count_slots(const detail::CellSlots& slots);
  void pack_tiles(PackCell cell, std::uint32_t first, std::uint32_t last, std::span<const Columns<T, Dim>> targets);
  void pack_cell(const detail::CellSlots& slots, const Columns<T, Dim>& to);
  void reserve_gathered(std::uint64_t n);
  void fetch_gathered(std::uint64_t n);
  [[nodiscard]] std::uint64_t host_weight(std::uint64_t i) { return weighted() ? host_weights_[i] : 1; }

  const support::CudaStream& stream_;
  Stopwatch& watch_;
  OrbGpusTimes& times_;
  unsigned multiprocessors_ = 1;

  const T* input_ = nullptr;
  const double* input_weights_ = nullptr;
  int exponent_ = 0;
  std::uint64_t n_ = 0;
  std::uint32_t first_ = 0;
  bool moved_ = false;                      ///< points stand in items_
  std::vector<detail::CellSlots> pending_;  ///< of the first round, until the points move
  PackCell packing_;                        ///< of pending_, from count_parts() on
  std::size_t parts_ = 1;
  std::span<const std::unique_ptr<Cell>> cells_;
  std::vector<std::vector<std::uint64_t>> stopped_;  ///< points that wait at each node, by the round's cells

  ColumnBuffers<T, Dim> items_, spare_;
  support::DeviceBuffer<std::uint8_t> codes_;
  std::vector<Lists> lists_;
  support::DeviceBuffer<std::uint32_t> counters_, counts_, table_;
  support::DeviceBuffer<std::uint64_t> weight_sums_, gathered_weights_;
  support::DeviceBuffer<Point> gathered_;
  support::DeviceBuffer<unsigned char> temporary_;
  support::DeviceBuffer<Findings<T, Dim>> examined_;
  support::PinnedBuffer<std::uint32_t> host_counts_;
  support::PinnedBuffer<std::uint64_t> host_weight_sums_, host_weights_;
  support::PinnedBuffer<Point> host_points_;
  support::PinnedBuffer<Findings<T, Dim>> host_examined_;
};

// In the stream's order, of n values each, all in device memory.
/// labels[ids[i] - first] = first_leaf + leaves[i].
void scatter_labels(const std::uint32_t* ids, const std::uint32_t* leaves, std::uint64_t n, std::uint32_t first,
                    std::uint32_t first_leaf, std::uint32_t* labels, const support::CudaStream& stream);
/// out[i] = ids[order[i]].
void order_ids(const std::uint32_t* ids, const std::uint32_t* order, std::uint64_t n, std::uint32_t* out,
               const support::CudaStream& stream);

}  // namespace amrbench::partitioners::gpu
