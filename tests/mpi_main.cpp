// Entry point of the tests that run on several MPI ranks: a failure on any rank fails the run on all of them.
#include <mpi.h>

#include "tests/one_source.hpp"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int failed = amrbench::tests::run_tests(argc, argv);
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
