#pragma once
// Files in memory, stretches of files as lines, and numbers out of text, with messages that name file and line.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace amrbench::partitioners {

/// Bytes of a file. Throws support::InputError that names it when it is missing, unreadable, or no regular file: a pipe
/// does not tell its size and has no stretches.
std::uint64_t regular_file_size(const std::string& path);

/// All of them. Errors as above.
std::string read_whole_file(const std::filesystem::path& path);

/// n bytes from `offset` on; support::InputError when there are fewer.
void read_bytes(const std::string& path, std::uint64_t offset, void* to, std::size_t n);

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, FileCloser>;

/// Hands out the lines of a file that begin at bytes begin .. end - 1, so that stretches that cover a file without
/// overlap give every line once. Holds a megabyte of it. Line ends as with Lines; a byte order mark is left out.
class FileLines {
 public:
  FileLines(const std::string& path, std::uint64_t begin, std::uint64_t end);
  /// False when there is none left; `line` is valid until the next call. support::InputError for a line of more than a
  /// megabyte.
  bool next(std::string_view& line);
  /// Where the line handed out last begins.
  [[nodiscard]] std::uint64_t offset() const { return line_offset_; }

 private:
  /// Drops what was handed out and reads on; false at the end of the file.
  bool fill();

  std::string path_;
  OpenFile file_;
  std::uint64_t end_;
  std::uint64_t offset_ = 0;  ///< of buffer_[0] in the file
  std::uint64_t line_offset_ = 0;
  std::string buffer_;
  std::size_t at_ = 0;
};

/// What a file holds, for a message: its first 40 bytes, with ? for control characters.
std::string shown(std::string_view text);

/// Number of the line that begins at byte `offset`; the first is 1. Reads all before it: for messages.
std::uint64_t line_number(const std::string& path, std::uint64_t offset);

/// Hands out the lines of a text, without line ends ("\n" or "\r\n"). A last line without an end counts; an empty one
/// after the last end does not.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  /// False when there is none left.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }
  /// Of the line handed out last; the first is 1.
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// The text without blanks (space, tab) at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Takes the next word off the front of `line`; empty when there is none.
inline std::string_view take_word(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    line = {};
    return {};
  }
  const std::size_t end = line.find_first_of(kBlanks, first);
  const std::string_view word = line.substr(first, end - first);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end);
  return word;
}

/// The whole of `text` as a number; nothing when it is none or does not fit. A leading + is no number.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace amrbench::partitioners
