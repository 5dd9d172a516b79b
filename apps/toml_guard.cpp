#include "apps/toml_guard.hpp"

#include <algorithm>
#include <cstddef>

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
      if (c == quote && text.substr(at, 3) == std::string_view(basic ? "\"\"\"" : "'''")) {
        at += 3;
        // Up to two more quotes belong to the string.
        for (int more = 0; more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
        return at;
      }
      ++at;
    } else if (c == quote || c == '\n') {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

bool starts_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '"' || c == '\'';
}

/// Position of the first character of the name in the table header that begins at `at` (a bracket).
std::size_t name_of_header(std::string_view text, std::size_t at) {
  ++at;
  if (at < text.size() && text[at] == '[') ++at;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

}  // namespace

TomlHazard find_toml_hazard(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  int line = 1, depth = 0;  // depth: brackets open in a value
  bool at_start = true;     // of a line, but for blanks
  for (std::size_t at = text.starts_with(kMark) ? kMark.size() : 0; at < text.size();) {
    const char c = text[at];
    const bool was_start = at_start;
    at_start = c == '\n' || (at_start && (c == ' ' || c == '\t' || c == '\r'));
    if (c == '"' || c == '\'') {
      const std::size_t end = skip_string(text, at);
      line +=
          static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                      text.begin() + static_cast<std::ptrdiff_t>(std::min(end, text.size())), '\n'));
      at_start = end <= text.size() && text[end - 1] == '\n';
      at = end;
      continue;
    }
    if (c == '#') {
      while (at < text.size() && text[at] != '\n') ++at;
      continue;
    }
    if (static_cast<unsigned char>(c) >= 0x80) return {line, "a character that is not ASCII, outside strings"};
    if (c == '[' && was_start && depth == 0) {
      const std::size_t name = name_of_header(text, at);
      if (name >= text.size() || (!starts_key(text[name]) && text[name] != ']'))
        return {line, "a table header without a name"};
      at = name;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '\n') ++line;
    ++at;
  }
  return {};
}

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
