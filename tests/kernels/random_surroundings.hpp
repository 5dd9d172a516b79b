#pragma once
// Random blocks in random surroundings, for the tests of wide stencils on a GPU: host and device see the same values.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/device_mesh.hpp"
#include "kernels/device_surroundings.hpp"
#include "kernels/surroundings.hpp"

namespace amrbench::kernels::checks {

class RandomSurroundings {
 public:
  static constexpr int kFaces = 5;  ///< extended faces across each axis

  /// `count` blocks whose slots are in no order; pieces lie in blocks and, where they may, in extended faces. `range`:
  /// all values are put into 0.1 .. 1.
  RandomSurroundings(std::mt19937_64& random, const BlockLayout& layout, int count, const support::CudaStream& stream,
                     bool range = false)
      : layout_(layout),
        blocks_(values(random, count * layout.block_values(), range)),
        device_blocks_(blocks_, layout.block_values(), stream) {
    steps_[PieceSource::kBlock] = piece_steps(layout);
    for (int axis = 0; axis < 3; ++axis) {
      layouts_[axis] = FaceLayout(layout, axis);
      steps_[axis] = piece_steps(layouts_[axis]);
      faces_[axis] = values(random, kFaces * layouts_[axis].values() + kPadding, range);
      device_faces_[axis] = to_device(faces_[axis], stream);
    }
    for (int i = 0; i < count; ++i) {
      slots_.push_back((i * 5 + 2) % count);
      for (int k = 0; k < 27; ++k)
        sources_.push_back(random_source(random, count, {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1}));
    }
    device_slots_ = to_device(slots_, stream);
    device_sources_ = to_device(sources_, stream);
  }

  [[nodiscard]] Surroundings around(int block) const {
    Surroundings around;
    for (std::size_t k = 0; k < 27; ++k) around.pieces[k] = piece(sources_[std::size_t(block) * 27 + k]);
    return around;
  }
  /// Block and ghosts in a tile.
  [[nodiscard]] std::vector<double> tile(int block, const TileLayout& t) const { return tile(around(block), t); }
  [[nodiscard]] std::vector<double> tile(const Surroundings& around, const TileLayout& t) const {
    std::vector<double> values(t.values() + kPadding);
    CellBox all{{-1, -1, -1}, layout_.cells};
    for (int& high : all.high) ++high;
    gather_cells(layout_, around, all, piece_steps(t), t.lanes, values.data());
    return values;
  }

  /// The sources of an octet of blocks first .. first + 7, shuffled, among random pieces.
  [[nodiscard]] std::vector<PieceSource> random_octet(std::mt19937_64& random, int first) const {
    std::array<std::int32_t, 8> blocks{};
    std::iota(blocks.begin(), blocks.end(), first);
    std::shuffle(blocks.begin(), blocks.end(), random);
    std::vector<PieceSource> octet;
    for (int k = 0; k < 64; ++k) {
      const std::array<int, 3> at{k % 4, k / 4 % 4, k / 16};
      const std::array<int, 3> d{at[0] / 3 - (at[0] == 0), at[1] / 3 - (at[1] == 0), at[2] / 3 - (at[2] == 0)};
      if (d == std::array<int, 3>{})
        octet.push_back({blocks[at[0] - 1 + 2 * (at[1] - 1) + 4 * (at[2] - 1)], PieceSource::kBlock, 0});
      else
        octet.push_back(random_source(random, static_cast<int>(slots_.size()), d));
    }
    return octet;
  }
  /// What its block at (x, y, z) has around it.
  [[nodiscard]] Surroundings around_in(const std::vector<PieceSource>& octet, const std::array<int, 3>& block) const {
    Surroundings around;
    for (int k = 0; k < 27; ++k) {
      const std::array<int, 3> d{k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
      std::array<int, 3> at{}, in{};
      for (int axis = 0; axis < 3; ++axis) {
        at[axis] = block[axis] + 1 + d[axis];
        if (d[axis] < 0 && at[axis] > 0) in[axis] = layout_.cells[axis] - 1;  // the last cells of a sibling
      }
      const Piece whole = piece(octet[static_cast<std::size_t>(Octet::index(at[0], at[1], at[2]))]);
      around.pieces[static_cast<std::size_t>(k)] = {whole.at(in[0], in[1], in[2]), whole.steps};
    }
    return around;
  }
  [[nodiscard]] DeviceSurroundings device(const support::CudaStream& stream) {
    DeviceSurroundings d;
    d.sources = device_sources_.data();
    d.slots = device_slots_.data();
    d.blocks = device_blocks_.view(stream);
    for (int axis = 0; axis < 3; ++axis) d.faces[axis] = device_faces_[axis].data();
    d.steps = device_steps(layout_);
    return d;
  }
  [[nodiscard]] std::vector<double>& faces(int axis) { return faces_[axis]; }
  [[nodiscard]] std::vector<double> device_faces(int axis, const support::CudaStream& stream) const {
    return to_host(device_faces_[axis], stream);
  }

 private:
  [[nodiscard]] Piece piece(const PieceSource& s) const {
    const double* const from = s.kind == PieceSource::kBlock
                                   ? blocks_.data() + slots_[s.index] * layout_.block_values()
                                   : faces_[s.kind].data() + s.index * layouts_[s.kind].values();
    return {from + s.offset, &steps_[s.kind]};
  }
  [[nodiscard]] static std::vector<double> values(std::mt19937_64& random, std::size_t n, bool range) {
    std::vector<double> values = random_values(random, n);
    if (range)
      for (double& x : values) x = 0.1 + std::fmod(std::abs(x), 0.9);
    return values;
  }
  [[nodiscard]] PieceSource random_source(std::mt19937_64& random, int count, const std::array<int, 3>& d) const {
    const auto kind = static_cast<std::uint32_t>(random() % 4);
    std::array<int, 3> at{};
    const bool block = kind == PieceSource::kBlock || d[kind] == 0 || random() % 2 == 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (d[axis] == 0) continue;
      const int n = layout_.cells[axis];
      const bool extends = !block && axis < static_cast<int>(kind), across = !block && axis == static_cast<int>(kind);
      at[axis] = extends ? (d[axis] < 0 ? -1 : n) : across ? 0 : static_cast<int>(random() % n);
    }
    if (block) {
      return {static_cast<std::int32_t>(random() % count), PieceSource::kBlock,
              static_cast<std::uint32_t>(layout_.offset(0, at[0], at[1], at[2])) & ((1U << 30) - 1)};
    }
    return {static_cast<std::int32_t>(random() % kFaces), kind,
            static_cast<std::uint32_t>(layouts_[kind].cell(at[0], at[1], at[2])) & ((1U << 30) - 1)};
  }

  BlockLayout layout_;
  std::array<FaceLayout, 3> layouts_;
  std::array<PieceSteps, 4> steps_;
  std::vector<double> blocks_;
  DeviceField device_blocks_;
  std::array<std::vector<double>, 3> faces_;
  std::array<support::DeviceBuffer<double>, 3> device_faces_;
  std::vector<std::int32_t> slots_;
  std::vector<PieceSource> sources_;
  support::DeviceBuffer<std::int32_t> device_slots_;
  support::DeviceBuffer<PieceSource> device_sources_;
};

}  // namespace amrbench::kernels::checks
