#pragma once
// A rank's blocks on their way into a checkpoint: batch by batch, with their places, weights and digests, into the file
// or to the rank of its group that writes it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "amr/checkpoint/part.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

/// What a part holds of its blocks besides their values.
struct BlockTables {
  std::vector<Place> places;
  std::vector<double> weights;
  std::vector<std::uint64_t> digests;

  void reserve(std::size_t blocks);
  void append(const BlockTables& other);
};

/// Blocks whose values kCheckpointBatch holds: one at least.
[[nodiscard]] std::int64_t checkpoint_batch(const kernels::BlockLayout& layout);

/// Calls work(first, count) for the batches of so many blocks.
template <class Work>
void for_each_batch(std::int64_t blocks, const kernels::BlockLayout& layout, Work&& work) {
  const std::int64_t batch = checkpoint_batch(layout);
  for (std::int64_t first = 0; first < blocks; first += batch) work(first, std::min(batch, blocks - first));
}

/// This rank's own.
class BlockBatches {
 public:
  /// Takes the memory of a batch and of the tables. The fields must outlive this.
  template <int Dim>
  BlockBatches(const Mesh<Dim>& mesh, const Fields& fields);

  /// The values of blocks first .. first + count - 1, a batch at most, until the next call; notes the digest of each.
  /// By all threads.
  const double* gather(std::int64_t first, std::int64_t count);
  /// What the last call of gather() left.
  [[nodiscard]] const double* values() const { return staging_.data(); }
  [[nodiscard]] const BlockTables& tables() const { return tables_; }
  [[nodiscard]] const kernels::BlockLayout& layout() const { return fields_.layout(); }
  [[nodiscard]] std::int64_t blocks() const { return static_cast<std::int64_t>(tables_.places.size()); }

 private:
  const Fields& fields_;
  std::unique_ptr<BlockReading> reading_;
  std::vector<std::int32_t> list_;
  BlockTables tables_;
  support::PageBuffer<double> staging_;
};

/// Sends all of them to rank 0 of the group, which receives with the next two. A block that cannot be read is sent as
/// something else, so that nobody waits; what was thrown then is thrown at the end.
void send_blocks(const support::Communicator& group, BlockBatches& own);
void receive_values(const support::Communicator& group, int rank, std::size_t count, double* to);
/// Appends to tables that have room for them.
void receive_tables(const support::Communicator& group, int rank, std::int64_t blocks, BlockTables& tables);

}  // namespace amrbench::amr
