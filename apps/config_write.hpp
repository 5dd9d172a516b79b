#pragma once
// Writes a configuration: as TOML that reads back to the same configuration, and as the run record's JSON.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "amr/config.hpp"

namespace amrbench::apps {

/// Every table and key, also those at their defaults; numbers keep every bit. parse_toml() gives the same
/// configuration.
std::string write_toml(const amr::Config& config);

/// The same tables and keys; [[object]] as the array "object". Keys keep the order of the documentation.
nlohmann::ordered_json config_to_json(const amr::Config& config);
/// config_to_json() as text.
std::string write_json(const amr::Config& config);

}  // namespace amrbench::apps
