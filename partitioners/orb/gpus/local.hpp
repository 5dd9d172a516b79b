#pragma once
// What OrbGpus does with a rank's own points, on its GPU: a local in the sense of distributed_types.hpp. Internal.
//
// The host decides together with the other ranks, from small numbers: samples, sums of bins, the last few points beside
// a cut. Everything that goes over points is done here: walk them down the guessed levels, list those in brackets, add
// up histograms of the lists for the ranks' sums, send entries on by the exact cuts, pack the points for the ranks that
// own them. Files: gpus/kernels.cuh (checks, sample, walk), _search.cuh and _search_impl.cuh (lists and
// cuts), _pack.cuh (the move).
//
// Bytes a point of 12, where one round suffices: walk 12 + 1; list of the points in brackets 1 a level, and some 60 for
// each of them (a few in a hundred); pack 1, then 13 + 12, 4 more where numbers go with the points. Weights add 8 to
// each: once to be added up, in the walk, and in the pack with what is read and what is written. Nothing is read by the
// host but samples, sums of bins, and the last few points beside a cut.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_types.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Seconds of a stream, by what it waited for or did.
struct LocalTimes {
  double sample_s = 0, walk_s = 0, resolve_s = 0, pack_s = 0;
};

/// Where the points of a cell go.
template <class T>
struct PackTarget {
  T* points = nullptr;
  std::uint32_t* ids = nullptr;  ///< may be null
  double* weights = nullptr;     ///< null where there are none
};

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
  std::uint32_t first = 0;
  const double* weights = nullptr;  ///< null: there are none
  int exponent = 0;                 ///< of weights (weights.hpp)
};

template <class T, int Dim>
class GpuPoints {
 public:
  using Point = OrbPoint<T, Dim>;
  using Cell = detail::RoundCell<T, Dim>;
  using Search = detail::CutSearch<T, Dim>;

  GpuPoints(const support::CudaStream& stream, Stopwatch& watch, LocalTimes& times);

  /// The box of n points on the device, and the first that has a coordinate which is NaN or infinite, else n. The
  /// largest of their weights, if there are any, and the first that is negative, NaN or infinite, else n. Waits.
  struct Examined {
    OrbBox<T, Dim> box;
    std::uint64_t bad = 0, bad_weight = 0;
    double largest = 0;
  };
  [[nodiscard]] Examined examine(const T* points, const double* weights, std::uint64_t n);

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
  void pack(std::span<const PackTarget<T>> targets, std::size_t part);
  /// By cell, places as in the cells' ranges.
  [[nodiscard]] T* items() { return items_.data(); }
  [[nodiscard]] std::uint32_t* ids() { return ids_.data(); }
  [[nodiscard]] double* weights() { return item_weights_.data(); }

 private:
  /// Points in a window.
  struct List {
    support::DeviceBuffer<Point> points;
    support::DeviceBuffer<std::uint64_t> weights;
    std::uint64_t capacity = 0;
  };
  /// Of a search.
  struct Lists {
    List bracket, kept[2];
    support::DeviceBuffer<std::uint32_t> positions;  ///< of bracket
    int current = -1;                                ///< which of `kept`
  };
  static constexpr std::size_t kCodes = 256;

  [[nodiscard]] DeviceSource<T, Dim> source() const;
  [[nodiscard]] unsigned grid(std::uint64_t n, std::uint64_t a_thread) const;
  [[nodiscard]] bool weighted() const { return input_weights_ != nullptr; }
  void resize(List& list, std::uint64_t capacity);
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
  template <class F>
  void with_entries(const Search& search, F&& f);
  void append_inside(const Search& search, const detail::Window& window, Point* out, std::uint64_t* weights,
                     std::uint32_t* count, std::uint64_t capacity);
  [[nodiscard]] PackCell count_slots(const detail::CellSlots& slots);
  void pack_tiles(PackCell cell, std::uint32_t first, std::uint32_t last, std::span<const PackTarget<T>> targets);
  void pack_cell(const detail::CellSlots& slots, std::span<const PackTarget<T>> targets);

  const support::CudaStream& stream_;
  Stopwatch& watch_;
  LocalTimes& times_;
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

  support::DeviceBuffer<T> items_, spare_;
  support::DeviceBuffer<std::uint32_t> ids_, spare_ids_;
  support::DeviceBuffer<double> item_weights_, spare_weights_;
  support::DeviceBuffer<std::uint8_t> codes_;
  std::vector<Lists> lists_;
  support::DeviceBuffer<std::uint32_t> counters_, counts_, table_;
  support::DeviceBuffer<std::uint64_t> weight_sums_, gathered_weights_;
  support::DeviceBuffer<Point> gathered_;
  support::DeviceBuffer<unsigned char> temporary_, examined_;
  support::PinnedBuffer<std::uint32_t> host_counts_;
  support::PinnedBuffer<std::uint64_t> host_weight_sums_, host_weights_;
  support::PinnedBuffer<Point> host_points_;
  support::PinnedBuffer<unsigned char> host_examined_;
};

template <class V>
void copy_on_device(V* to, const V* from, std::uint64_t n, const support::CudaStream& stream) {
  if (n == 0) return;
  support::cuda_check(cudaMemcpyAsync(to, from, n * sizeof(V), cudaMemcpyDeviceToDevice, stream.get()),
                      "cudaMemcpyAsync");
}

// In the stream's order, of n values each, all in device memory.
/// labels[ids[i] - first] = leaves[i].
void scatter_labels(const std::uint32_t* ids, const std::uint32_t* leaves, std::uint64_t n, std::uint32_t first,
                    std::uint32_t* labels, const support::CudaStream& stream);
/// out[i] = ids[order[i]].
void order_ids(const std::uint32_t* ids, const std::uint32_t* order, std::uint64_t n, std::uint32_t* out,
               const support::CudaStream& stream);
/// out[i] = first + leaves[i], or first where leaves is null.
void number_leaves(const std::uint32_t* leaves, std::uint64_t n, std::uint32_t first, std::uint32_t* out,
                   const support::CudaStream& stream);

}  // namespace amrbench::partitioners::gpu
