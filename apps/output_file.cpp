#include "apps/output_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "support/atomic_file.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

namespace fs = std::filesystem;
using support::InputError;

std::string_view kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::symlink:
      return "a symbolic link";
    case fs::file_type::character:
    case fs::file_type::block:
      return "a device";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "no regular file";
  }
}

/// The same for all paths that lead to one file.
fs::path place_of(const std::string& name) {
  std::error_code error;
  const fs::path path = fs::absolute(name, error).lexically_normal();
  const fs::path place = fs::weakly_canonical(path, error);
  return error ? path : place;
}

}  // namespace

void check_output_file(std::string_view option, const std::string& name, bool force, std::string_view remedy) {
  if (name.empty()) return;
  const auto refuse = [&](const std::string& why) { throw InputError(fmt::format("{} {}: {}", option, name, why)); };
  const fs::path path(name);
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    refuse(fmt::format("is {}; name a file to be made or replaced", kind_of(status.type())));
  if (fs::exists(status) && !force) refuse(fmt::format("exists; {}", remedy));
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) refuse(fmt::format("there is no folder {}", folder.string()));
  if (!path.has_filename()) refuse("is a folder; name a file to be made or replaced");
  try {
    support::try_writing(path);
  } catch (const support::RunError& problem) {
    refuse(problem.what());
  }
}

void check_output_files(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs, bool force) {
  std::map<fs::path, std::string_view> taken;
  for (const NamedFile& file : inputs)
    if (!file.name.empty()) taken.emplace(place_of(file.name), "reads");
  for (const NamedFile& file : outputs) {
    if (file.name.empty()) continue;
    const auto [there, is_new] = taken.emplace(place_of(file.name), "writes");
    if (!is_new)
      throw InputError(fmt::format("{} {}: another option {} this file", file.option, file.name, there->second));
    check_output_file(file.option, file.name, force);
  }
}

}  // namespace amrbench::apps
