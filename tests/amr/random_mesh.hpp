#pragma once
// Random meshes and the slow, plain rules of refinement on a list of all leaves, written down from what miniAMR does
// and apart from amr/consensus.cpp. What is drawn depends on the seed and on places in the domain, never on ranks.
#include <map>
#include <random>
#include <set>
#include <utility>

#include "amr/consensus.hpp"
#include "amr/mesh_checks.hpp"
#include "support/field_stats.hpp"

namespace amrbench::amr::checks {

template <int Dim>
using Place = std::pair<int, std::array<std::uint32_t, Dim>>;  ///< level and coordinates

/// All leaves of a mesh and what is wanted of each.
template <int Dim>
using Wishes = std::map<Place<Dim>, Change>;

inline std::uint64_t hash_of(std::uint64_t seed, int level, const std::uint32_t* c, int dim) {
  std::uint64_t h = support::mix64(seed, static_cast<std::uint64_t>(level));
  for (int d = 0; d < dim; ++d) h = support::mix64(h, c[d]);
  return h;
}

/// How often blocks ask to refine and to coarsen, out of 100.
struct Odds {
  std::uint64_t refine = 20;
  std::uint64_t coarsen = 50;
};

/// The wish of a block by chance; the deepest ones never refine. Mostly siblings wish alike, or hardly a family would
/// ever merge; single blocks stand out.
template <int Dim>
Change random_wish(std::uint64_t seed, Odds odds, int deepest, const Place<Dim>& place) {
  std::array<std::uint32_t, Dim> parent = place.second;
  for (auto& x : parent) x >>= place.first > 0 ? 1 : 0;
  const std::uint64_t family = hash_of(seed + 1, place.first, parent.data(), Dim) % 100;
  const std::uint64_t own = hash_of(seed, place.first, place.second.data(), Dim) % 400;
  const Change refine = place.first < deepest ? Change::refine : Change::stay;
  if (own < odds.refine) return refine;
  if (own > 395) return Change::stay;
  return family < odds.refine ? refine : family < odds.refine + odds.coarsen ? Change::coarsen : Change::stay;
}

template <int Dim>
Place<Dim> place_of(const Mesh<Dim>& mesh, std::int32_t i) {
  Place<Dim> place{mesh.level(i), {}};
  for (int d = 0; d < Dim; ++d) place.second[d] = mesh.coord(i)[d];
  return place;
}

template <int Dim>
std::vector<Change> random_marks(const Mesh<Dim>& mesh, std::uint64_t seed, Odds odds) {
  std::vector<Change> marks;
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    marks.push_back(random_wish<Dim>(seed, odds, mesh.space().max_level(), place_of(mesh, i)));
  return marks;
}

/// Axes along which the domain, `root` root cells, closes on itself; none as it is made.
template <int Dim>
struct Closing {
  sfc::Coord<Dim> root{};
  std::array<bool, Dim> axes{};
};

/// Of a draw; at least one axis.
template <int Dim>
Closing<Dim> random_closing(const sfc::Coord<Dim>& root, std::uint64_t draw) {
  Closing<Dim> closing{root, {}};
  const std::uint64_t bits = 1 + draw % ((1U << Dim) - 1);
  for (int d = 0; d < Dim; ++d) closing.axes[d] = (bits >> d & 1U) != 0;
  return closing;
}

/// Leaves across a face: the one of the same level or coarser, or all finer ones.
template <int Dim>
std::vector<Place<Dim>> across(const Wishes<Dim>& all, const Place<Dim>& at, int face,
                               const Closing<Dim>& closing = {}) {
  std::array<std::uint32_t, Dim> c = at.second;
  c[face / 2] += face % 2 != 0 ? 1U : ~0U;
  if (closing.axes[face / 2]) {
    const std::uint32_t extent = closing.root[face / 2] << at.first;
    c[face / 2] = (c[face / 2] + extent) % extent;
  }
  if (all.contains({at.first, c})) return {{at.first, c}};
  std::vector<Place<Dim>> finer;
  for (std::uint32_t child = 0; child < (1U << Dim); ++child) {
    if ((child >> (face / 2) & 1U) == static_cast<std::uint32_t>(face % 2)) continue;
    Place<Dim> fine{at.first + 1, {}};
    for (int d = 0; d < Dim; ++d) fine.second[d] = 2 * c[d] + (child >> d & 1U);
    if (all.contains(fine)) finer.push_back(fine);
  }
  for (auto& x : c) x >>= 1;
  if (finer.empty() && at.first > 0 && all.contains({at.first - 1, c})) return {{at.first - 1, c}};
  return finer;
}

/// The state a leaf must have at least, as things stand: miniAMR's rules, asked from the leaf's point of view.
template <int Dim>
Change required(const Wishes<Dim>& all, const Place<Dim>& at, const Closing<Dim>& closing = {}) {
  Change least = at.first == 0 ? Change::stay : Change::coarsen;
  for (int face = 0; face < 2 * Dim; ++face) {
    for (const Place<Dim>& other : across<Dim>(all, at, face, closing)) {
      const bool refines = all.at(other) == Change::refine;
      if (other.first > at.first) {
        if (refines) return Change::refine;
        least = Change::stay;  // a finer neighbour
      }
      if (other.first == at.first && refines) least = Change::stay;
    }
  }
  if (at.first == 0) return least;
  for (std::uint32_t child = 0; child < (1U << Dim); ++child) {
    Place<Dim> sibling = at;
    for (int d = 0; d < Dim; ++d) sibling.second[d] = (at.second[d] & ~1U) | (child >> d & 1U);
    const auto found = all.find(sibling);
    // A parent comes back only when all of its children are leaves and all want it.
    if (found == all.end() || found->second != Change::coarsen) least = std::max(least, Change::stay);
  }
  return least;
}

/// Sweeps over all leaves until nothing changes any more.
template <int Dim>
void settle(Wishes<Dim>& all, const Closing<Dim>& closing = {}) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [place, state] : all) {
      const Change least = required<Dim>(all, place, closing);
      if (state < least) {
        state = least;
        changed = true;
      }
    }
  }
}

