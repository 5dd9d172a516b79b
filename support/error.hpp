#pragma once
// Errors a user can mend. Everything else is a defect and may end the program by any other exception.
#include <stdexcept>
#include <string>

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
  using std::runtime_error::runtime_error;
};

}  // namespace amrbench::support
