#pragma once
// Tests ask whether a sanitizer or Valgrind watches them: it slows them down ten- to twentyfold. Cases that only repeat
// the same code for other inputs are then left out, unless AMRBENCH_EVERY_CASE is set (scripts/test --full).
#include <cstdlib>
#include <string_view>

namespace amrbench::tests {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(AMRBENCH_VALGRIND)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether cases that repeat the same code are to be left out.
inline bool fewer_cases() {
  static const bool fewer = kSanitized && std::getenv("AMRBENCH_EVERY_CASE") == nullptr;
  return fewer;
}

/// How many of `all` cases to try.
inline int cases(int all, int sanitized) {
  return fewer_cases() ? sanitized : all;
}

/// Whether runs by this partitioner are to be left out where what is tested stands above partitioners: curves, trees,
/// bisection and graphs have one each, and tests of partitioners try all of them.
inline bool left_out(std::string_view method) {
  return fewer_cases() && method != "hilbert" && method != "kd_parts" && method != "orb" && method != "metis_kway";
}

}  // namespace amrbench::tests

/// Ends a test of how near an answer is to the right one, where what it runs is run by others on fewer cells.
#define AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED() \
  if (::amrbench::tests::fewer_cases()) GTEST_SKIP() << "accuracy, with code that other tests run here"
