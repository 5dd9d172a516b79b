// Entry point of the tests that run on several MPI ranks: a failure on any rank fails the run on all of them. They are
// skipped where all ranks skip them.
#include <mpi.h>

#include "tests/one_source.hpp"

namespace {

/// A test that ends early on one rank leaves the others waiting in its next exchange: then all end.
class EndTogether final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!result.fatally_failed() || ranks == 1) return;
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::UnitTest::GetInstance()->listeners().Append(new EndTogether);  // which owns it; after the one that prints
  const int result = amrbench::tests::run_tests(argc, argv);
  const bool skipped = result == amrbench::tests::kAllSkipped;
  const int mine[] = {skipped ? 0 : result, skipped ? 0 : 1};
  int any[] = {0, 0};  // rank failed; did not skip
  MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any[0] != 0 || any[1] != 0 ? any[0] : amrbench::tests::kAllSkipped;
}
