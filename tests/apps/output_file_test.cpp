#include "apps/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/apps/input_error.hpp"
#include "tests/temporary_folder.hpp"

namespace amrbench::apps {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  [[nodiscard]] std::string touch(const std::string& name) const {
    std::ofstream(folder_.path(name)) << "mine";
    return folder_.path(name);
  }
  static std::string refusal(const std::string& name, bool force) {
    return input_error([&] { check_output_file("--json", name, force); });
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_.path(".")), fs::directory_iterator());
  }
  tests::TemporaryFolder folder_;
};

TEST_F(OutputFile, NewOnesAreFineAndNothingIsLeftByTheCheck) {
  check_output_file("--json", "", false);
  check_output_file("--json", folder_.path("new"), false);
  check_output_file("--json", folder_.path("new"), true);
  check_output_file("--json", touch("old"), true);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, WhatIsNoRegularFileIsNeverReplaced) {
  fs::create_symlink(touch("target"), folder_.path("link"));
  fs::create_symlink(folder_.path("nowhere"), folder_.path("dangling"));
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  fs::create_directory(folder_.path("folder"));
  for (const bool force : {false, true}) {
    EXPECT_CONTAINS(refusal(folder_.path("link"), force), "--json " + folder_.path("link") + ": is a symbolic link");
    EXPECT_CONTAINS(refusal(folder_.path("dangling"), force), "is a symbolic link");
    EXPECT_CONTAINS(refusal(folder_.path("pipe"), force), "is a pipe");
    EXPECT_CONTAINS(refusal(folder_.path("folder"), force), "is a folder");
    EXPECT_CONTAINS(refusal(folder_.path("folder/"), force), "is a folder");
    EXPECT_CONTAINS(refusal("/dev/null", force), "/dev/null: is a device");
  }
}

TEST_F(OutputFile, WhatIsThereNeedsForce) {
  EXPECT_CONTAINS(refusal(touch("old"), false), "old: exists; --force replaces it");
  EXPECT_CONTAINS(input_error([&] { check_output_file("-o", touch("old"), false, "name another"); }), "name another");
}

TEST_F(OutputFile, WhatCannotBeWrittenIsFoundAtOnce) {
  EXPECT_CONTAINS(refusal(folder_.path("no/such"), false), "there is no folder");
  EXPECT_CONTAINS(refusal(touch("file") + "/x", false), "there is no folder");
  EXPECT_CONTAINS(refusal("/proc/x.json", false), "/proc/x.json: cannot write");
  EXPECT_CONTAINS(refusal(folder_.path(std::string(250, 'x')), false), "File name too long");
}

TEST_F(OutputFile, SeveralDifferFromEachOtherAndFromInputs) {
  const std::string input = touch("points.csv");
  fs::create_directory(folder_.path("a"));
  fs::create_directory_symlink(folder_.path("."), folder_.path("b"));
  const auto refused = [&](const std::string& json, const std::string& csv) {
    const std::array outputs{NamedFile{"--json", json}, NamedFile{"--csv", csv}};
    const std::array inputs{NamedFile{"--input", input}, NamedFile{"--weights", ""}};
    return input_error([&] { check_output_files(outputs, inputs, true); });
  };
  EXPECT_CONTAINS(refused(folder_.path("x"), folder_.path("x")),
                  "--csv " + folder_.path("x") + ": another option writes");
  EXPECT_CONTAINS(refused(folder_.path("x"), folder_.path("a/../x")), "another option writes this file");
  EXPECT_CONTAINS(refused(folder_.path("x"), folder_.path("b/x")), "another option writes this file");
  EXPECT_CONTAINS(refused(folder_.path("b/points.csv"), ""), "another option reads this file");
  const std::array outputs{NamedFile{"--json", folder_.path("x")}, NamedFile{"--csv", folder_.path("a/x")}};
  check_output_files(outputs, std::array{NamedFile{"--input", input}}, false);
}

}  // namespace
}  // namespace amrbench::apps
