#pragma once
// Random blocks on the host and the same on a GPU, for the tests of CUDA kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "kernels/average7/average7.hpp"
#include "kernels/device_blocks.hpp"
#include "kernels/random_block.hpp"
#include "support/cuda.hpp"
#include "support/cuda_info.hpp"
#include "support/device_slots.hpp"

/// Skips the test, with the reason, where no GPU can be used.
#define AMRBENCH_NEEDS_GPU()                                            \
  do {                                                                  \
    const std::string problem = amrbench::support::cuda_info().problem; \
    if (!problem.empty()) GTEST_SKIP() << problem;                      \
  } while (false)

namespace amrbench::kernels::checks {

template <class T>
support::DeviceBuffer<T> to_device(const std::vector<T>& values, const support::CudaStream& stream) {
  support::DeviceBuffer<T> buffer(std::max<std::size_t>(1, values.size()));
  support::copy_to_device(buffer.data(), values.data(), values.size(), stream);
  stream.synchronize();
  return buffer;
}
template <class T>
std::vector<T> to_host(const support::DeviceBuffer<T>& buffer, const support::CudaStream& stream) {
  std::vector<T> values(buffer.size());
  support::copy_to_host(values.data(), buffer.data(), values.size(), stream);
  stream.synchronize();
  return values;
}

inline std::vector<double> random_values(std::mt19937_64& random, std::size_t n) {
  std::vector<double> values(n);
  for (double& x : values) x = random_double(random);
  return values;
}

/// Slots with the same values on both sides; extents of three slots or fewer, so that every lookup counts.
class DeviceField {
 public:
  DeviceField(const std::vector<double>& host, std::size_t slot_values, const support::CudaStream& stream)
      : slots_(slot_values, 3 * slot_values * sizeof(double)) {
    const auto count = static_cast<std::int64_t>(host.size() / slot_values);
    slots_.grow(count);
    for (std::int64_t i = 0; i < count; ++i)
      support::copy_to_device(slots_.address(i), host.data() + i * slot_values, slot_values, stream);
    stream.synchronize();
  }
  [[nodiscard]] support::DeviceSlots view(const support::CudaStream& stream) { return slots_.view(stream); }
  [[nodiscard]] std::vector<double> values(std::int64_t slot, std::size_t n, const support::CudaStream& stream) const {
    std::vector<double> host(n);
    support::copy_to_host(host.data(), slots_.address(slot), n, stream);
    stream.synchronize();
    return host;
  }

 private:
  support::DeviceSlotArray slots_;
};

/// Blocks in slots out of order, each with what lies behind its faces: other blocks, near ones more often, packed
/// faces, or itself at the domain's boundary.
class RandomMesh {
 public:
  RandomMesh(std::mt19937_64& random, const BlockLayout& layout, int blocks) : layout_(layout) {
    const int slots = blocks + 3, packed = blocks * 2;
    values_ = random_values(random, std::size_t(slots) * layout.block_values() + kPadding);
    face_room_ = 0;
    for (int axis = 0; axis < 3; ++axis) face_room_ = std::max(face_room_, (layout.face_values(axis) + 3) / 4 * 4);
    packed_ = random_values(random, packed * face_room_ + kPadding);
    // Half of the meshes stand in curve order but for one block, as after a stage; the others are shuffled.
    std::vector<std::int32_t> order(slots);
    for (int i = 0; i < slots; ++i) order[i] = i;
    if (random() % 2 != 0)
      std::shuffle(order.begin(), order.end(), random);
    else
      std::swap(order[random() % blocks], order[blocks]);
    for (int i = 0; i < blocks; ++i) {
      BlockEntry entry;
      entry.in = order[i];
      entry.out = i;
      for (int face = 0; face < 6; ++face) {
        const auto choice = random() % 8;
        if (choice == 0) {
          entry.faces[face] = face_in_place(entry.in, face % 2);
        } else if (choice < 3) {
          entry.faces[face] = face_packed((random() % packed) * face_room_);
        } else {
          const auto near = static_cast<int>(random() % 9) - 4;
          const int j = choice < 6 ? std::clamp(i + near, 0, blocks - 1) : static_cast<int>(random() % blocks);
          entry.faces[face] = face_in_place(order[j], 1 - face % 2);
        }
      }
      entries_.push_back(entry);
    }
  }
  [[nodiscard]] const std::vector<BlockEntry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<double> slots() const { return {values_.begin(), values_.end() - kPadding}; }
  [[nodiscard]] const std::vector<double>& packed() const { return packed_; }
  [[nodiscard]] const double* block(std::int32_t slot) const { return values_.data() + slot * layout_.block_values(); }
  /// What a CPU kernel is told of block i.
  [[nodiscard]] BlockArgs args(std::size_t i, double* out) const {
    const BlockEntry& entry = entries_[i];
    BlockArgs args;
    args.in = block(entry.in);
    args.out = out;
    for (int face = 0; face < 6; ++face) {
      const FaceCode code = entry.faces[face];
      args.faces[face] = face_is_packed(code) ? FaceView{packed_.data() + packed_offset(code), true}
                                              : in_place_face(layout_, block(code >> 1), face / 2, code & 1);
    }
    return args;
  }

 private:
  BlockLayout layout_;
  std::size_t face_room_ = 0;
  std::vector<double> values_, packed_;
  std::vector<BlockEntry> entries_;
};

}  // namespace amrbench::kernels::checks
