#pragma once
// Keys of mesh blocks on a space-filling curve.
//
// The domain is a grid of root cells of any shape, embedded in the smallest cube of 2^root_bits cells a side. A block
// of level l lies at integer coordinates c, 0 <= c[d] < root[d] * 2^l. Its path is the position of c on the curve over
// the cube of 2^(root_bits + l) cells a side: Dim bits a level, the coarsest first. A key holds the path and the level:
//
//   key = ((path * 2 + 1) << (Dim * (max_level - l)))            (path, then a marker bit, then zeros)
//
// Invariants and what follows from them:
// - The marker's position gives the level: keys of different blocks differ, and decode needs no other data.
// - The keys of a block's descendants surround its own key and lie in [first(key), last(key)]; descendants of different
//   blocks of one level do not mix. So leaves of one mesh, sorted by key, stand in curve order, and a rank's share of
//   the curve is an interval of keys.
// - Children of a block in curve order: child(key, i), i = 0 .. 2^Dim - 1, ascending.
// - root_bits + max_level <= 20, so a key needs at most 61 bits (Dim = 3); 0 is no block's key, all ones is above all
// keys.
//
// The curve `gensfc` differs in the path: the position of the block's root cell in a RootOrder made for the grid, then
// the position on the Hilbert curve of that cell, turned as the order says (sfc/root_order.hpp). All of the above
// holds, and a child's key is its parent's with Dim bits appended here too.
//
// Source: document 001, sections 2.11 (curves, slicing), 5.2.1 and 5.2.4 (keys); Morton 1966; Hilbert in Dim dimensions
// after Skilling, AIP Conf. Proc. 707 (2004), as a state table. (docs/references.md has all sources in full.)
#include <array>
#include <cassert>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sfc/hilbert.hpp"
#include "sfc/host_device.hpp"
#include "sfc/morton.hpp"
#include "sfc/root_order.hpp"

namespace amrbench::sfc {

enum class Curve : std::uint8_t { morton, hilbert, gensfc };

/// "morton", "hilbert" or "gensfc"; throws std::invalid_argument otherwise.
Curve curve_from_name(std::string_view name);
std::string_view curve_name(Curve curve);

/// Position of a cell on the curve over the cube of 2^bits cells a side, and back. O(1) for Morton, O(bits) for
/// Hilbert. Dim * bits <= 63; coordinates below 2^bits. Not for gensfc, which knows no cube.
template <int Dim>
inline std::uint64_t curve_index(Curve curve, const Coord<Dim>& c, int bits) {
  const std::uint64_t code = morton_encode<Dim>(c);
  return curve == Curve::morton ? code : hilbert_from_morton<Dim>(code, bits);
}

template <int Dim>
inline Coord<Dim> curve_coord(Curve curve, std::uint64_t index, int bits) {
  return morton_decode<Dim>(curve == Curve::morton ? index : hilbert_to_morton<Dim>(index, bits));
}

/// Key arithmetic for one mesh: curve, root grid, depth. Cheap to copy. Dim = 2 or 3. Member functions other than the
/// constructor check nothing but by assert: keys and coordinates must be those of blocks inside the root grid, unless
/// said otherwise. Those marked AMRBENCH_HD need no table and may be called in device code.
template <int Dim>
class KeySpace {
 public:
  static_assert(Dim == 2 || Dim == 3);
  static constexpr int kChildren = 1 << Dim;
  static constexpr int kFaces = 2 * Dim;                    ///< face 2 * axis looks down that axis, 2 * axis + 1 up
  static constexpr std::uint64_t kNone = 0;                 ///< no block's key
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};  ///< above every key

  /// Throws std::invalid_argument when a root extent is 0, max_level is negative or root_bits + max_level > 20.
  KeySpace(Curve curve, const Coord<Dim>& root, int max_level);
  /// Curve gensfc: `order`, of the same grid, is kept. The other constructor cannot make this one.
  KeySpace(std::shared_ptr<const RootOrder<Dim>> order, const Coord<Dim>& root, int max_level);

