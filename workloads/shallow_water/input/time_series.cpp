#include "workloads/shallow_water/input/time_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "support/error.hpp"
#include "workloads/shallow_water/input/input_text.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

/// Lines of a CSV file that say something, cut at their commas.
class SeriesRows {
 public:
  SeriesRows(std::string_view text, const std::string& path, const std::array<std::string_view, 2>& columns)
      : path_(path), columns_(columns), rest_(text) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw support::InputError(fmt::format("{}:{}: {}", path_, std::max<std::size_t>(line_, 1), problem));
  }
  /// False when there is none left.
  bool next() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      row_ = without_blanks(rest_.substr(0, end));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++line_;
      if (!row_.empty() && row_.front() != '#') return true;
    }
    return false;
  }
  /// The two cells of the row; the header says what they are.
  [[nodiscard]] std::array<std::string_view, 2> cells() const {
    const auto commas = std::count(row_.begin(), row_.end(), ',');
    if (commas != 1)
      fail(fmt::format("{} column{} in '{}'; must be 2, {}", commas + 1, commas == 0 ? "" : "s", shown_text(row_),
                       fmt::join(columns_, ",")));
    const std::size_t comma = row_.find(',');
    return {without_blanks(row_.substr(0, comma)), without_blanks(row_.substr(comma + 1))};
  }
  [[nodiscard]] std::string_view row() const { return row_; }

 private:
  const std::string& path_;
  const std::array<std::string_view, 2>& columns_;
  std::string_view rest_;
  std::string_view row_;
  std::size_t line_ = 0;
};

double series_number(const SeriesRows& rows, std::string_view name, std::string_view cell) {
  const auto value = number_of<double>(cell);
  if (!value || !(std::abs(*value) <= kLargestNumber))
    rows.fail(fmt::format("{} '{}' must be a number from -1e100 to 1e100", name, shown_text(cell)));
  return *value;
}

bool series_number_fits(double x) {
  return std::abs(x) <= kLargestNumber;
}

}  // namespace

TimeSeries::TimeSeries(std::vector<double> times, std::vector<double> values)
    : times_(std::move(times)), values_(std::move(values)) {
  if (times_.empty() || times_.size() != values_.size())
    throw std::invalid_argument("time series: as many times as values are needed, one at least");
  if (!std::ranges::all_of(times_, series_number_fits) || !std::ranges::all_of(values_, series_number_fits))
    throw std::invalid_argument("time series: a number is not from -1e100 to 1e100");
  if (std::ranges::adjacent_find(times_, std::greater_equal<>()) != times_.end())
    throw std::invalid_argument("time series: times do not ascend");
}

double TimeSeries::value(double t) const {
  if (std::isnan(t)) return t;
  const auto after = static_cast<std::size_t>(std::ranges::upper_bound(times_, t) - times_.begin());
  if (after == 0) return values_.front();
  if (after == times_.size()) return values_.back();
  return std::lerp(values_[after - 1], values_[after], (t - times_[after - 1]) / (times_[after] - times_[after - 1]));
}

double TimeSeries::integral(double t0, double t1) const {
  if (!std::isfinite(t0) || !std::isfinite(t1))
    throw std::invalid_argument("time series: an integral needs finite times");
  if (t1 < t0) return -integral(t1, t0);
  double sum = 0, from = t0, before = value(t0);
  for (auto i = static_cast<std::size_t>(std::ranges::upper_bound(times_, t0) - times_.begin());
       i < times_.size() && times_[i] < t1; ++i) {
    sum += (times_[i] - from) * ((before + values_[i]) / 2);
    from = times_[i];
    before = values_[i];
  }
  return sum + (t1 - from) * ((before + value(t1)) / 2);
}

TimeSeries parse_time_series(std::string_view text, const std::string& path, std::string_view column) {
  const std::array<std::string_view, 2> columns{"time_s", column};
  SeriesRows rows(text, path, columns);
  const std::string header = fmt::format("{}", fmt::join(columns, ","));
  if (!rows.next()) rows.fail(fmt::format("no header; the first line must be '{}'", header));
  if (rows.cells() != columns)
    rows.fail(fmt::format("the header is '{}'; must be '{}'", shown_text(rows.row()), header));
  std::vector<double> times, values;
  while (rows.next()) {
    const auto cells = rows.cells();
    const double time = series_number(rows, columns[0], cells[0]);
    if (!times.empty() && !(time > times.back()))
      rows.fail(
          fmt::format("time_s {} does not come after {}, the row's before; times must ascend", time, times.back()));
    values.push_back(series_number(rows, columns[1], cells[1]));
    times.push_back(time);
  }
  if (times.empty()) rows.fail("no row after the header; one at least is needed, such as '0,12.5'");
  return {std::move(times), std::move(values)};
}

TimeSeries read_time_series(const std::string& path, std::string_view column) {
  return parse_time_series(read_input_text(path), path, column);
}

}  // namespace amrbench::workloads::shallow_water
