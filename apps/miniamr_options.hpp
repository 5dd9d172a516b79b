#pragma once
// Reads miniAMR's command line as a configuration of ours (docs/miniamr.md lists every option and its meaning here).
// Facts from Mantevo miniAMR, folder ref: main.c (options), param.h (defaults), driver.c and refine.c (their effect).
#include <string>
#include <string_view>
#include <vector>

#include "apps/config.hpp"

namespace amrbench::apps {

struct MiniamrInput {
  Config config;
  std::vector<std::string> notes;  ///< one line each: options that mean something else here, or nothing
};

/// `line` is what would stand behind miniAMR's name. Options not given have miniAMR's defaults; the initial field is
/// "random". Throws support::InputError, one line naming the option. Single values are checked here, not what
/// check_config() checks.
MiniamrInput parse_miniamr(std::string_view line);

/// Cuts a line into words as a shell does: blanks separate, '...' and "..." hold together, a backslash takes the next
/// character as it is (but not inside '...'). Throws support::InputError when a quote stays open.
std::vector<std::string> split_words(std::string_view line);

}  // namespace amrbench::apps
