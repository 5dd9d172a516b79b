// amrbench: adaptive mesh refinement, run, verified and timed. command_line.cpp has the options, one file each the
// subcommands.
#include <fmt/format.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdio>
#include <new>
#include <string_view>

#include "apps/command_line.hpp"
#include "apps/mpi_session.hpp"
#include "support/error.hpp"
#include "support/watch.hpp"

namespace {

using namespace amrbench;

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

/// Only they start MPI: `list`, `info` and help work where no MPI job can.
bool needs_mpi(int argc, char** argv) {
  if (argc < 2 || !apps::does_work(argv[1])) return false;
  return std::none_of(argv + 2, argv + argc,
                      [](std::string_view word) { return word == "--help" || word == "-h" || word == "--help-all"; });
}

/// One line on standard error, whatever the message holds: it may quote a file.
void print_error(std::string message) {
  constexpr std::size_t kLongest = 2000;
  if (message.size() > kLongest) message.replace(kLongest, std::string::npos, "...");
  for (char& c : message)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = c == '\n' ? ' ' : '?';
  std::fflush(stdout);  // the error comes last
  fmt::print(stderr, "amrbench: error: {}\n", message);
}

/// Ends a failed run with one line: quietly when every rank failed, else by aborting the job. `rank`: where the failure
/// was, -1: here.
int end_failed(int status, const std::string& message, apps::MpiSession* mpi, int rank = -1,
               std::chrono::milliseconds patience = std::chrono::seconds{2}) {
  if (!mpi) {
    print_error(message);
    return status;
  }
  const bool alike = mpi->size() == 1 || mpi->all_failed(status, patience);
  std::string line = message;
  // Bad input is the same wherever it is read; what failed on the way is told with its place.
  if (status != kBadInput || !alike) line = fmt::format("{}: {}", mpi->watch().place(alike ? rank : -1), message);
  if (!alike) {
    mpi->watch().speak(line);
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  if (mpi->rank() == 0) print_error(line);
  return status;
}

/// Lists of a refinement come and go by the megabyte. Freed memory stays with the process, for pages that are given
/// back to the kernel and touched again cost more than what is done with them.
void keep_memory() {
#if defined(__GLIBC__)
  constexpr int kLarge = 32 << 20;  // the most that glibc takes; larger blocks go back
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

int guarded(int argc, char** argv, apps::MpiSession* mpi) {
  try {
    return apps::run_command_line(argc, argv, mpi);
  } catch (const support::InputError& error) {
    return end_failed(kBadInput, error.what(), mpi);
  } catch (const std::bad_alloc&) {
    constexpr std::chrono::milliseconds kShort{500};  // ranks seldom run out of memory together
    return end_failed(kFailed, std::string(support::kOutOfMemory), mpi, -1, kShort);
  } catch (const support::RunError& error) {
    return end_failed(kFailed, error.what(), mpi, error.rank());
  } catch (const std::exception& error) {
    return end_failed(kFailed, error.what(), mpi);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  if (!needs_mpi(argc, argv)) return guarded(argc, argv, nullptr);
  try {
    support::speak_of_crashes();
    apps::MpiSession mpi(argc, argv);
    return guarded(argc, argv, &mpi);
  } catch (const std::exception& error) {
    print_error(error.what());
    return kFailed;
  }
}
