#pragma once
// Text of input files: read whole, shown in messages, turned into numbers.
//
// Of support alone, so that whoever may include workloads need not know the partitioners and their readers.
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace amrbench::workloads::shallow_water {

/// Largest magnitude of a number from outside: sums and products of a few of them stay finite.
inline constexpr double kLargestNumber = 1e100;

/// All bytes of a regular file, without a byte order mark. support::InputError that names it when it is missing,
/// unreadable, no regular file, or larger than the memory there is. One allocation, O(bytes).
std::string read_input_text(const std::string& path);

/// support::InputError naming `path` where `bytes` more are not to be had on this node.
void check_memory_left(const std::string& path, double bytes);

/// What a file holds, for a message: at most 40 bytes, with ? for what is not printable.
std::string shown_text(std::string_view text);

/// Space, tab, the two characters of line ends.
[[nodiscard]] constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// The text without blanks at its ends.
std::string_view without_blanks(std::string_view text);

/// The whole of `text` as a number; nothing when it is none or does not fit. A leading + is no number.
template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace amrbench::workloads::shallow_water
