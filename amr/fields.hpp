#pragma once
// The values of a rank's blocks, wherever they lie: what mesh, migration, checks and output ask of a back end.
//
// Block i of the mesh stands in slot(i) of an input buffer. Slots are numbers; their bookkeeping is the same for all
// back ends (amr/slot_book.hpp), and so is the order in which slots are taken and freed. Values are named in batches of
// slots: one virtual call a batch, never one a block. FieldStore (amr/field_store.hpp) holds values in host memory,
// CudaFields (amr/cuda_fields.hpp) on a GPU. A stage (amr/stage.hpp) is made for one of them.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amr/consensus.hpp"
#include "amr/mesh.hpp"
#include "amr/slot_book.hpp"
#include "kernels/layout.hpp"
#include "kernels/refine_jobs.hpp"
#include "support/field_stats.hpp"

namespace amrbench::amr {

/// Blocks on their way to or from a rank: keys, weights, what they are about to become, and the slots of their values;
/// lists of one length. What is received is written there.
struct BlockMessage {
  int rank = 0;
  std::span<Key> keys;
  std::span<double> weights;
  std::span<Change> changes;
  std::span<const std::int64_t> slots;
};

/// Values of some blocks in host memory, and the memory where a back end needs it for them. Reused from call to call.
class BlockReading {
 public:
  BlockReading() = default;
  virtual ~BlockReading() = default;
  BlockReading(const BlockReading&) = delete;
  BlockReading& operator=(const BlockReading&) = delete;
  /// Of the n-th block that was asked for, block_values() doubles.
  [[nodiscard]] const double* values(std::size_t n) const { return values_[n]; }

 protected:
  std::vector<const double*> values_;
};

class Fields {
 public:
  explicit Fields(const kernels::BlockLayout& layout) : layout_(layout) {}
  virtual ~Fields() = default;
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  [[nodiscard]] const kernels::BlockLayout& layout() const { return layout_; }
  [[nodiscard]] std::int32_t size() const { return book_.size(); }
  [[nodiscard]] std::int64_t slot(std::int32_t i) const { return book_.slot(i); }
  [[nodiscard]] std::span<const std::int64_t> slots() const { return book_.slots(); }
  [[nodiscard]] bool in_order() const { return book_.in_order(); }

  /// `count` slots that belong to no block, freed ones first, in ascending order. Their values are undefined. RunError
  /// when there is no memory.
  [[nodiscard]] std::vector<std::int64_t> take(std::size_t count);
  /// Slots whose values nobody needs any more.
  void give_back(std::span<const std::int64_t> slots) { book_.give_back(slots); }
  /// Says in which slots the blocks of the mesh, in its order, now are.
  void set_slots(std::vector<std::int64_t> slots) { book_.set(std::move(slots)); }
  /// A list of any contents for set_slots(): the memory of one before.
  [[nodiscard]] std::vector<std::int64_t> spare_slots() { return book_.spare(); }
  /// Forgets all blocks, then holds `count` of undefined values in slots 0 .. count - 1.
  virtual void reset(std::int64_t count) = 0;

  /// Touches host memory for the values and the results of so many blocks, so that a stage or a refinement need not
  /// wait for the system to clear it. Between stages only. Local.
  virtual void make_ready(std::int64_t /*blocks*/) {}

  /// Fills the blocks of a mesh of root cells: 1 (`ones`), or kernels::random_value; 0 in padding lanes. Local.
  virtual void set_initial(const Mesh<3>& mesh, bool ones, std::uint64_t seed) = 0;
  /// Values of blocks that merge, of blocks that split. No job writes what another one of the batch reads or writes.
  virtual void merge(std::span<const kernels::MergeJob> jobs) = 0;
  virtual void split(std::span<const kernels::SplitJob> jobs) = 0;
  /// Sends blocks to other ranks and receives others, lists and values; lists by ascending rank, each rank at
  /// most once a list, none this one. Returns when all is there. Collective over the ranks that are named.
  virtual void move(const support::Communicator& comm, std::span<const BlockMessage> sends,
                    std::span<const BlockMessage> receives) = 0;
  /// Statistics of every variable over this rank's blocks; block_hashes[i] binds values to the place of block i.
  /// `measures`: what a cell of each block counts for in sums, powers of 2; empty: 1. Local.
  [[nodiscard]] virtual std::vector<support::FieldStats> statistics(std::span<const std::uint64_t> block_hashes,
                                                                    std::span<const double> measures) const = 0;

  /// A reading for this kind of fields.
  [[nodiscard]] virtual std::unique_ptr<BlockReading> make_reading() const = 0;
  /// Values of `blocks` for the host to read, good until the next call with this reading or the next change of the
  /// fields.
  virtual void read(std::span<const std::int32_t> blocks, BlockReading& reading) const = 0;

  /// The other way round: values of the blocks first .. first + count - 1, block_values() doubles each, padding lanes
  /// included, from host memory, which may be used again when it returns. Local.
  virtual void write(std::int32_t first, std::int32_t count, const double* values) = 0;

  /// Bytes of values and tables, in the memory where values lie.
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;

 protected:
  /// Room for slots 0 .. slots - 1 of the input buffer; those there are kept.
  virtual void make_room(std::int64_t slots) = 0;
  [[nodiscard]] SlotBook& book() { return book_; }
  [[nodiscard]] const SlotBook& book() const { return book_; }

 private:
  kernels::BlockLayout layout_;
  SlotBook book_;
};

}  // namespace amrbench::amr
