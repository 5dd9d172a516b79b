#include "partitioners/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "support/error.hpp"

namespace amrbench::partitioners {

std::string read_whole_file(const std::filesystem::path& path) {
  using support::InputError;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(fmt::format("{}: no such file", path.string()));
  if (std::filesystem::is_directory(status))
    throw InputError(fmt::format("{}: is a folder; a file is needed", path.string()));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  const auto problem = [&] {
    return InputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  };
  if (!file) throw problem();
  std::string content;
  const auto size = std::filesystem::file_size(path, error);
  if (!error) content.reserve(size + 1);
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  for (std::size_t read = kChunk; read == kChunk;) {  // pipes and devices do not know their size
    const std::size_t before = content.size();
    content.resize(before + kChunk);
    read = std::fread(content.data() + before, 1, kChunk, file.get());
    content.resize(before + read);
  }
  if (std::ferror(file.get())) throw problem();
  return content;
}

}  // namespace amrbench::partitioners
