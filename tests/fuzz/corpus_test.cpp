// Every reader takes or refuses every file of its corpus, cut off and changed in single bits too, without libFuzzer.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "tests/fuzz/targets.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(AMRBENCH_SOURCE_DIR) / "tests/fuzz/corpus";

/// What was wrong, or nothing.
std::string finding(const Target& target, std::string_view bytes) {
  try {
    target.run(bytes);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(Corpus, IsTakenOrRefused) {
  for (const Target& target : targets()) {
    SCOPED_TRACE(std::string(target.name));
    int files = 0;
    for (const auto& entry : fs::directory_iterator(kCorpus / target.name)) {
      SCOPED_TRACE(entry.path().filename().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      ++files;
      EXPECT_EQ(finding(target, bytes), "");
      const auto cuts = static_cast<std::size_t>(tests::cases(24, 10)), flips = cuts;
      for (std::size_t k = 0; k < cuts && !bytes.empty(); ++k)
        EXPECT_EQ(finding(target, std::string_view(bytes).substr(0, bytes.size() * k / cuts)), "") << "cut " << k;
      std::mt19937_64 random(bytes.size());
      for (std::size_t k = 0; k < flips && !bytes.empty(); ++k) {
        std::string changed = bytes;
        const std::size_t bit = random() % (8 * bytes.size());
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_EQ(finding(target, changed), "") << "bit " << bit;
      }
    }
    EXPECT_GT(files, 0);
  }
}

TEST(Corpus, HasNoFolderWithoutAReader) {
  std::set<std::string> names;
  for (const Target& target : targets()) names.emplace(target.name);
  for (const auto& entry : fs::directory_iterator(kCorpus))
    EXPECT_TRUE(names.contains(entry.path().filename().string()));
}

/// The test finds what it looks for.
TEST(Corpus, AFindingIsSeen) {
  EXPECT_EQ(finding({"planted", [](std::string_view) { promise(false, "broken"); }}, "x"), "broken");
}

}  // namespace
}  // namespace amrbench::fuzz
