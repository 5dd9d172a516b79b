#pragma once
// Readers of input from outside, each as a function of bytes: what libFuzzer calls, and what the test of the corpus
// calls without it. A target returns where the bytes are read or refused with support::InputError; anything else
// (another exception, a sanitizer's report, a broken promise) is a finding.
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/error.hpp"

namespace amrbench::fuzz {

struct Target {
  std::string_view name;  ///< of its corpus, tests/fuzz/corpus/<name>, and its program, fuzz_<name>
  void (*run)(std::string_view bytes);
};

/// All of them.
std::span<const Target> targets();

void blocks(std::string_view bytes);
void graph(std::string_view bytes);
void input(std::string_view bytes);
void machine(std::string_view bytes);
void manifest(std::string_view bytes);
void miniamr(std::string_view bytes);
void part(std::string_view bytes);
void parts(std::string_view bytes);
void points_csv(std::string_view bytes);
void points_raw(std::string_view bytes);
void raster(std::string_view bytes);
void setting(std::string_view bytes);
void tetgen(std::string_view bytes);
void time_series(std::string_view bytes);
void toml(std::string_view bytes);
void trace(std::string_view bytes);
void weights(std::string_view bytes);

/// A reader that broke a promise.
inline void promise(bool kept, const char* what) {
  if (!kept) throw std::logic_error(what);
}

/// Runs `read`; false where the input was refused.
template <class Read>
bool accepts(Read&& read) {
  try {
    read();
  } catch (const support::InputError& error) {
    promise(*error.what() != '\0', "a refusal says nothing");
    return false;
  }
  return true;
}

/// A file of this process that holds `bytes`, for readers that take a path; gone with the object.
class ScratchFile {
 public:
  ScratchFile(std::string_view name, std::string_view bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace amrbench::fuzz
