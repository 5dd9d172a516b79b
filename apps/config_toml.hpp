#pragma once
// Reads a configuration from TOML, strictly: every key must be known, of the right type and in range (docs/config.md).
// All functions throw support::InputError with one line naming file, line and key. None talks to other ranks.
#include <filesystem>
#include <string>
#include <string_view>

#include "apps/config.hpp"

namespace amrbench::apps {

/// Largest configuration text that is read.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

/// The configuration written in `text`; keys not named keep their defaults, run.name the file's name without its
/// ending. `filename` is only used for that and for messages. Checks single keys; check_config() those that depend on
/// each other.
Config parse_toml(std::string_view text, const std::string& filename);

/// Files that a configuration names by relative paths are in `folder`, its own.
void place_files(Config& config, const std::filesystem::path& folder);

/// Applies one `table.key=value` (as --set takes it). The value is TOML; for keys that hold a string it may be bare.
/// object.N.key changes the N-th [[object]] (from 0); N equal to their number adds one.
void apply_setting(Config& config, const std::string& setting);

}  // namespace amrbench::apps
