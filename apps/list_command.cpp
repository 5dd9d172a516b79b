// `amrbench list`.
#include <fmt/ostream.h>

#include "apps/commands.hpp"
#include "apps/names.hpp"

namespace amrbench::apps {

void list_command(std::ostream& out) {
  struct Group {
    std::string_view heading, key;
    std::span<const Choice> choices;
  };
  const Group groups[] = {
      {"Splitters of trees", "partition.splitter; TOP:LEVELS:BELOW takes one above another", splitters()},
      {"Rules of slices", "partition.slices; amrbench partition --slices", slice_rules()},
      {"Balance policies", "balance.policy", balance_policies()},
      {"Cost models", "balance.weights", balance_weights()},
      {"Workloads", "run.workload", workload_names()},
      {"Stencils", "run.stencil", stencils()},
      {"Initial fields", "fields.initial", initial_fields()},
      {"Object shapes", "object.shape", object_shapes()},
      {"Bounce modes", "object.bounce", bounce_modes()},
      {"Back ends", "device.backend", backends()},
      {"Stores", "device.stores", store_kinds()},
      {"Transports between GPUs", "device.transport", transports()},
      {"Partitioners", "partition.method; amrbench partition --method", partition_methods()},
  };
  bool first = true;
  for (const Group& group : groups) {
    fmt::print(out, "{}{} ({}; default {})\n", first ? "" : "\n", group.heading, group.key, group.choices[0].name);
    for (const Choice& choice : group.choices) fmt::print(out, "  {:<20} {}\n", choice.name, choice.line);
    first = false;
  }
}

}  // namespace amrbench::apps
