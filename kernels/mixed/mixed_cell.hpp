#pragma once
// What miniAMR's mixed work computes in one cell (kernels/mixed/mixed.hpp says what): the formulas, one source for all
// back ends. Their order of operations is part of the result. Variable v = g m + i has place i in group g; p0 and p1
// are variables 0 and 1 of the cell, a0 the coefficient of place i. A partner is the variable at the same place of
// another group.
#include <cmath>

#include "kernels/average.hpp"

namespace amrbench::kernels::detail {

/// Reaction of groups 0 to 3. q, r: the partners 1 and 2 groups on (group 1), 3 and 1 (group 2), 2 and 3 (group 3).
AMRBENCH_HD inline double reaction0(double u, double p0, double p1, double a1) {
  return u + u * (p0 + p1 - a1 * u);
}
AMRBENCH_HD inline double reaction1(double u, double p0, double p1, double q, double r, double a1) {
  return u * (p0 + u + a1 * q + (1.0 - a1) * r) / p1;
}
AMRBENCH_HD inline double reaction2(double u, double p0, double p1, double q, double r, double a1, double a0) {
  return u + q * (a1 * p0 + a0 * u + (1.0 - a1) * r) / p1;
}
AMRBENCH_HD inline double reaction3(double u, double p0, double p1, double q, double r, double a1, double a0) {
  return u + q * (a1 * p0 + a0 * u + (1.0 - a0) * r + (1.0 - a1) * q) / (p1 * p1);
}

/// Transport of group 0.
AMRBENCH_HD inline double transport0(double u, double p0, double p1, double a1, double a0) {
  return u + u * (p0 + p1 - a1 * u) / (a0 + p1);
}

/// Three cells along an axis: the one before (already new in u), the cell, the one behind (still old in u).
struct Triple {
  double before, here, behind;
};

/// Limited transport of groups 1 to 3: the cells before and behind are weighed by the driver's slopes towards them.
AMRBENCH_HD inline double limited(const Triple& u, const Triple& driver, double p1) {
  const double before = std::fabs(driver.here - driver.before), behind = std::fabs(driver.here - driver.behind);
  return before * u.before + std::fabs(before - behind) * (u.here + p1) + behind * u.behind;
}
/// Its denominator, a = a1 + a0: group 1, its own driver, adds the two other variables last, the others first.
AMRBENCH_HD inline double weight1(const Triple& u, double a, double p0, double p1) {
  return a + u.before + u.here + u.behind + p0 + p1;
}
AMRBENCH_HD inline double weight23(const Triple& u, double a, double first, double second) {
  return a + first + second + u.before + u.here + u.behind;
}

/// Divides by one number often, correctly rounded, as kernels/average.hpp says. The inverse of a number that is not
/// chosen may be half a last place off, and the first quotient more than one; so it is corrected twice.
class Divisor {
 public:
  AMRBENCH_HD explicit Divisor(double value) : value_(value), inverse_(1.0 / value) {}
  [[nodiscard]] AMRBENCH_HD double divide(double s) const {
    if constexpr (kHasFma) {
      double q = s * inverse_;
      q = fused(fused(-value_, q, s), inverse_, q);
      return fused(fused(-value_, q, s), inverse_, q);
    } else {
      return s / value_;
    }
  }

 private:
  double value_, inverse_;
};

/// Brings values back into range. Except in reactions few are 1 or more, so where no value of a warp or a plane is,
/// none is divided.
struct Range {
  double a1, a0_first;

  AMRBENCH_HD double operator()(double value) const {
    const double high = a1 + a0_first, x = std::fabs(value);
#if defined(__CUDA_ARCH__)
    if (x >= 1.0) return x / (high + x);
    return below_one(value);
#else
    const double reduced = x / (high + x);  // no branch: rows are computed in vectors
    return x >= 1.0 ? reduced : below_one(value);
#endif
  }
  /// Of values that are known not to be 1 or more.
  [[nodiscard]] AMRBENCH_HD double below_one(double value) const {
    const double x = std::fabs(value), raised = x * (10.0 - a1);
    return x < 0.1 ? raised : x;
  }
};

}  // namespace amrbench::kernels::detail
