#pragma once
// The folder of a run's checkpoints: numbered slots and what says which of them is good (docs/checkpoints.md).
//
//   FOLDER/slot-000007/part-00000.h5 ...   a file a rank (amr/checkpoint/part.hpp)
//   FOLDER/slot-000007/manifest.json       all else; written when the parts are on the disk
//   FOLDER/last-good                       the newest complete slot; written when the manifest is on the disk
//
// Nothing rests on a rename being seen at once by all machines of a network file system: a slot counts by its number,
// its digests and what last-good says. Files and folders are flushed to the disk. Manifest and pointer begin with a
// line that holds the digest of the lines after it. Nothing here is collective: call on one rank.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amrbench::amr {

/// The folder of a result folder's checkpoints.
inline constexpr std::string_view kCheckpointFolder = "checkpoint";
/// Largest manifest that is read, bytes.
inline constexpr std::int64_t kMostManifestBytes = std::int64_t{1} << 30;

[[nodiscard]] std::filesystem::path slot_folder(const std::filesystem::path& folder, std::int64_t number);
[[nodiscard]] std::filesystem::path part_file(const std::filesystem::path& slot, std::int64_t part);
/// The number of a folder called as a slot is.
[[nodiscard]] std::optional<std::int64_t> slot_number(const std::filesystem::path& slot);
/// Numbers of the slots of `folder`, whole or not, ascending; none where there is no such folder.
[[nodiscard]] std::vector<std::int64_t> list_slots(const std::filesystem::path& folder);

/// Makes `folder` and an empty slot in it. Throws support::RunError.
void make_slot(const std::filesystem::path& folder, std::int64_t number);
/// `json`: text of a JSON object, written whole and flushed together with the names of all parts. Throws
/// support::RunError.
void write_manifest(const std::filesystem::path& slot, std::string_view json);
/// From now on the newest good slot. Throws support::RunError.
void write_last_good(const std::filesystem::path& folder, std::int64_t number);
/// Removes all slots but these two, as far as it can.
void keep_slots(const std::filesystem::path& folder, std::int64_t newest, std::int64_t before);

/// The object given to write_manifest(). Throws amr::DamagedError.
[[nodiscard]] std::string read_manifest(const std::filesystem::path& slot);
/// What last-good says. Throws amr::DamagedError when it is missing or damaged.
[[nodiscard]] std::int64_t read_last_good(const std::filesystem::path& folder);

}  // namespace amrbench::amr
