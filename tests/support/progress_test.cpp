// support/progress.hpp: the text, and what is written when.
#include "support/progress.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace amrbench::support {
namespace {

struct HandClock {
  static double& now() {
    static double value = 0;
    return value;
  }
  static double read() { return now(); }
};

std::string text_at(int step) {
  return "step " + std::to_string(step) + "/100, and what else there is";
}

/// A file in memory's place: what was written so far.
class Capture {
 public:
  Capture() : file_(std::tmpfile(), &std::fclose) {}
  std::FILE* file() { return file_.get(); }
  std::string text() {
    std::fflush(file_.get());
    std::string result;
    std::rewind(file_.get());
    std::array<char, 256> part{};
    for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), file_.get())) > 0;) {
      result.append(part.data(), n);
    }
    std::fseek(file_.get(), 0, SEEK_END);
    return result;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

TEST(FormatDuration, Rounds) {
  EXPECT_EQ(format_duration(-3), "0:00");
  EXPECT_EQ(format_duration(6.6), "0:07");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(754), "12:34");
  EXPECT_EQ(format_duration(3723), "1:02:03");
}

TEST(Progress, PlainLinesFirstLastAndByTheInterval) {
  Capture capture;
  HandClock::now() = 10;
  {
    Progress progress(capture.file(), Progress::Mode::plain, 5.0, 80, &HandClock::read);
    for (int step = 0; step <= 100; ++step) {
      HandClock::now() = 10 + 0.11 * step;
      progress.update(text_at(step), step == 100);
    }
    EXPECT_NE(capture.text().find("step 100/100"), std::string::npos);  // the last step does not wait
    progress.finish(text_at(100));
  }
  // 11 seconds: step 0, the first steps past 5 s and past 10 s, and the last; the last one once.
  std::string expected;
  for (const int step : {0, 46, 92, 100}) expected += text_at(step) + "\n";
  EXPECT_EQ(capture.text(), expected);
}

TEST(Progress, TerminalRewritesOneLine) {
  Capture capture;
  HandClock::now() = 0;
  {
    Progress progress(capture.file(), Progress::Mode::terminal, 5.0, 21, &HandClock::read);
    progress.update(text_at(1), false);
    progress.update(text_at(2), false);  // too soon
    EXPECT_FALSE(progress.due());
    HandClock::now() = 0.2;
    EXPECT_TRUE(progress.due());
    progress.update(text_at(3), false);
  }
  EXPECT_EQ(capture.text(), "\rstep 1/100, and what\x1b[K\rstep 3/100, and what\x1b[K\n");
}

TEST(Progress, SilentWritesNothing) {
  Capture capture;
  Progress progress(capture.file(), Progress::Mode::silent, 0.0, 80, &HandClock::read);
  EXPECT_FALSE(progress.due());
  progress.update(text_at(1), false);
  progress.finish(text_at(100));
  EXPECT_EQ(capture.text(), "");
}

}  // namespace
}  // namespace amrbench::support
