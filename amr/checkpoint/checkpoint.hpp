#pragma once
// Checkpoints: a run's mesh, values and state, saved so that it goes on with the same bits on any number of ranks,
// threads and any back end (docs/checkpoints.md). Without HDF5 (has_checkpoints()) nothing here may be called but that.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "amr/checkpoint/part.hpp"
#include "amr/checkpoint/restart.hpp"
#include "amr/checkpoint/slots.hpp"

namespace amrbench::amr {

/// Of what is written; one that is read may have no other.
inline constexpr int kCheckpointFormat = 1;
/// Files of a slot that are written where nobody says how many ranks share one: more of them wear metadata servers out.
inline constexpr int kMostParts = 256;

/// Writes the slots of one folder.
class CheckpointWriter {
 public:
  /// `good`: the slot that the run goes on from, in this folder, which is kept until two newer ones are there. `group`:
  /// ranks that share a file; 0: one, or as many as make kMostParts files. Looks at what there is, writes nothing.
  /// Collective.
  CheckpointWriter(const support::Communicator& comm, std::filesystem::path folder,
                   std::optional<std::int64_t> good = {}, int group = 0);

  /// A new slot, with `state` and with `more`, whatever the caller wants to find again (of rank 0; format, parts,
  /// layout and state are this class's names). When it returns the slot is on the disk and counts; an older one than
  /// the one before is removed. Returns the bytes of all parts. Throws support::RunError on all ranks alike: the slot
  /// is then removed, those before are as they were. Collective.
  template <int Dim>
  std::int64_t save(const Mesh<Dim>& mesh, const Fields& fields, const RunState& state,
                    const nlohmann::ordered_json& more);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  template <int Dim>
  void write_slot(const Mesh<Dim>& mesh, const Fields& fields, const RunState& state,
                  const nlohmann::ordered_json& more, std::int64_t& bytes);

  const support::Communicator& comm_;
  int group_size_;
  support::Communicator group_;  ///< of more than one rank; else this one alone
  std::filesystem::path folder_;
  std::int64_t next_ = 0;
  std::int64_t before_ = -1;
};

/// A slot, opened: what its manifest says.
class Checkpoint {
 public:
  /// Reads the manifest on rank 0. Throws DamagedError on all ranks alike, support::InputError where the format is
  /// another. Collective.
  Checkpoint(const support::Communicator& comm, std::filesystem::path slot);

  [[nodiscard]] const std::filesystem::path& slot() const { return slot_; }
  [[nodiscard]] const RunState& state() const { return state_; }
  [[nodiscard]] const nlohmann::ordered_json& manifest() const { return manifest_; }
  [[nodiscard]] const kernels::BlockLayout& layout() const { return layout_; }
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  /// Of the run that wrote it.
  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_.size()); }

  /// Reads all of it once, each rank its share, and holds it against the digests; throws DamagedError on all ranks
  /// alike. Takes the memory of one batch. Collective.
  template <int Dim>
  void verify(const support::Communicator& comm, const sfc::KeySpace<Dim>& space) const;
  /// This rank's share of the blocks: those it had, where there are as many ranks as then, else an even stretch of the
  /// order in which they lay on the ranks. The checkpoint must outlive it. Throws DamagedError. Local.
  template <int Dim>
  [[nodiscard]] Restart restart(const support::Communicator& comm, const sfc::KeySpace<Dim>& space) const;

 private:
  /// Blocks [first, first + count) of a part.
  struct Stretch {
    std::size_t part;
    std::int64_t first, count;
  };
  void read_parts(const nlohmann::ordered_json& manifest);
  [[nodiscard]] std::vector<Stretch> share(int rank, int ranks) const;
  void fill(Fields& fields, std::span<const Stretch> stretches, std::span<const std::int32_t> place) const;

  std::filesystem::path slot_;
  nlohmann::ordered_json manifest_;
  kernels::BlockLayout layout_;
  std::vector<PartInfo> parts_;
  std::vector<Stretch> ranks_;  ///< what each rank had
  std::int64_t blocks_ = 0;
  RunState state_;
};

}  // namespace amrbench::amr
