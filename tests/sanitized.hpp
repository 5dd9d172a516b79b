#pragma once
// Tests ask whether a sanitizer watches them: it slows them down ten- to twentyfold. Large cases that only repeat the
// same code for other inputs run without one.

namespace amrbench::tests {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
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

}  // namespace amrbench::tests