/// The leaves after splitting and merging as `all` says; every new leaf wants `stay`.
template <int Dim>
Wishes<Dim> apply(const Wishes<Dim>& all) {
  Wishes<Dim> next;
  for (const auto& [place, state] : all) {
    Place<Dim> at = place;
    if (state == Change::stay) {
      next[at] = Change::stay;
    } else if (state == Change::coarsen) {
      --at.first;
      for (auto& x : at.second) x >>= 1;
      next[at] = Change::stay;
    } else {
      for (std::uint32_t child = 0; child < (1U << Dim); ++child) {
        Place<Dim> fine{at.first + 1, {}};
        for (int d = 0; d < Dim; ++d) fine.second[d] = 2 * at.second[d] + (child >> d & 1U);
        next[fine] = Change::stay;
      }
    }
  }
  return next;
}

/// The root cells as leaves.
template <int Dim>
Wishes<Dim> root_leaves(const sfc::Coord<Dim>& root) {
  Wishes<Dim> all;
  std::array<std::uint32_t, Dim> c{};
  for (;;) {
    all[{0, c}] = Change::stay;
    int d = 0;
    while (d < Dim && ++c[d] == root[d]) c[d++] = 0;
    if (d == Dim) return all;
  }
}

/// One refinement by chance: wishes drawn, settled, applied.
template <int Dim>
Wishes<Dim> random_refinement(Wishes<Dim> all, std::uint64_t seed, Odds odds, int deepest,
                              const Closing<Dim>& closing = {}) {
  for (auto& [place, state] : all) state = random_wish<Dim>(seed, odds, deepest, place);
  settle<Dim>(all, closing);
  return apply<Dim>(all);
}

/// Keys of leaves, ascending.
template <int Dim>
std::vector<Key> keys_of(const sfc::KeySpace<Dim>& space, const Wishes<Dim>& all) {
  std::vector<Key> keys;
  for (const auto& [place, state] : all) {
    sfc::Coord<Dim> c{};
    for (int d = 0; d < Dim; ++d) c[d] = place.second[d];
    keys.push_back(space.key(place.first, c));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Where each rank's blocks begin: random, sorted, with empty ranks not seldom. ranks + 1 positions.
inline std::vector<std::int64_t> random_cuts(std::uint64_t seed, std::int64_t items, int ranks) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> cuts{0, items};
  for (int r = 1; r < ranks; ++r) {
    const std::int64_t cut = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(items + 1));
    cuts.push_back(random() % 4 == 0 ? cuts[random() % cuts.size()] : cut);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

/// A random root grid of at most `cells` root cells.
template <int Dim>
sfc::Coord<Dim> random_root(std::mt19937_64& random, std::uint64_t cells) {
  sfc::Coord<Dim> root{};
  std::uint64_t room = cells;
  for (int k = 0, first = static_cast<int>(random() % Dim); k < Dim; ++k) {
    const std::uint64_t extent = 1 + random() % std::min<std::uint64_t>(room, 7);
    root[(first + k) % Dim] = static_cast<std::uint32_t>(extent);
    room /= extent;
  }
  return root;
}

}  // namespace amrbench::amr::checks
