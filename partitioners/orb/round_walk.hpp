#pragma once
// The points of a round's cell, on CPU threads: they walk down the guess, those that met brackets are listed and sent
// on by the exact cuts, and all go to the cells reached, in the order they have. For multiway.cpp.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "partitioners/orb/round_tree.hpp"

namespace amrbench::partitioners {

// Where a round takes its points from: sources in the sense of RoundWalk.

/// Packed coordinates; a point's number is its position after `first_id`.
template <class T, int Dim>
struct InputSource {
  const T* coordinates = nullptr;
  std::uint64_t count = 0;
  std::uint32_t first_id = 0;

  [[nodiscard]] OrbPoint<T, Dim> point(std::uint64_t i) const {
    return point_at<T, Dim>(coordinates + i * Dim, first_id + static_cast<std::uint32_t>(i));
  }
  void prefetch(std::uint64_t i) const { __builtin_prefetch(coordinates + i * Dim); }
  void block(std::uint64_t first, T* x) const {
    constexpr int kBlock = RoundTree<T, Dim>::kBlock;
    const int n = static_cast<int>(std::min<std::uint64_t>(kBlock, count - first));
    const T* from = coordinates + first * Dim;
    for (int a = 0; a < Dim; ++a) {
      for (int i = 0; i < n; ++i) x[a * kBlock + i] = from[i * Dim + a];
      for (int i = n; i < kBlock; ++i) x[a * kBlock + i] = 0;
    }
  }
};

/// Points that an earlier round moved.
template <class T, int Dim>
struct PointSource {
  const OrbPoint<T, Dim>* points = nullptr;
  std::uint64_t count = 0;

  [[nodiscard]] const OrbPoint<T, Dim>& point(std::uint64_t i) const { return points[i]; }
  void prefetch(std::uint64_t i) const { __builtin_prefetch(points + i); }
  void block(std::uint64_t first, T* x) const {
    constexpr int kBlock = RoundTree<T, Dim>::kBlock;
    const int n = static_cast<int>(std::min<std::uint64_t>(kBlock, count - first));
    for (int i = 0; i < n; ++i)
      for (int a = 0; a < Dim; ++a) x[a * kBlock + i] = points[first + static_cast<unsigned>(i)].x[a];
    for (int a = 0; a < Dim; ++a)
      for (int i = n; i < kBlock; ++i) x[a * kBlock + i] = 0;
  }
};

namespace detail {

/// A point in a bracket: its coordinate on the bracket's axis, and where it stands in the source.
template <class T>
struct Entry {
  T key;
  std::uint32_t position;
};

/// What a round allocates; kept from round to round of a thread, for fresh pages cost more than the work on them.
template <class T, int Dim>
struct RoundMemory {
  using Lists = std::array<std::vector<Entry<T>>, kRoundNodes / 2>;
  std::vector<Lists> met;  ///< [chunk][node]
  Lists gathered;          ///< [node]: met by points sent on from nodes above, and from gather() on by all
  std::vector<OrbPoint<T, Dim>> sample;
  std::vector<double> before;  ///< what points before a stretch of them have of a weighted sample
};

/// Weights of points by their numbers, which count from `first`; nullptr: every point weighs 1.
struct PointWeights {
  const std::uint64_t* units = nullptr;
  std::uint32_t first = 0;

  [[nodiscard]] std::uint64_t operator[](std::uint32_t id) const { return units ? units[id - first] : 1; }
  explicit operator bool() const { return units != nullptr; }
};

/// Source gives the cell's points by position, in ascending order of ids: `Point point(std::uint64_t)` and
/// `void block(std::uint64_t first, T* x)`, which writes 256 points' coordinates, axis by axis, and
/// `prefetch(position)`. Only calls for different nodes of one level may run at once.
template <class T, int Dim, class Source>
class RoundWalk {
 public:
  using Point = OrbPoint<T, Dim>;
  using Entries = std::vector<Entry<T>>;

