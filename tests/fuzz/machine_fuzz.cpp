// Models of machines: what is accepted can be written and read back.
#include "apps/machine_file.hpp"
#include "tests/fuzz/targets.hpp"

namespace amrbench::fuzz {

void machine(std::string_view bytes) {
  loadbalance::Machine machine;
  if (!accepts([&] { machine = apps::parse_machine(bytes, "fuzz.toml"); })) return;
  const std::string text = apps::write_machine(machine);
  promise(apps::write_machine(apps::parse_machine(text, "written.toml")) == text,
          "a machine changes when it is written and read");
}

}  // namespace amrbench::fuzz
