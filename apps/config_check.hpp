#pragma once
// Checks of a configuration that concern more than one key, or what this build can do.
#include <string>
#include <string_view>
#include <vector>

#include "apps/config.hpp"

namespace amrbench::apps {

/// Throws support::InputError naming the keys when the configuration cannot be run. Returns notes for the user (one
/// line each) on what can be run and may surprise. Single keys must have passed the schema's checks.
std::vector<std::string> check_config(const Config& config);

/// Reads the files that the workload needs and throws what it says of them, before anything is made. O(bytes).
void check_inputs(const Config& config);

/// Fills in what other keys decide: in 2-D the third numbers of mesh.root and mesh.block are 1; a workload may have
/// variables, stages and a time of its own. Throws support::InputError for an unknown workload or problem.
void complete_config(Config& config);

/// Is `text` well-formed UTF-8 without control characters, so that TOML and JSON can hold it?
bool is_plain_utf8(std::string_view text);

}  // namespace amrbench::apps
