#include "tests/fuzz/single_process.hpp"

#include <mpi.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define AMRBENCH_HAS_LSAN
#endif
#endif

namespace amrbench::fuzz {

namespace {

class SingleProcess {
 public:
  SingleProcess() {
    int running = 0;
    MPI_Initialized(&running);
    if (running == 0) start();
    comm_ = support::Communicator::duplicate(MPI_COMM_SELF);
  }
  ~SingleProcess() {
    comm_ = {};
#ifdef AMRBENCH_HAS_LSAN
    __lsan_do_leak_check();  // the last: MPI loses some memory when it ends
#endif
    if (owner_) MPI_Finalize();
  }
  SingleProcess(const SingleProcess&) = delete;
  SingleProcess& operator=(const SingleProcess&) = delete;
  [[nodiscard]] const support::Communicator& comm() const {
    return comm_;
  }

 private:
  void start() {
    // What MPI takes here it keeps until the process ends: no leak of a reader's.
#ifdef AMRBENCH_HAS_LSAN
    const __lsan::ScopedDisabler keeps;
#endif
    MPI_Init(nullptr, nullptr);
    owner_ = true;
  }

  bool owner_ = false;
  support::Communicator comm_;
};

}  // namespace

const support::Communicator& single_process() {
  static const SingleProcess process;
  return process.comm();
}

}  // namespace amrbench::fuzz
