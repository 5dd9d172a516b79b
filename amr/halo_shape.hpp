#pragma once
// What crosses a face in a halo exchange, in numbers alone: for models of what an exchange takes.

namespace amrbench::amr {

struct HaloShape {
  /// Raw cells of so many variables travel (amr/layer_halo.hpp). 0: all variables of one layer, restricted for coarser
  /// neighbours (amr/halo.hpp).
  int variables = 0;
  int layers = 1;  ///< of cells, where variables > 0
};

}  // namespace amrbench::amr
