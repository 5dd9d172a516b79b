#include "apps/mpi_session.hpp"

#include <fmt/format.h>

#include <new>
#include <thread>

#include "support/error.hpp"

namespace amrbench::apps {

namespace {

enum Outcome : int { kFine = 0, kInputError = 1, kOtherError = 2 };

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) : environment_(argc, argv) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &failures_);
  try {
    watch_ = std::make_unique<support::Watch>(support::Communicator::world());
  } catch (const std::exception& error) {
    // Leaving would end MPI, and wait there for ranks that wait for this one.
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    fmt::print(stderr, "amrbench: error: rank {}, phase start, step 0: {}\n", rank_,
               no_memory ? support::kOutOfMemory : std::string_view(error.what()));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

MpiSession::~MpiSession() {
  MPI_Comm_free(&failures_);
}

std::string MpiSession::from_first_rank(const std::function<std::string()>& produce) const {
  std::string text;
  long long header[2] = {kFine, 0};
  if (rank_ == 0) {
    try {
      text = produce();
    } catch (const support::InputError& error) {
      header[0] = kInputError;
      text = error.what();
    } catch (const std::exception& error) {
      header[0] = kOtherError;
      text = error.what();
    }
    header[1] = static_cast<long long>(text.size());
  }
  support::mpi_check(MPI_Bcast(header, 2, MPI_LONG_LONG, 0, MPI_COMM_WORLD), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(header[1]));
  support::mpi_check(MPI_Bcast(text.data(), static_cast<int>(header[1]), MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
  if (header[0] == kInputError) throw support::InputError(text);
  if (header[0] == kOtherError) throw support::RunError(text);
  return text;
}

bool MpiSession::all_failed(int& status, std::chrono::milliseconds patience) {
  // Members, since a reduction that never ends may still write after this call.
  int& mine = failure_status_[0];
  int& largest = failure_status_[1];
  mine = largest = status;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Iallreduce(&mine, &largest, 1, MPI_INT, MPI_MAX, failures_, &request) != MPI_SUCCESS) return false;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) break;
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  status = largest;
  return true;
}

}  // namespace amrbench::apps
