#include "apps/toml_guard.hpp"

#include <algorithm>

namespace amrbench::apps {

namespace {

/// Position after the string that starts at `at` (a quote). A one-line string ends with its line at the latest.
std::size_t skip_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool basic = quote == '"';
  const bool multi = text.substr(at, 3) == std::string_view(basic ? "\"\"\"" : "'''");
  at += multi ? 3 : 1;
  while (at < text.size()) {
    const char c = text[at];
    if (basic && c == '\\') {
      at += 2;
    } else if (multi) {
      if (c == quote && text.substr(at, 3) == std::string_view(basic ? "\"\"\"" : "'''")) return at + 3;
      ++at;
    } else if (c == quote || c == '\n') {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

}  // namespace

int deepest_dotted_key(std::string_view text) {
  int deepest = 1;
  int segments = 1;
  for (std::size_t at = 0; at < text.size();) {
    switch (text[at]) {
      case '"':
      case '\'':
        at = skip_string(text, at);
        continue;
      case '#':
        while (at < text.size() && text[at] != '\n') ++at;
        continue;
      case '.':
        deepest = std::max(deepest, ++segments);
        break;
      case '\n':
      case '=':
      case ',':
      case '[':
      case ']':
      case '{':
      case '}':
        segments = 1;
        break;
      default:
        break;
    }
    ++at;
  }
  return deepest;
}

}  // namespace amrbench::apps
