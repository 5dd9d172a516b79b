#pragma once
// Files that are written whole or not at all.
#include <filesystem>
#include <string_view>

namespace amrbench::support {

/// What to do with a file that is there already.
enum class Existing { refuse, replace };

/// Writes a whole file or nothing: to a temporary file beside it, flushed to the disk, then given its name. RunError
/// that names the file when it cannot be written, or exists and must not be replaced. One process writes a file at a
/// time.
void write_file_atomically(const std::filesystem::path& file, std::string_view content,
                           Existing existing = Existing::refuse);

/// Makes the temporary file of write_file_atomically() and removes it again: only trying tells whether a folder can be
/// written. RunError as there.
void try_writing(const std::filesystem::path& file);

}  // namespace amrbench::support
