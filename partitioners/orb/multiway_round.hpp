#pragma once
// One round of the multiway method on one cell: from points in any order to the exact tree of up to 6 levels below the
// cell, and the number of the resulting cell (the slot) of each point.
#include <vector>

#include "partitioners/orb/round_tree.hpp"
#include "partitioners/orb/tree.hpp"

namespace amrbench::partitioners {

/// A cell at the end of a round.
struct OrbSlot {
  std::size_t cell = 0;  ///< heap index
  bool leaf = false;
};

/// A point in a bracket: its coordinate on the bracket's axis, and where it stands in the source.
template <class T>
struct OrbEntry {
  T key;
  std::uint32_t position;
};

/// What a round allocates; kept from round to round of a thread, for fresh pages cost more than the work on them.
template <class T, int Dim>
struct OrbRoundMemory {
  std::vector<std::array<std::vector<OrbEntry<T>>, kRoundNodes / 2>> met;  ///< [chunk][node]
  std::array<std::vector<OrbEntry<T>>, kRoundNodes / 2> routed;            ///< met by points routed from resolved nodes
  std::vector<OrbPoint<T, Dim>> sample;
};

/// Source gives points by position, in ascending order of ids: `Point point(std::uint64_t)` and
/// `void block(std::uint64_t first, T* x)`, which writes 256 points' coordinates, axis by axis, and
/// `prefetch(position)`.
template <class T, int Dim, class Source>
class MultiwayRound {
 public:
  using Point = OrbPoint<T, Dim>;
  static constexpr std::size_t kCodes = 256;

  /// Works on cell `cell` of input's tree, whose points are source's [0, count), with `threads`; codes: a byte a point,
  /// rounded up to whole blocks of 256.
  MultiwayRound(const OrbInput<T, Dim>& input, OrbTree<T, Dim>& tree, std::size_t cell, const Source& source,
                std::uint8_t* codes, OrbRoundMemory<T, Dim>& memory, int threads);

  void run();

  // Results. Chunks are the stretches of points that one thread sorts out at a time.
  [[nodiscard]] const std::vector<OrbSlot>& slots() const { return slots_; }
  [[nodiscard]] std::uint8_t slot_of(std::uint64_t position) const { return slot_of_code_[codes_[position]]; }
  [[nodiscard]] std::size_t chunks() const { return chunks_; }
  [[nodiscard]] std::uint64_t chunk_begin(std::size_t chunk) const {
    return std::min(count_, std::uint64_t{chunk} << chunk_shift_);
  }
  /// Points of a chunk in a slot.
  [[nodiscard]] std::uint64_t chunk_count(std::size_t chunk, std::size_t slot) const;
  /// Points that met a bracket.
  [[nodiscard]] std::uint64_t stopped() const { return stopped_; }

 private:
  using Entry = OrbEntry<T>;
  using Entries = std::vector<Entry>;

  void sample_and_guess();
  void classify();
  void classify_chunk(std::size_t chunk);
  void count_passed();
  bool resolve(std::size_t v);
  bool resolve_by_weight(std::size_t v, Entries& entries, const OrbGoal& goal);
  void apply_cut(std::size_t v, const Entries& entries, std::size_t left, std::uint64_t weight_left);
  void route(std::size_t v, std::span<const Entry> entries, std::size_t child);
  void cut_root_exactly();
  void make_slots(std::size_t v);
  [[nodiscard]] bool before(const Entry& a, const Entry& b, int axis) const {
    if (a.key != b.key) return a.key < b.key;
    return orb_before(source_.point(a.position), source_.point(b.position), axis);
  }
  [[nodiscard]] std::size_t heap(std::size_t v) const;
  [[nodiscard]] std::uint64_t weight_at(std::uint64_t position) const {
    return input_.weights ? input_.weights[source_.point(position).id] : 1;
  }

  const OrbInput<T, Dim>& input_;
  OrbTree<T, Dim>& tree_;
  std::size_t cell_;
  const Source& source_;
  std::uint8_t* codes_;
  int threads_;
  std::uint64_t count_;
  std::size_t chunks_ = 1;
  int chunk_shift_ = 0;
  std::uint64_t stopped_ = 0;

  RoundTree<T, Dim> guess_;
  std::vector<std::uint64_t> code_counts_;   ///< [chunk][code]
  std::vector<std::uint64_t> code_weights_;  ///< [chunk][code], with weights only
  OrbRoundMemory<T, Dim>& memory_;
  std::array<std::uint64_t, kRoundNodes> passed_{};  ///< points known to be in a node's cell
  std::array<std::uint64_t, kRoundNodes> passed_weight_{};
  std::array<bool, kRoundNodes> resolved_{};
  std::vector<OrbSlot> slots_;
  std::array<std::uint8_t, kCodes> slot_of_code_{};
};

}  // namespace amrbench::partitioners
