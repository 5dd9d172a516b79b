#include "sfc/key.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace amrbench::sfc {

namespace {

constexpr int kPositionBits = 20;

}  // namespace

Curve curve_from_name(std::string_view name) {
  if (name == "morton") return Curve::morton;
  if (name == "hilbert") return Curve::hilbert;
  if (name == "gensfc") return Curve::gensfc;
  throw std::invalid_argument("unknown curve \"" + std::string(name) + "\": must be morton, hilbert or gensfc");
}

std::string_view curve_name(Curve curve) {
  return curve == Curve::morton ? "morton" : curve == Curve::hilbert ? "hilbert" : "gensfc";
}

template <int Dim>
KeySpace<Dim>::KeySpace(Curve curve, const Coord<Dim>& root, int max_level)
    : curve_(curve), root_(root), max_level_(max_level) {
  if (curve == Curve::gensfc) throw std::invalid_argument("curve gensfc needs an order of the root cells");
  const auto [least, most] = std::minmax_element(root.begin(), root.end());
  if (*least == 0) throw std::invalid_argument("root grid has an extent of 0: must be at least 1 in each direction");
  if (max_level < 0) {
    throw std::invalid_argument("deepest level is " + std::to_string(max_level) + ": must be at least 0");
  }
  root_bits_ = static_cast<int>(std::bit_width(*most - 1));
  // Compared without adding, so that no max_level overflows.
  if (root_bits_ > kPositionBits || max_level > kPositionBits - root_bits_) {
    throw std::invalid_argument("root grid of up to " + std::to_string(*most) + " cells a direction needs " +
                                std::to_string(root_bits_) + " bits, levels " + std::to_string(max_level) +
                                ": together at most " + std::to_string(kPositionBits));
  }
}

template <int Dim>
KeySpace<Dim>::KeySpace(std::shared_ptr<const RootOrder<Dim>> order, const Coord<Dim>& root, int max_level)
    : KeySpace(Curve::morton, root, max_level) {
  std::size_t cells = 1;
  for (const std::uint32_t extent : root) cells *= extent;
  if (!order || order->size() != cells) throw std::invalid_argument("the order of root cells is not one of this grid");
  curve_ = Curve::gensfc;
  order_ = std::move(order);
}

template <int Dim>
std::uint64_t KeySpace<Dim>::ordered_path(int level, const Coord<Dim>& c) const {
  Coord<Dim> cell{}, inside{};
  for (int d = 0; d < Dim; ++d) {
    cell[d] = c[d] >> level;
    inside[d] = c[d] - (cell[d] << level);
  }
  const std::uint32_t position = order_->position(cell);
  const std::uint64_t code = morton_encode<Dim>(order_->turn(position).to_curve(inside, level));
  return std::uint64_t{position} << (Dim * level) | hilbert_from_morton<Dim>(code, level);
}

template <int Dim>
Coord<Dim> KeySpace<Dim>::ordered_coord(int level, std::uint64_t path) const {
  const auto position = static_cast<std::uint32_t>(path >> (Dim * level));
  const std::uint64_t index = path & ((std::uint64_t{1} << (Dim * level)) - 1);
  const Coord<Dim> inside =
      order_->turn(position).from_curve(morton_decode<Dim>(hilbert_to_morton<Dim>(index, level)), level);
  Coord<Dim> c = order_->cell(position);
  for (int d = 0; d < Dim; ++d) c[d] = (c[d] << level) + inside[d];
  return c;
}

template class KeySpace<2>;
template class KeySpace<3>;

}  // namespace amrbench::sfc
