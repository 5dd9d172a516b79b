// Faults for the tests of endings (tests/apps/faults_test.py): a library for LD_PRELOAD before the program and MPI.
//
// FAULT names one fault, FAULT_RANK the rank that suffers it, FAULT_AT the call at which it does, counted from 1 (of
// MPI calls those that exchange or reduce, of writes those of regular files), FAULT_IN a word of a file's path for
// `disk`:
//   alloc    operator new throws std::bad_alloc, that once        kill   SIGKILL        stop    SIGSTOP
//   hang     never comes back
//   delay    a pause of 3 s                                       fail   the call returns MPI_ERR_OTHER
//   short    half of a halo is sent                               long   16 values more than there should be
//   nan      a NaN in the first value of a halo                   disk   ENOSPC from this write on
//   memory   the system says that FAULT_AT kB of memory are left, and no swap
// What is counted so far stands on standard error at the end where FAULT=count.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <vector>

namespace {

struct Plan {
  std::string_view fault;
  int rank = 0;
  long at = 1;
  const char* in = nullptr;
};

/// The environment as it is at the first call; ranks know themselves by what their launcher tells them.
const Plan& plan() {
  static const Plan kPlan = [] {
    const auto text = [](const char* name) { return std::getenv(name) != nullptr ? std::getenv(name) : ""; };
    return Plan{text("FAULT"), std::atoi(text("FAULT_RANK")), std::atol(text("FAULT_AT")), std::getenv("FAULT_IN")};
  }();
  return kPlan;
}

bool is_victim() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return (rank != nullptr ? std::atoi(rank) : 0) == plan().rank;
}

std::atomic<long> allocations{0}, calls{0}, writes{0};
std::atomic<bool> in_main{false};

bool is_due(std::string_view fault, std::atomic<long>& counter) {
  if (plan().fault != fault && plan().fault != "count") return false;
  if (!is_victim()) return false;
  return ++counter == plan().at && plan().fault == fault;
}

/// Before an MPI call; true when it is to fail.
bool before_call() {
  if (!is_victim()) return false;
  const bool due = ++calls == plan().at;
  if (!due) return false;
  if (plan().fault == "kill") raise(SIGKILL);
  if (plan().fault == "stop") raise(SIGSTOP);
  if (plan().fault == "delay") sleep(3);
  if (plan().fault == "hang")
    for (;;) pause();
  return plan().fault == "fail";
}

}  // namespace

// ---- Memory ---------------------------------------------------------------------------------------------------------

