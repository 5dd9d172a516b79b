#pragma once
// The document's bisection on a GPU (document 000, 6.4-6.6), to compare with. Internal to OrbGpu.
//
// All cuts of a level are bisected by passes that count the points below a guess, over a column of the cut coordinates,
// until few points are left between two guesses. What follows is Levels' way: it orders those few, and parts the
// points.
#include <optional>
#include <string_view>
#include <vector>

#include "partitioners/orb/gpu/levels.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Which of the document's kernels counts.
enum class SeedKernel {
  cells,  ///< one launch a cell, reduction in shared memory (6.4, listing 9)
  level,  ///< one launch for all cells of a level (6.5, listing 10)
  warp,   ///< the same, reduction by warp primitives (6.6, listing 11)
};

/// The kernel of a method; none for multiway. InputError for a method that does not exist.
std::optional<SeedKernel> seed_kernel(std::string_view method);

/// A cell's search: the first right point lies above `below` and at `above` or below it.
template <class T>
struct SeedBracket {
  T below, above, guess;
  std::uint32_t count_below, count_above;  ///< points at these values or below
  std::uint32_t target;                    ///< points that go left
  bool searching;

  /// False: few points are left in between, or no value is.
  bool next_guess() {
    guess = T(0.5) * below + T(0.5) * above;
    return searching = searching && count_above - count_below > kLevelFew && guess > below && guess < above;
  }
  void learn(std::uint32_t left) {
    if (!searching) return;
    (left <= target ? below : above) = guess;
    (left <= target ? count_below : count_above) = left;
  }
};

template <class T, int Dim>
class SeedSearch {
 public:
  SeedSearch(SeedKernel kernel, const support::CudaStream& stream) : kernel_(kernel), stream_(stream) {}
  /// Narrows the windows of a level's cells, which are on the host and on the device, their searches just started.
  /// points: all that the level works on. tiles: of all cells.
  void narrow(const T* points, const std::vector<LevelCell<T, Dim>>& cells, std::uint32_t tiles,
              LevelCell<T, Dim>* on_device, OrbGpuTimes& times);

 private:
  void count(const std::vector<LevelCell<T, Dim>>& cells, std::uint32_t tiles, const LevelCell<T, Dim>* on_device);

  SeedKernel kernel_;
  const support::CudaStream& stream_;
  std::vector<SeedBracket<T>> brackets_;  ///< [cell]
  std::vector<std::uint32_t> left_;       ///< points at a cell's guess or below
  support::DeviceBuffer<SeedBracket<T>> device_brackets_;
  support::DeviceBuffer<std::uint32_t> counts_;
  support::DeviceBuffer<T> column_;
};

}  // namespace amrbench::partitioners::gpu
