// Planted defect: loses a block of memory between MPI's start and end. The suppressions for MPI must not hide it.
#include <mpi.h>

#include <cstdlib>

// Not inlined, so that no register or stack slot of main still holds the address at the end.
__attribute__((noinline)) void lose(int bytes) {
  volatile char* lost = static_cast<char*>(std::malloc(static_cast<std::size_t>(bytes)));
  if (lost != nullptr) lost[0] = 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 8; ++i) lose(1000 + argc);
  MPI_Finalize();
  return 0;
}
