#include "workloads/shallow_water/input/input_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "support/error.hpp"
#include "support/process_memory.hpp"

namespace amrbench::workloads::shallow_water {

using support::InputError;

void check_memory_left(const std::string& path, double bytes) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  const auto left = static_cast<double>(support::available_memory_bytes());
  if (left > 0 && bytes > left)
    throw InputError(fmt::format("{}: takes {:.1f} GiB of memory, but {:.1f} are left; use a smaller or coarser file",
                                 path, bytes / kGib, left / kGib));
}

std::string read_input_text(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(fmt::format("{}: no such file", path));
  if (std::filesystem::is_directory(status)) throw InputError(fmt::format("{}: is a folder; a file is needed", path));
  // A pipe may never have a writer, and a device no end.
  if (!std::filesystem::is_regular_file(status))
    throw InputError(fmt::format("{}: is a pipe or a device; a file is needed", path));
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw InputError(fmt::format("{}: cannot be read: {}", path, error.message()));
  check_memory_left(path, static_cast<double>(size));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  std::string text(size, '\0');
  if (size > 0 && std::fread(text.data(), 1, size, file.get()) != size)
    throw InputError(fmt::format("{}: {}", path,
                                 std::ferror(file.get()) ? fmt::format("cannot be read: {}", std::strerror(errno))
                                                         : std::string("became shorter while it was read")));
  if (text.starts_with("\xef\xbb\xbf")) text.replace(0, 3, "");
  return text;
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out(text.substr(0, kShown));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > kShown ? out + "..." : out;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace amrbench::workloads::shallow_water
