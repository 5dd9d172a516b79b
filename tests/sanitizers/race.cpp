// Planted defect: threads add to one variable without any order among them.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  long sum = 0;
#pragma omp parallel num_threads(2) shared(sum)
  {
    for (int i = 0; i < 1000; ++i) {
      volatile long* shared_sum = &sum;
      *shared_sum = *shared_sum + i;
    }
  }
  MPI_Finalize();
  return sum < 0 ? 1 : 0;
}
