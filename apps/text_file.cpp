#include "apps/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "apps/config_toml.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

using support::InputError;

std::string read_text_file(const std::string& path, std::string_view what) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(fmt::format("{}: no such {} file", path, what));
  if (std::filesystem::is_directory(status))
    throw InputError(fmt::format("{}: is a folder; a {} file (TOML) is needed", path, what));
  // A pipe may never have a writer, and a device no end.
  if (!std::filesystem::is_regular_file(status))
    throw InputError(fmt::format("{}: is a pipe or a device; a {} file (TOML) is needed", path, what));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  std::string text(kMaxConfigBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  if (text.size() > kMaxConfigBytes)
    throw InputError(fmt::format("{}: a {} may have at most {} bytes; this one has more", path, what, kMaxConfigBytes));
  return text;
}

}  // namespace amrbench::apps
