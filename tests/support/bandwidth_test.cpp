// What the system tells of the last-level cache.
#include "support/bandwidth.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "temporary_folder.hpp"

namespace amrbench::support {
namespace {

class LastLevel : public ::testing::Test {
 protected:
  void describe(const std::string& index, const std::string& size, const std::string& list) {
    const std::filesystem::path folder = root_.path(index);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "size") << size << '\n';
    if (!list.empty()) std::ofstream(folder / "shared_cpu_list") << list << '\n';
  }
  [[nodiscard]] LastLevelCache found() const { return last_level_cache(root_.path("")); }
  tests::TemporaryFolder root_;
};

TEST_F(LastLevel, IsTheLargestAndKnowsWhoSharesIt) {
  describe("index0", "32K", "0,48");
  describe("index3", "32768K", "0-7,48-55");
  describe("index2", "512K", "0,48");
  EXPECT_EQ(found().bytes, 32768 * 1024);
  EXPECT_EQ(found().processors, 16);
}

TEST_F(LastLevel, IsOneProcessorsOwnWhereNobodyIsNamed) {
  describe("index0", "2M", "");
  EXPECT_EQ(found().bytes, 2 << 20);
  EXPECT_EQ(found().processors, 1);
}

TEST_F(LastLevel, IsNotKnownWhereNothingIsTold) {
  EXPECT_EQ(found().bytes, 0);
  EXPECT_EQ(found().processors, 1);
}

}  // namespace
}  // namespace amrbench::support
