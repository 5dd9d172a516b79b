#pragma once
// Keys of mesh blocks on a space-filling curve.
//
// The domain is a grid of root cells of any shape, embedded in the smallest cube of 2^root_bits cells a side. A block of
// level l lies at integer coordinates c, 0 <= c[d] < root[d] * 2^l. Its path is the position of c on the curve over
// the cube of 2^(root_bits + l) cells a side: Dim bits a level, the coarsest first. A key holds the path and the level:
//
//   key = ((path * 2 + 1) << (Dim * (max_level - l)))            (path, then a marker bit, then zeros)
//
// Invariants and what follows from them:
// - The marker's position gives the level: keys of different blocks differ, and decode needs no other data.
// - The keys of a block's descendants surround its own key and lie in [first(key), last(key)]; descendants of different
//   blocks of one level do not mix. So leaves of one mesh, sorted by key, stand in curve order, and a rank's share of
//   the curve is an interval of keys.
// - Children of a block in curve order are key - like digits: child_key(key, i), i = 0 .. 2^Dim - 1, ascending.
// - root_bits + max_level <= 20, so a key needs at most 61 bits (Dim = 3); 0 is no block's key, all ones is above all keys.
//
// Source: document 001, sections 2.15 (curves, slicing) and 5.2.1 (keys); Morton 1966; Hilbert in Dim dimensions after
// Skilling, AIP Conf. Proc. 707 (2004), as a state table.
#include <array>
#include <cstdint>
#include <string_view>

namespace amrbench::sfc {

enum class Curve : std::uint8_t { morton, hilbert };

/// "morton" or "hilbert"; throws std::invalid_argument otherwise.
Curve curve_from_name(std::string_view name);
std::string_view curve_name(Curve curve);

template <int Dim>
using Coord = std::array<std::uint32_t, Dim>;

/// Position of a cell on the curve over the cube of 2^bits cells a side, and back. O(1) for Morton, O(bits) for Hilbert.
template <int Dim>
std::uint64_t curve_index(Curve curve, const Coord<Dim>& c, int bits);
template <int Dim>
Coord<Dim> curve_coord(Curve curve, std::uint64_t index, int bits);

/// Key arithmetic for one mesh: curve, root grid, depth. Cheap to copy. Dim = 2 or 3.
template <int Dim>
class KeySpace {
 public:
  static constexpr int kChildren = 1 << Dim;
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};  ///< above every key

  /// Throws std::invalid_argument when a root extent is 0 or root_bits + max_level > 20.
  KeySpace(Curve curve, const Coord<Dim>& root, int max_level);

  [[nodiscard]] Curve curve() const { return curve_; }
  [[nodiscard]] const Coord<Dim>& root() const { return root_; }
  [[nodiscard]] int max_level() const { return max_level_; }

  [[nodiscard]] std::uint64_t key(int level, const Coord<Dim>& c) const;
  [[nodiscard]] int level(std::uint64_t key) const;
  [[nodiscard]] Coord<Dim> coord(std::uint64_t key) const;

  /// Parent's key (level >= 1) and the i-th child's along the curve (level < max_level). No decoding.
  [[nodiscard]] std::uint64_t parent(std::uint64_t key) const;
  [[nodiscard]] std::uint64_t child(std::uint64_t key, int i) const;
  /// Index of a block among its siblings along the curve (level >= 1).
  [[nodiscard]] int child_index(std::uint64_t key) const;
  /// Smallest and largest key of the block's subtree (itself included).
  [[nodiscard]] std::uint64_t first(std::uint64_t key) const;
  [[nodiscard]] std::uint64_t last(std::uint64_t key) const;

 private:
  Curve curve_;
  Coord<Dim> root_;
  int root_bits_ = 0;
  int max_level_ = 0;
};

extern template class KeySpace<2>;
extern template class KeySpace<3>;

}  // namespace amrbench::sfc
