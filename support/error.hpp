#pragma once
// Errors a user can mend. Everything else is a defect and may end the program by any other exception.
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace amrbench::support {

/// Bad input: a configuration key, an option, a file or an environment that does not fit. `what()` is one line that
/// names the key, option or file and says what would be right. The program prints it once and exits with status 2,
/// before any work. In MPI programs every rank throws it alike (checks are made on replicated input).
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A failure while running (a message, a file that could not be written): status 1.
class RunError : public std::runtime_error {
 public:
  /// `rank`: where it happened, when ranks agreed that all throw the same; -1: here.
  explicit RunError(const std::string& what, int rank = -1) : std::runtime_error(what), rank_(rank) {}
  [[nodiscard]] int rank() const { return rank_; }

 private:
  int rank_;
};

/// What a program that got no memory says.
inline constexpr std::string_view kOutOfMemory = "out of memory; use more ranks or a smaller problem";

/// Runs `work`; what it throws, as a line, else nothing: for agree_on_error() (support/mpi.hpp).
template <class Work>
[[nodiscard]] std::string failure_of(Work&& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    return std::string(kOutOfMemory);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

}  // namespace amrbench::support
