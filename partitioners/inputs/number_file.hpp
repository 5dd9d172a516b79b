#pragma once
// The one reader of files of numbers: text in columns, read in stretches of bytes, and float64, read by number.
//
// Text: a row a line. The first line that is neither blank nor a comment (#) settles the form: its separator (commas,
// semicolons, or spaces and tabs), the number of columns, and whether it is a header. It is a header when none of its
// cells is a number; then a column called `weight` (in any case, in any place) holds weights, all others are
// coordinates. Every later row must have as many numbers. A line belongs to the stretch in which it begins.
// Errors: support::InputError "<path>:<line>: ...", with the line's number in the whole file.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitioners/inputs/text_file.hpp"

namespace amrbench::partitioners {

inline constexpr int kMostDimensions = 16;

/// What the first lines of a file of rows say.
struct TableForm {
  std::string path;
  std::uint64_t bytes = 0;  ///< of the file
  char separator = ',';     ///< ' ': spaces and tabs
  std::size_t columns = 0;
  std::optional<std::size_t> weight;           ///< its column
  std::optional<std::uint64_t> header_offset;  ///< where the header begins
  std::string comment;                         ///< the first line, when it is a comment, without #

  [[nodiscard]] std::size_t coordinates() const { return columns - (weight ? 1 : 0); }
};

/// Reads the top of the file. InputError also for a file without rows or header, a header with a cell left empty, two
/// weights or a column `weights`, more than 17 columns. Of one rank: not collective.
TableForm read_table_form(const std::string& path);

/// Where a row stands: makes the front of a message, "<path>:<line>", and knows the row's number in the file.
class TablePlace {
 public:
  TablePlace(const TableForm& form, std::uint64_t offset) : form_(form), offset_(offset) {}
  [[nodiscard]] std::string line() const;
  /// Rows before this one in the whole file. Reads them all.
  [[nodiscard]] std::uint64_t row() const;

 private:
  const TableForm& form_;
  std::uint64_t offset_;
};
/// Rows of the stretch of rank `rank` of `ranks`, one after another, values[column]; row(values, where) may refuse
/// them.
void read_rows(const TableForm& form, int rank, int ranks,
               const std::function<void(std::span<const double>, const TablePlace&)>& row);

/// How many float64 a file holds; InputError when its size is no multiple of 8 bytes.
std::uint64_t count_doubles(const std::string& path);

}  // namespace amrbench::partitioners
