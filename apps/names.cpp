#include "apps/names.hpp"

#include <algorithm>

#include "amr/stage.hpp"
#include "loadbalance/cost_model.hpp"
#include "loadbalance/policy.hpp"
#include "partitioners/partitioner.hpp"
#include "workloads/registry.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::apps {

namespace {

constexpr Choice kInitialFields[] = {
    {"random", "hash of global cell position, variable and fields.seed, in [0, 1)"},
    {"ones", "1 in every cell of the root mesh"},
};

constexpr Choice kLimiters[] = {
    {"monotonized", "the central slope, at most twice the smaller one-sided one"},
    {"minmod", "the smaller of the two one-sided slopes: most robust, most diffusive"},
    {"van_leer", "their harmonic mean: smooth, hence steady flows settle"},
};

constexpr Choice kWaterSides[] = {
    {"wall", "nothing passes"},
    {"open", "waves leave"},
};
constexpr Choice kPrecisions[] = {
    {"double", "64 bits a value"},
    {"single", "32 bits a value"},
};

constexpr Choice kSplitters[] = {
    {"octree", "the blocks' own tree: morton, hilbert and gensfc are then slices of the mesh's keys"},
    {"midpoint", "kd-tree of centres, a box cut in the middle of its longest side"},
    {"median", "kd-tree of centres, a node cut into halves of equal weight"},
    {"selection", "the same tree, found without sorting"},
    {"sampled_median", "kd-tree of centres, a node cut at the median of a sample"},
    {"parts", "the tree of kd_parts: slices are its cells; within them midpoint"},
    {"compact_parts", "the tree of kd_compact: slices are its cells; within them midpoint"},
};

constexpr Choice kObjectShapes[] = {
    {"sphere", "ellipsoid with half axes `size` (another name of spheroid; miniAMR 2, 3)"},
    {"spheroid", "ellipsoid with half axes `size` (miniAMR 2, 3)"},
    {"ellipsoid", "ellipsoid with half axes `size` (another name of spheroid; miniAMR 2, 3)"},
    {"rectangle", "box with half edges `size` (miniAMR 0, 1)"},
    {"hemispheroid_xplus", "the half of a spheroid towards +x (miniAMR 4, 5)"},
    {"hemispheroid_xminus", "the half of a spheroid towards -x (miniAMR 6, 7)"},
    {"hemispheroid_yplus", "the half of a spheroid towards +y (miniAMR 8, 9)"},
    {"hemispheroid_yminus", "the half of a spheroid towards -y (miniAMR 10, 11)"},
    {"hemispheroid_zplus", "the half of a spheroid towards +z (miniAMR 12, 13)"},
    {"hemispheroid_zminus", "the half of a spheroid towards -z (miniAMR 14, 15)"},
    {"cylinder_x", "elliptic cylinder along x (miniAMR 20, 21)"},
    {"cylinder_y", "elliptic cylinder along y (miniAMR 22, 23)"},
    {"cylinder_z", "elliptic cylinder along z (miniAMR 24, 25)"},
};

constexpr Choice kBounceModes[] = {
    {"none", "the object may leave the unit cube"},
    {"center", "turns back when its centre reaches a face of the unit cube"},
    {"edge", "turns back when its edge reaches a face of the unit cube"},
};

constexpr Choice kBackends[] = {
    {"cpu", "MPI ranks and OpenMP threads"},
#if defined(AMRBENCH_CUDA)
    {"cuda", "NVIDIA GPUs, block data in their memory, a rank a GPU; amrbench info says what was found"},
#else
    {"cuda", "NVIDIA GPUs; not in this build"},
#endif
};

constexpr Choice kStoreKinds[] = {
    {"auto", "streamed when a thread's share of the fields outgrows twice its second-level cache"},
    {"cached", "ordinary stores, through the caches"},
    {"streamed", "non-temporal stores, past the caches"},
};

constexpr Choice kTransports[] = {
    {"auto",
     "nccl where it is built and each rank has a GPU of its own, else mpi where the library says so, else staged"},
    {"nccl", "NCCL, from GPU to GPU"},
    {"mpi", "device memory given to the MPI library, where it says that it takes it"},
    {"staged", "through pinned memory of the host and MPI"},
};

/// The names and descriptions of a registry.
template <class Registry>
std::vector<Choice> choices_of(const Registry& registry) {
  std::vector<Choice> choices;
  for (const auto& entry : registry) choices.push_back({entry.name, entry.description});
  return choices;
}

}  // namespace

std::span<const Choice> partition_methods() {
  static const std::vector<Choice> choices = choices_of(partitioners::partitioner_registry());
  return choices;
}
std::span<const Choice> balance_policies() {
  static const std::vector<Choice> choices = choices_of(loadbalance::policy_registry());
  return choices;
}
std::span<const Choice> balance_weights() {
  static const std::vector<Choice> choices = choices_of(loadbalance::cost_model_registry());
  return choices;
}
std::span<const Choice> slice_rules() {
  static const std::vector<Choice> choices = choices_of(partitioners::slice_rule_registry());
  return choices;
}
std::span<const Choice> splitters() {
  return kSplitters;
}
std::span<const Choice> workload_names() {
  static const std::vector<Choice> choices = choices_of(workloads::workload_registry());
  return choices;
}
std::span<const Choice> shallow_water_problems() {
  static const std::vector<Choice> choices = choices_of(workloads::shallow_water::problem_registry());
  return choices;
}
std::span<const Choice> shallow_water_limiters() {
  return kLimiters;
}
std::span<const Choice> water_sides() {
  return kWaterSides;
}
std::span<const Choice> precisions() {
  return kPrecisions;
}
std::span<const Choice> stencils() {
  static const std::vector<Choice> choices = choices_of(amr::stencil_registry());
  return choices;
}
std::span<const Choice> initial_fields() {
  return kInitialFields;
}
std::span<const Choice> object_shapes() {
  return kObjectShapes;
}
std::span<const Choice> bounce_modes() {
  return kBounceModes;
}
std::span<const Choice> backends() {
  return kBackends;
}
std::span<const Choice> store_kinds() {
  return kStoreKinds;
}

std::span<const Choice> transports() {
  return kTransports;
}

std::optional<std::string_view> shape_of_miniamr_type(std::int64_t type) {
  if (type >= 0 && type <= 1) return "rectangle";
  if (type >= 2 && type <= 3) return "spheroid";
  constexpr std::string_view kHemispheroids[] = {"hemispheroid_xplus",  "hemispheroid_xminus", "hemispheroid_yplus",
                                                 "hemispheroid_yminus", "hemispheroid_zplus",  "hemispheroid_zminus"};
  if (type >= 4 && type <= 15) return kHemispheroids[(type - 4) / 2];
  constexpr std::string_view kCylinders[] = {"cylinder_x", "cylinder_y", "cylinder_z"};
  if (type >= 20 && type <= 25) return kCylinders[(type - 20) / 2];
  return std::nullopt;
}

std::vector<std::string_view> names_of(std::span<const Choice> choices) {
  std::vector<std::string_view> names;
  for (const Choice& choice : choices) names.push_back(choice.name);
  return names;
}

std::string quoted_list(std::span<const Choice> choices) {
  std::string list;
  for (const Choice& choice : choices) {
    if (!list.empty()) list += ", ";
    list += '"';
    list += choice.name;
    list += '"';
  }
  return list;
}

}  // namespace amrbench::apps
