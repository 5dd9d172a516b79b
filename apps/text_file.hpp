#pragma once
// Small text files: configurations and models.
#include <string>
#include <string_view>

namespace amrbench::apps {

/// The file's text. Throws support::InputError for what is no regular text file of sensible size; `what` names what was
/// expected, as in "configuration".
std::string read_text_file(const std::string& path, std::string_view what);

}  // namespace amrbench::apps
