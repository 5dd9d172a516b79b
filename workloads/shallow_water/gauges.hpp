#pragma once
// Gauges: places whose depth, surface and velocity are written down at even times.
#include <span>
#include <string>
#include <vector>

#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "workloads/shallow_water/config.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

/// All samples are on every rank.
class Gauges {
 public:
  /// Throws support::InputError where a gauge lies outside the domain or two have one name. `problem` must outlive it.
  Gauges(std::span<const GaugeConfig> gauges, const Problem& problem, double interval);

  [[nodiscard]] bool empty() const { return places_.empty(); }
  /// Takes a sample if the step from `before` to `now` passed a multiple of the interval, or `now` is 0. Collective.
  void observe(const amr::Mesh<2>& mesh, const amr::Fields& fields, double before, double now);

  /// All samples so far: a time, then depth, surface, velocity along x and y of each gauge.
  [[nodiscard]] const std::vector<double>& samples() const { return samples_; }
  /// Throws support::InputError where they do not fit the gauges.
  void set_samples(std::span<const double> samples);
  /// time_s,gauge,x_m,y_m,depth_m,surface_m,velocity_x_m_s,velocity_y_m_s, a row a sample and gauge.
  [[nodiscard]] std::string csv() const;

 private:
  static constexpr std::size_t kValues = 4;
  [[nodiscard]] std::size_t row() const { return 1 + kValues * places_.size(); }

  const Problem& problem_;
  double interval_;
  std::vector<GaugeConfig> places_;
  std::vector<double> samples_;
};

}  // namespace amrbench::workloads::shallow_water
