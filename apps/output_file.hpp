#pragma once
// Files that a command is about to write: found wanting before any work.
#include <string>
#include <string_view>

namespace amrbench::apps {

/// Throws support::InputError that names option and file where the file is a folder, has no folder to be in, or exists;
/// `force` lets it exist, `remedy` says what would help. An empty name is no file. Local.
void check_output_file(std::string_view option, const std::string& name, bool force,
                       std::string_view remedy = "--force replaces it");

}  // namespace amrbench::apps
