#pragma once
// A part of a checkpoint: the blocks of a group of ranks, one rank's after another's, in an HDF5 file
// (docs/checkpoints.md).
//
//   place   uint32 [n][4]      level, then x, y, z in blocks of that level; a rank's in curve order
//   weight  double [n]         what balancing last said that the block weighs
//   digest  uint64 [n]         XXH3 of the block: its place, its weight, its values, as they lie in memory
//   value   double [n][chunk][z][y][x][lane]      kernels/layout.hpp; one stretch of the file, not compressed
//
// Every byte is guarded: those of `value` by the digests, all others, the frame, by a digest in PartInfo. The frame is
// checked before the library looks at the file, so no damage reaches its parser; sizes are checked before memory is
// taken.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "support/mpi.hpp"

namespace amrbench::amr {

/// Was the library found when this was built? Without it the functions below throw support::RunError.
[[nodiscard]] bool has_checkpoints();

/// XXH3, 64 bits.
[[nodiscard]] std::uint64_t digest_of(std::span<const std::byte> bytes);

/// A checkpoint that is not as it was written: what() says in which way, without a line's end.
class DamagedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A block's; the third coordinate is 0 in 2-D.
struct Place {
  std::uint32_t level = 0;
  std::array<std::uint32_t, 3> coord{};
};

/// What the manifest keeps of a part.
struct PartInfo {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;         ///< of the file
  std::int64_t values_begin = 0;  ///< where the values lie in it
  std::uint64_t frame = 0;        ///< digest of all bytes but the values
};

/// Bytes of the values of blocks that are in memory at once, while they are written or read.
inline constexpr std::size_t kCheckpointBatch = std::size_t{8} << 20;

/// Of a block's place, weight and values.
[[nodiscard]] std::uint64_t block_digest(const Place& place, double weight, const double* values, std::size_t count);

/// Writes the blocks of the group's ranks to a new file and flushes it to the disk. Rank 0 of the group writes and
/// returns what the manifest keeps; the others send it theirs, a batch at a time, and return nothing of worth. Throws
/// support::RunError where something failed: on rank 0 one that names the file, on another what kept it from reading
/// its blocks; all others of the group return. A communicator of one rank need not be MPI's. Collective over `group`.
template <int Dim>
[[nodiscard]] PartInfo write_part(const std::filesystem::path& file, const Mesh<Dim>& mesh, const Fields& fields,
                                  const support::Communicator& group);

/// Reads a part. All members throw DamagedError where the file is not what `info` says. Local.
class PartReader {
 public:
  /// Checks size and frame.
  PartReader(const std::filesystem::path& file, const PartInfo& info, const kernels::BlockLayout& layout);
  ~PartReader();
  PartReader(const PartReader&) = delete;
  PartReader& operator=(const PartReader&) = delete;

  [[nodiscard]] std::span<const Place> places() const;
  [[nodiscard]] std::span<const double> weights() const;
  /// Values of blocks first .. first + count - 1 into `to`, each held against its digest.
  void read_values(std::int64_t first, std::int64_t count, double* to) const;

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace amrbench::amr
