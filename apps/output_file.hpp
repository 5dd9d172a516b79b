#pragma once
// Files that a command is about to write: found wanting before any work.
#include <span>
#include <string>
#include <string_view>

namespace amrbench::apps {

/// A file as the command line names it.
struct NamedFile {
  std::string_view option;
  std::string name;  ///< empty: not asked for
};

/// Throws support::InputError that names option and file where the file is a folder or anything else that is no regular
/// file (a device, a pipe, a symbolic link: renaming a file to its name would put the file in its place), has no folder
/// to be in, cannot be written there, or exists; `force` lets a regular file exist, `remedy` says what would help. An
/// empty name is no file. Local.
void check_output_file(std::string_view option, const std::string& name, bool force,
                       std::string_view remedy = "--force replaces it");

/// The same of several, which must differ from each other and from `inputs`, whatever paths lead there. Local.
void check_output_files(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs, bool force);

}  // namespace amrbench::apps
