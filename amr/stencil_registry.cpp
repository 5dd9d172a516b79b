// The stencils a run can choose.
#include <array>

#include "amr/face_stage.hpp"
#include "amr/stage.hpp"
#include "amr/wide_stage.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

namespace {

template <class T>
std::unique_ptr<Stage<3>> make(const kernels::BlockLayout& layout, const StageOptions& options) {
  return std::make_unique<T>(layout, options);
}

template <WideStencil S>
std::unique_ptr<Stage<3>> make_wide(const kernels::BlockLayout& layout, const StageOptions& options) {
  return std::make_unique<WideStage>(S, layout, options);
}

}  // namespace

std::span<const StencilEntry> stencil_registry() {
  static constexpr std::array entries{
      StencilEntry{"average7", "mean of a cell and its 6 face neighbours; conserves every variable", make<FaceStage>},
      StencilEntry{"average27", "mean of the 27 cells around; conserves totals on uniform meshes only",
                   make_wide<WideStencil::average27>},
      StencilEntry{"mixed", "miniAMR's mixed work, kernels by variable and stage; conserves variable 0",
                   make_wide<WideStencil::mixed>},
  };
  return entries;
}

std::unique_ptr<Stage<3>> make_stage(std::string_view name, const kernels::BlockLayout& layout,
                                     const StageOptions& options) {
  std::string names;
  for (const StencilEntry& entry : stencil_registry()) {
    if (entry.name == name) return entry.make(layout, options);
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw support::InputError("run.stencil: no stencil is called \"" + std::string(name) + "\" (choose from " + names +
                            ")");
}

}  // namespace amrbench::amr
