#include "amr/initial.hpp"

#include "support/error.hpp"

namespace amrbench::amr {

void set_initial_fields(const Mesh<3>& mesh, const FieldsConfig& config, Fields& fields) {
  const bool ones = config.initial == "ones";
  if (!ones && config.initial != "random") {
    throw support::InputError("fields.initial: \"" + config.initial + "\" is unknown; use \"random\" or \"ones\"");
  }
  fields.set_initial(mesh, ones, config.seed);
}

}  // namespace amrbench::amr
