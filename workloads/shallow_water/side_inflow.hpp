#pragma once
// Water that comes in through sides of the domain with its momentum, by discharges over time
// (kernels/shallow_water/inflow.hpp).
//
// An inflow's discharge is shared out evenly along its part of a side. Both stages of a step have the mean discharge of
// the step, so that what comes in is the integral over time, to rounding.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/shallow_water/inflow.hpp"
#include "workloads/shallow_water/config.hpp"
#include "workloads/shallow_water/input/time_series.hpp"
#include "workloads/shallow_water/solution.hpp"

namespace amrbench::workloads::shallow_water {

/// Immutable; may be asked by several threads.
class SideInflows {
 public:
  /// Those of `inflows` that name a side, of a domain that closes on itself along the axes `periodic`. Throws
  /// support::InputError where there is no such side, it has a condition of its own, the part is none of it, two
  /// overlap, a file cannot be read, a discharge or depth is negative.
  SideInflows(std::span<const InflowConfig> inflows, const Setup& setup, const std::array<bool, 2>& periodic);

  [[nodiscard]] bool empty() const { return parts_.empty(); }
  /// What comes in from t0 to t1 [m^3].
  [[nodiscard]] double volume(double t0, double t1) const;
  /// Is there one on the stretch [low, high) of a side, m along it?
  [[nodiscard]] bool is_at(int face, double low, double high) const;
  /// What comes in, in the mean from t0 to t1, at n cells of `size` m along a side, the first of which begins at `low`.
  void find(int face, double low, double size, int n, double t0, double t1,
            kernels::shallow_water::Inflow<double>* cells) const;
  /// The longest step from t0, at most `longest`, in which what comes in at a side crosses at most `cfl` of a cell,
  /// which is `across` m wide there.
  [[nodiscard]] double stable_step(int face, double across, double t0, double longest, double cfl,
                                   double gravity) const;

 private:
  struct Part {
    int face;
    double low, high;  ///< along the side [m]
    TimeSeries discharge;
    std::optional<TimeSeries> depth;
  };
  void add(const InflowConfig& inflow, std::size_t number, const Setup& setup, const std::array<bool, 2>& periodic);
  std::vector<Part> parts_;
};

}  // namespace amrbench::workloads::shallow_water
