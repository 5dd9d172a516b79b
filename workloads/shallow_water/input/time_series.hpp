#pragma once
// A quantity over time, linear in between: the discharge that flows in.
#include <string>
#include <string_view>
#include <vector>

namespace amrbench::workloads::shallow_water {

/// Values at strictly ascending times; linear between them, constant before the first and after the last. Immutable:
/// any number of threads may ask.
class TimeSeries {
 public:
  /// As many times (s) as values, one at least; all from -1e100 to 1e100, times strictly ascending. Otherwise
  /// std::invalid_argument.
  TimeSeries(std::vector<double> times, std::vector<double> values);

  /// At time t, s, which may be infinite; NaN for NaN. At a time given, the value given, to the bit. O(log n).
  [[nodiscard]] double value(double t) const;
  /// From t0 to t1, s, both finite (otherwise std::invalid_argument): the integral of value(), piece by piece, so that
  /// only rounding is lost; negative of the other way round where t1 < t0. O(log n + pieces between).
  [[nodiscard]] double integral(double t0, double t1) const;

  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> times_;
  std::vector<double> values_;
};

/// Reads a quantity over time: CSV with the header `time_s,` and `column`, and a row a time. Lines that begin with #
/// and empty ones are passed over. support::InputError, one line naming file, line and what would be right. O(bytes).
[[nodiscard]] TimeSeries read_time_series(const std::string& path, std::string_view column = "discharge_m3_s");

/// The same from text; `path` is what messages name.
[[nodiscard]] TimeSeries parse_time_series(std::string_view text, const std::string& path,
                                           std::string_view column = "discharge_m3_s");

}  // namespace amrbench::workloads::shallow_water
