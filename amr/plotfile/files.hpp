#pragma once
// The files of a plotfile: written plainly, in a folder that gets its name when it is complete.
#include <filesystem>
#include <string>
#include <string_view>

#include "support/mpi.hpp"

namespace amrbench::amr::plotfile {

/// A new file of this rank. Errors are kept, not thrown: all ranks must come to the point where they agree on them.
class OutputFile {
 public:
  /// No file; write() must not be called.
  OutputFile() = default;
  /// Makes the file; it is an error that it is there already.
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// The first thing that went wrong since the file was opened, one line with its name; empty when nothing did.
  std::string close();

 private:
  void keep_error();
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string error_;
};

/// The folder under its temporary name, beside `target`. Rank 0 makes it, and removes it unless it was published.
class TemporaryFolder {
 public:
  /// Only finds the name, the same on every rank. `comm` must outlive this. Collective.
  TemporaryFolder(const support::Communicator& comm, const std::filesystem::path& target);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Makes it, with Level_0 .. Level_<finest>. RunError on all ranks when the target exists. Collective.
  void make(int finest);
  /// Gives it the target's name. RunError on all ranks when that exists. Collective, after all files were closed.
  void publish();

 private:
  void refuse_existing() const;
  template <class F>
  std::string on_root(F f);

  const support::Communicator& comm_;
  std::filesystem::path target_;
  std::filesystem::path path_;
  bool made_ = false;
};

}  // namespace amrbench::amr::plotfile
