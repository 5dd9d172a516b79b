#pragma once
// Where a run's block data lies and who computes on it: fields and stage that fit each other, made by the name in
// device.backend.
#include <memory>

#include "amr/config.hpp"
#include "amr/fields.hpp"
#include "amr/stage.hpp"

namespace amrbench::amr {

/// How the blocks of a run lie in memory. On a GPU averages have the lanes with which they are fastest; mixed work
/// looks at variables one by one, and each has its cells beside one another.
[[nodiscard]] kernels::BlockLayout block_layout(const Config& config);

/// A stage may refer to its fields' device: it goes first.
template <int Dim>
struct Backend {
  std::unique_ptr<Fields> fields;
  std::unique_ptr<Stage<Dim>> stage;
};

/// The back end of this rank for config.device.backend, "cpu" or "cuda", with the stencil config.run.stencil. `comm`
/// must outlive it. InputError when a name is unknown, the build lacks the back end, or no GPU can be used. Collective.
[[nodiscard]] Backend<3> make_backend(const Config& config, const support::Communicator& comm);

}  // namespace amrbench::amr
