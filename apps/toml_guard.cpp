#include "apps/toml_guard.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

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

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// May it stand in a number, a date, true, false, inf or nan?
bool is_in_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("+-.:_").find(c) != std::string_view::npos;
}

/// What ends a value that is no string, array or table.
bool ends_value(char c) {
  return is_blank(c) || std::string_view("\n\v\f]},#").find(c) != std::string_view::npos;
}

/// Does a \, and blanks and ends of lines behind it, come before a character beyond ASCII? `string`: of several lines.
bool has_wide_after_backslash(std::string_view string) {
  for (std::size_t at = 0; (at = string.find('\\', at)) != std::string_view::npos; at += 2) {
    std::size_t next = at + 1;
    while (next < string.size() && (is_blank(string[next]) || string[next] == '\n')) ++next;
    if (next < string.size() && static_cast<unsigned char>(string[next]) >= 0x80) return true;
  }
  return false;
}

/// One pass over a text; keeps what the parser would expect next.
class HazardScan {
 public:
  explicit HazardScan(std::string_view text) : text_(text) {}

  TomlHazard find() {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    for (at_ = text_.starts_with(kMark) ? kMark.size() : 0; at_ < text_.size();) {
      const std::string_view what = step();
      if (!what.empty()) return {line_, what};
    }
    return {};
  }

 private:
  /// Goes on by a character, a string, a comment or the beginning of a header; the hazard there, or nothing.
  std::string_view step() {
    const char c = text_[at_];
    const bool was_start = at_start_;
    at_start_ = c == '\n' || (at_start_ && is_blank(c));
    if (c == '"' || c == '\'') return step_over_string();
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return {};
    }
    if (static_cast<unsigned char>(c) >= 0x80) return "a character that is not ASCII, outside strings";
    if (c == '[' && was_start && open_.empty()) return step_into_header();
    if (c == '}' && !open_.empty() && open_.back() == '[') return "a } in an array that is not closed";
    if (!in_key_ && c == '=') return "a second = of a value";
    if (!in_key_ && is_in_word(c)) return step_over_word();
    follow(c);
    ++at_;
    return {};
  }

  /// Brackets, and whether a name or a value comes next.
  void follow(char c) {
    const bool in_table = !open_.empty() && open_.back() == '{';
    if (c == '[' || c == '{') {
      open_ += c;
      in_key_ = c == '{';
    } else if ((c == ']' || c == '}') && !open_.empty()) {
      open_.pop_back();
      in_key_ = false;
    } else if (c == '=') {
      in_key_ = false;
    } else if (c == ',' && in_table) {
      in_key_ = true;
    }
    if (c == '\n') {
      ++line_;
      if (open_.empty()) in_key_ = true;
    }
  }

  /// The parser reads numbers, dates and words to their end, quotes included: one inside is no string's.
  std::string_view step_over_string() {
    if (!begins_word()) return "a quote inside a name or a value";
    const std::size_t end = skip_string(text_, at_);
    const std::string_view string = text_.substr(at_, end - at_);
    if (string.starts_with("\"\"\"") && has_wide_after_backslash(string))
      return "a character that is not ASCII after a \\";
    const auto lines = static_cast<int>(std::count(string.begin(), string.end(), '\n'));
    line_ += lines;
    at_start_ = end <= text_.size() && text_[end - 1] == '\n';
    if (at_start_ && open_.empty()) in_key_ = true;
    at_ = end;
    return {};
  }

  std::string_view step_into_header() {
    ++at_;
    if (at_ < text_.size() && text_[at_] == '[') ++at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ >= text_.size() || (!starts_key(text_[at_]) && text_[at_] != ']')) return "a table header without a name";
    in_key_ = true;
    return {};
  }

  /// May a name or a value begin here, by the character before?
  [[nodiscard]] bool begins_word() const {
    if (at_ == 0) return true;
    const char before = text_[at_ - 1];
    if (in_key_ && before == '.') return true;
    return is_blank(before) || static_cast<unsigned char>(before) >= 0x80 ||  // of the mark before all
           std::string_view("\n=[,{").find(before) != std::string_view::npos;
  }

  /// A number, a date, true or the like. The parser reads it to its end, whatever stands in it.
  std::string_view step_over_word() {
    std::string word;  // underscores do not count
    std::size_t end = at_;
    for (; end < text_.size() && !ends_value(text_[end]); ++end) {
      if (!is_in_word(text_[end])) return "a value that is no number, date, string, array or table";
      if (text_[end] != '_') word += text_[end];
    }
    // "1979-05-27 7", after which the hour ends.
    if (word.size() == 10 && word[4] == '-' && word[7] == '-' && end + 2 < text_.size() && text_[end] == ' ' &&
        is_digit(text_[end + 1]) && ends_value(text_[end + 2]))
      return "a date with a time that is none";
    at_ = end;
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool at_start_ = true;  ///< of a line, but for blanks
  bool in_key_ = true;
  std::string open_;  ///< brackets of a value
};

}  // namespace

TomlHazard find_toml_hazard(std::string_view text) {
  return HazardScan(text).find();
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