  [[nodiscard]] AMRBENCH_HD Curve curve() const { return curve_; }
  [[nodiscard]] AMRBENCH_HD const Coord<Dim>& root() const { return root_; }
  /// The order of the root cells; null but for curve gensfc.
  [[nodiscard]] const RootOrder<Dim>* root_order() const { return order_.get(); }
  [[nodiscard]] AMRBENCH_HD int max_level() const { return max_level_; }
  /// Closes the domain on itself along these axes: behind a side lie the blocks at the opposite one. None at first. No
  /// key depends on it, only who is whose neighbor. A root extent of 1 makes a block its own neighbor.
  void set_periodic(const std::array<bool, Dim>& axes) {
    for (int d = 0; d < Dim; ++d) periodic_ |= static_cast<unsigned>(axes[d]) << d;
  }
  [[nodiscard]] AMRBENCH_HD bool is_periodic(int axis) const { return (periodic_ >> axis & 1U) != 0; }
  /// The root grid is embedded in a cube of 2^root_bits root cells a side.
  [[nodiscard]] AMRBENCH_HD int root_bits() const { return root_bits_; }

  [[nodiscard]] std::uint64_t key(int level, const Coord<Dim>& c) const {
    assert(level >= 0 && level <= max_level_ && contains(level, c));
    if (curve_ == Curve::gensfc) return from_path(level, ordered_path(level, c));
    return from_path(level, curve_index<Dim>(curve_, c, root_bits_ + level));
  }
  [[nodiscard]] AMRBENCH_HD int level(std::uint64_t key) const { return max_level_ - trailing_zeros(key) / Dim; }
  [[nodiscard]] Coord<Dim> coord(std::uint64_t key) const {
    const int zeros = trailing_zeros(key);
    if (curve_ == Curve::gensfc) return ordered_coord(max_level_ - zeros / Dim, key >> zeros >> 1);
    return curve_coord<Dim>(curve_, key >> zeros >> 1, root_bits_ + max_level_ - zeros / Dim);
  }

  /// Does the root grid, refined `level` times, have a block at c?
  [[nodiscard]] AMRBENCH_HD bool contains(int level, const Coord<Dim>& c) const {
    bool inside = true;
    for (int d = 0; d < Dim; ++d) inside = inside && c[d] < root_[d] << level;
    return inside;
  }

  /// Moves c, the coordinates of a block of a level, to the one behind `face`; false at the domain's boundary, where c
  /// means nothing then.
  [[nodiscard]] bool step(int level, Coord<Dim>& c, int face) const {
    const int axis = face / 2;
    const std::uint32_t extent = root_[axis] << level;
    // One below 0 wraps to above every extent, so one comparison finds both ends.
    c[axis] += face % 2 == 0 ? ~std::uint32_t{0} : 1U;
    if (c[axis] < extent) return true;
    c[axis] = face % 2 == 0 ? extent - 1 : 0;
    return is_periodic(axis);
  }
  /// Key of the block of the same level behind `face` of block (level, c), or kNone at the domain's boundary.
  [[nodiscard]] std::uint64_t neighbor(int level, const Coord<Dim>& c, int face) const {
    Coord<Dim> n = c;
    return step(level, n, face) ? key(level, n) : kNone;
  }
  [[nodiscard]] std::uint64_t neighbor(std::uint64_t key, int face) const {
    return neighbor(level(key), coord(key), face);
  }
  /// All faces' neighbours at once. Faster than one by one: shared work is done once and the chains of table look-ups
  /// overlap.
  [[nodiscard]] std::array<std::uint64_t, kFaces> neighbors(int level, const Coord<Dim>& c) const;
  [[nodiscard]] std::array<std::uint64_t, kFaces> neighbors(std::uint64_t key) const {
    return neighbors(level(key), coord(key));
  }

