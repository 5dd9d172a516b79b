#include "apps/output_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "support/error.hpp"

namespace amrbench::apps {

void check_output_file(std::string_view option, const std::string& name, bool force, std::string_view remedy) {
  namespace fs = std::filesystem;
  using support::InputError;
  if (name.empty()) return;
  const fs::path path(name);
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError(fmt::format("{} {}: is a folder", option, name));
  if (fs::exists(fs::symlink_status(path, error)) && !force)
    throw InputError(fmt::format("{} {}: exists; {}", option, name, remedy));
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    throw InputError(fmt::format("{} {}: there is no folder {}", option, name, folder.string()));
}

}  // namespace amrbench::apps
