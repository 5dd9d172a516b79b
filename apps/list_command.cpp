// `amrbench list`.
#include <fmt/ostream.h>

#include "apps/commands.hpp"
#include "apps/names.hpp"
#include "partitioners/partitioner.hpp"

namespace amrbench::apps {

void list_command(std::ostream& out) {
  struct Group {
    std::string_view heading, key;
    std::span<const Choice> choices;
  };
  const Group groups[] = {
      {"Partition methods", "partition.method", partition_methods()},
      {"Balance policies", "balance.policy", balance_policies()},
      {"Stencils", "run.stencil", stencils()},
      {"Initial fields", "fields.initial", initial_fields()},
      {"Object shapes", "object.shape", object_shapes()},
      {"Bounce modes", "object.bounce", bounce_modes()},
      {"Back ends", "device.backend", backends()},
      {"Stores", "device.stores", store_kinds()},
      {"Transports between GPUs", "device.transport", transports()},
  };
  bool first = true;
  for (const Group& group : groups) {
    fmt::print(out, "{}{} ({}; default {})\n", first ? "" : "\n", group.heading, group.key, group.choices[0].name);
    for (const Choice& choice : group.choices) fmt::print(out, "  {:<20} {}\n", choice.name, choice.line);
    first = false;
  }
  fmt::print(out, "\nPartitioners of points and graphs (amrbench partition --method)\n");
  for (const auto& entry : partitioners::partitioner_registry())
    fmt::print(out, "  {:<20} {}\n", entry.name, entry.description);
}

}  // namespace amrbench::apps
