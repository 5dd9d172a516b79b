#pragma once
// Sums of doubles that do not depend on order, partition, ranks or threads. Three kinds, each with its header:
//
//   ExactSum        any finite doubles, no rounding at all; a few nanoseconds a value (support/superaccumulator.hpp)
//   FixedPointSum   values below a known bound, each rounded to 2^-83 of it; fast enough for the inside of a stencil
//                   loop, scalar or in SIMD lanes (support/fixed_point_sum.hpp)
//   FieldStats      what is reported of a field: exact sums, extremes, a hash of values and places
//                   (support/field_stats.hpp)
#include "support/field_stats.hpp"
#include "support/fixed_point_sum.hpp"
#include "support/superaccumulator.hpp"
