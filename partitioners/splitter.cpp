#include "partitioners/splitter.hpp"

#include <charconv>

#include "support/error.hpp"
#include "support/registry.hpp"

namespace amrbench::partitioners {
namespace {

struct SplitterName {
  std::string_view name;
  Splitter splitter;
};
constexpr SplitterName kNames[] = {{"midpoint", Splitter::midpoint},
                                   {"median", Splitter::median},
                                   {"sampled_median", Splitter::sampled_median},
                                   {"selection", Splitter::selection}};

}  // namespace

Splitter splitter_from_name(std::string_view name) {
  return support::find_entry(kNames, name, "splitter").splitter;
}

std::string_view splitter_name(Splitter splitter) {
  for (const SplitterName& known : kNames) {
    if (known.splitter == splitter) return known.name;
  }
  return "unknown";
}

void check_splitter(std::string_view text) {
  if (text == kOctree || splits_by_parts(text)) return;
  try {
    static_cast<void>(split_rule_from_name(text));
  } catch (const support::InputError& error) {
    throw support::InputError(std::string(error.what()) + ", or octree, parts, compact_parts, or TOP:LEVELS:BELOW");
  }
}

SplitRule split_rule_from_name(std::string_view text) {
  const auto first = text.find(':');
  if (first == std::string_view::npos) return {.below = splitter_from_name(text)};
  const auto second = text.find(':', first + 1);
  SplitRule rule;
  const std::string_view levels = text.substr(first + 1, second - first - 1);
  const auto [end, error] = std::from_chars(levels.data(), levels.data() + levels.size(), rule.top_levels);
  if (second == std::string_view::npos || error != std::errc{} || end != levels.data() + levels.size() ||
      rule.top_levels < 0) {
    throw support::InputError("splitter rule '" + std::string(text) +
                              "' is not of the form TOP:LEVELS:BELOW, such as median:6:midpoint");
  }
  rule.top = splitter_from_name(text.substr(0, first));
  rule.below = splitter_from_name(text.substr(second + 1));
  return rule;
}

std::string split_rule_name(const SplitRule& rule) {
  if (rule.top_levels == 0 || rule.top == rule.below) return std::string(splitter_name(rule.below));
  return std::string(splitter_name(rule.top)) + ":" + std::to_string(rule.top_levels) + ":" +
         std::string(splitter_name(rule.below));
}

}  // namespace amrbench::partitioners
