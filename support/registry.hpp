#pragma once
// Look-ups by name: one way to find an entry, and one line that says what there is instead.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace amrbench::support {

/// The candidate nearest to `word` by edits (insert, delete, replace, swap of neighbours), when near enough to be a
/// misspelling: at most a third of the word's length, at least 1. Ties go to the earlier candidate.
/// O(sum of length products).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates);

/// Throws InputError `WHAT NAME: unknown; there are A, B, C`, with `(did you mean B?)` where one of the names is near.
[[noreturn]] void throw_unknown(std::string_view what, std::string_view name, std::span<const std::string_view> names);

/// The entry whose `name` is `name`; entries: any range of structs with a member `name`. Throws as throw_unknown()
/// where there is none. what: the config key or option that holds the name. O(entries).
template <class Entries>
const auto& find_entry(const Entries& entries, std::string_view name, std::string_view what) {
  for (const auto& entry : entries)
    if (std::string_view(entry.name) == name) return entry;
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  throw_unknown(what, name, names);
}

}  // namespace amrbench::support
