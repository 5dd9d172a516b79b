#pragma once
// A block with what lies behind its faces, from wherever it comes: for stage and marks.
#include <vector>

#include "amr/layer_halo.hpp"
#include "workloads/advection/block.hpp"
#include "workloads/advection/problem.hpp"

namespace amrbench::workloads::advection {

/// The exchange that the scheme needs: the tracer, two cells deep.
template <int Dim>
class Halo final : public amr::LayerHalo<Dim> {
 public:
  explicit Halo(const Problem<Dim>& problem) : amr::LayerHalo<Dim>(problem.layout(), kHalo.variables, kHalo.layers) {}
};

/// Memory of one thread.
template <int Dim>
class Worker {
 public:
  explicit Worker(const Problem<Dim>& problem)
      : problem_(problem),
        block_(problem.layout()),
        most_(Halo<Dim>(problem).most_values()),
        memory_(2 * Dim * most_) {}

  /// Block i at a time, ready to be computed; good until the next call. One with ghost neighbours only after
  /// halo.finish().
  Block<Dim>& load(const amr::Mesh<Dim>& mesh, const amr::FieldStore& fields, const Halo<Dim>& halo, double time,
                   std::int32_t i) {
    std::array<Behind, 2 * Dim> behind;
    for (int face = 0; face < 2 * Dim; ++face) {
      double* const buffer = memory_.data() + std::size_t(face) * most_;
      Behind& at = behind[std::size_t(face)];
      at = {buffer, mesh.links(i).kind[std::size_t(face)]};
      if (at.kind == amr::FaceKind::boundary) {
        problem_.fill_behind(mesh, i, face, time, buffer);
      } else {
        at.values = halo.gather(mesh, fields, i, face, buffer);
      }
    }
    block_.load(fields.block(i), behind);
    return block_;
  }

 private:
  const Problem<Dim>& problem_;
  Block<Dim> block_;
  std::size_t most_;  ///< values behind a face
  std::vector<double> memory_;
};

}  // namespace amrbench::workloads::advection
