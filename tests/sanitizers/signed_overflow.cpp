// Planted defect: adds to the largest int.
#include <mpi.h>

#include <limits>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  volatile int value = std::numeric_limits<int>::max();
  value = value + argc;
  MPI_Finalize();
  return 0;
}