  /// codes: a byte a point, with room for whole blocks of 256, which are
  /// written. threads: at least 1.
  RoundWalk(RoundCell<T, Dim>& cell, const Source& source, PointWeights weights, std::uint8_t* codes,
            RoundMemory<T, Dim>& memory, int threads)
      : cell_(cell),
        source_(source),
        weights_(weights),
        codes_(codes),
        memory_(memory),
        threads_(threads),
        count_(source.count) {
    // Chunks are powers of two, so that a point's chunk is a shift: at least 4 a thread, or one where one thread works.
    constexpr int kLeastShift = static_cast<int>(std::bit_width(static_cast<unsigned>(kBlock))) - 1;
    const int whole = count_ > 0 ? static_cast<int>(std::bit_width(count_ - 1)) : 0;
    chunk_shift_ =
        threads_ == 1 ? whole : whole - 2 - static_cast<int>(std::bit_width(static_cast<unsigned>(threads_ - 1)));
    chunk_shift_ = std::max(chunk_shift_, kLeastShift);
    chunks_ = count_ > 0 ? static_cast<std::size_t>(((count_ - 1) >> chunk_shift_) + 1) : 0;
  }

  [[nodiscard]] const Source& source() const { return source_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// All points down from the root; enters them in the cell.
  void walk_down() {
    code_counts_.assign(chunks_ * kCodes, 0);
    code_weights_.assign(weights_ ? chunks_ * kCodes : 0, 0);
    if (memory_.met.size() < chunks_) memory_.met.resize(chunks_);
    for (auto& met : memory_.met)
      for (Entries& entries : met) entries.clear();
    for (Entries& entries : memory_.gathered) entries.clear();
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) walk_chunk(chunk);
    for (std::size_t k = 0; k < code_counts_.size(); ++k)
      if (code_counts_[k] > 0)
        cell_.pass(cell_.node_of(k % kCodes), 0, code_counts_[k], weights_ ? code_weights_[k] : 0);
  }

  /// All points that met a node's bracket, once those sent on from the nodes above it are among them.
  Entries& gather(std::size_t v) {
    Entries& entries = memory_.gathered[v];
    for (auto& met : memory_.met) {
      entries.insert(entries.end(), met[v].begin(), met[v].end());
      met[v].clear();
    }
    return entries;
  }

  /// Sends points that met v's bracket on, and enters them in the cell: left(point) tells on which side of the cut it
  /// is.
  template <class F>
  void send_on(std::size_t v, std::span<const Entry<T>> entries, F&& left) {
    constexpr std::size_t kAhead = 16;
    std::array<std::uint64_t, kCodes> counts{};
    std::array<std::uint64_t, kCodes> weights{};
    for (std::size_t k = 0; k < entries.size(); ++k) {
      if (k + kAhead < entries.size()) source_.prefetch(entries[k + kAhead].position);
      const std::uint32_t position = entries[k].position;
      const Point p = source_.point(position);
      const std::uint8_t code = cell_.guess.code_from(2 * v + (left(p) ? 0 : 1), p);
      if (code >= kStopped) {
        const std::size_t to = code - kStopped;
        memory_.gathered[to].push_back({p.x[cell_.guess.node(to).axis], position});
      }
      codes_[position] = code;
      std::uint64_t* of_chunk = &code_counts_[(position >> chunk_shift_) * kCodes];
      --of_chunk[kStopped + v];
      ++of_chunk[code];
      ++counts[code];
      if (weights_) weights[code] += weights_[p.id];
    }
    for (std::size_t code = 0; code < kCodes; ++code)
      if (counts[code] > 0) cell_.pass(cell_.node_of(code), v, counts[code], weights[code]);
  }

  /// The same for all points of a cell of a single level.
  template <class F>
  void halve(F&& left) {
    std::fill(code_counts_.begin(), code_counts_.end(), 0);
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk)
      for (std::uint64_t i = chunk_begin(chunk), end = chunk_begin(chunk + 1); i < end; ++i) {
        codes_[i] = left(source_.point(i)) ? 0 : 1;
        ++code_counts_[chunk * kCodes + codes_[i]];
      }
    for (std::size_t k = 0; k < code_counts_.size(); ++k) cell_.passed[2 + k % kCodes % 2] += code_counts_[k];
  }

