#pragma once
// Workload: what a run solves. The mesh and the time loop know no physics; all they ask is here
// (docs/adding-a-workload.md).
//
// A run is: make_backend(), set_initial(); the first refinement, mark() and adapted() or set_initial() for each pass;
// observe(); then for every step begin_step(), the stages of the Stage, end_step(), mark() and adapted() where it
// refines, and observe().
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "amr/backend.hpp"
#include "amr/checkpoint/run_state.hpp"
#include "amr/consensus.hpp"
#include "amr/fields.hpp"
#include "amr/halo_shape.hpp"
#include "amr/mesh.hpp"
#include "amr/plot_info.hpp"
#include "support/atomic_file.hpp"

namespace amrbench::amr {

/// A figure of a run that only its workload knows, for the run record: an error, a largest depth, a drift.
struct Finding {
  std::string name;
  double value = 0.0;
  std::string unit;
};

template <int Dim>
class Workload {
 public:
  virtual ~Workload() = default;

  /// Fields and stage that fit each other; `comm` must outlive them. Called once, first. Collective.
  [[nodiscard]] virtual Backend<Dim> make_backend(const support::Communicator& comm) = 0;
  /// What its stages exchange across a face.
  [[nodiscard]] virtual HaloShape halo_shape() const { return {}; }
  /// What a reader of plotfiles is to know.
  [[nodiscard]] virtual PlotInfo plot_info() const { return {}; }

  /// Fills the fields with the state at time 0, of a mesh of root cells. Local.
  virtual void set_initial(const Mesh<Dim>& mesh, Fields& fields) = 0;
  /// Is the initial state known on every level? Then the first refinement sets it anew on the blocks that it makes, and
  /// totals are held against those after it; else values are handed to finer blocks like later ones.
  [[nodiscard]] virtual bool knows_initial_state() const { return false; }
  /// The same of `blocks` of any mesh, whose fields have room for them; called where knows_initial_state(). Local.
  virtual void fill_initial(const Mesh<Dim>& /*mesh*/, Fields& /*fields*/, std::span<const std::int32_t> /*blocks*/) {}

  /// What each local block should become, before the consensus. `before`: what it said on the mesh before, in the same
  /// refinement and at the same time, where blocks have not moved since (Mesh::place_before()); else null. Collective
  /// over neighbours.
  [[nodiscard]] virtual std::vector<Change> mark(const Mesh<Dim>& mesh, const Fields& fields,
                                                 const std::vector<Change>* before) = 0;
  /// Called after each pass that changed blocks; new ones are Mesh::new_blocks(). Local.
  virtual void adapted(const Mesh<Dim>& /*mesh*/, Fields& /*fields*/) {}

  /// The length of the step that begins, at most `longest` (infinity where nothing bounds it). Collective.
  virtual double begin_step(const Mesh<Dim>& mesh, Fields& fields, Stage<Dim>& stage, double longest) = 0;
  /// The step is done; called where the mesh adapts. Local.
  virtual void end_step(double /*delta*/) {}
  /// Looks at the state at a time, once at the start (time 0) and after every step. Collective.
  virtual void observe(const Mesh<Dim>& /*mesh*/, Fields& /*fields*/, double /*time*/) {}

  /// What each local block costs in a stage at present, beside one that is computed (1); empty: all alike. Collective
  /// over neighbours.
  [[nodiscard]] virtual std::vector<double> block_costs(const Mesh<Dim>& /*mesh*/, const Fields& /*fields*/) {
    return {};
  }
  /// What a cell of a level counts for in sums over cells, a power of 2: 1 for extensive variables, for others its
  /// volume in cells of level 0. Sums that stages make count so too.
  [[nodiscard]] virtual double measure(int /*level*/) const { return 1.0; }

  /// What the steps to come depend on besides blocks, values and time, to and from a checkpoint. Local.
  virtual void save(RunState& /*state*/) const {}
  virtual void load(const RunState& /*state*/) {}

  /// What there is to say of the end of a run. Collective.
  [[nodiscard]] virtual std::vector<Finding> findings(const Mesh<Dim>& /*mesh*/, const Fields& /*fields*/,
                                                      double /*time*/) {
    return {};
  }
  /// Files of a run that has ended, in its result folder. Collective.
  virtual void write_files(const Mesh<Dim>& /*mesh*/, const Fields& /*fields*/, const std::filesystem::path& /*folder*/,
                           support::Existing /*existing*/) {}
};

}  // namespace amrbench::amr
