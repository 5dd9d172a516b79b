#pragma once
// Guards the TOML parser against inputs that would exhaust its stack.
#include <string_view>

namespace amrbench::apps {

/// The most segments of any dotted key or table header in `text` (a.b.c has 3). Text that is not TOML gives some
/// number. One pass, no recursion.
int deepest_dotted_key(std::string_view text);

}  // namespace amrbench::apps