  /// Calls f(slot, place, position) for every point: places of slot s are begin[s] .. in the order of the points.
  template <class F>
  void for_places(const CellSlots& slots, std::span<const std::uint64_t> begin, F&& f) const {
    const std::size_t n = slots.cells.size();
    std::vector<std::uint64_t> places(chunks_ * n);
    std::vector<std::uint64_t> next(begin.begin(), begin.end());
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      std::copy(next.begin(), next.end(), places.begin() + static_cast<std::ptrdiff_t>(chunk * n));
      for (std::size_t code = 0; code < kCodes; ++code)
        if (code_counts_[chunk * kCodes + code] > 0) next[slots.slot_of[code]] += code_counts_[chunk * kCodes + code];
    }
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      std::array<std::uint64_t, kRoundNodes> to{};
      std::copy_n(places.begin() + static_cast<std::ptrdiff_t>(chunk * n), n, to.begin());
      for (std::uint64_t i = chunk_begin(chunk), end = chunk_begin(chunk + 1); i < end; ++i) {
        const std::size_t s = slots.slot_of[codes_[i]];
        f(s, to[s]++, i);
      }
    }
  }

 private:
  static constexpr std::size_t kCodes = 256;
  static constexpr std::uint64_t kBlock = RoundTree<T, Dim>::kBlock;

  /// Chunks are the stretches of points that one thread walks down at a time.
  [[nodiscard]] std::uint64_t chunk_begin(std::size_t chunk) const {
    return std::min(count_, std::uint64_t{chunk} << chunk_shift_);
  }

  void walk_chunk(std::size_t chunk) {
    alignas(64) T x[Dim * kBlock];
    std::uint8_t stopped[kBlock];
    auto& met = memory_.met[chunk];
    std::uint32_t counts[2][kCodes] = {};  // two tables, so that equal neighbours do not wait for each other
    const std::uint64_t end = chunk_begin(chunk + 1);
    for (std::uint64_t first = chunk_begin(chunk); first < end; first += kBlock) {
      source_.block(first, x);
      std::uint8_t* codes = codes_ + first;
      cell_.guess.classify(x, codes);
      const auto n = static_cast<std::size_t>(std::min(kBlock, end - first));
      std::size_t stops = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ++counts[i & 1][codes[i]];
        stopped[stops] = static_cast<std::uint8_t>(i);
        stops += codes[i] >> 7;
      }
      for (std::size_t s = 0; s < stops; ++s) {
        const std::size_t i = stopped[s];
        const auto key = [&] {
          return x[static_cast<std::size_t>(cell_.guess.node(codes[i] - kStopped).axis) * kBlock + i];
        };
        if (cell_.guess.on_end(codes[i] - kStopped, key())) {
          --counts[i & 1][codes[i]];
          codes[i] = cell_.guess.code_from(codes[i] - kStopped, source_.point(first + i));
          ++counts[i & 1][codes[i]];
          if (codes[i] < kStopped) continue;
        }
        met[codes[i] - kStopped].push_back({key(), static_cast<std::uint32_t>(first + i)});
      }
      for (std::size_t i = 0; weights_ && i < n; ++i)
        code_weights_[chunk * kCodes + codes[i]] += weights_[source_.point(first + i).id];
    }
    // A chunk has at most 2^32 points, half of them in either table.
    for (std::size_t code = 0; code < kCodes; ++code)
      code_counts_[chunk * kCodes + code] = std::uint64_t{counts[0][code]} + counts[1][code];
  }

  RoundCell<T, Dim>& cell_;
  Source source_;
  PointWeights weights_;
  std::uint8_t* codes_;
  RoundMemory<T, Dim>& memory_;
  int threads_;
  std::uint64_t count_;
  std::size_t chunks_ = 0;
  int chunk_shift_ = 0;
  std::vector<std::uint64_t> code_counts_;   ///< [chunk][code]
  std::vector<std::uint64_t> code_weights_;  ///< [chunk][code], with weights only
};

}  // namespace detail

}  // namespace amrbench::partitioners
