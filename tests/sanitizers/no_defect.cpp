// No defect: messages, a reduction among ranks, a parallel loop with a reduction, and a barrier between writers and
// readers of one array. A sanitizer that reports anything here would drown the reports that matter.
#include <mpi.h>
#include <omp.h>

#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  constexpr int kCount = 1000;
  std::vector<long> values(kCount, 0);
  long wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
    const int thread = omp_get_thread_num();
    const int threads = omp_get_num_threads();
    for (int i = thread; i < kCount; i += threads) values[static_cast<std::size_t>(i)] = i;
#pragma omp barrier
    for (int i = thread; i < kCount; i += threads)
      wrong += values[static_cast<std::size_t>(kCount - 1 - i)] != kCount - 1 - i;
  }

  std::vector<long> received(kCount, -1);
  MPI_Sendrecv(values.data(), kCount, MPI_LONG, (rank + 1) % ranks, 0, received.data(), kCount, MPI_LONG,
               (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (received != values) ++wrong;
  long all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
