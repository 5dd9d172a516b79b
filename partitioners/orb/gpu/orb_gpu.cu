#include <stdexcept>
#include <string>

#include "partitioners/orb/gpu/multiway.hpp"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/seed.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

void check(std::uint64_t n, const OrbGpuOptions& options) {
  if (options.leaves == 0) throw support::InputError("leaves is 0; at least 1 is needed");
  if (options.leaves > n)
    throw support::InputError("leaves is " + std::to_string(options.leaves) + ", but there are only " +
                              std::to_string(n) + " points; a leaf needs a point");
  if (n >= kOrbMaxPoints) throw support::InputError(std::to_string(n) + " points; a GPU takes less than 2^32");
  if (!(options.side_tolerance >= 0 && options.side_tolerance < 1))
    throw support::InputError("side tolerance must be in [0, 1)");
}

}  // namespace

template <class T, int Dim>
struct OrbGpu<T, Dim>::Impl {
  std::uint64_t n = 0;
  OrbGpuOptions options;
  std::unique_ptr<gpu::Multiway<T, Dim>> multiway;
  std::unique_ptr<gpu::Seed<T, Dim>> seed;
  OrbTree<T, Dim> tree;
  OrbGpuTimes times;
};

template <class T, int Dim>
OrbGpu<T, Dim>::OrbGpu(std::uint64_t n, const OrbGpuOptions& options) : impl_(std::make_unique<Impl>()) {
  check(n, options);
  impl_->n = n;
  impl_->options = options;
  if (options.weighted && options.method != "multiway")
    throw support::InputError("the GPU method \"" + std::string(options.method) + "\" takes no weights; multiway does");
  if (options.method == "multiway")
    impl_->multiway = std::make_unique<gpu::Multiway<T, Dim>>(n, options);
  else if (options.method == "seed-cells")
    impl_->seed = std::make_unique<gpu::Seed<T, Dim>>(n, options, gpu::SeedKernel::cells);
  else if (options.method == "seed-level")
    impl_->seed = std::make_unique<gpu::Seed<T, Dim>>(n, options, gpu::SeedKernel::level);
  else if (options.method == "seed-warp")
    impl_->seed = std::make_unique<gpu::Seed<T, Dim>>(n, options, gpu::SeedKernel::warp);
  else
    throw support::InputError("no GPU method of ORB is called \"" + std::string(options.method) +
                              "\"; there are multiway, seed-cells, seed-level and seed-warp");
}

template <class T, int Dim>
OrbGpu<T, Dim>::~OrbGpu() = default;

template <class T, int Dim>
const OrbTree<T, Dim>& OrbGpu<T, Dim>::run(const T* points, const OrbBox<T, Dim>& box, const double* weights,
                                           std::optional<int> weight_exponent) {
  if (impl_->options.weighted != (weights != nullptr))
    throw std::logic_error("OrbGpu::run: weights must be given where the options say so, and only there");
  impl_->times = {};
  impl_->tree = make_orb_tree<T, Dim>(impl_->options.leaves, box, impl_->n, impl_->n, 1);
  if (impl_->multiway)
    impl_->multiway->run(points, weights, weight_exponent, impl_->tree, impl_->times);
  else
    impl_->seed->run(points, impl_->tree, impl_->times);
  return impl_->tree;
}

template <class T, int Dim>
const OrbGpuTimes& OrbGpu<T, Dim>::times() const {
  return impl_->times;
}
template <class T, int Dim>
const T* OrbGpu<T, Dim>::points() const {
  return impl_->multiway ? impl_->multiway->points() : impl_->seed->points();
}
template <class T, int Dim>
const std::uint32_t* OrbGpu<T, Dim>::permutation() const {
  return impl_->multiway ? impl_->multiway->permutation() : impl_->seed->permutation();
}
template <class T, int Dim>
const std::uint32_t* OrbGpu<T, Dim>::labels() const {
  return impl_->multiway ? impl_->multiway->labels() : impl_->seed->labels();
}

template class OrbGpu<float, 2>;
template class OrbGpu<float, 3>;
template class OrbGpu<double, 2>;
template class OrbGpu<double, 3>;

}  // namespace amrbench::partitioners
