#pragma once
// A folder for one test that goes with it; of several ranks the first makes and removes it.
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "support/mpi.hpp"

namespace amrbench::tests {

class TemporaryFolder {
 public:
  /// Collective.
  explicit TemporaryFolder(const support::Communicator& comm = {}) : owner_(comm.is_root()) {
    std::string name;
    if (owner_) {
      name = (std::filesystem::temp_directory_path() / "amrbench-test-XXXXXX").string();
      if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    }
    path_ = comm ? support::broadcast_string(comm, name) : name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (owner_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const {
    return (std::filesystem::path(path_) / name).string();
  }

 private:
  bool owner_;
  std::string path_;
};

}  // namespace amrbench::tests
