#include "partitioners/orb/gpu/multiway.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
Multiway<T, Dim>::Multiway(std::uint64_t n, const OrbGpuOptions& options) : n_(n), options_(options) {
  if (options.weighted) units_ = std::make_unique<WeightUnits>(n, stream_);
  if (wide_suits(n, options)) wide_ = std::make_unique<WideRound<T, Dim>>(n, options, stream_);
  const bool moves = options.points || options.permutation || (wide_ && options.leaves > kWideInner);
  if (moves) points_[0].resize_discard(n * Dim);
  if (moves && wide_) points_[1].resize_discard(n * Dim);
  if (options.permutation)
    for (int k = 0; k < (wide_ ? 2 : 1); ++k) ids_[k].resize_discard(n);
  if (options.labels) labels_.resize_discard(n);
}

template <class T, int Dim>
void Multiway<T, Dim>::run(const T* input, const double* weights, std::optional<int> exponent, OrbTree<T, Dim>& tree,
                           OrbGpuTimes& times) {
  final_ = 0;
  numbered_ = options_.permutation;
  watch_.reset();
  watch_.mark(nullptr);
  if (units_) {
    units_->convert(weights, exponent);
    tree.cells[1].weight = units_->total();
    tree.weight_unit = units_->unit();
    watch_.mark(&times.weights_s);
  }
  std::vector<std::size_t> active;
  if (tree.leaves > 1)
    active.push_back(1);
  else
    run_uncut(input);
  times.wide = wide_ && reinterpret_cast<std::uintptr_t>(input) % 16 == 0 && run_wide(input, tree, times, active);
  times.rounds = times.wide ? 1 : 0;
  const LevelPoints<T> from{times.wide ? points_[final_].data() : input, units().units,
                            times.wide && numbered_ ? ids_[final_].data() : nullptr, true};
  levels_.run(from,
              {options_.points ? points_[final_].data() : nullptr, options_.permutation ? ids_[final_].data() : nullptr,
               options_.labels ? labels_.data() : nullptr},
              active, options_.side_tolerance, tree, watch_, times);
  watch_.mark(&times.move_s);
  stream_.synchronize();
  watch_.close();
  times.total_s = watch_.total();
}

/// The whole run where there is one leaf.
template <class T, int Dim>
void Multiway<T, Dim>::run_uncut(const T* input) {
  if (options_.points)
    support::cuda_check(
        cudaMemcpyAsync(points_[0].data(), input, n_ * Dim * sizeof(T), cudaMemcpyDeviceToDevice, stream_.get()),
        "cudaMemcpyAsync");
  if (options_.permutation) write_numbers(ids_[0].data(), n_, stream_);
  if (options_.labels) clear(labels_, n_, stream_);
}

/// The wide round; false: it cut nothing. active: cells to cut further, whose points then lie in the buffer `final_`.
template <class T, int Dim>
bool Multiway<T, Dim>::run_wide(const T* input, OrbTree<T, Dim>& tree, OrbGpuTimes& times,
                                std::vector<std::size_t>& active) {
  if (!wide_->cut(input, units(), points_[1], tree, watch_, times)) return false;
  active = wide_->left();
  if (options_.labels) wide_->label(labels_.data());
  watch_.mark(&times.labels_s);
  numbered_ = options_.permutation || ((options_.labels || options_.weighted) && !active.empty());
  if (options_.points || numbered_ || !active.empty()) final_ = wide_->move(input, points_, numbered_ ? ids_ : nullptr);
  watch_.mark(&times.move_s);
  return true;
}

template class Multiway<float, 2>;
template class Multiway<float, 3>;
template class Multiway<double, 2>;
template class Multiway<double, 3>;

}  // namespace amrbench::partitioners::gpu
