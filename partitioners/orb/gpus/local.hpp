#pragma once
// What OrbGpus does with a rank's own points, on its GPU: a local in the sense of distributed_types.hpp. Internal.
//
// The host decides together with the other ranks, from small numbers: sums of bins, the last few points beside a cut.
// Everything that goes over points is done here: add up histograms for the ranks' sums, give points their codes by the
// cuts and list those near them, pack them for the ranks that own them. Files: gpus/kernels.cuh (checks, loads),
// gpus/search.cuh (cuts and codes), gpus/pack.cuh (the move).
//
// Bytes a point of 12, a level: a histogram 12, codes and lists 12 + 2, and 2 more each where codes are read, which is
// not at the first level. Pack 2, then 14 + 12, 4 more where numbers go with the points.
// Weights add 8 to each: once to be added up, in a level's histogram, and in the pack with what is read and what is
// written.
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_types.hpp"
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

/// The number of a point's cell among those reached.
using PointCode = std::uint16_t;

/// n points in tiles, and the cells that are packed together.
struct PackShape {
  std::uint64_t n = 0;
  std::uint32_t tiles = 0;
  std::uint32_t first_cell = 0, cells = 0;
};

/// Points in device memory from a multiple of 16 bytes on, whose numbers count from `first`; positions below 2^32.
template <class T, int Dim>
struct DeviceSource {
  const T* points = nullptr;
  const double* weights = nullptr;  ///< null: there are none
  std::uint32_t first = 0;
  int exponent = 0;  ///< of weights (weights.hpp)
};

/// Points that a kernel goes by: those at the positions in a list, or all of the rank's.
template <class T, int Dim>
struct Entries {
  DeviceSource<T, Dim> source;
  const PointCode* codes = nullptr;          ///< null: all are 0
  const std::uint32_t* positions = nullptr;  ///< null: all points
  const std::uint32_t* count = nullptr;      ///< of positions
  std::uint64_t most = 0;                    ///< all points; no more than so many positions
};

constexpr unsigned kLocalBins = detail::kBins;
/// Searches whose bins, of a word of shared memory each, with weights three, a kernel adds up together.
constexpr std::size_t kGroup = 4, kWeightedGroup = 2;

/// Positions of points inside a window.
struct KeptList {
  std::uint32_t* positions = nullptr;
  std::uint32_t* count = nullptr;
  std::uint32_t capacity = 0;
};
template <class T, int Dim>
struct CodeRow : detail::CodeEntry<T, Dim> {
  KeptList kept;
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
  using Search = detail::CutSearch<T, Dim>;

  explicit GpuPoints(const support::CudaStream& stream);

  /// Of n points on the device; weights: null where there are none. Waits.
  [[nodiscard]] Findings<T, Dim> examine(const T* points, const double* weights, std::uint64_t n);

  /// Another run: n < 2^32 points, numbered from `first`. Makes room for them. weights: null where there are none.
  void start(const T* points, const double* weights, int exponent, std::uint64_t n, std::uint32_t first);
  /// Of this rank's points, as integers. Waits.
  [[nodiscard]] std::uint64_t total_weight();

  void count(std::span<Search* const> searches, bool weighted, std::span<std::uint64_t> sums);
  void split(std::span<Search* const> searches, std::span<const std::uint32_t> next);
  void collect(std::span<const Search> searches, std::vector<detail::CutCandidate<T, Dim>>& mine);

  /// Of each part of the points, in their order, and each cell reached, the points in this part and those before,
  /// [part][cell]. Waits.
  [[nodiscard]] std::vector<std::uint64_t> count_parts(std::size_t parts);
  /// Room for n points and, with `ids`, their numbers. Not collective.
  void reserve_items(bool ids, std::uint64_t n) { items_.resize_discard(n, ids, weighted()); }
  /// After count_parts(): brings a part of the points to their targets, one a cell reached.
  void pack(std::span<const Columns<T, Dim>> targets, std::size_t part);
  /// Room for what leaves.
  [[nodiscard]] const Columns<T, Dim>& items() const { return items_.get(); }

 private:
  /// Of a search, positions of points near its cut, the second list made from the first, and so on in turn.
  struct Lists {
    support::DeviceBuffer<std::uint32_t> kept[2], counts;
    int current = 0;
  };
  using Row = CodeRow<T, Dim>;

  [[nodiscard]] unsigned grid(std::uint64_t n, std::uint64_t a_thread, unsigned resident = 8) const;
  [[nodiscard]] bool weighted() const { return input_weights_ != nullptr; }
  [[nodiscard]] Entries<T, Dim> all_entries() const;
  [[nodiscard]] Entries<T, Dim> entries(const Search& search) const;
  template <class F>
  void for_groups(std::span<Search* const> searches, std::size_t most, std::span<const std::uint32_t> next, F&& f);
  template <class... Parameters, class... Arguments>
  void launch(const char* name, void (*kernel)(Parameters...), std::size_t shared, const Entries<T, Dim>& from,
              const std::vector<Row>& table, Arguments... more);
  [[nodiscard]] KeptList next_list(const Search& search);
  [[nodiscard]] std::vector<PackShape> pack_groups() const;

  const support::CudaStream& stream_;
  unsigned multiprocessors_ = 1;

  const T* input_ = nullptr;
  const double* input_weights_ = nullptr;
  int exponent_ = 0;
  std::uint64_t n_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t cells_ = 1;  ///< reached; while it is 1, codes are not set
  PackShape shape_;          ///< and parts of the points, from count_parts() on
  std::uint32_t parts_ = 1;

  ColumnBuffers<T, Dim> items_;
  support::DeviceBuffer<PointCode> codes_;
  std::vector<Lists> lists_;
  support::DeviceBuffer<Row> code_table_;
  support::DeviceBuffer<std::uint32_t> counts_, table_;
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
