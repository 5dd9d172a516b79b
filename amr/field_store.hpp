#pragma once
// Values in host memory: two flat buffers and the place of each block in the first.
//
// A stage reads every block where it lies in the input buffer and writes block i to place i of the output buffer, in
// curve order; then the buffers swap. So the copy that puts blocks back into curve order after a refinement or a
// migration is no pass of its own: the next stage does it while it computes. Until then new blocks stand in slots that
// others left, or behind all others, and `slot` says where.
// Buffers grow without copying and are never sized ahead (amr/slot_array.hpp). Between stages the values of the output
// buffer are of no use to anybody: slots that a refinement or a migration asks for come out of its memory, and the next
// stage gets new memory for its results. A parent and its child of octant 0 share a slot.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amr/fields.hpp"
#include "amr/level_transfer.hpp"
#include "amr/slot_array.hpp"

namespace amrbench::amr {

class FieldStore final : public Fields {
 public:
  /// `transfer`: what becomes of values where blocks split and merge; none: variables are extensive.
  explicit FieldStore(const kernels::BlockLayout& layout, std::shared_ptr<const LevelTransfer> transfer = nullptr)
      : Fields(layout),
        transfer_(std::move(transfer)),
        in_(layout.block_values()),
        out_(layout.block_values(), kernels::result_skew(layout)) {}

  /// Values of block i, block_values() doubles.
  [[nodiscard]] const double* block(std::int32_t i) const { return in_.slot(book().slot(i)); }
  [[nodiscard]] double* block(std::int32_t i) { return in_.slot(book().slot(i)); }
  /// Values in a slot that need not belong to a block (yet). Pointers stay valid while slots are taken.
  [[nodiscard]] double* slot_values(std::int64_t slot) { return in_.slot(slot); }

  /// Room for every block's result. Call before a stage; pointers into the output buffer hold until the next call.
  void prepare_output() { out_.grow(size()); }
  [[nodiscard]] double* output(std::int32_t i) { return out_.slot(i); }
  /// The results become the input; block i stands in slot i.
  void swap_buffers();
  /// Copies blocks until block i stands in slot i, for stages that need their input a second time. Local.
  void put_in_order();

  void reset(std::int64_t count) override;
  /// The first size() results by the threads that will store there. For more blocks all that is reserved, most of it in
  /// the output buffer, which gives to the other one.
  void make_ready(std::int64_t blocks) override;
  void set_initial(const Mesh<3>& mesh, bool ones, std::uint64_t seed) override;
  void merge(std::span<const kernels::MergeJob> jobs) override;
  void split(std::span<const kernels::SplitJob> jobs) override;
  /// One message a pair of ranks, from and to the slots where values lie.
  void move(const support::Communicator& comm, std::span<const BlockMessage> sends,
            std::span<const BlockMessage> receives) override;
  [[nodiscard]] std::vector<support::FieldStats> statistics(std::span<const std::uint64_t> hashes,
                                                            std::span<const double> measures) const override;
  [[nodiscard]] std::unique_ptr<BlockReading> make_reading() const override;
  /// Names the blocks where they lie; copies nothing.
  void read(std::span<const std::int32_t> blocks, BlockReading& reading) const override;
  void write(std::int32_t first, std::int32_t count, const double* values) override;
  [[nodiscard]] std::size_t memory_bytes() const override {
    return in_.memory_bytes() + out_.memory_bytes() + std::size_t(size()) * 8;
  }

 protected:
  void make_room(std::int64_t slots) override { in_.grow_from(out_, slots); }

 private:
  std::shared_ptr<const LevelTransfer> transfer_;
  SlotArray in_;
  SlotArray out_;
};

/// Fields that lie in host memory, as those; std::logic_error for others.
[[nodiscard]] FieldStore& host_fields(Fields& fields);
[[nodiscard]] const FieldStore& host_fields(const Fields& fields);

}  // namespace amrbench::amr
