#include "sfc/key.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace amrbench::sfc {

namespace {

constexpr int kPositionBits = 20;

}  // namespace

Curve curve_from_name(std::string_view name) {
  if (name == "morton") return Curve::morton;
  if (name == "hilbert") return Curve::hilbert;
  throw std::invalid_argument("unknown curve \"" + std::string(name) + "\": must be morton or hilbert");
}

std::string_view curve_name(Curve curve) {
  return curve == Curve::morton ? "morton" : "hilbert";
}

template <int Dim>
KeySpace<Dim>::KeySpace(Curve curve, const Coord<Dim>& root, int max_level)
    : curve_(curve), root_(root), max_level_(max_level) {
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

template class KeySpace<2>;
template class KeySpace<3>;

}  // namespace amrbench::sfc
