#include "support/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/error.hpp"

namespace amrbench::support {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, int error) {
  throw RunError(fmt::format("cannot write {}: {}", file.string(), std::strerror(error)));
}

/// Removes the temporary file unless it was given its final name.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target) {
    path_ = target.parent_path() / fmt::format(".{}.{}.part", target.filename().string(), getpid());
    unlink(path_.c_str());  // of a process that had this number and died
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(target, errno);
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    unlink(path_.c_str());  // after a rename there is nothing left under this name
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write_all(std::string_view content) {
    while (!content.empty()) {
      const ssize_t n = write(descriptor_, content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(target_, errno);
      content.remove_prefix(static_cast<std::size_t>(n));
    }
    // EINVAL: a file system without it.
    if (fsync(descriptor_) != 0 && errno != EINVAL) fail(target_, errno);
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (close(descriptor) != 0) fail(target_, errno);
  }
  void publish(Existing existing) {
    if (existing == Existing::refuse) {
      // A hard link, unlike a rename, fails when the name is taken, without a gap between test and act.
      if (link(path_.c_str(), target_.c_str()) == 0) return;
      if (errno == EEXIST) fail(target_, errno);
      struct stat status {};  // a file system without hard links
      if (lstat(target_.c_str(), &status) == 0) fail(target_, EEXIST);
    }
    if (rename(path_.c_str(), target_.c_str()) != 0) fail(target_, errno);
  }

 private:
  fs::path target_;
  fs::path path_;
  int descriptor_ = -1;
};

}  // namespace

void write_file_atomically(const fs::path& file, std::string_view content, Existing existing) {
  TemporaryFile temporary(file);
  temporary.write_all(content);
  temporary.publish(existing);
}

void try_writing(const fs::path& file) {
  const TemporaryFile temporary(file);
}

}  // namespace amrbench::support
