#include "amr/mesh.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <stdexcept>
#include <string>

#include "support/error.hpp"

namespace amrbench::amr {

namespace {

/// Depth-first walk over the curve that yields the root cells of a range of positions.
template <int Dim>
struct RootWalk {
  const sfc::KeySpace<Dim>& space;
  std::int64_t begin, end;
  std::int64_t position = 0;
  std::vector<Key> keys;

  void visit(std::uint64_t path, int bits) {
    const int rest = space.root_bits() - bits;
    const sfc::Coord<Dim> corner = sfc::curve_coord<Dim>(space.curve(), path, bits);
    std::int64_t inside = 1;
    for (int d = 0; d < Dim; ++d) {
      const std::int64_t room = std::int64_t(space.root()[d]) - (std::int64_t(corner[d]) << rest);
      inside *= std::clamp<std::int64_t>(room, 0, std::int64_t(1) << rest);
    }
    if (inside == 0 || position + inside <= begin || position >= end) {
      position += inside;
      return;
    }
    if (rest == 0) {
      keys.push_back(space.key(0, corner));
      ++position;
      return;
    }
    for (int i = 0; i < (1 << Dim); ++i) visit((path << Dim) + i, bits + 1);
  }
};

}  // namespace

template <int Dim>
std::vector<Key> root_keys(const sfc::KeySpace<Dim>& space, std::int64_t begin, std::int64_t end) {
  if (const auto* order = space.root_order()) {
    std::vector<Key> keys;
    for (std::int64_t p = begin; p < end; ++p) keys.push_back(space.key(0, order->cell(static_cast<std::uint32_t>(p))));
    return keys;
  }
  RootWalk<Dim> walk{space, begin, end, 0, {}};
  if (begin < end) walk.visit(0, 0);
  return std::move(walk.keys);
}

template <int Dim>
Mesh<Dim>::Mesh(const support::Communicator& comm, const sfc::KeySpace<Dim>& space) : comm_(comm.dup()), space_(space) {
  std::int64_t roots = 1;
  for (const auto extent : space.root()) roots *= extent;
  const std::int64_t r = comm_.rank(), p = comm_.size();
  set_blocks(root_keys(space, roots * r / p, roots * (r + 1) / p));
}

template <int Dim>
void Mesh<Dim>::set_blocks(std::vector<Key> keys, std::vector<double> weights, Settle when) {
  if (!weights.empty() && weights.size() != keys.size())
    throw std::logic_error("set_blocks: weights and keys differ in number");
  if (!is_linked_) keys_.clear();  // a mesh that was refused: nothing of it holds
  past_.keys = std::exchange(keys_, std::move(keys));
  spare_weights_ = std::exchange(weights_, std::move(weights));
  if (weights_.empty()) weights_.assign(keys_.size(), 1.0);
  is_linked_ = false;
  carry_over();
  gather_splitters();
  exchange_ghosts();
  link_open_faces();
  list_border();
  if (when == Settle::now) settle();
}

template <int Dim>
void Mesh<Dim>::gather_splitters() {
  struct Share {
    Key first, last;
    std::int64_t blocks;
  };
  const std::vector<Share> shares =
      support::all_gather(comm_, keys_.empty() ? Share{space_.kEnd, 0, 0}
                                               : Share{space_.first(keys_.front()), space_.last(keys_.back()), size()});
  const std::size_t ranks = shares.size();
  splitters_.assign(ranks + 1, space_.kEnd);
  rank_sizes_.resize(ranks);
  has_intervals_ = true;
  // An empty rank takes the splitter of the next one: its interval is empty and owner() never names it.
  for (std::size_t r = ranks; r-- > 0;) {
    splitters_[r] = shares[r].blocks > 0 ? shares[r].first : splitters_[r + 1];
    has_intervals_ = has_intervals_ && (shares[r].blocks == 0 || shares[r].last < splitters_[r + 1]);
    rank_sizes_[r] = shares[r].blocks;
  }
  global_size_ = global_begin_ = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r < std::size_t(comm_.rank())) global_begin_ += rank_sizes_[r];
    global_size_ += rank_sizes_[r];
  }
}

template <int Dim>
int Mesh<Dim>::owner(Key key) const {
  assert(has_intervals_);
  const auto above = std::upper_bound(splitters_.begin(), splitters_.end() - 1, key);
  return std::max(0, static_cast<int>(above - splitters_.begin()) - 1);
}

template <int Dim>
std::vector<int> Mesh<Dim>::owners(std::span<const Key> leaves) const {
  if (!has_intervals_) return directory_.owners(comm_, leaves);
  std::vector<int> owners;
  for (const Key leaf : leaves) owners.push_back(owner(leaf));
  return owners;
}

template <int Dim>
std::size_t Mesh<Dim>::memory_bytes() const {
  std::size_t bytes = (keys_.capacity() + past_.keys.capacity()) * sizeof(Key) +
                      (weights_.capacity() + spare_weights_.capacity()) * sizeof(double) + blocks_.bytes() +
                      spare_.bytes() + levels_.bytes() + past_.levels.bytes() + flags_.bytes() + past_.flags.bytes() +
                      ids_.bytes() + past_.ids.bytes() + places_.bytes() + before_.bytes() +
                      open_.capacity() * sizeof(Open) + ghost_keys_.capacity() * sizeof(Key) +
                      border_.capacity() * sizeof(std::int32_t) + splitters_.capacity() * sizeof(Key) +
                      rank_sizes_.capacity() * sizeof(std::int64_t);
  for (const NeighborRank& neighbor : neighbors_) bytes += neighbor.sends.capacity() * sizeof(std::int32_t);
  return bytes;
}

template class Mesh<2>;
template class Mesh<3>;
template std::vector<Key> root_keys<2>(const sfc::KeySpace<2>&, std::int64_t, std::int64_t);
template std::vector<Key> root_keys<3>(const sfc::KeySpace<3>&, std::int64_t, std::int64_t);

}  // namespace amrbench::amr
