#include "partitioners/inputs/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/error.hpp"
#include "support/process_memory.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& path, std::string_view problem) {
  throw InputError(fmt::format("{}: {}", path, problem));
}

OpenFile open_file(const std::string& path) {
  OpenFile file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return file;
}

void seek(std::FILE* file, const std::string& path, std::uint64_t offset) {
  if (fseeko(file, static_cast<off_t>(offset), SEEK_SET) != 0)
    fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
}

}  // namespace

std::uint64_t regular_file_size(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(path, "no such file");
  if (std::filesystem::is_directory(status)) fail(path, "is a folder; a file is needed");
  if (!std::filesystem::is_regular_file(status)) fail(path, "is a pipe or a device; a file is needed");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) fail(path, fmt::format("cannot be read: {}", error.message()));
  return size;
}

std::string read_whole_file(const std::filesystem::path& path) {
  const std::uint64_t size = regular_file_size(path.string());
  const std::int64_t memory = support::total_memory_bytes();
  if (memory > 0 && size > static_cast<std::uint64_t>(memory))
    fail(path.string(), fmt::format("{} bytes are more than this node's memory", size));
  std::string content(size, '\0');
  read_bytes(path.string(), 0, content.data(), content.size());
  return content;
}

void read_bytes(const std::string& path, std::uint64_t offset, void* to, std::size_t n) {
  const OpenFile file = open_file(path);
  seek(file.get(), path, offset);
  if (n > 0 && std::fread(to, 1, n, file.get()) != n)
    fail(path, std::ferror(file.get()) ? fmt::format("cannot be read: {}", std::strerror(errno))
                                       : std::string("became shorter while it was read"));
}

FileLines::FileLines(const std::string& path, std::uint64_t begin, std::uint64_t end)
    : path_(path), file_(open_file(path)), end_(end) {
  const std::uint64_t start = begin > 0 ? begin - 1 : 0;
  seek(file_.get(), path_, start);
  offset_ = start;
  if (begin == 0) return;
  // Up to the first line end at or behind begin - 1.
  while (true) {
    const std::size_t found = buffer_.find('\n', at_);
    if (found != std::string::npos) {
      at_ = found + 1;
      return;
    }
    at_ = buffer_.size();
    if (offset_ + at_ >= end_ || !fill()) {
      end_ = 0;
      return;
    }
  }
}

bool FileLines::fill() {
  offset_ += at_;
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kChunk);
  const std::size_t got = std::fread(buffer_.data() + before, 1, kChunk, file_.get());
  buffer_.resize(before + got);
  if (got < kChunk && std::ferror(file_.get())) fail(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
  return got > 0;
}

bool FileLines::next(std::string_view& line) {
  if (offset_ + at_ >= end_) return false;
  std::size_t searched = at_;
  std::size_t found = buffer_.find('\n', searched);
  while (found == std::string::npos) {
    searched = buffer_.size() - at_;
    if (searched > kLongestLine)
      fail(path_, fmt::format("a line of more than {} bytes; this is no text of numbers", kLongestLine));
    if (!fill()) break;
    found = buffer_.find('\n', searched);
  }
  line_offset_ = offset_ + at_;
  const std::size_t stop = found == std::string::npos ? buffer_.size() : found;
  if (found == std::string::npos && stop == at_) return false;
  if (stop - at_ > kLongestLine)
    fail(path_, fmt::format("a line of more than {} bytes; this is no text of numbers", kLongestLine));
  line = std::string_view(buffer_).substr(at_, stop - at_);
  at_ = std::min(buffer_.size(), stop + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // of UTF-8, which some spreadsheets write
  if (line_offset_ == 0 && line.starts_with(kMark)) line.remove_prefix(kMark.size());
  return true;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string plain(text.substr(0, kMost));
  for (char& c : plain)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return text.size() > kMost ? plain + "..." : plain;
}

std::uint64_t line_number(const std::string& path, std::uint64_t offset) {
  FileLines lines(path, 0, offset);
  std::uint64_t number = 1;
  for (std::string_view line; lines.next(line);) ++number;
  return number;
}

}  // namespace amrbench::partitioners
