#pragma once
// Points as every partitioner takes them.
#include <cassert>
#include <cstddef>
#include <span>

namespace amrbench::partitioners {

/// n points of dim coordinates each, borrowed: point i is data[i * dim .. i * dim + dim - 1]. T is float or double.
template <class T>
struct PointView {
  std::span<const T> data;
  int dim = 3;

  [[nodiscard]] std::size_t size() const { return data.size() / static_cast<std::size_t>(dim); }
  [[nodiscard]] bool empty() const { return data.empty(); }
  [[nodiscard]] const T* operator[](std::size_t i) const {
    assert(i < size());
    return data.data() + i * static_cast<std::size_t>(dim);
  }
};

}  // namespace amrbench::partitioners
