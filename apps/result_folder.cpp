#include "apps/result_folder.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "support/error.hpp"

namespace amrbench::apps {

namespace {

namespace fs = std::filesystem;
using support::InputError;

constexpr std::array kWritten{"run.json", "run.csv", "config.toml", "checkpoint"};

[[noreturn]] void fail(const fs::path& folder, const std::string& problem) {
  throw InputError(fmt::format("result folder {}: {}; name another with --out", folder.string(), problem));
}

/// Creates `folder` and its parents. True when it was not there before.
bool create(const fs::path& folder) {
  std::error_code error;
  const bool created = fs::create_directories(folder, error);
  if (!error) {
    if (!fs::is_directory(folder, error)) fail(folder, "is not a folder");
    return created;
  }
  for (fs::path part = folder; !part.empty() && part != part.root_path(); part = part.parent_path()) {
    std::error_code ignored;
    const auto status = fs::status(part, ignored);
    if (fs::exists(status) && !fs::is_directory(status))
      fail(folder, part == folder ? std::string("is a file") : fmt::format("{} is a file", part.string()));
  }
  fail(folder, "cannot be created: " + error.message());
}

void refuse_if_used(const fs::path& folder) {
  std::error_code error;
  for (const char* name : kWritten)
    if (fs::exists(fs::symlink_status(folder / name, error)))
      fail(folder, fmt::format("already holds {}, and nothing is overwritten", name));
  fs::directory_iterator entries(folder, error);
  if (error) fail(folder, "cannot be read: " + error.message());
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("plt")) fail(folder, fmt::format("already holds {}, and nothing is overwritten", name));
  }
}

/// Only writing tells: permission bits say nothing for root, or on a read-only file system.
void try_writing(const fs::path& folder) {
  std::string name = (folder / ".amrbench-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) fail(folder, fmt::format("cannot be written: {}", std::strerror(errno)));
  ::close(file);
  ::unlink(name.c_str());
}

fs::path new_folder(const std::string& name, std::time_t now) {
  const std::string base = fmt::format("{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(now));
  create("results");
  constexpr int kMost = 10000;
  for (int k = 1; k <= kMost; ++k) {
    const fs::path folder = fs::path("results") / (k == 1 ? base : fmt::format("{}-{}", base, k));
    std::error_code error;
    if (fs::create_directory(folder, error)) return folder;  // atomic: two runs never share one
    if (error) fail(folder, "cannot be created: " + error.message());
  }
  fail(fs::path("results") / base, "taken, and so are its numbered successors");
}

}  // namespace

fs::path claim_result_folder(const std::string& dir, const std::string& name, std::time_t now) {
  fs::path folder = dir;
  if (dir.empty())
    folder = new_folder(name, now);
  else if (!create(folder))
    refuse_if_used(folder);
  try_writing(folder);
  return folder;
}

fs::path continue_result_folder(const std::string& dir) {
  const fs::path folder = dir;
  create(folder);
  std::error_code error;
  // The last file that a run writes.
  if (fs::exists(fs::symlink_status(folder / "run.csv", error)))
    fail(folder, "holds run.csv, so its run is finished, and nothing is overwritten");
  try_writing(folder);
  return folder;
}

void write_new_file(const fs::path& path, const std::string& text) {
  const auto problem = [&] {
    return InputError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) throw problem();
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const InputError error = problem();
      ::close(file);
      ::unlink(path.c_str());  // whole or absent
      throw error;
    }
    done += static_cast<std::size_t>(n);
  }
  if (::close(file) != 0) {
    const InputError error = problem();
    ::unlink(path.c_str());
    throw error;
  }
}

}  // namespace amrbench::apps