void* operator new(std::size_t size) {
  if (in_main && is_due("alloc", allocations)) throw std::bad_alloc();
  void* const memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

// ---- Files ----------------------------------------------------------------------------------------------------------

namespace {

bool is_full(int file) {
  if (plan().fault != "disk" && plan().fault != "count") return false;
  char name[64], path[4096];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  const ssize_t n = readlink(name, path, sizeof path - 1);
  if (n <= 0) return false;
  path[n] = 0;
  if (path[0] != '/' || std::strncmp(path, "/dev/", 5) == 0 || std::strncmp(path, "/proc/", 6) == 0) return false;
  if (plan().in == nullptr || std::strstr(path, plan().in) == nullptr || !is_victim()) return false;
  return ++writes >= plan().at && plan().fault == "disk";
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t write(int file, const void* bytes, size_t size) {
  static const auto kWrite = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (is_full(file)) {
    errno = ENOSPC;
    return -1;
  }
  return kWrite(file, bytes, size);
}

extern "C" int fsync(int file) {
  static const auto kFsync = next<int (*)(int)>("fsync");
  if (is_full(file)) {
    errno = ENOSPC;
    return -1;
  }
  return kFsync(file);
}

extern "C" FILE* fopen64(const char* path, const char* mode) {
  static const auto kOpen = next<FILE* (*)(const char*, const char*)>("fopen64");
  if (plan().fault != "memory" || std::strcmp(path, "/proc/meminfo") != 0) return kOpen(path, mode);
  static char text[128];
  std::snprintf(text, sizeof text, "MemTotal: 99999999 kB\nMemAvailable: %ld kB\nSwapFree: 0 kB\n", plan().at);
  FILE* const file = std::tmpfile();
  if (file == nullptr) return nullptr;
  std::fputs(text, file);
  std::rewind(file);
  return file;
}

// ---- Messages -------------------------------------------------------------------------------------------------------

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  in_main = true;  // what the libraries take before belongs to nobody's promise
  return code;
}

extern "C" int MPI_Finalize() {
  if (plan().fault == "count" && is_victim())
    std::fprintf(stderr, "counted: %ld allocations, %ld calls, %ld writes\n", allocations.load(), calls.load(),
                 writes.load());
  return PMPI_Finalize();
}

// Halos. What is changed lies in copies that are kept for ever: the messages may still be under way at the end.
extern "C" int MPI_Ineighbor_alltoallv(const void* data, const int* counts, const int* starts, MPI_Datatype type,
                                       void* to, const int* to_counts, const int* to_starts, MPI_Datatype to_type,
                                       MPI_Comm comm, MPI_Request* request) {
  if (before_call()) return MPI_ERR_OTHER;
  static bool done = false;
  const std::string_view fault = plan().fault;
  int neighbors = 0, unused = 0, weighted = 0;
  MPI_Dist_graph_neighbors_count(comm, &unused, &neighbors, &weighted);
  const bool is_halo = type == MPI_DOUBLE && neighbors > 0 && counts[neighbors - 1] > 1;
  if (done || !is_halo || !is_victim() || calls < plan().at || (fault != "short" && fault != "long" && fault != "nan"))
    return PMPI_Ineighbor_alltoallv(data, counts, starts, type, to, to_counts, to_starts, to_type, comm, request);
  done = true;
  const int end = starts[neighbors - 1] + counts[neighbors - 1];
  auto* const copy = new std::vector<double>(static_cast<const double*>(data), static_cast<const double*>(data) + end);
  auto* const sizes = new std::vector<int>(counts, counts + neighbors);
  copy->resize(end + 16, 0.0);
  if (fault == "nan") copy->at(starts[neighbors - 1]) = std::numeric_limits<double>::quiet_NaN();
  if (fault == "short") sizes->back() /= 2;
  if (fault == "long") sizes->back() += 16;
  return PMPI_Ineighbor_alltoallv(copy->data(), sizes->data(), starts, type, to, to_counts, to_starts, to_type, comm,
                                  request);
}

#define AMRBENCH_FAULTY(name, parameters, arguments) \
  extern "C" int name parameters {                   \
    if (before_call()) return MPI_ERR_OTHER;         \
    return P##name arguments;                        \
  }

AMRBENCH_FAULTY(MPI_Allreduce, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
                (a, b, n, t, o, c))
AMRBENCH_FAULTY(MPI_Bcast, (void* a, int n, MPI_Datatype t, int r, MPI_Comm c), (a, n, t, r, c))
AMRBENCH_FAULTY(MPI_Exscan, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (a, b, n, t, o, c))
AMRBENCH_FAULTY(MPI_Waitall, (int n, MPI_Request* r, MPI_Status* s), (n, r, s))
AMRBENCH_FAULTY(MPI_Isend, (const void* a, int n, MPI_Datatype t, int f, int g, MPI_Comm c, MPI_Request* r),
                (a, n, t, f, g, c, r))
AMRBENCH_FAULTY(MPI_Irecv, (void* a, int n, MPI_Datatype t, int f, int g, MPI_Comm c, MPI_Request* r),
                (a, n, t, f, g, c, r))
AMRBENCH_FAULTY(MPI_Neighbor_alltoall,
                (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c),
                (a, n, t, b, m, u, c))
AMRBENCH_FAULTY(MPI_Neighbor_alltoallw,
                (const void* a, const int* n, const MPI_Aint* d, const MPI_Datatype* t, void* b, const int* m,
                 const MPI_Aint* e, const MPI_Datatype* u, MPI_Comm c),
                (a, n, d, t, b, m, e, u, c))
