#pragma once
// A room's tests are one program; --source=mesh_test.cpp runs those that stand in that file. It may be repeated.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace amrbench::tests {

/// The tests of a source file as a filter, "Suite.Name:Suite.Other"; empty where it has none.
inline std::string filter_of_source(std::string_view source) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      const std::string_view file = test.file();
      const std::string_view name = file.substr(file.rfind('/') + 1);
      if (name == source) filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

/// What run_tests() returns where every test skipped itself; CTest's SKIP_RETURN_CODE.
constexpr int kAllSkipped = 77;

/// Runs the tests that the command line asks for; 1 as well when there are none: a test that is gone must be noticed.
inline int run_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kSource = "--source=";
  std::string chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with(kSource)) {
      std::fprintf(stderr, "unknown argument %s: there are --source=FILE and GoogleTest's own\n", argv[i]);
      return 1;
    }
    const std::string filter = filter_of_source(word.substr(kSource.size()));
    if (filter.empty()) {
      std::fprintf(stderr, "no test was run: none stands in %s\n", argv[i] + kSource.size());
      return 1;
    }
    chosen += filter;
  }
  if (!chosen.empty()) testing::GTEST_FLAG(filter) = chosen;
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  if (all.test_to_run_count() == 0 && !testing::GTEST_FLAG(list_tests)) {
    std::fprintf(stderr, "no test was run: none fits the arguments\n");
    return 1;
  }
  const bool skipped = all.test_to_run_count() > 0 && all.skipped_test_count() == all.test_to_run_count();
  return failed == 0 && skipped ? kAllSkipped : failed;
}

}  // namespace amrbench::tests
