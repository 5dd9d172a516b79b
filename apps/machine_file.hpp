#pragma once
// Machine models as TOML files (docs/replay.md).
#include <string>
#include <string_view>

#include "loadbalance/replay/machine.hpp"

namespace amrbench::apps {

/// Every key of the file must be known, a number from 0 to 10^6 (ranks_per_node an integer >= 1, overlap true or
/// false); keys that are left out keep their defaults, name the file's name without its ending. Throws
/// support::InputError with one line that names file and key.
loadbalance::Machine read_machine(const std::string& path);
loadbalance::Machine parse_machine(std::string_view text, const std::string& filename);

/// The same as a file that parse_machine() reads back.
std::string write_machine(const loadbalance::Machine& machine);

}  // namespace amrbench::apps