  /// Parent's key (level >= 1) and the i-th child's along the curve (level < max_level). No decoding.
  [[nodiscard]] AMRBENCH_HD std::uint64_t parent(std::uint64_t key) const {
    const std::uint64_t marker = lowest(key) << Dim;
    return (key & (0 - marker)) | marker;
  }
  [[nodiscard]] AMRBENCH_HD std::uint64_t child(std::uint64_t key, int i) const {
    const std::uint64_t marker = lowest(key);
    assert(i >= 0 && i < kChildren && (marker >> Dim) != 0);
    return key - marker + (2 * static_cast<std::uint64_t>(i) + 1) * (marker >> Dim);
  }
  /// Index of a block among its siblings along the curve (level >= 1).
  [[nodiscard]] AMRBENCH_HD int child_index(std::uint64_t key) const {
    return static_cast<int>(key >> trailing_zeros(key) >> 1) & (kChildren - 1);
  }
  /// Are these the keys of the first and the last of a family of siblings? If so, and both are leaves with kChildren -
  /// 2 leaves between them, all of the family are.
  [[nodiscard]] AMRBENCH_HD static bool are_family_ends(std::uint64_t first, std::uint64_t last) {
    const std::uint64_t marker = lowest(first);
    return marker == lowest(last) && last - first == 2 * marker * (kChildren - 1) &&
           (first / (2 * marker)) % kChildren == 0;
  }
  /// Smallest and largest key of the block's subtree (itself included).
  [[nodiscard]] AMRBENCH_HD std::uint64_t first(std::uint64_t key) const { return key - lowest(key) + 1; }
  [[nodiscard]] AMRBENCH_HD std::uint64_t last(std::uint64_t key) const { return key + lowest(key) - 1; }

 private:
  AMRBENCH_HD static std::uint64_t lowest(std::uint64_t key) { return key & (0 - key); }
  [[nodiscard]] AMRBENCH_HD std::uint64_t from_path(int level, std::uint64_t path) const {
    return (path * 2 + 1) << (Dim * (max_level_ - level));
  }

  [[nodiscard]] std::uint64_t ordered_path(int level, const Coord<Dim>& c) const;
  [[nodiscard]] Coord<Dim> ordered_coord(int level, std::uint64_t path) const;

  Curve curve_;
  Coord<Dim> root_;
  int root_bits_ = 0;
  int max_level_ = 0;
  unsigned periodic_ = 0;                        ///< bit d: along axis d
  std::shared_ptr<const RootOrder<Dim>> order_;  ///< of curve gensfc
};

template <int Dim>
inline std::array<std::uint64_t, KeySpace<Dim>::kFaces> KeySpace<Dim>::neighbors(int level, const Coord<Dim>& c) const {
  assert(level >= 0 && level <= max_level_ && contains(level, c));
  if (curve_ == Curve::gensfc) {
    std::array<std::uint64_t, kFaces> keys{};
    for (int face = 0; face < kFaces; ++face) keys[face] = neighbor(level, c, face);
    return keys;
  }
  std::uint64_t spread[Dim];
  for (int d = 0; d < Dim; ++d) spread[d] = morton_spread<Dim>(c[d]) << d;
  std::array<std::uint64_t, kFaces> codes{};
  std::array<std::uint64_t, kFaces> keys{};
  for (int d = 0; d < Dim; ++d) {
    std::uint64_t others = 0;
    for (int o = 0; o < Dim; ++o) others |= o == d ? 0 : spread[o];
    // Adding within one axis' bits: fill the gaps with ones to add, with zeros to subtract, so that carries pass.
    const std::uint64_t mask = kMortonMask<Dim> << d;
    const std::uint64_t unit = std::uint64_t{1} << d;
    codes[2 * d] = others | ((spread[d] - unit) & mask);
    codes[2 * d + 1] = others | (((spread[d] | ~mask) + unit) & mask);
  }
  const int bits = root_bits_ + level;
  for (int d = 0; d < Dim; ++d) {
    const bool inside[2] = {c[d] != 0, c[d] + 1 < root_[d] << level};
    for (int side = 0; side < 2; ++side) {
      const int face = 2 * d + side;
      const std::uint64_t path = curve_ == Curve::morton ? codes[face] : hilbert_from_morton<Dim>(codes[face], bits);
      keys[face] = inside[side] ? from_path(level, path) : kNone;
    }
  }
  if (periodic_ != 0)
    for (int face = 0; face < kFaces; ++face)
      if (keys[face] == kNone) keys[face] = neighbor(level, c, face);
  return keys;
}

extern template class KeySpace<2>;
extern template class KeySpace<3>;

}  // namespace amrbench::sfc
