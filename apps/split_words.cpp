#include <fmt/format.h>

#include "apps/miniamr_options.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == 0 && blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else if (c == '\\' && quote != '\'' && i + 1 < line.size())
      words.back() += line[++i];
    else
      words.back() += c;
  }
  if (quote != 0) throw support::InputError(fmt::format("--miniamr: a {} is never closed", quote));
  return words;
}

}  // namespace amrbench::apps
