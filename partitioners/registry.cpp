// The methods of this build by name (partitioners/partitioner.hpp).
#include "support/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "partitioners/baselines.hpp"
#include "partitioners/curve_methods.hpp"
#include "partitioners/keys/morton_keys.hpp"
#include "partitioners/linear.hpp"
#include "partitioners/orb/orb_partitioner.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/slabs.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

constexpr PartitionerEntry kEntries[] = {
    // Geometric methods.
    {"morton", "kd-tree along Morton's curve, cut into runs of equal weight", &make_curve_method<TreeCurve::morton>},
    {"hilbert", "kd-tree along Hilbert's curve, cut into runs of equal weight", &make_curve_method<TreeCurve::hilbert>},
    {"gensfc", "kd-tree along the generalised curve GenSFC, cut into runs of equal weight",
     &make_curve_method<TreeCurve::gensfc>},
    {"morton_keys", "bits of coordinates interleaved into keys of 64 bits, sorted, cut into runs of equal weight",
     &make_morton_keys},
    {"kd_parts", "parts-aware kd-tree: a node cuts its weight by the parts it serves; numbered along GenSFC",
     &make_parts_tree_method<TreeCurve::gensfc>},
    {"kd_parts_hilbert", "the same, numbered along Hilbert's curve", &make_parts_tree_method<TreeCurve::hilbert>},
    {"kd_parts_morton", "the same, numbered along Morton's curve", &make_parts_tree_method<TreeCurve::morton>},
    {"kd_compact", "as kd_parts, but nodes of few parts are cut so that parts are compact, in 2 and 3 dimensions",
     &make_parts_tree_method<TreeCurve::gensfc, true>},
    {"orb", "orthogonal recursive bisection: boxes cut across their longest side; 2 or 3 dimensions",
     &make_orb_partitioner},
    {"slabs", "points in the order along their longest side, cut into runs of equal weight; 2 or 3 dimensions",
     &make_slabs},
    {"linear", "points in the order of their numbers, cut into runs of equal weight", &make_linear},
// Baselines: libraries of others.
#ifdef AMRBENCH_HAVE_METIS
    {"metis_kway", "METIS 5, multilevel k-way, its defaults; needs a graph", &make_metis_kway},
    {"metis_recursive", "METIS 5, multilevel recursive bisection, its defaults; needs a graph", &make_metis_recursive},
#endif
#ifdef AMRBENCH_HAVE_SCOTCH
    {"scotch", "Scotch 7, multilevel recursive bisection, 1 % imbalance; needs a graph", &make_scotch},
    {"scotch_map", "Scotch 7, mapping onto nodes of several tasks, 1 % imbalance; needs a graph", &make_scotch_map},
#endif
#ifdef AMRBENCH_HAVE_ZOLTAN
    {"zoltan_rcb", "Zoltan 3, recursive coordinate bisection", &make_zoltan_rcb},
    {"zoltan_hsfc", "Zoltan 3, Hilbert space-filling curve", &make_zoltan_hsfc},
#endif
};

/// Methods that a build may lack, and the Debian package that brings them.
struct Absent {
  std::string_view name;
  std::string_view package;
};
constexpr Absent kOptional[] = {{"metis_kway", "libmetis-dev"},
                                {"metis_recursive", "libmetis-dev"},
                                {"scotch", "libscotch-dev"},
                                {"scotch_map", "libscotch-dev"},
                                {"zoltan_rcb", "libtrilinos-zoltan-dev"},
                                {"zoltan_hsfc", "libtrilinos-zoltan-dev"}};

}  // namespace

std::span<const PartitionerEntry> partitioner_registry() {
  return kEntries;
}

std::unique_ptr<Partitioner> make_partitioner(std::string_view name) {
  for (const Absent& absent : kOptional)
    if (absent.name == name && std::ranges::find(kEntries, name, &PartitionerEntry::name) == std::end(kEntries))
      throw support::InputError(fmt::format(
          "method {}: not in this build; install {}, then configure and build again (cmake --preset release)", name,
          absent.package));
  return support::find_entry(kEntries, name, "method").make();
}

}  // namespace amrbench::partitioners
