#pragma once
// OrbGpu's members; orb_gpu_float.cu and orb_gpu_double.cu instantiate them, so that two compilers share the work.
//
// First the first round (gpu/first_round/first_round.cuh), where there are points enough, then whatever that leaves by
// gpu/levels.cuh. The document's methods have no first round.
#include <thrust/iterator/constant_iterator.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "partitioners/orb/gpu/first_round/first_round.cuh"
#include "partitioners/orb/gpu/levels.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpu/weight_units.cuh"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

/// What one object keeps between runs.
template <class T, int Dim>
struct OrbGpu<T, Dim>::Impl {
  Impl(std::uint64_t count, const OrbGpuOptions& wanted) : n(count), options(wanted) {
    if (options.weighted) units = std::make_unique<gpu::WeightUnits>(n, stream);
    if (gpu::first_round_suits(n, options) && gpu::FirstRound<T, Dim>::fits())
      first = std::make_unique<gpu::FirstRound<T, Dim>>(n, options, stream);
    const bool moves = options.points || options.permutation || (first && options.leaves > gpu::kFirstInner);
    if (moves) points[0].resize_discard(n * Dim);
    if (moves && first) points[1].resize_discard(n * Dim);
    if (options.permutation)
      for (int k = 0; k < (first ? 2 : 1); ++k) ids[k].resize_discard(n);
    if (options.labels) labels.resize_discard(n);
  }

  /// The tree is uncut; with weights its weight is set here. exponent: the weights', where it is not their own.
  void run(const T* input, const double* weights, std::optional<int> exponent) {
    result = 0;
    numbered = options.permutation;
    watch.reset();
    watch.mark(nullptr);
    if (units) {
      units->convert(weights, exponent);
      tree.cells[1].weight = units->total();
      tree.weight_unit = units->unit();
      watch.mark(&times.weights_s);
    }
    std::vector<std::size_t> active;  // cells to cut level by level
    if (tree.leaves > 1)
      active.push_back(1);
    else
      run_uncut(input);
    times.first_round = first && reinterpret_cast<std::uintptr_t>(input) % 16 == 0 && run_first_round(input, active);
    times.rounds = times.first_round ? 1 : 0;
    const bool all = cut_further(active) == n;
    const gpu::LevelPoints<T> from{times.first_round ? points[result].data() : const_cast<T*>(input),
                                   const_cast<std::uint64_t*>(unit_weights().units),
                                   times.first_round && numbered ? ids[result].data() : nullptr, all,
                                   times.first_round};
    if (times.first_round && all) result = 1 - result;  // the points are room for further ones now
    levels.run(from,
               {options.points ? points[result].data() : nullptr, options.permutation ? ids[result].data() : nullptr,
                options.labels ? labels.data() : nullptr},
               active, options.side_tolerance, tree, watch, times);
    watch.mark(&times.move_s);
    stream.synchronize();
    watch.close();
    times.total_s = watch.total();
  }

  /// The whole run where there is one leaf.
  void run_uncut(const T* input) {
    if (options.points)
      support::cuda_check(
          cudaMemcpyAsync(points[0].data(), input, n * Dim * sizeof(T), cudaMemcpyDeviceToDevice, stream.get()),
          "cudaMemcpyAsync");
    support::DeviceBuffer<unsigned char> temporary;
    if (options.permutation)  // 0, 1, 2 ..
      gpu::sums_before(thrust::make_constant_iterator(1U), ids[0].data(), n, temporary, stream);
    if (options.labels) gpu::clear(labels, n, stream);
  }

  /// The first round; false: it cut nothing. active: cells to cut further, whose points then lie in the buffer
  /// `result`.
  bool run_first_round(const T* input, std::vector<std::size_t>& active) {
    if (!first->cut(input, unit_weights(), points[1], tree, watch, times)) return false;
    active = first->left();
    if (options.labels && cut_further(active) < n) first->label(labels.data());
    watch.mark(&times.labels_s);
    numbered = options.permutation || ((options.labels || options.weighted) && !active.empty());
    if (options.points || numbered || !active.empty()) result = first->move(input, points, numbered ? ids : nullptr);
    watch.mark(&times.move_s);
    return true;
  }

  [[nodiscard]] std::uint64_t cut_further(const std::vector<std::size_t>& active) const {
    std::uint64_t count = 0;
    for (const std::size_t heap : active) count += tree.cells[heap].count;
    return count;
  }
  [[nodiscard]] gpu::UnitWeights unit_weights() const { return units ? units->get() : gpu::UnitWeights{}; }

  std::uint64_t n;
  OrbGpuOptions options;
  support::CudaStream stream;
  gpu::Stopwatch watch{stream};
  int result = 0;         ///< which of the two buffers holds the result
  bool numbered = false;  ///< numbers move with the points
  std::unique_ptr<gpu::WeightUnits> units;
  std::unique_ptr<gpu::FirstRound<T, Dim>> first;
  gpu::Levels<T, Dim> levels{options.method, stream};
  support::DeviceBuffer<T> points[2];
  support::DeviceBuffer<std::uint32_t> ids[2];
  support::DeviceBuffer<std::uint32_t> labels;
  OrbTree<T, Dim> tree;
  OrbGpuTimes times;
};

template <class T, int Dim>
OrbGpu<T, Dim>::OrbGpu(std::uint64_t n, const OrbGpuOptions& options) {
  check_orb_options({.leaves = options.leaves, .side_tolerance = options.side_tolerance}, n, {});
  if (n >= kOrbMaxPoints) throw support::InputError(std::to_string(n) + " points; a GPU takes less than 2^32");
  if (options.weighted && options.method != "multiway")
    throw support::InputError("the GPU method \"" + std::string(options.method) + "\" takes no weights; multiway does");
  impl_ = std::make_unique<Impl>(n, options);
}

template <class T, int Dim>
OrbGpu<T, Dim>::~OrbGpu() = default;

template <class T, int Dim>
const OrbTree<T, Dim>& OrbGpu<T, Dim>::run(const T* points, const OrbBox<T, Dim>& box, const double* weights,
                                           std::optional<int> weight_exponent) {
  if (impl_->options.weighted != (weights != nullptr))
    throw std::logic_error("OrbGpu::run: weights must be given where the options say so, and only there");
  impl_->times = {};
  impl_->tree = make_orb_tree<T, Dim>(impl_->options.leaves, box, impl_->n, impl_->n, 1, std::move(impl_->tree));
  impl_->run(points, weights, weight_exponent);
  return impl_->tree;
}

template <class T, int Dim>
const OrbGpuTimes& OrbGpu<T, Dim>::times() const {
  return impl_->times;
}
template <class T, int Dim>
const T* OrbGpu<T, Dim>::points() const {
  return impl_->points[impl_->result].data();
}
template <class T, int Dim>
const std::uint32_t* OrbGpu<T, Dim>::permutation() const {
  return impl_->ids[impl_->result].data();
}
template <class T, int Dim>
const std::uint32_t* OrbGpu<T, Dim>::labels() const {
  return impl_->labels.data();
}

}  // namespace amrbench::partitioners
