#pragma once
// What mesh and time loop take of a run's configuration, as plain data. Names are those of the TOML tables and keys
// (docs/config.md) and of the run record. Filled and checked by apps/ (TOML file, --set, miniAMR options), where
// apps/config.hpp adds what load balancing takes (loadbalance/config.hpp).
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace amrbench::amr {

/// [mesh]: the unit cube cut into `root` cells, each the root of an octree of at most `max_level` levels, each leaf a
/// block of `block` cells.
struct MeshConfig {
  int dim = 3;
  std::array<int, 3> root{2, 2, 2};   ///< root cells a direction, >= 1; bits(max root - 1) + max_level <= 20
  std::array<int, 3> block{8, 8, 8};  ///< cells of a block a direction, even, 2 to 32
  std::array<bool, 3> periodic{false, false, false};  ///< directions in which the domain closes on itself
  int max_level = 4;                                  ///< deepest level of refinement, 0 = none
  int block_change = 0;       ///< levels a block may change in one refinement (the first one: max_level); 0 = max_level
  bool frozen = false;        ///< the mesh stays as the first refinement leaves it; later ones only place blocks anew
  bool uniform = false;       ///< refine every block to max_level at the start, and never again
  bool refine_ghost = false;  ///< mark with the block's extent widened by its ghost cells (miniAMR --refine_ghost)
};

/// [fields]
struct FieldsConfig {
  int variables = 40;              ///< >= 1
  std::string initial = "random";  ///< "random" (hash of global cell, variable, seed; in [0,1)) or "ones"
  std::uint64_t seed = 1;
};

/// [run]
struct RunConfig {
  std::string name = "run";  ///< names the result folder
  std::int64_t steps = 100;  ///< time steps, >= 0; with `time` > 0: of time / steps each, 0 = as many as needed
  double time = 0.0;         ///< simulated time; 0 = `steps` steps of length 1. With steps = 0: steps by object speed
  int stages_per_step = 20;  ///< >= 1
  int refine_every = 5;      ///< steps between refinements; 0 = only at the start
  int checksum_every = 20;   ///< stages between conservation checks; 0 = only at the start and end
  double tolerance = 1e-8;   ///< relative drift of a variable's total against the first sum that is accepted
  std::string workload = "averages";  ///< what is solved: a name in workloads/registry.hpp
  std::string stencil = "average7";   ///< of the averages: a name in the kernel registry
  bool overlap = true;                ///< overlap the halo exchange with the interior (else blocking kernel)
  double hang_after = 300.0;          ///< seconds without progress of a node's ranks that end the run; 0 = never
};

/// [[object]]: a moving, growing body whose surface (or volume) asks for refinement. Lengths in the unit cube.
/// shape: rectangle, spheroid (alias sphere, ellipsoid), hemispheroid_{x,y,z}{plus,minus}, cylinder_{x,y,z}.
struct ObjectConfig {
  std::string shape = "sphere";
  bool volume = false;  ///< the whole body (true) or its surface
  std::array<double, 3> center{};
  std::array<double, 3> velocity{};  ///< per unit of time (a step, unless run.time is set)
  std::array<double, 3> size{};      ///< half extents; a negative one switches the object off
  std::array<double, 3> growth{};    ///< change of `size` per unit of time
  std::string bounce = "none";       ///< "none", "center", "edge" (miniAMR 0, 1, 2)
};

/// [[work]]: artificial work, which makes load uneven on purpose (document 001's alpha, the work per data point). A
/// stage evaluates the stencil of a block as often as the factors of all entries that apply to it multiply to, and
/// keeps one result: bits and counted updates stay as they are.
struct WorkConfig {
  int factor = 1;              ///< evaluations a stage, 1 to 1000
  std::array<double, 3> lo{};  ///< blocks whose centre lies in [lo, hi) of the unit cube
  std::array<double, 3> hi{1.0, 1.0, 1.0};
  int rank = -1;  ///< only on this rank, as if it were slower; -1: on all
};

/// [device]
struct DeviceConfig {
  std::string backend = "cpu";  ///< where block data lies: "cpu" or "cuda"
  /// How ranks on GPUs exchange values: "nccl", "mpi" (device memory given to MPI), "staged" (through pinned memory of
  /// the host) or "auto". No effect on results, none with "cpu".
  std::string transport = "auto";
  int threads = 0;  ///< OpenMP threads a rank; 0 = all the rank may use
  /// How results are stored: "cached", "streamed" past the caches, or "auto": streamed when the fields outgrow a core's
  /// own. No effect on results; a stencil may ignore it.
  std::string stores = "auto";
  /// Blocks a rank for which host memory is touched before the run's time starts; never less than the first mesh has. A
  /// run that comes to have more pays for new memory as it goes. No effect on results.
  int preallocated_blocks = 0;
};

/// [output]
struct OutputConfig {
  std::string dir;                ///< result folder; empty = results/<name>-<time>
  int plotfile = 0;               ///< steps between AMReX plotfiles; 0 = none
  int checkpoint = 0;             ///< steps between checkpoints (amr/checkpoint/checkpoint.hpp); 0 = none by steps
  double checkpoint_minutes = 0;  ///< minutes between them; 0 = none by time
  int checkpoint_group = 0;       ///< ranks that share a file; 0 = one, or as many as make 256 files
  std::string trace;  ///< file that records which blocks change (loadbalance/replay/trace.hpp); empty = none
};

struct Config {
  MeshConfig mesh;
  FieldsConfig fields;
  RunConfig run;
  std::vector<ObjectConfig> objects;
  std::vector<WorkConfig> work;
  DeviceConfig device;
  OutputConfig output;
};

}  // namespace amrbench::amr
