#pragma once
// For tests of refusals: the message of the InputError that a call throws.
#include <gtest/gtest.h>

#include <string>

#include "support/error.hpp"

namespace amrbench::apps {

/// The message; a test failure and an empty string when nothing, or something else, is thrown or the message has more
/// than one line.
template <class Call>
std::string input_error(Call&& call) {
  try {
    call();
  } catch (const support::InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << "more than one line: " << message;
    return message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an InputError: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

}  // namespace amrbench::apps

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "not in: " << (text)
