#include "apps/result_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "tests/apps/input_error.hpp"

namespace amrbench::apps {
namespace {

namespace fs = std::filesystem;

/// Each test works in an empty folder of its own.
class ResultFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    std::string name = (fs::temp_directory_path() / "amrbench-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  static void touch(const fs::path& path) { std::ofstream(path) << "x"; }
  static std::string refusal(const std::string& dir) {
    return input_error([&] { claim_result_folder(dir, "name", 0); });
  }

  fs::path before_, folder_;
};

TEST_F(ResultFolder, IsNamedAfterRunAndTime) {
  const fs::path first = claim_result_folder("", "quick", 1'700'000'000);
  EXPECT_TRUE(std::regex_match(first.string(), std::regex("results/quick-2023111[45]-[0-9]{6}"))) << first;
  EXPECT_TRUE(fs::is_directory(first));
  EXPECT_TRUE(fs::is_empty(first));
  const fs::path second = claim_result_folder("", "quick", 1'700'000'000);
  EXPECT_EQ(second.string(), first.string() + "-2");
  EXPECT_EQ(claim_result_folder("", "quick", 1'700'000'000).string(), first.string() + "-3");
}

TEST_F(ResultFolder, GivenFoldersAreMadeWithTheirParents) {
  EXPECT_EQ(claim_result_folder("a/b/c", "name", 0), "a/b/c");
  EXPECT_TRUE(fs::is_directory("a/b/c"));
  EXPECT_TRUE(fs::is_empty("a/b/c"));
  touch("a/b/c/notes.txt");  // files of others do not matter
  EXPECT_EQ(claim_result_folder("a/b/c", "name", 0), "a/b/c");
}

TEST_F(ResultFolder, NothingIsOverwritten) {
  for (const char* name : {"run.json", "run.csv", "config.toml", "plt00010"}) {
    SCOPED_TRACE(name);
    const std::string dir = std::string("used-") + name;
    fs::create_directory(dir);
    touch(fs::path(dir) / name);
    const std::string message = refusal(dir);
    EXPECT_CONTAINS(message, dir);
    EXPECT_CONTAINS(message, std::string("already holds ") + name + ", and nothing is overwritten");
  }
  fs::create_directory("linked");
  fs::create_symlink("nowhere", "linked/run.json");  // writing through it would make a file elsewhere
  EXPECT_CONTAINS(refusal("linked"), "already holds run.json");
}

TEST_F(ResultFolder, FilesInTheWayAreNamed) {
  touch("file");
  EXPECT_CONTAINS(refusal("file"), "result folder file: is a file; name another with --out");
  EXPECT_CONTAINS(refusal("file/below"), "result folder file/below: file is a file");
  touch("results");
  EXPECT_CONTAINS(refusal(""), "results: is a file");
}

TEST_F(ResultFolder, UnwritableFoldersAreRefused) {
  EXPECT_CONTAINS(refusal("/proc/amrbench"), "/proc/amrbench: cannot be created");
  EXPECT_CONTAINS(refusal("/proc/self"), "/proc/self: cannot be written");
}

TEST_F(ResultFolder, NewFilesOnly) {
  const std::string text(100'000, 'y');
  write_new_file("new", text);
  std::ifstream file("new");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  EXPECT_CONTAINS(input_error([] { write_new_file("new", "z"); }), "new: cannot be written: File exists");
  EXPECT_EQ(fs::file_size("new"), text.size());
  EXPECT_CONTAINS(input_error([] { write_new_file("no/new", "z"); }), "no/new: cannot be written: No such file");
}

}  // namespace
}  // namespace amrbench::apps
