// Planted defect: writes one element past an array, after MPI has started.
#include <mpi.h>

#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<int> values(static_cast<std::size_t>(argc) * 4);
  // Through a pointer: the library's own checks of operator[] must not be what notices it.
  int* data = values.data();
  data[argc * 4] = argc;
  const int first = data[0];
  MPI_Finalize();
  return first;
}
