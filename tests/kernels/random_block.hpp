#pragma once
// Blocks and faces full of random values, for the tests of the kernels.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "kernels/average7/average7.hpp"
#include "kernels/layout.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::kernels::checks {

using Buffer = support::PageBuffer<double>;

/// A layout with lanes and chunks as asked for; `variables` leaves `padding` lanes of the last chunk unused.
inline BlockLayout layout_of(std::array<int, 3> cells, int lanes, int chunks, int padding = 0) {
  BlockLayout l;
  l.cells = cells;
  l.lanes = lanes;
  l.chunks = chunks;
  l.variables = lanes * chunks - padding;
  return l;
}

inline std::string name_of(const BlockLayout& l) {
  return std::to_string(l.cells[0]) + "x" + std::to_string(l.cells[1]) + "x" + std::to_string(l.cells[2]) + ", " +
         std::to_string(l.variables) + " variables, " + std::to_string(l.lanes) + " lanes, " +
         std::to_string(l.chunks) + " chunks";
}

/// Both signs, magnitudes over 20 powers of two, all mantissa bits in use.
inline double random_double(std::mt19937_64& random) {
  const double mantissa = static_cast<double>(random() >> 11) * 0x1p-53;
  const int exponent = static_cast<int>(random() % 20) - 15;
  return std::ldexp(random() % 2 != 0 ? mantissa : -mantissa, exponent);
}

/// `values` random doubles, then the padding a kernel may read but must not use: not numbers.
inline Buffer random_buffer(std::mt19937_64& random, std::size_t values) {
  Buffer buffer(values + kPadding);
  for (std::size_t i = 0; i < values; ++i) buffer[i] = random_double(random);
  for (std::size_t i = 0; i < kPadding; ++i) buffer[values + i] = std::numeric_limits<double>::quiet_NaN();
  return buffer;
}

/// Whole numbers of at most 20 bits: their sums and quarters are exact, so conservation can be tested for equality.
inline Buffer whole_numbers(std::mt19937_64& random, std::size_t values) {
  Buffer buffer(values + kPadding);
  for (std::size_t i = 0; i < values; ++i)
    buffer[i] = static_cast<double>(static_cast<std::int64_t>(random() % (1U << 20)) - (1 << 19));
  return buffer;
}

/// A block with what lies behind its six faces, each in place in a block of its own or packed, by chance.
class RandomBlock {
 public:
  RandomBlock(std::mt19937_64& random, const BlockLayout& layout)
      : in_(random_buffer(random, layout.block_values())), out_(layout.block_values() + kPadding) {
    for (int face = 0; face < 6; ++face) {
      const bool packed = random() % 2 != 0;
      const int axis = face / 2;
      behind_[face] = random_buffer(random, packed ? layout.face_values(axis) : layout.block_values());
      args_.faces[face] = packed ? FaceView{behind_[face].data(), true}
                                 : in_place_face(layout, behind_[face].data(), axis, 1 - face % 2);
    }
    args_.in = in_.data();
    args_.out = out_.data();
  }
  [[nodiscard]] const BlockArgs& args() const { return args_; }
  /// The same block and faces with another place for the result.
  [[nodiscard]] BlockArgs args_into(double* out) const {
    BlockArgs args = args_;
    args.out = out;
    return args;
  }
  [[nodiscard]] Buffer& in() { return in_; }
  [[nodiscard]] const Buffer& out() const { return out_; }

 private:
  Buffer in_, out_;
  std::array<Buffer, 6> behind_;
  BlockArgs args_;
};

}  // namespace amrbench::kernels::checks
