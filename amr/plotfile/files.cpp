#include "amr/plotfile/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "support/error.hpp"

namespace amrbench::amr::plotfile {

namespace fs = std::filesystem;

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) keep_error();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  while (error_.empty() && !bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return keep_error();
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string OutputFile::close() {
  // A full disk may show only now, on file systems that write behind.
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0 && error_.empty()) keep_error();
  return error_;
}

void OutputFile::keep_error() {
  error_ = fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno));
}

TemporaryFolder::TemporaryFolder(const support::Communicator& comm, const fs::path& target)
    : comm_(comm), target_(target) {
  const std::string name = fmt::format(".{}.{}.part", target.filename().string(), getpid());
  path_ = support::broadcast_string(comm, (target.parent_path() / name).string());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (made_) fs::remove_all(path_, ignored);
}

/// Runs f on rank 0; what went wrong, as one line.
template <class F>
std::string TemporaryFolder::on_root(F f) {
  if (!comm_.is_root()) return {};
  try {
    f();
  } catch (const fs::filesystem_error& e) {
    return fmt::format("cannot write plotfile {}: {}", target_.string(), e.code().message());
  } catch (const support::RunError& e) {
    return fmt::format("cannot write plotfile {}: {}", target_.string(), e.what());
  }
  return {};
}

void TemporaryFolder::make(int finest) {
  support::agree_on_error(comm_, on_root([&] {
                            refuse_existing();
                            if (!fs::create_directory(path_))
                              throw support::RunError(path_.string() + " is in the way");
                            made_ = true;
                            for (int level = 0; level <= finest; ++level)
                              fs::create_directory(path_ / fmt::format("Level_{}", level));
                          }));
}

void TemporaryFolder::publish() {
  support::agree_on_error(comm_, on_root([&] {
                            refuse_existing();  // a rename would replace an empty folder
                            fs::rename(path_, target_);
                            made_ = false;
                          }));
}

void TemporaryFolder::refuse_existing() const {
  if (fs::exists(fs::symlink_status(target_))) throw support::RunError("it exists already");
}

}  // namespace amrbench::amr::plotfile
