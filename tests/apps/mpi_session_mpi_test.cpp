#include <gtest/gtest.h>

#include <stdexcept>

#include "apps/mpi_session.hpp"
#include "support/error.hpp"

namespace amrbench::apps {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A session inside a running MPI; it neither starts nor ends it.
class Session : public ::testing::Test {
 protected:
  int argc_ = 0;
  char** argv_ = nullptr;
  MpiSession mpi_{argc_, argv_};
};

TEST_F(Session, GivesTheFirstRanksTextToAll) {
  const std::string long_text(300'000, 'x');
  for (const std::string& text : {std::string(), std::string("a\0b\n", 4), long_text}) {
    int calls = 0;
    EXPECT_EQ(mpi_.from_first_rank([&] {
      ++calls;
      return text;
    }),
              text);
    EXPECT_EQ(calls, mpi_.rank() == 0 ? 1 : 0);
  }
}

TEST_F(Session, GivesTheFirstRanksErrorToAll) {
  try {
    mpi_.from_first_rank([]() -> std::string { throw support::InputError("mesh.block: no"); });
    ADD_FAILURE() << "nothing thrown";
  } catch (const support::InputError& error) {
    EXPECT_STREQ(error.what(), "mesh.block: no");
  }
  try {
    mpi_.from_first_rank([]() -> std::string { throw std::out_of_range("far"); });
    ADD_FAILURE() << "nothing thrown";
  } catch (const support::RunError& error) {
    EXPECT_STREQ(error.what(), "far");
  }
}

TEST_F(Session, RanksThatAllFailAgreeOnTheLargestStatus) {
  int status = mpi_.rank() == mpi_.size() - 1 ? 2 : 1;
  EXPECT_TRUE(mpi_.all_failed(status, seconds(60)));
  EXPECT_EQ(status, 2);
}

TEST_F(Session, ARankThatFailsAloneIsToldSo) {
  if (mpi_.size() == 1) GTEST_SKIP() << "needs two ranks";
  int status = 1;
  if (mpi_.rank() == 0) {
    EXPECT_FALSE(mpi_.all_failed(status, milliseconds(50)));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  // The others arrive late, so that nothing is left open at the end.
  if (mpi_.rank() != 0) {
    EXPECT_TRUE(mpi_.all_failed(status, seconds(60)));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace amrbench::apps
