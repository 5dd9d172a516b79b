#include "amr/initial.hpp"

#include "support/error.hpp"

namespace amrbench::amr {

void set_initial_fields(const Mesh<3>& mesh, const FieldsConfig& config, FieldStore& fields) {
  const bool ones = config.initial == "ones";
  if (!ones && config.initial != "random") {
    throw support::InputError("fields.initial: \"" + config.initial + "\" is unknown; use \"random\" or \"ones\"");
  }
  const kernels::BlockLayout& l = fields.layout();
  fields.reset(mesh.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    double* values = fields.block(i);
    const auto& c = mesh.coord(i);
    for (int v = 0; v < l.lanes * l.chunks; ++v) {
      for (int z = 0; z < l.cells[2]; ++z) {
        for (int y = 0; y < l.cells[1]; ++y) {
          for (int x = 0; x < l.cells[0]; ++x) {
            double value = 0.0;
            if (v < l.variables) {
              value = ones ? 1.0
                           : random_value(config.seed, v, std::uint64_t(c[0]) * l.cells[0] + x,
                                          std::uint64_t(c[1]) * l.cells[1] + y, std::uint64_t(c[2]) * l.cells[2] + z);
            }
            values[l.offset(v, x, y, z)] = value;
          }
        }
      }
    }
  }
}

}  // namespace amrbench::amr
