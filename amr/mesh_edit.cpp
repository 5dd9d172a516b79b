// What is carried over when a mesh changes: the part of Mesh::set_blocks that comes before links are looked up.
//
// A mesh changes in few places, and a refinement is several changes, each smaller than the one before. So what costs
// most to keep, the links, does not move with the list. A block's coordinates and links lie under a number that it
// keeps while others come and go, the dictionary knows these numbers, and links name them. A change then takes
// - one pass over the list: runs of blocks that stay are copied (levels, flags, numbers), the ends of runs tell which
//   blocks are gone or new;
// - work in proportion to those: neighbours of blocks that are gone get open faces, whose neighbours' keys are
//   looked up (amr/mesh_links.cpp), as are all faces of new blocks and faces with ghosts.
// settle() gives every block its place in the list as its number, and brings links and coordinates into that order:
// what reads them all, stage after stage, finds them in a row. Where many blocks change set_blocks() does so itself.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "amr/mesh.hpp"
#include "support/thread_lists.hpp"

namespace amrbench::amr {

namespace {

constexpr std::int32_t kGone = Dictionary::kNone;
constexpr std::size_t kSerial = 1024;  ///< fewer blocks are not worth waking a team of threads

}  // namespace

template <int Dim>
void Mesh<Dim>::Blocks::grow(std::size_t n) {
  coords.grow(n);
  near.grow(n);
  far.grow(n);
}

template <int Dim>
void Mesh<Dim>::Blocks::swap(Blocks& other) noexcept {
  coords.swap(other.coords);
  near.swap(other.near);
  far.swap(other.far);
}

template <int Dim>
void Mesh<Dim>::carry_over() {
  if (past_.keys.empty()) {
    is_settled_ = true;
    numbers_ = 0;
  }
  const bool was_settled = is_settled_;
  linked_ = numbers_;
  levels_.swap(past_.levels);
  flags_.swap(past_.flags);
  ids_.swap(past_.ids);
  const Changed changed = match(was_settled);
  is_settled_ = false;
  number(changed.fresh);
  disturb_neighbors(changed.gone, was_settled);
  list_open();
  const bool few = linked_ > 0 && changed.fresh.size() <= dictionary_.room() && numbers_ - size() <= size() / 4;
  if (!few) return settle();
  blocks_.grow(numbers_);
#pragma omp parallel for schedule(static) if (changed.gone.size() > kSerial)
  for (std::size_t k = 0; k < changed.gone.size(); ++k) dictionary_.erase(past_.keys[changed.gone[k]]);
  std::vector<Key> fresh(changed.fresh.size());
  std::ranges::transform(changed.fresh, fresh.begin(), [&](std::int32_t i) { return keys_[i]; });
  dictionary_.add(fresh, linked_);
}

/// Merges the sorted lists past_.keys and keys_, each thread its share of keys_: keeps what stayed, lists the rest.
template <int Dim>
auto Mesh<Dim>::match(bool was_settled) -> Changed {
  const std::vector<Key>& past = past_.keys;
  const std::size_t n = keys_.size();
  levels_.grow(n);
  flags_.grow(n);
  before_.grow(n);
  ids_.grow(n);
  places_.grow(linked_ + std::max(ghost_keys_.size(), n));
  const auto place = [&](std::size_t i) {
    if (i == 0) return std::size_t{0};
    if (i == n) return past.size();
    return static_cast<std::size_t>(std::lower_bound(past.begin(), past.end(), keys_[i]) - past.begin());
  };
  std::vector<Changed> parts(omp_get_max_threads());
#pragma omp parallel
  {
    const std::size_t t = omp_get_thread_num(), threads = omp_get_num_threads();
    std::size_t i = n * t / threads, old = place(i);
    const std::size_t i_end = n * (t + 1) / threads, old_end = place(i_end);
    Changed mine;
    while (i < i_end || old < old_end) {
      const std::size_t most = std::min(i_end - i, old_end - old);
      std::size_t run = 0;
      while (run < most && past[old + run] == keys_[i + run]) ++run;
      keep(old, i, run, was_settled);
      for (i += run, old += run; old < old_end && (i == i_end || past[old] < keys_[i]); ++old) {
        places_[was_settled ? static_cast<std::int32_t>(old) : past_.ids[old]] = kGone;
        mine.gone.push_back(static_cast<std::int32_t>(old));
      }
      for (; i < i_end && (old == old_end || keys_[i] < past[old]); ++i)
        mine.fresh.push_back(static_cast<std::int32_t>(i));
    }
    parts[t] = std::move(mine);
  }
  for (std::size_t t = 1; t < parts.size(); ++t) {
    parts[0].gone.insert(parts[0].gone.end(), parts[t].gone.begin(), parts[t].gone.end());
    parts[0].fresh.insert(parts[0].fresh.end(), parts[t].fresh.begin(), parts[t].fresh.end());
  }
  return std::move(parts[0]);
}

/// `count` blocks from place `old` of the list before on stayed, and stand from place i on.
template <int Dim>
void Mesh<Dim>::keep(std::size_t old, std::size_t i, std::size_t count, bool was_settled) {
  std::copy_n(past_.levels.data() + old, count, levels_.data() + i);
  std::copy_n(past_.flags.data() + old, count, flags_.data() + i);
  std::iota(before_.data() + i, before_.data() + i + count, static_cast<std::int32_t>(old));
  if (was_settled) {
    std::iota(ids_.data() + i, ids_.data() + i + count, static_cast<std::int32_t>(old));
    std::iota(places_.data() + old, places_.data() + old + count, static_cast<std::int32_t>(i));
  } else {
    std::copy_n(past_.ids.data() + old, count, ids_.data() + i);
    for (std::size_t k = i; k < i + count; ++k) places_[ids_[k]] = static_cast<std::int32_t>(k);
  }
}

/// Gives new blocks the next numbers.
template <int Dim>
void Mesh<Dim>::number(std::span<const std::int32_t> fresh) {
  numbers_ = linked_ + static_cast<std::int32_t>(fresh.size());
  blocks_.coords.grow(numbers_);
#pragma omp parallel for schedule(static) if (fresh.size() > kSerial)
  for (std::size_t k = 0; k < fresh.size(); ++k) {
    const std::int32_t i = fresh[k], id = linked_ + static_cast<std::int32_t>(k);
    ids_[i] = id;
    places_[id] = i;
    before_[i] = kGone;
    levels_[i] = static_cast<std::int8_t>(space_.level(keys_[i]));
    flags_[i] = kDisturbed;
    blocks_.coords[id] = space_.coord(keys_[i]);
  }
}

/// Marks those that stayed beside blocks that are gone.
template <int Dim>
void Mesh<Dim>::disturb_neighbors(std::span<const std::int32_t> gone, bool was_settled) {
  const auto disturb = [&](std::int32_t number) {
    if (number < 0 || number >= linked_ || places_[number] == kGone) return;
    std::atomic_ref(flags_[places_[number]]).fetch_or(kDisturbed, std::memory_order_relaxed);
  };
#pragma omp parallel for schedule(static) if (gone.size() > kSerial)
  for (std::size_t k = 0; k < gone.size(); ++k) {
    const std::int32_t id = was_settled ? gone[k] : past_.ids[gone[k]];
    const NearLinks<Dim>& near = blocks_.near[id];
    for (int face = 0; face < Links::kFaces; ++face) {
      disturb(near.first[face]);
      if (near.kind[face] == FaceKind::fine) std::ranges::for_each(blocks_.far[id][face], disturb);
    }
  }
}

/// Fills open_, and makes the flags of the blocks listed those of their other faces.
template <int Dim>
void Mesh<Dim>::list_open() {
  open_.clear();
  support::append_by_threads(open_, keys_.size(), [&](std::size_t begin, std::size_t end, std::vector<Open>& mine) {
    for (std::size_t k = begin; k < end; ++k) {
      if ((flags_[k] & (kDisturbed | kTouchesGhost)) == 0) continue;
      const auto i = static_cast<std::int32_t>(k);
      mine.push_back({i, open_faces(i)});
    }
  });
}

template <int Dim>
unsigned Mesh<Dim>::open_faces(std::int32_t i) {
  flags_[i] = 0;
  if (before_[i] == kGone) return kAllFaces;
  const NearLinks<Dim>& near = blocks_.near[ids_[i]];
  const auto is_open = [&](std::int32_t number) {
    return number >= linked_ || (number >= 0 && places_[number] == kGone);
  };
  unsigned open = 0;
  for (int face = 0; face < Links::kFaces; ++face) {
    bool opens = is_open(near.first[face]);
    if (near.kind[face] == FaceKind::fine) opens = opens || std::ranges::any_of(blocks_.far[ids_[i]][face], is_open);
    open |= (opens ? 1U : 0U) << face;
    if (!opens) flags_[i] |= flag_of(near.kind[face]);
  }
  return open;
}

/// Writes coordinates and links of block i to its place in spare_; links that are open hold anything.
template <int Dim>
void Mesh<Dim>::renumber(std::int32_t i) {
  const std::int32_t id = ids_[i];
  spare_.coords[i] = blocks_.coords[id];
  if (id >= linked_) return;
  const auto place = [&](std::int32_t number) { return number < 0 ? number : places_[number]; };
  const NearLinks<Dim>& from = blocks_.near[id];
  NearLinks<Dim>& near = spare_.near[i];
  near.kind = from.kind;
  for (int face = 0; face < Links::kFaces; ++face) near.first[face] = place(from.first[face]);
  if (finer_faces(from.kind) == 0) return;
  for (int face = 0; face < Links::kFaces; ++face)
    if (from.kind[face] == FaceKind::fine)
      std::ranges::transform(blocks_.far[id][face], spare_.far[i][face].begin(), place);
}

template <int Dim>
void Mesh<Dim>::settle() {
  if (is_settled_) return;
  spare_.grow(keys_.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < size(); ++i) renumber(i);
  blocks_.swap(spare_);
  is_settled_ = true;
  numbers_ = size();
  dictionary_.build(keys_);
}

template void Mesh<2>::Blocks::grow(std::size_t);
template void Mesh<3>::Blocks::grow(std::size_t);
template void Mesh<2>::Blocks::swap(Blocks&) noexcept;
template void Mesh<3>::Blocks::swap(Blocks&) noexcept;
template void Mesh<2>::carry_over();
template void Mesh<3>::carry_over();
template auto Mesh<2>::match(bool) -> Changed;
template auto Mesh<3>::match(bool) -> Changed;
template void Mesh<2>::keep(std::size_t, std::size_t, std::size_t, bool);
template void Mesh<3>::keep(std::size_t, std::size_t, std::size_t, bool);
template void Mesh<2>::number(std::span<const std::int32_t>);
template void Mesh<3>::number(std::span<const std::int32_t>);
template void Mesh<2>::disturb_neighbors(std::span<const std::int32_t>, bool);
template void Mesh<3>::disturb_neighbors(std::span<const std::int32_t>, bool);
template void Mesh<2>::list_open();
template void Mesh<3>::list_open();
template unsigned Mesh<2>::open_faces(std::int32_t);
template unsigned Mesh<3>::open_faces(std::int32_t);
template void Mesh<2>::renumber(std::int32_t);
template void Mesh<3>::renumber(std::int32_t);
template void Mesh<2>::settle();
template void Mesh<3>::settle();

}  // namespace amrbench::amr
