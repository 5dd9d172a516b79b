// Planted defect: goes by a value that was never set, after MPI has started. AddressSanitizer has nothing to say of it.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // Through a pointer that the compiler cannot follow, so that it neither warns nor removes the branch.
  int* volatile values = static_cast<int*>(std::malloc(64));
  int* const first = values;
  if (first == nullptr) return 1;
  if (first[argc] > 1000) std::puts("large");
  std::free(first);
  MPI_Finalize();
  return 0;
}
