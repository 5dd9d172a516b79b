#pragma once
// Values on a GPU: the twin of FieldStore (amr/field_store.hpp), slot for slot.
//
// There are two arrays of slots in device memory, input and output. What is in them never moves when they grow; slots
// that a refinement or a migration asks for come out of the output buffer's memory. Splits, merges, initial values and
// statistics are kernels, one launch for all blocks concerned. Blocks that move to another rank are gathered into a
// buffer, sent by the device's link and scattered there, in rounds of bounded size. Only what is read for output comes
// to the host.
//
// All work is put into the device's main stream in the order of the calls, most of it without waiting.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amr/cuda/cuda_device.hpp"
#include "amr/fields.hpp"
#include "amr/level_transfer.hpp"
#include "kernels/refine_data_cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::amr {

class CudaFields final : public Fields {
 public:
  /// Owns the device; it must be current.
  /// `transfer`: as FieldStore's; splits and merges then pass through the host.
  /// is_single: values lie as floats, from the first byte of each slot, which is half as long; what the host reads and
  /// writes are doubles all the same. For layouts of one lane and an even number of cells along y, with a transfer.
  CudaFields(const kernels::BlockLayout& layout, std::unique_ptr<CudaDevice> device,
             std::shared_ptr<const LevelTransfer> transfer = nullptr, bool is_single = false);

  [[nodiscard]] CudaDevice& device() const { return *device_; }
  /// The input buffer for kernels in the main stream, good until slots are taken or buffers swapped.
  [[nodiscard]] support::DeviceSlots input() const { return in_.view(device_->main()); }
  [[nodiscard]] support::DeviceSlots output() { return out_.view(device_->main()); }
  /// Room for every block's result. Call before a stage.
  void prepare_output();
  /// The results become the input; block i stands in slot i.
  void swap_buffers();
  /// Copies blocks until block i stands in slot i, for stages that need their input a second time.
  void put_in_order();

  void reset(std::int64_t count) override;
  void set_initial(const Mesh<3>& mesh, bool ones, std::uint64_t seed) override;
  void merge(std::span<const kernels::MergeJob> jobs) override;
  void split(std::span<const kernels::SplitJob> jobs) override;
  void move(const support::Communicator& comm, std::span<const BlockMessage> sends,
            std::span<const BlockMessage> receives) override;
  [[nodiscard]] std::vector<support::FieldStats> statistics(std::span<const std::uint64_t> hashes,
                                                            std::span<const double> measures) const override;
  [[nodiscard]] std::unique_ptr<BlockReading> make_reading() const override;
  void read(std::span<const std::int32_t> blocks, BlockReading& reading) const override;
  void write(std::int32_t first, std::int32_t count, const double* values) override;
  /// Of device memory.
  [[nodiscard]] std::size_t memory_bytes() const override;

 protected:
  void make_room(std::int64_t slots) override;

 private:
  void move_values(std::span<const BlockMessage> sends, std::span<const BlockMessage> receives);
  [[nodiscard]] std::size_t round_blocks() const;
  void reserve_round(support::DeviceBuffer<double>& buffer, std::size_t blocks);
  /// Values of slots, block after block, to and from the host. Waits.
  void fetch(std::span<const std::int64_t> slots, std::vector<double>& values) const;
  /// The same, by way of `buffer` on the device, which has room for the slots.
  void gather(std::span<const std::int64_t> slots, double* buffer, double* values) const;
  void store(std::span<const std::int64_t> slots, const double* values);
  [[nodiscard]] const std::int32_t* upload_slots(std::span<const std::int64_t> slots) const;

  std::unique_ptr<CudaDevice> device_;
  std::shared_ptr<const LevelTransfer> transfer_;
  bool is_single_;
  /// Of slots as doubles: what kernels that only move values are told.
  kernels::BlockLayout stored_;
  mutable support::DeviceSlotArray in_;
  support::DeviceSlotArray out_;
  mutable DeviceList<std::int32_t> slot_list_;
  mutable DeviceList<std::uint64_t> hash_list_;
  DeviceList<kernels::MergeJob> merge_list_;
  DeviceList<kernels::SplitJob> split_list_;
  DeviceList<kernels::CopyJob> copy_list_;
  support::DeviceBuffer<double> leaving_, coming_;  ///< values of a round of a migration
};

/// Fields that lie on a GPU, as those; std::logic_error for others.
[[nodiscard]] CudaFields& cuda_fields(Fields& fields);

}  // namespace amrbench::amr
