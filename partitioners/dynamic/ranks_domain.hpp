#pragma once
// A domain of a tree over ranks, as every rank knows it. Only ranks_*.cpp include this.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "partitioners/dynamic/ranks_tree.hpp"

namespace amrbench::partitioners {

struct DynamicRanksTree::Domain {
  int owner = 0;
  bool remade = false;                          ///< its points lie on all ranks, in rows
  std::size_t begin = 0, end = 0;               ///< of a remade one: rows of this rank
  std::uint64_t count = 0;                      ///< points, as of the last adjust() or build
  CurveEntrance entrance{};                     ///< that its tree was told
  std::unique_ptr<dynamic::TreeBranch> tree{};  ///< on its owner
};

}  // namespace amrbench::partitioners
