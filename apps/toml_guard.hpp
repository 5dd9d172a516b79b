#pragma once
// Guards the TOML parser against inputs that would exhaust its stack.
#include <string_view>

namespace amrbench::apps {

/// The most segments of any dotted key or table header in `text` (a.b.c has 3). Text that is not TOML gives some
/// number. One pass, no recursion.
int deepest_dotted_key(std::string_view text);

/// Where toml++ 3.3 has no defined behaviour, by what it was found to fall over (scripts/fuzz): a character beyond
/// ASCII outside strings and comments, a table header whose name is missing, a } where an array wants a value, a value
/// with characters that no value has, a quote inside a name, a date before an hour of one digit. None of them is TOML.
/// And what is: a character beyond ASCII after a \ at the end of a line in a string of several lines. line 0: nothing
/// of the kind. One pass.
struct TomlHazard {
  int line = 0;
  std::string_view what;
};
TomlHazard find_toml_hazard(std::string_view text);

}  // namespace amrbench::apps
